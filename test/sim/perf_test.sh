#!/bin/sh
# Every test of am_perf on every simulated machine: it ends well, what it moves
# arrives unharmed, and nothing is lost.
# shellcheck source=test/sim/common.sh
. "${AM_SRCDIR:-.}/test/sim/common.sh"

on() {
    "$perf" --sim "$@" >"$work/out" 2>"$work/err" ||
        bad "am_perf --sim $*: $(cat "$work/err")"
    grep -q '^# simulated.*, 0 dropped' "$work/out" ||
        bad "am_perf --sim $* loses nothing"
}

tests=$("$perf" --help | sed -n '/^tests:/,$s/^  \([a-z]*\)  .*/\1/p' |
    grep -v '^limits$')
[ "$(echo "$tests" | wc -l)" -ge 10 ] || { echo "no tests found" >&2; exit 1; }
for machine in $all; do
    for test in $tests; do
        case $test in
        match) on "$machine" --iterations 2 --depth 8 match ;;
        lat | bw | ring | exchange | overlap | mcast)
            on "$machine" --iterations 2 --warmup 1 --sizes 8,5k "$test" ;;
        *) on "$machine" --iterations 2 "$test" ;;
        esac
    done
    for op in put store store_async get get_async; do
        on "$machine" --iterations 2 --sizes 8,20k --op $op bw
    done
    on "$machine" -n 5 --iterations 2 --sizes 8,5k mcast
    on "$machine" -n 5 --iterations 2 --sizes 8,5k ring
done
exit $failed
