# shellcheck shell=sh disable=SC2034
# What tests of am_sim and am_perf begin with; they source it.  At their end they
# `exit $failed`.
set -u
source=${AM_SRCDIR:-.}
sim=${AM_BUILDDIR:-.}/am_sim
perf=${AM_BUILDDIR:-.}/am_perf
all=$("$sim" --list | sed -n '/^figures/q; s/^  \([a-z].*\)/\1/p') # machines
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

bad() { # WHAT ...
    echo "not so: $*" >&2
    failed=1
}

# The trace hash in JSON lines.
hash_in() {
    sed -n 's/.*"trace_hash":"\([0-9a-f]*\)".*/\1/p'
}

# Of a figure's run: [OPTION...] MACHINE.
hash_of() {
    "$sim" --json --figure round_trip "$@" | hash_in
}

# WHAT: of the job, whose processes wrote $work/pid.RANK, none is left; a loaded
# machine may take its time for it.
gone() {
    for file in "$work"/pid.*; do
        tries=0
        while kill -0 "$(cat "$file")" 2>/dev/null; do
            tries=$((tries + 1))
            [ $tries -lt 600 ] || { bad "$1: a process is left"; break; }
            sleep 0.1
        done
    done
    rm -f "$work"/pid.*
}

# LAUNCHER RANKS PROGRAM ARGUMENT...: a job whose simulator is killed when all ranks
# have begun.
kill_simulator() {
    launch=$1
    ranks=$2
    shift 2
    "$sim" --mpi --patience 100000 sp-thin -- "$launch" -n "$ranks" "$@" \
        >"$work/out" 2>"$work/err" &
    engine=$!
    tries=0
    until [ "$(find "$work" -name 'pid.*' -size +0 | wc -l)" = "$ranks" ]; do
        tries=$((tries + 1))
        [ $tries -lt 600 ] || { bad "the job starts"; break; }
        sleep 0.1
    done
    kill -KILL $engine
    wait $engine 2>/dev/null
    gone "a killed simulator"
    grep -q "^am_sim: the simulator (process $engine) was killed" "$work/err" ||
        bad "a killed simulator is told: $(cat "$work/err")"
}

[ -n "$all" ] || bad "there are machines"
