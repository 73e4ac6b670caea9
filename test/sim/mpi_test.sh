#!/bin/sh
# am_sim --mpi: ranks that a launcher has started, on every machine, with the
# traces of am_perf --sim; and what is told of jobs that do not end as they
# should.  Of each nothing is left.
# shellcheck source=test/sim/common.sh
. "${AM_SRCDIR:-.}/test/sim/common.sh"

launcher=$(command -v mpiexec.hydra || command -v mpiexec) || {
    echo "there is no mpiexec (Debian package mpich)"
    exit 77
}
"$launcher" --version 2>/dev/null | grep -q HYDRA || {
    echo "$launcher is not Hydra's"
    exit 77
}

hash_of_line() {
    sed -n 's/^# simulated .* trace \([0-9a-f]*\)$/\1/p' "$1"
}

same() { # MACHINE RANKS ARGUMENT...
    machine=$1
    ranks=$2
    shift 2
    "$perf" --sim "$machine" -n "$ranks" "$@" >"$work/fibers" 2>"$work/err" ||
        bad "am_perf --sim $machine $*: $(cat "$work/err")"
    "$sim" --mpi "$machine" -- "$launcher" -n "$ranks" "$perf" "$@" \
        >"$work/ranks" 2>"$work/err" ||
        bad "am_sim --mpi $machine $*: $(cat "$work/err")"
    [ -n "$(hash_of_line "$work/fibers")" ] &&
        [ "$(hash_of_line "$work/fibers")" = "$(hash_of_line "$work/ranks")" ] ||
        bad "the same: $(tail -n 1 "$work/fibers" "$work/ranks")"
}

for machine in $all; do
    same "$machine" 2 --iterations 2 --warmup 1 rtt
    same "$machine" 4 --iterations 2 --warmup 1 --sizes 8,20k ring
    same "$machine" 3 --iterations 2 --warmup 1 --sizes 8,40k bw
done
same sp-thin 2 --iterations 2 --warmup 1 --sizes 8,1k overlap
"$sim" --mpi sp-thin --set 'host.pio=3 us' -- "$launcher" -n 2 "$perf" \
    --iterations 2 --warmup 1 rtt >"$work/ranks" || bad "--set"
"$perf" --sim sp-thin --set 'host.pio=3 us' --iterations 2 --warmup 1 rtt \
    >"$work/fibers" || bad "--set of am_perf"
[ "$(hash_of_line "$work/fibers")" = "$(hash_of_line "$work/ranks")" ] ||
    bad "--set changes both alike"
AM_SIM_MACHINE=sp-thin "$sim" --json --mpi -- "$launcher" -n 2 "$perf" \
    --iterations 2 --warmup 1 rtt | grep -q '"trace_hash":"[0-9a-f]' ||
    bad "AM_SIM_MACHINE and --json"

# A job of two whose rank 1 does what its argument says; its processes' numbers
# are in files.
cat >"$work/job.c" <<'EOF2'
#include <am.h>
#include <am_msg.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void ignore(void *arg, const struct am_msg_status *status)
{
}

int main(int argc, char **argv)
{
    char path[4096];
    FILE *file;

    if (am_init() != AM_OK) {
        fprintf(stderr, "%s\n", am_init_error());
        return 1;
    }
    snprintf(path, sizeof(path), "%s/pid.%u", argv[2], am_rank(am_default()));
    file = fopen(path, "w");
    fprintf(file, "%d\n", getpid());
    fclose(file);
    am_barrier();
    if (argc > 1 && am_rank(am_default()) == 1) {
        switch (*argv[1]) {
        case 'k':
            raise(SIGKILL);
            break;
        case 'e':
            exit(0);
        case 'c':
            for (;;) {
            }
        case 'r': { /* what nobody sends */
            static const struct am_msg_envelope envelope = {3, 0, 5};
            static const struct am_msg_mask mask = {-1, -1, -1};
            static struct am_msg_status status;
            static char to[8];
            struct am_data data = am_data_contig(to, sizeof(to));
            struct am_msg_req *req;

            (void)am_msg_irecv(am_default(), &envelope, &mask, &data, ignore,
                               NULL, &status, &req);
        } /* fall through */
        case 'w':
            for (;;) {
                (void)am_ctx_poll_wait(am_default());
            }
        }
    }
    am_barrier();
    am_fini();
    return *argv[1] == 's' ? 5 : 0;
}
EOF2
libs=${AM_BUILDDIR:-.}/.libs
if [ ! -e "$libs/libam.so" ]; then
    echo "the rest wants a shared library to link programs with"
    exit $failed
fi
# shellcheck disable=SC2086
${CC:-cc} -I"$source/am-core/include" -o "$work/job" "$work/job.c" \
    -L"$libs" -lam -Wl,-rpath,"$libs" || bad "the job compiles"

job() { # WHAT OPTION...
    what=$1
    shift
    "$sim" --mpi "$@" sp-thin -- "$launcher" -n 2 "$work/job" "$what" "$work" \
        >"$work/out" 2>"$work/err"
}
job fine || bad "a job that ends well: $(cat "$work/err")"
grep -q '^# simulator: [1-9][0-9]* accesses to adapters, [1-9][0-9]* a second of a core, and [0-9.]* for each turn' \
    "$work/err" || bad "how fast it was is told: $(cat "$work/err")"
grep -q '^# simulator' "$work/out" && bad "but not where it would differ"
gone fine
job status
[ $? -eq 5 ] || bad "the launcher's status is ours"
gone status
fails() { # WHAT PATTERN OPTION...
    word=$1
    pattern=$2
    shift 2
    job "$word" "$@" && bad "$word is a failure"
    grep -q "$pattern" "$work/err" || bad "$word is told: $(cat "$work/err")"
    gone "$word"
}
fails kill '^am_sim: rank 1 (process [0-9]*) ended before its program was over$'
fails exit '^am_sim: rank 1 (process [0-9]*) ended before its program was over$'
fails compute '^am_sim: rank 1 (process [0-9]*) computes without end' \
    --patience 10
fails wait '^am_sim: \(the limit of 20000 us\|deadlock\)' --limit 20
fails receive '^  rank 1: a receive from rank 0, tag 5, context 3$' --limit 20

# What a program declares takes the time that the machine says, if it is asked for.
cat >"$work/compute.c" <<'EOF2'
#include <am.h>
#include <am_time.h>
#include <stdio.h>
#include <time.h>
int main(void)
{
    uint64_t begin;
    clock_t spins;

    if (am_init() != AM_OK) {
        return 1;
    }
    am_barrier();
    begin = am_time_ps();
    am_time_begin("all");
    am_time_begin("some");
    am_compute(1000);
    am_time_end("some");
    am_time_end("all");
    am_time_begin("the end");
    if (am_rank(am_default()) == 1) {
        printf("%d %llu\n", am_time_is_virtual(),
               (unsigned long long)(am_time_ps() - begin));
        begin = am_time_ps();
        for (spins = clock(); clock() - spins < CLOCKS_PER_SEC / 50;) {
        }
        printf("spun %llu\n", (unsigned long long)(am_time_ps() - begin));
    }
    am_barrier();
    am_fini();
    return 0;
}
EOF2
# shellcheck disable=SC2086
${CC:-cc} -I"$source/am-core/include" -o "$work/compute" "$work/compute.c" \
    -L"$libs" -lam -Wl,-rpath,"$libs" || bad "the computation compiles"
computer=sp-thin
clock='0 ns'
computed() { # CHOICE, then what am_sim has besides: the program's output
    choice=$1
    shift
    AM_SIM_COMPUTE=$choice "$sim" --mpi --set "host.clock_read=$clock" "$@" \
        "$computer" -- "$launcher" \
        -n 2 "$work/compute" >"$work/out" 2>"$work/err"
}
for operation in "20 ns" "1 us"; do
    computed declared --set "host.operation=$operation" ||
        bad "a computation of $operation: $(cat "$work/err")"
    case $operation in
    20*) grep -q '^1 20000000$' "$work/out" ;;
    *) grep -q '^1 1000000000$' "$work/out" ;;
    esac || bad "1000 times $operation: $(cat "$work/out")"
    grep -q '^# computation: declared$' "$work/out" || bad "and it is said"
done
# The same with a timeline: what the program calls is there, to the picosecond.
cp "$work/out" "$work/once"
computed declared --set "host.operation=1 us" --trace "$work/trace.json" ||
    bad "a timeline: $(cat "$work/err")"
cmp -s "$work/out" "$work/once" ||
    bad "a timeline changes nothing: $(diff "$work/once" "$work/out")"
python3 - "$work/trace.json" <<'EOF2' || bad "1000 times 1 us in the timeline"
import json
import sys
records = json.load(open(sys.argv[1]))
track, = {(r["tid"]) for r in records if r["args"].get("name") == "calls"}
for node in 0, 1:
    calls = [r for r in records if (r["pid"], r["tid"]) == (node, track)
             and r["ph"] != "M"]
    assert [(r["name"], r["ph"]) for r in calls] == [
        ("all", "B"), ("some", "B"), ("some", "E"), ("all", "E"),
        ("the end", "B"), ("the end", "E")], calls
    for begin, end in (0, 3), (1, 2):
        took = calls[end]["ts"] - calls[begin]["ts"]
        assert round(took * 1e6) == 10 ** 9, calls
EOF2
for choice in none ""; do
    computed "$choice" --set 'host.operation=20 ns' || bad "AM_SIM_COMPUTE=$choice"
    grep -q '^1 0$' "$work/out" || bad "nothing by itself: $(cat "$work/out")"
    grep -q '^# computation: none$' "$work/out" || bad "and it is said"
done
# A reading of the clock takes its time.
clock='3 ns'
computed none && grep -q '^1 3000$' "$work/out" ||
    bad "the clock: $(cat "$work/out" "$work/err")"
clock='0 ns'
computed none --json && grep -q '"computation":"none"' "$work/out" ||
    bad "JSON has it: $(cat "$work/out")"
computed declared && grep -q '^1 20000000$' "$work/out" ||
    bad "sp-thin's own time of an operation: $(cat "$work/out" "$work/err")"
computer=bgp
computed declared && bad "no time of an operation is known for bgp"
[ "$(wc -l <"$work/err")" = 1 ] && grep -q 'bgp has no source' "$work/err" ||
    bad "and told: $(cat "$work/err")"
computer=sp-thin
for choice in measured measured: measured:0 measured:1e3 measured:-1 some; do
    computed "$choice" && bad "AM_SIM_COMPUTE=$choice"
    grep -q '^am_sim: AM_SIM_COMPUTE=.* must be none, declared' "$work/err" ||
        bad "$choice is told: $(cat "$work/err")"
done
# Measured: a rank that spins for 20 ms has taken 2 s, which its clock shows.
computed measured:100 || bad "measured: $(cat "$work/err")"
grep -q '^spun [2-9][0-9]\{12\}$' "$work/out" ||
    bad "20 ms times 100: $(cat "$work/out")"
grep -q '^# computation: measured:100, not the same in each run$' "$work/out" ||
    bad "and it is said: $(cat "$work/out")"

# The simulator itself is killed.
kill_simulator "$launcher" 2 "$work/job" compute "$work"

# What cannot start is told.
told() { # PATTERN ARGUMENT...
    pattern=$1
    shift
    "$sim" --mpi "$@" >"$work/out" 2>"$work/err" && bad "$* is a failure"
    grep -q "$pattern" "$work/err" || bad "$* is told: $(cat "$work/err")"
}
told 'needs a command' sp-thin
told 'starting /nowhere/mpiexec' sp-thin -- /nowhere/mpiexec -n 2 true
told 'has ended before all of its ranks had opened libam: 0 had' \
    sp-thin -- "$launcher" -n 2 true
told 'sp-thin has 1 to 2 nodes; 3 were asked for' \
    --set 'net.nodes=2 nodes' sp-thin -- "$launcher" -n 3 "$work/job" fine \
    "$work"
AM_SIM_ENGINE=none "$launcher" -n 1 "$work/job" fine "$work" >"$work/out" 2>&1 &&
    bad "an engine that is not there"
grep -q 'AM_SIM_ENGINE names the simulator none, which is not there' \
    "$work/out" || bad "and told: $(cat "$work/out")"
exit $failed
