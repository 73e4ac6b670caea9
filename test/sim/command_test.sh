#!/bin/sh
# am_sim's command line: machine files that it writes can be read; what does
# not go together, or is not there on this machine, is told in one sentence.
set -u
sim=${AM_BUILDDIR:-.}/am_sim
source=${AM_SRCDIR:-.}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

bad() {
    echo "not so: $*" >&2
    failed=1
}

hash_of() {
    "$sim" --json --figure round_trip "$@" |
        sed -n 's/.*"trace_hash":"\([0-9a-f]*\)".*/\1/p'
}

# What --print writes is a machine file: of the same machine, with all of its
# settings.
all=$("$sim" --list | sed -n '/^figures/q; s/^  \([a-z].*\)/\1/p')
for name in $all "$source/test/sim/invented.conf"; do
    "$sim" --print "$name" >"$work/one.conf" || bad "--print $name"
    "$sim" --print "$work/one.conf" >"$work/two.conf" ||
        bad "what --print $name writes can be read"
    cmp "$work/one.conf" "$work/two.conf" || bad "--print $name twice: the same"
    grep -q '^        drop = \["0", "assumed", "the default: ' \
        "$work/one.conf" || bad "--print $name has the defaults"
    hash=$(hash_of "$name")
    [ -n "$hash" ] && [ "$(hash_of "$work/one.conf")" = "$hash" ] ||
        bad "the file of $name has its trace"
done
"$sim" --print --set 'host.pio=2 us' --set net.fault.port=inject.0 sp-thin \
    >"$work/one.conf" || bad "--print with --set"
grep -q '^    pio = \["2 us", "assumed", "from --set' "$work/one.conf" ||
    bad "and what was set"
[ "$(hash_of "$work/one.conf")" = "$(hash_of --set 'host.pio=2 us' sp-thin)" ] ||
    bad "and its trace"

# One sentence, a failure, nothing else.
refused() { # PATTERN WORDS...
    pattern=$1
    shift
    "$sim" "$@" >"$work/out" 2>"$work/err" && bad "am_sim $* fails"
    [ "$(wc -l <"$work/err")" = 1 ] || bad "am_sim $*: one line"
    [ -s "$work/out" ] && bad "am_sim $*: nothing on stdout"
    grep -q -e "$pattern" "$work/err" ||
        bad "am_sim $*: $pattern in: $(cat "$work/err")"
}
refused 'of the built-in ones there are myrinet-ppro myrinet-p3$' \
    --figure multicast sp-thin
refused 'adapter bgp.*there are bgp$' --figure put myrinet-ppro
refused '--explain.*not both' --explain --predict sp-thin
refused 'not both' --figure round_trip --check "$work/none" sp-thin
refused '--trace is for' --trace "$work/trace.json" sp-thin
refused '--trace is for' --trace "$work/trace.json" --predict sp-thin
refused '--nodes is for' -n 4 --explain sp-thin
refused '--print has no JSON' --print --json sp-thin
refused '--list has no JSON' --list --json
exit $failed
