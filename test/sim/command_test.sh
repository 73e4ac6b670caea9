#!/bin/sh
# am_sim's command line: machine files that it writes can be read; what does
# not go together, or is not there on this machine, is told in one sentence;
# what JSON lines and bars have.
# shellcheck source=test/sim/common.sh
. "${AM_SRCDIR:-.}/test/sim/common.sh"

# What --print writes is a machine file: of the same machine, with all of its
# settings.
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
refused '--mpi runs processes; leave --threads out' --mpi --threads sp-thin -- true
refused '--nodes is for' -n 4 --explain sp-thin
refused '--print has no JSON' --print --json sp-thin
refused '--list has no JSON' --list --json
refused 'needs a launcher and the folder' --reproduce sp-nas
refused 'needs a launcher and the folder' --reproduce sp-nas sp-thin -- mpiexec
refused 'it must be S, W, A or B' --reproduce sp-nas --class X -- mpiexec nas
refused '--class is for' --class A --reproduce bgp-mpi
refused 'sp-nas has no plot' --reproduce sp-nas --plot "$work/x.svg" -- mpiexec nas
refused '--only is for' --only ft --reproduce bgp-mpi
refused '--patience is for' --patience 5 --explain sp-thin
refused '--patience is for' --patience 5 --run "$work/ring.so" sp-thin
refused 'nothing sends them again' --set net.fault.drop=1/9 pcie4
# What was said of a job goes to the simulator of each kernel, which starts the
# launcher.
cat >"$work/launcher" <<'EOF'
#!/bin/sh
tr '\0' ' ' <"/proc/$PPID/cmdline" >"${0%/*}/words"
exit 1
EOF
chmod +x "$work/launcher"
"$sim" --reproduce sp-nas --only ft --seed 7 --limit 12345 --patience 5 \
    -n 4 --set 'host.pio=2 us' -- "$work/launcher" "$work" >"$work/out" \
    2>"$work/err" && bad "a launcher that fails"
for words in '--seed 7' '--limit 12345' '--patience 5' '--set host.pio=2 us' \
    'sp-thin -- '; do
    grep -q -e " $words" "$work/words" ||
        bad "sp-nas says $words to a job: $(cat "$work/words")"
done
# A setting that is too small is named.
refused 'host.shared_memory is too small' \
    --set 'host.shared_memory=64 KiB' --figure eager bgp

# JSON lines of whole runs: the machine's settings and the trace.
for words in "--alltoall -n 8 bgp" "--growth -n 2 sp-thin"; do
    # shellcheck disable=SC2086
    "$sim" --json $words >"$work/out" || bad "$words --json"
    python3 -c '
import json, sys
lines = [json.loads(line) for line in sys.stdin]
assert lines
for line in lines:
    assert line["settings"]["numbers"]["host.pio"], line
    assert int(line["trace_hash"], 16) != 0, line
' <"$work/out" || bad "$words --json: settings and trace hash"
done
"$perf" --sim sp-thin --json --iterations 2 rtt >"$work/out" ||
    bad "am_perf --json"
grep -q '"cpu":"sp-thin".*"AM_SIM_MACHINE":"sp-thin"' "$work/out" ||
    bad "the machine takes the place of the CPU"

# Bars on a terminal, with the simulated time; none elsewhere.
on_terminal() {
    python3 -c 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) != 0)' \
        "$@" </dev/null >"$work/out"
}
bar='of [0-9]*, [0-9.]* ms simulated'
if python3 -c 'import os; os.openpty()' 2>/dev/null; then
    on_terminal "$sim" --alltoall -n 216 bgp || bad "all-to-all on a terminal"
    grep -q "\] [1-9][0-9]* $bar" "$work/out" || bad "and its bar"
    on_terminal "$sim" --figure store_bandwidth sp-thin || bad "a figure on a terminal"
    grep -q "\] 0 $bar" "$work/out" || bad "and its bar"
    on_terminal "$perf" --sim sp-thin --iterations 5000 rtt || bad "am_perf's rtt"
    grep -q '%, [0-9.]* ms simulated' "$work/out" || bad "and its bar"
else
    echo "no terminal to be had: bars are not looked at"
fi
"$sim" --figure request_1 sp-thin >"$work/out" 2>"$work/err"
[ -s "$work/err" ] && bad "no bar without a terminal"
exit $failed
