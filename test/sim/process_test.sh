#!/bin/sh
# Programs in processes of their own and programs in fibers: the same trace, for
# every test of am_perf on every machine and for scenarios; and what is told
# when a process ends that should not.
# shellcheck source=test/sim/common.sh
. "${AM_SRCDIR:-.}/test/sim/common.sh"

# The last line has time, events, packets and hash.
same() {
    "$perf" --sim "$@" >"$work/fibers" 2>"$work/err" ||
        bad "am_perf --sim $*: $(cat "$work/err")"
    "$perf" --processes --sim "$@" >"$work/processes" 2>"$work/err" ||
        bad "am_perf --processes --sim $*: $(cat "$work/err")"
    grep -q '^# simulated.* trace [0-9a-f]*$' "$work/fibers" ||
        bad "am_perf --sim $* has a hash"
    cmp -s "$work/fibers" "$work/processes" ||
        bad "the same: $(tail -n 1 "$work/fibers" "$work/processes")"
}

tests=$("$perf" --help | sed -n '/^tests:/,$s/^  \([a-z]*\)  .*/\1/p' |
    grep -v '^limits$')
[ "$(echo "$tests" | wc -l)" -ge 10 ] || { echo "no tests found" >&2; exit 1; }
for machine in $all; do
    for test in $tests; do
        case $test in
        match) same "$machine" --iterations 2 --depth 8 match ;;
        lat | bw | ring | exchange | overlap | mcast)
            same "$machine" -n 3 --iterations 2 --warmup 1 --sizes 8,5k "$test"
            ;;
        *) same "$machine" --iterations 2 "$test" ;;
        esac
    done
done
# Memory that NICs reach in place, four processes at a NIC, packets that are
# lost, hosts that are interrupted.
for op in put get; do
    same bgp --set 'nic.processes=4 processes' -n 8 --iterations 2 \
        --sizes 8,20k --op $op bw
done
for way in lanai.transfer=rcpy lanai.transfer=pio lanai.reliability=ni \
    lanai.reliability=host; do
    same myrinet-ppro --set $way -n 3 --iterations 2 --sizes 8,20k bw
done
same sp-thin -n 5 --set net.fault.drop=1/50 --iterations 3 --sizes 8,20k bw
same myrinet-ppro --set nic.watchdog='1 us' -n 4 --iterations 2 overlap

number_in() { # FIELD
    sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p"
}
scenario() { # NAME
    # shellcheck disable=SC2086
    ${CC:-cc} -shared -fPIC -I"$source/am-core/include" \
        -I"$source/nic-sim/tools" -o "$work/$1.so" "$2" ||
        bad "$1 compiles"
}
scenario ring "$source/nic-sim/examples/ring.c"
for machine in $all; do
    for way in "" --spin --no-sleep; do
        # shellcheck disable=SC2086
        "$sim" --json --run "$work/ring.so" $way -n 6 "$machine" 7 \
            >"$work/fibers"
        # shellcheck disable=SC2086
        "$sim" --json --run "$work/ring.so" $way --processes -n 6 "$machine" 7 \
            >"$work/processes"
        fibers=$(hash_in <"$work/fibers")
        processes=$(hash_in <"$work/processes")
        [ -n "$fibers" ] && [ "$fibers" = "$processes" ] ||
            bad "the ring $way on $machine: $fibers $processes"
        # What needs no answer waits for what does: fewer turns than accesses.
        # (With work queues the host looks at its own memory, and a look that
        # waits for the adapter is a turn without an access.)
        accesses=$(number_in accesses <"$work/processes")
        turns=$(number_in turns <"$work/processes")
        [ "$(number_in accesses <"$work/fibers")" = "$accesses" ] ||
            bad "the ring $way on $machine has as many accesses"
        case $way$machine in
        -* | pcie4 | ap3000) continue ;;
        esac
        [ $((turns * 3)) -lt $((accesses * 2)) ] ||
            bad "the ring on $machine: $turns turns, $accesses accesses"
    done
done

# Processes do not share their variables, and end as they like.
cat >"$work/end.c" <<'EOF2'
#include <am_sim.h>
#include <signal.h>
#include <stdlib.h>
static int mine;
int am_sim_main(struct am_sim_node *node, int argc, char **argv)
{
    mine++;
    am_sim_barrier(node);
    if (mine != 1) {
        return 9;
    }
    if (argc > 1 && am_rank(am_sim_ctx(node)) == 1) {
        if (*argv[1] == 'k') {
            raise(SIGKILL);
        }
        if (*argv[1] == 'e') {
            exit(0);
        }
        return 3;
    }
    am_sim_barrier(node);
    return 0;
}
EOF2
scenario end "$work/end.c"
"$sim" --run "$work/end.so" --processes -n 3 sp-thin >"$work/out" ||
    bad "each process has its variables"
told() { # ARGUMENT PATTERN
    "$sim" --run "$work/end.so" --processes -n 3 sp-thin "$1" >"$work/out" \
        2>"$work/err" && bad "$1 is a failure"
    grep -q "$2" "$work/err" || bad "$1 is told: $(cat "$work/err")"
    [ "$(wc -l <"$work/err")" -eq 1 ] || bad "$1: one sentence"
}
told kill '^am_sim: rank 1 (process [0-9]*) ended before its program was over$'
told exit '^am_sim: rank 1 (process [0-9]*) ended before its program was over$'
told return 'am_sim_main of node 1 returned 3$'
"$sim" --processes --explain sp-thin 2>"$work/err" && bad "--processes --explain"
grep -q 'am_sim: --processes is for --run' "$work/err" || bad "and told"
exit $failed
