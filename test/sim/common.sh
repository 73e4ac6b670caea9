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

[ -n "$all" ] || bad "there are machines"
