#!/bin/sh
# am_sim --mpi with programs of MPI: two runs print the same times and have the
# same trace, NAS kernels are verified, jobs that end badly are told in one
# sentence and leave no process.  Needs `make mpich`.
# shellcheck source=test/sim/common.sh
. "${AM_SRCDIR:-.}/test/sim/common.sh"

build=$(cd "${AM_BUILDDIR:-.}" && pwd)
mpi=${MPICH_BIN:-$build/mpich/install/bin}
[ -x "$mpi/mpicc" ] || {
    echo "there is no MPICH here (make mpich)"
    exit 77
}
LD_LIBRARY_PATH=$build/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
"$mpi/mpicc" -O2 -o "$work/job" "$source/test/sim/mpi_job.c" ||
    bad "the program compiles"
${MAKE:-make} -s -f "$source/benchmarks/nas/Makefile" MPICC="$mpi/mpicc" \
    CFLAGS=-O2 O="$work/nas" all \
    >"$work/out" 2>&1 || bad "the kernels compile: $(cat "$work/out")"

on() { # MACHINE RANKS PROGRAM ARGUMENT..., into $work/out and err
    machine=$1
    ranks=$2
    shift 2
    # shellcheck disable=SC2086
    "$sim" --mpi ${options:-} "$machine" -- "$mpi/mpiexec" -n "$ranks" "$@" \
        >"$work/out" 2>"$work/err"
}
again() { # WHAT: is all that it prints as in the last run?
    cmp -s "$work/out" "$work/once" ||
        bad "$1 the same again: $(diff "$work/once" "$work/out")"
}
options=
for machine in $all; do
    for ranks in 2 5; do
        on "$machine" $ranks "$work/job" ||
            bad "$ranks ranks on $machine: $(cat "$work/err")"
        [ "$(grep -c '^[^#].* 0\.0[0-9]* s$' "$work/out")" = 9 ] &&
            ! grep wrong "$work/out" || bad "its times: $(cat "$work/out")"
        cp "$work/out" "$work/once"
        on "$machine" $ranks "$work/job" || bad "another time on $machine"
        again "$machine"
    done
    # with a timeline of all that it calls, which takes as long as it says
    options="--trace=$work/trace.json"
    on "$machine" 5 "$work/job" || bad "a timeline on $machine"
    again "$machine with a timeline"
    python3 "$source/test/sim/timeline.py" "$work/trace.json" MPI_Init \
        MPI_Comm_rank MPI_Bcast MPI_Allreduce MPI_Win_fence MPI_Finalize ||
        bad "the timeline on $machine"
    python3 - "$work/trace.json" "$work/out" <<'EOF2' || bad "MPI_Allgather's time"
import json
import sys
began, ended = [round(r["ts"] * 1e6) for r in json.load(open(sys.argv[1]))
                if r["name"] == "MPI_Allgather" and r["pid"] == 0]
printed, = [line.split()[1] for line in open(sys.argv[2])
            if line.startswith("gather ")]
read = 10 ** 5  # host.clock_read, of the second reading
assert ended - began + read == int(printed.replace(".", "")), (
    began, ended, printed)
EOF2
    # hosts that wait skip rounds, which changes nothing but events
    options=--spin
    on "$machine" 5 "$work/job" || bad "--spin on $machine"
    options=
    for file in once out; do
        sed 's/[0-9]* events//' "$work/$file" >"$work/$file.same"
    done
    cmp -s "$work/once.same" "$work/out.same" ||
        bad "polls or none on $machine: $(diff "$work/once" "$work/out")"
done
# MPI's own instructions, where the machine knows them: the paper's 3.2 us.
on bgp 2 "$work/job"
eager=$(sed -n 's/^ping-pong 8 0\.0000\([0-9]*\) s$/\1/p' "$work/out")
[ "${eager:-0}" -gt 60800000 ] && [ "$eager" -lt 67200000 ] ||
    bad "20 eager messages of MPI on bgp are 64 us: $(cat "$work/out")"

# NAS: verified, the same again, and longer with what it declares.
for kernel in is mg; do
    for choice in none declared; do
        AM_SIM_COMPUTE=$choice
        export AM_SIM_COMPUTE
        options=--set=host.operation=20ns
        on sp-thin 4 "$work/nas/nas_$kernel" S ||
            bad "$kernel $choice: $(cat "$work/err")"
        grep -q 'Verification *= *SUCCESSFUL' "$work/out" || bad "$kernel"
        cp "$work/out" "$work/once"
        on sp-thin 4 "$work/nas/nas_$kernel" S
        again "$kernel $choice"
        cp "$work/once" "$work/$choice"
    done
    ! cmp -s "$work/none" "$work/declared" || bad "$kernel declares"
done
unset AM_SIM_COMPUTE
options=

# The paper's five, each in a job of its own; FT's all-to-all shows.
"$sim" --no-progress --reproduce sp-nas -n 4 -- "$mpi/mpiexec" "$work/nas" \
    >"$work/out" 2>"$work/err" || bad "sp-nas: $(cat "$work/err")"
[ "$(grep -c '^[a-z][a-z]  .* [0-9.]* *[0-9.]*$' "$work/out")" = 6 ] &&
    ! grep -q ' 0\.0000 ' "$work/out" || bad "six rows: $(cat "$work/out")"
[ "$(awk '$1 == "ft" { print $3 }' "$work/out" | uniq | wc -l)" = 2 ] ||
    bad "pairs are not staggered: $(cat "$work/out")"
"$sim" --no-progress --reproduce sp-nas --only mg -n 4 \
    --set 'host.operation=200 ns' -- "$mpi/mpiexec" "$work/nas" \
    >"$work/slow" 2>"$work/err" || bad "sp-nas of one kernel"
[ "$(grep -c '^mg' "$work/slow")" = 1 ] && ! grep -q '^ft' "$work/slow" ||
    bad "one kernel alone: $(cat "$work/slow")"
awk '$1 == "mg" { t[NR == FNR] = $2 } END { exit !(t[0] > 4 * t[1]) }' \
    "$work/out" "$work/slow" || bad "operations that take ten times as long"
"$sim" --no-progress --reproduce sp-nas -n 3 --only ft -- "$mpi/mpiexec" \
    "$work/nas" >"$work/out" 2>"$work/err" && bad "three ranks are none for FT"
grep -q 'FT class S runs on a power of two' "$work/err" &&
    grep -q 'a kernel was not verified' "$work/err" || bad "and told so"

# Jobs that end badly.
fails() { # HOW PATTERN [OPTION...]
    how=$1
    pattern=$2
    options=$3
    on sp-thin 3 "$work/job" "$how" "$work" && bad "$how is a failure"
    grep '^am_sim: ' "$work/err" >"$work/told"
    [ "$(wc -l <"$work/told")" = 1 ] && grep -q "$pattern" "$work/told" ||
        bad "$how is told: $(cat "$work/err")"
    gone "$how"
}
# The launcher ends the others at once: the simulator may see one of them first.
fails kill 'rank [0-9]* (process [0-9]*) ended before its program was over$' ""
fails exit 'rank [0-9]* (process [0-9]*) ended before its program was over$' ""
fails loop 'rank 1 (process [0-9]*) computes without end' "--patience=10"
fails forever 'the limit of 20000 us of virtual time' "--limit=20"
fails deadlock 'deadlock at [0-9]* us of virtual time: 3 nodes wait' ""
for rank in 0 1 2; do
    grep -q "^  rank $rank: a send of 65536 bytes to rank $(((rank + 1) % 3)), tag 7" \
        "$work/err" || bad "what rank $rank waits for: $(cat "$work/err")"
done

# The simulator itself is killed.
kill_simulator "$mpi/mpiexec" 3 "$work/job" loop "$work"
exit $failed
