#!/bin/sh
# libam, cross compiled for arm64 without a warning, and the simulator under
# user-mode emulation: its unit tests pass, and every machine gives the figures
# and the trace that it gives here.  Processes of their own are left out, with
# sim_posts_test: the emulator makes up /proc/self/stat, by which libam tells them
# apart, and one process cannot read another's memory there.
# shellcheck source=test/sim/common.sh
. "${AM_SRCDIR:-.}/test/sim/common.sh"
skip() { echo "skipped: $*"; exit 77; }

host=aarch64-linux-gnu
command -v $host-gcc >/dev/null ||
    skip "$host-gcc is not here (Debian: crossbuild-essential-arm64)"
command -v qemu-aarch64-static >/dev/null ||
    skip "qemu-aarch64-static is not here (Debian: qemu-user-static)"
# What configure looks for, too: Debian's name, or the paths of this variable.
pkg_config=pkg-config
! command -v $host-pkg-config >/dev/null || pkg_config=$host-pkg-config
libraries=/usr/lib/$host/pkgconfig
for module in hwloc jansson libconfig; do
    PKG_CONFIG_LIBDIR=$libraries $pkg_config --exists $module ||
        skip "$module is not here for arm64 (Debian: dpkg --add-architecture arm64, lib*-dev:arm64)"
done
[ ! -f "$source/config.status" ] || skip "this build is in the source tree"
source=$(cd "$source" && pwd)
# not with the variables of the make that runs this test: its list of tests, above all
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES

(cd "$work" && env -u CC -u CFLAGS "$source/configure" -q --host=$host --enable-werror \
    EMULATOR=qemu-aarch64-static PKG_CONFIG_LIBDIR=$libraries &&
    make -s am_info am_sim am_perf) >"$work/log" 2>&1 ||
    { cat "$work/log"; bad "libam cross compiles"; exit 1; }
# Here and there: the same text, which has figures and trace hash.
same() { # PROGRAM ARGUMENT...
    program=$1
    shift
    "${AM_BUILDDIR:-.}/$program" "$@" >"$work/here" 2>&1
    qemu-aarch64-static "$work/$program" "$@" >"$work/there" 2>&1
    grep -qE '"trace_hash":"[0-9a-f]+"|^# simulated.* trace [0-9a-f]+$' \
        "$work/here" || bad "$program $* has a hash"
    cmp -s "$work/here" "$work/there" ||
        bad "$program $*, the same: $(diff "$work/here" "$work/there")"
}
same_sim() { same am_sim --json "$@"; }
same_perf() { same am_perf --sim "$@"; }

qemu-aarch64-static "$work/am_info" -v || bad "am_info runs"
for machine in $all; do
    same_sim --figure round_trip "$machine"
    for test in rtt bw exchange fadd; do
        same_perf "$machine" -n 3 --iterations 2 $test
    done
done
same_perf sp-thin -n 5 --set net.fault.drop=1/50 --iterations 3 --sizes 8,20k bw
if PKG_CONFIG_LIBDIR=$libraries $pkg_config --exists cmocka; then
    # shellcheck disable=SC2016
    make -C "$work" check TESTS='$(filter-out %/sim_posts_test,$(ns_tests))' \
        >"$work/log" 2>&1 ||
        { grep -E '^(FAIL|ERROR)|error:' "$work/log"; bad "unit tests pass"; }
else
    echo "without unit tests: cmocka is not here for arm64"
fi
exit $failed
