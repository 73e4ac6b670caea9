#!/bin/sh
# am_sim: the targets of every machine that has an .expect file; the stages of
# a message; the same trace hash however it is run; mistakes told clearly.
# shellcheck source=test/sim/common.sh
. "${AM_SRCDIR:-.}/test/sim/common.sh"
machines=$source/nic-sim/machines

for expect in "$machines"/*.expect; do
    name=$(sed -n 's/^machine = "\(.*\)";$/\1/p' "$expect")
    "$sim" --check "$expect" "$name" || bad "$name meets the targets of $expect"
done

"$sim" --explain "$source/test/sim/invented.conf" >"$work/out" ||
    bad "the example of docs/simulator.md runs"

# A machine that is another one must miss: the check can fail.
"$sim" --check "$machines/sp-thin.expect" --set 'net.link=20 MB/s' sp-thin \
    >"$work/out" && bad "half the link's rate is noticed"
grep -q 'store_bandwidth.*MISSED' "$work/out" ||
    bad "the bandwidth is what missed"

for name in $all; do
    "$sim" --explain $name --trace "$work/trace.json" >"$work/out" ||
        bad "explain works on $name"
    grep -q '^sum, exactly' "$work/out" || bad "the stages add up on $name"
    python3 "$source/test/sim/timeline.py" "$work/trace.json" ||
        bad "the timeline of $name opens"
done

for name in $all; do
    hash=$(hash_of $name)
    [ -n "$hash" ] || bad "JSON has a trace hash"
    for way in --no-sleep --spin --threads; do
        [ "$(hash_of $way $name)" = "$hash" ] ||
            bad "$way leaves the trace of $name as it is"
    done
    [ "$(hash_of --set 'host.pio=2 us' $name)" != "$hash" ] ||
        bad "another machine than $name has another trace"
done

for words in 'sp-fat' '--set host.pio=1 sp-thin' '--set host.pi=1us sp-thin' \
    '--figure none sp-thin' '--seed x sp-thin' '--check /none sp-thin' '' \
    "--check $machines/sp-thin.expect sp-wide"; do
    # shellcheck disable=SC2086
    "$sim" $words >"$work/out" 2>"$work/err" && bad "am_sim $words fails"
    [ "$(wc -l <"$work/err")" = 1 ] || bad "am_sim $words: one line"
    [ -s "$work/out" ] && bad "am_sim $words: nothing on stdout"
done
# Files that cannot be read, and targets that say nothing.
told() { # SENTENCE ARGUMENT...
    sentence=$1
    shift
    "$sim" "$@" >"$work/out" 2>"$work/err" && bad "am_sim $* fails"
    [ "$(cat "$work/err")" = "am_sim: $sentence" ] ||
        bad "am_sim $* says: $sentence; and not: $(cat "$work/err")"
}
targets() { # LINE of the group expect
    printf 'machine = "sp-thin";\nexpect:\n{\n%s};\n' "$1" >"$work/x.expect"
}
x=$work/x.expect
told "$x: No such file or directory" --check "$x" sp-thin
told "$work/x.conf: No such file or directory" \
    --explain "$work/x.conf"
mkdir "$x"
told "$x: it is no file that can be read" --check "$x" sp-thin
rmdir "$x"
targets ''
told "$x:2: the group expect is empty" --check "$x" sp-thin
for percent in '' 101 -1 5x; do
    targets "os = [\"1 us\", \"$percent\", \"none at all\"];
"
    told "$x:4: os: its tolerance must be a percentage, 0 to 100" \
        --check "$x" sp-thin
done
targets 'os = ["0 us", "5", "none at all"];
'
told "$x:4: os: its target is 0, of which there is no percentage" \
    --check "$x" sp-thin
# Numbers that are possible alone, and not for the adapter.
told 'myrinet-ppro: net.side can be 1 to 40 ports of a grid, as a '"node's"' number has 16 bits' \
    --set 'net.side=41 ports' --explain myrinet-ppro
for memory in 'send_memory=16 MiB' 'receive_memory=256 MiB'; do
    told 'myrinet-ppro: nic.receive_memory must hold 4 to 65535 packets and nic.send_memory 32 to 4096; a packet is 2048 B' \
        --set "nic.$memory" --set 'nic.sram=512 MiB' \
        --set 'host.shared_memory=64 MiB' --speed myrinet-ppro
done
told '--set: nic.send_fifo is "16 entries": that is not possible here; it can be 20 to 4096' \
    --set 'nic.send_fifo=16 entries' --explain sp-thin
"$sim" --set 'nic.send_fifo=20 entries' --explain sp-thin >"$work/out" ||
    bad "the shortest send FIFO goes"
# LogP where a round trip takes longer than replies are waited for at first.
latency=$("$sim" --json --figure latency --set nic.pcie=200us pcie4 |
    sed -n 's/.*"value":\([0-9]*\).*/\1/p')
[ "${latency:-0}" -gt 400000 ] && [ "$latency" -lt 401000 ] ||
    bad "two ways over PCIe of 200 us: a latency of $latency ns"
# So with remote copies: one switch of a millisecond, and another.
latency=$("$sim" --json --figure latency --set lanai.transfer=rcpy \
    --set net.switch=1ms myrinet-ppro |
    sed -n 's/.*"value":\([0-9]*\).*/\1/p')
[ "${latency:-0}" -gt 2015000 ] && [ "$latency" -lt 2017000 ] ||
    bad "remote copies through two slow switches: a latency of $latency ns"
# No time is left of half a round trip where the network takes none.
"$sim" --figure latency --set nic.clock=1000000MHz --set net.clock=100GHz \
    --set 'nic.descriptor=1 cycles' --set 'nic.packet=1 cycles' \
    --set bus.rate=1000GB/s bgp >"$work/out" || bad "a network that takes no time"
grep -q '^latency *0\.0' "$work/out" || bad "it has no latency: $(cat "$work/out")"
# What a file of targets sets counts, or is told.
targets 'os = ["1 us", "5", "none at all"];
'
echo 'set = "host.pio=2 us";' >>"$x"
told "$x:6: set must be up to 4 texts \"key=value\"" --check "$x" sp-thin
targets 'os = ["1 us", "5", "none at all"];
'
echo 'sets = ["host.pio=2 us"];' >>"$x"
told "$x:6: unknown key sets; there are machine, set and the group expect" \
    --check "$x" sp-thin
# A machine of any name, printed and read again.
sed 's/^machine = .*/machine = "a \\"b\\\\";/' "$machines/sp-thin.conf" \
    >"$work/x.conf"
"$sim" --print "$work/x.conf" >"$work/y.conf"
"$sim" --print "$work/y.conf" | cmp - "$work/y.conf" ||
    bad "a name with quotation marks"
# A get, whose memory is elsewhere in each run.
hash=$("$sim" --json --figure get bgp | hash_in)
for way in --no-sleep --spin --threads --no-progress; do
    "$sim" --json $way --figure get bgp | grep -q "\"trace_hash\":\"$hash\"" ||
        bad "$way leaves the trace of a get as it is"
done
# Conservation is checked at the end of each run.
"$sim" --alltoall --nodes 27 bgp >"$work/out" || bad "all-to-all on a torus"
"$sim" --alltoall --nodes 30 --set 'nic.processes=4 processes' \
    --set 'net.buffer=512 B' bgp >"$work/out" || bad "all-to-all in quad mode"
"$sim" --alltoall sp-thin >"$work/out" 2>&1 && bad "all-to-all needs a torus"
"$sim" --set 'net.buffer=256 B' --explain bgp >"$work/out" 2>"$work/err" &&
    bad "a torus that can deadlock is refused"
grep -q 'net.buffer must hold two packets, 512 B' "$work/err" ||
    bad "and told why"

# A receive FIFO of two entries overflows; the window recovers, byte exact.
"$perf" --sim sp-thin --set 'nic.receive_fifo=2 entries' \
    --set 'nic.pop_batch=1 entries' --json bw --op store_async --sizes 64k \
    --iterations 40 >"$work/out" || bad "bulk data survive overflow"
grep -q '"dropped":0' "$work/out" && bad "the receive FIFO did overflow"
# Links that fail: what the windows are for, libam's (on Myrinet, I-hrx) and
# the NIs' (I-nirx).  am_perf compares what arrives.
lives() { # MACHINE FAULT [--set SETTING]
    "$perf" --sim "$1" -n 4 --set "net.fault.$2" ${3:+"$3" "$4"} --json ring \
        --sizes 8,20k --iterations 20 >"$work/out" || bad "$* lives"
    case $2 in
    stall*) grep -q '"dropped":0,' "$work/out" || bad "$* loses nothing" ;;
    *) grep -q '"dropped":0,' "$work/out" && bad "$* lost something" ;;
    esac
}
for fault in drop=1/50 corrupt=1/50 overflow=1/500 stall=1/20; do
    lives sp-thin $fault
    for reliability in ni host; do
        lives myrinet-ppro $fault --set lanai.reliability=$reliability
    done
done
lives myrinet-ppro stall=1/20 # which a NI that trusts the network lives with
# Links that send again themselves: nothing is lost, only late.
for fault in drop=1/50 corrupt=1/50 overflow=1/500 stall=1/20; do
    "$perf" --sim bgp -n 4 --set "net.fault.$fault" --json ring --sizes 8,20k \
        --iterations 20 >"$work/out" || bad "bgp with $fault lives"
    grep -q '"dropped":0,' "$work/out" || bad "bgp with $fault loses nothing"
    case $fault in
    stall*) grep -q '"resent":0,' "$work/out" || bad "$fault resends nothing" ;;
    *) grep -q '"resent":0,' "$work/out" && bad "$fault made a link resend" ;;
    esac
done
"$perf" --sim bgp --set net.fault.drop=1 --set net.fault.port=x+.0 rtt \
    >"$work/out" 2>"$work/err" && bad "a link that is dead"
grep -q 'a link was given up' "$work/err" || bad "and told so"
"$perf" --sim sp-thin --set net.fault.drop=1/9 --set net.fault.port=ejct rtt \
    2>"$work/err" && bad "a port that there is not"
grep -q 'there are any, inject, inject.0 to' "$work/err" || bad "and its names"
"$perf" --sim sp-thin -n 8 --json mcast --sizes 64,4k --iterations 20 \
    >"$work/out" || bad "8 nodes multicast"
grep -q '"dropped":0,' "$work/out" || bad "no loss with the real FIFO"
for words in "-n 513 rtt" limits; do
    # shellcheck disable=SC2086
    "$perf" --sim sp-thin $words >"$work/out" 2>"$work/err" &&
        bad "am_perf --sim $words fails"
    [ "$(wc -l <"$work/err")" = 1 ] || bad "am_perf --sim $words: one line"
done
# What never goes on is ended at once: here both wait for a packet that is lost.
AM_RELIABILITY=none "$perf" --sim sp-thin --set net.fault.drop=1/10 \
    ring >"$work/out" 2>"$work/err" && bad "a deadlock is a failure"
grep -q 'deadlock at [0-9]* us of virtual time: 2 nodes wait' "$work/err" ||
    bad "and says which: $(cat "$work/err")"
"$perf" --sim sp-thin --limit 1 --iterations 1000 ring >"$work/out" \
    2>"$work/err" && bad "the limit is a failure"
grep -q 'the limit of 1000 us of virtual time' "$work/err" ||
    bad "and says which: $(cat "$work/err")"
"$perf" --limit 5 rtt 2>"$work/err" && bad "--limit without --sim"
grep -q -e '--limit is for' "$work/err" || bad "says so of --limit"
"$perf" --seed 0 rtt 2>"$work/err" && bad "--seed without --sim"
grep -q -e '--seed is for' "$work/err" || bad "says so of --seed"
"$perf" --sim bgp --seed=-1 rtt 2>"$work/err" && bad "a seed below zero"
grep -q -e '--seed "-1": expected a number' "$work/err" || bad "and told so"
# JSON has the seed as it was given, up to the largest one.
most=9223372036854775807
for command in "$sim --seed $most --figure os" "$perf --seed $most rtt --sim"; do
    $command sp-thin --json | grep -q "\"seed\":$most[,}]" ||
        bad "$command has its seed"
done
told '--seed 9223372036854775808: it must be a number of 0 to '$most \
    --seed 9223372036854775808 sp-thin
"$perf" --sim bgp --seed=9223372036854775808 rtt 2>"$work/err" &&
    bad "a seed that is too large"
grep -q -e "to $most" "$work/err" || bad "and told so: $(cat "$work/err")"
# The same seed, the same run; another, other packets that a link loses.
seeded() { # SEED: the trace of a run with faults
    "$perf" --sim sp-thin --set net.fault.drop=1/20 --seed "$1" --json \
        --iterations 50 rtt | hash_in
}
first=$(seeded 5)
[ -n "$first" ] || bad "a run with a seed"
[ "$(seeded 5)" = "$first" ] || bad "a seed repeats a run"
[ "$(seeded 6)" != "$first" ] || bad "another seed loses other packets"
# Whoever sends a message pays for building it: requests, msg, stores.
half_trip() { # OP COST: whole nanoseconds of 8 bytes
    "$perf" --sim sp-thin --set "host.am_send=$2" --iterations 2 --warmup 1 \
        --sizes 8 --json --op "$1" lat |
        sed -n 's/.*"half_round_trip".*"value":\([0-9]*\).*/\1/p'
}
for op in isend store; do
    more=$(($(half_trip $op '20 us') - $(half_trip $op '10 us')))
    [ $more -ge 9000 ] || bad "$op pays for its message: $more ns of 10000"
done
# The machine may come from a variable; the command line has the last word.
AM_SIM_MACHINE=sp-wide "$sim" --print | grep -q 'sp-wide' ||
    bad "am_sim takes AM_SIM_MACHINE"
AM_SIM_MACHINE=sp-wide "$perf" --iterations 2 rtt |
    grep -q '^# simulated sp-wide:' || bad "am_perf takes AM_SIM_MACHINE"
AM_SIM_MACHINE=sp-fat "$perf" --sim bgp --iterations 2 rtt |
    grep -q '^# simulated bgp:' || bad "--sim goes before AM_SIM_MACHINE"
AM_SIM_MACHINE=sp-fat "$perf" rtt >"$work/out" 2>"$work/err" &&
    bad "a machine that there is not"
grep -q 'sp-fat' "$work/err" || bad "and its name"
"$perf" --set 'host.pio=2 us' rtt 2>"$work/err" && bad "--set without --sim"
grep -q -e '--sim' "$work/err" || bad "says what is missing"
# What a program's computation takes is looked at wherever a context opens.
for command in "$perf -n 2 rtt" "$sim --figure os sp-thin"; do
    for choice in banana measured:0 measured:1e3 measured:1000000.001; do
        AM_SIM_COMPUTE=$choice $command >"$work/out" 2>"$work/err" &&
            bad "AM_SIM_COMPUTE=$choice $command"
        grep -q 'AM_SIM_COMPUTE is .*; accepted: none, declared, or' "$work/err" ||
            bad "$choice is told: $(cat "$work/err")"
    done
done
AM_SIM_COMPUTE=measured:1000000.000 "$sim" --figure os sp-thin >"$work/out" ||
    bad "the largest factor"
AM_DEVICES=shm "$perf" --sim sp-thin rtt 2>"$work/err" &&
    bad "shared memory between simulated hosts fails"
grep -q 'it has sim' "$work/err" || bad "and says what there is"
exit $failed
