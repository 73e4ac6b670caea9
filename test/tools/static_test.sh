#!/bin/sh
# A program is linked with libam.a by what `pkg-config --static` says of it, and
# has every device that am_info has.
set -eu
source=${AM_SRCDIR:-.} build=${AM_BUILDDIR:-.}
skip() { echo "skipped: $*" >&2; exit 77; }

command -v pkg-config >/dev/null || skip "pkg-config is not here"
[ -f "$build/.libs/libam.a" ] || skip "this build has no libam.a"
if nm "$build/.libs/libam.a" 2>/dev/null | grep -qE ' U __(asan|tsan|ubsan)'; then
    skip "a sanitizer is in libam.a"
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/lib" "$work/include"
cp "$build/.libs/libam.a" "$work/lib/" # where no libam.so is
find "$source/am-core/include" "$source/collectives/include" -name '*.h' \
    -exec cp {} "$work/include/" \;
link() { # link PROGRAM SOURCE MODULE
    # shellcheck disable=SC2046
    ${CC:-cc} -o "$1" "$2" $(PKG_CONFIG_PATH=$build/am-core:${PKG_CONFIG_PATH:-} \
        pkg-config --define-variable=libdir="$work/lib" \
        --define-variable=includedir="$work/include" --static --cflags --libs "$3")
}

# Debian's hwloc asks for libudev, whose package it does not depend on.
echo 'int main(void) { return 0; }' >"$work/empty.c"
link "$work/empty" "$work/empty.c" hwloc ||
    skip "what pkg-config says of hwloc does not link (Debian: libudev-dev)"
link "$work/static" "$source/test/tools/static.c" am
! readelf -d "$work/static" | grep NEEDED | grep libam ||
    { echo "libam.so is in a program that was linked with libam.a" >&2; exit 1; }
"$work/static" | sort >"$work/static.names"
"$build/am_info" -c | sed -n 's/^\(AM_[A-Z_0-9]*\)=.*/\1/p' | sort >"$work/names"
[ -s "$work/names" ]
diff "$work/names" "$work/static.names"
