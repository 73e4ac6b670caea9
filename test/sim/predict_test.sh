#!/bin/sh
# am_sim --predict on every machine: each row that it must have, with a value
# above zero; and what is predicted depends on the machine.
# shellcheck source=test/sim/common.sh
. "${AM_SRCDIR:-.}/test/sim/common.sh"

predict() { # MACHINE [OPTION...]: into $work/out.MACHINE
    machine=$1
    shift
    "$sim" --predict --no-progress "$@" "$machine" >"$work/out.$machine" ||
        echo "not so: am_sim --predict $machine $*" >>"$work/failed"
}

# Lines "metric bytes unit value"; bytes are 0 for what has no size.
rows() { # MACHINE
    machine=$1
    awk '$3 == "B" { print $1, $2, $5, $4; next } { print $1, 0, $3, $2 }' \
        "$work/out.$machine" >"$work/rows"
    awk '!($4 > 0) { wrong = 1; print } END { exit wrong }' "$work/rows" >&2 ||
        bad "all that $machine predicts is above zero"
}

has() { # METRIC BYTES UNIT
    [ "$(grep -c "^$1 $2 $3 " "$work/rows")" = 1 ] ||
        bad "$machine predicts $1 of $2 bytes in $3, once"
}

# $1 first, then twice as much, to $2.
doubled() {
    bytes=$1
    while [ "$bytes" -le "$2" ]; do
        echo "$bytes"
        bytes=$((bytes * 2))
    done
}

bandwidth() {
    for op in store_async get_async store get; do
        first=16
        case $op in *_async) first=64 ;; esac
        for bytes in $(doubled $first 1048576); do
            has $op "$bytes" MB/s
        done
        has half_power_$op 0 bytes
    done
}

lanai() {
    for variant in I-sdma I-nirx I-hrx I-pio I-rcpy; do
        for figure in os or latency gap end_to_end; do
            has $variant.$figure 0 us
        done
    done
    for variant in I-sdma I-nirx I-hrx; do
        has $variant.ni_fetch_add 0 us
    done
    for tree in ni.binary ni.binomial host.binary host.binomial; do
        for bytes in 8 256 1024 4096 16384 65536; do
            has mcast.$tree $bytes us
        done
        has mcast.$tree 65536 MB/s
    done
}

bgp() {
    for bytes in 1024 4096 16384 65536 262144 1048576; do
        has mpi_rendezvous_one_way $bytes us
    done
    for protocol in eager rendezvous; do
        for neighbours in 1 2 3 4 5 6; do
            has exchange_${protocol}_$neighbours 512 MB/s
            has exchange_${protocol}_$neighbours 65536 MB/s
        done
    done
}

# Under a sanitizer each takes ten times as long, and the second Myrinet runs the
# same code as the first: only what is asked of it below.
only=
grep -q '^CFLAGS = .*-fsanitize\|^AM_CFLAGS = .*-fsanitize' \
    "${AM_BUILDDIR:-.}/Makefile" 2>/dev/null && only='--only mcast.ni'
# Two at a time.
for name in myrinet-ppro bgp; do
    predict $name
done &
# shellcheck disable=SC2086
predict myrinet-p3 $only
for name in sp-thin sp-wide pcie4 ap3000; do
    predict $name
done
wait
[ ! -e "$work/failed" ] || bad "$(cat "$work/failed")"

expected=0
for name in sp-thin sp-wide myrinet-ppro myrinet-p3 bgp pcie4 ap3000; do
    "$sim" --list | grep -q "^  $name\$" || bad "there is $name"
    rows $name
    cp "$work/rows" "$work/$name"
    [ "$name$only" != "myrinet-p3--only mcast.ni" ] || continue
    bandwidth
    case $name in
    myrinet-*) lanai && expected=124 ;;
    bgp) bgp && expected=98 ;;
    *) expected=68 ;;
    esac
    [ "$(wc -l <"$work/rows")" = $expected ] ||
        bad "$name predicts these $expected rows and no others"
done
for one in sp-wide myrinet-p3; do
    other=sp-thin
    [ $one = myrinet-p3 ] && other=myrinet-ppro
    cmp -s "$work/$one" "$work/$other" && bad "$one is not $other"
done

# NIs reach the last of 64 nodes sooner along a binomial tree.
for one in myrinet-ppro myrinet-p3; do
    awk '$1 == "mcast.ni.binary" && $2 == 8 { binary = $4 }
        $1 == "mcast.ni.binomial" && $2 == 8 { binomial = $4 }
        END { exit !(binomial > 0 && binomial < binary) }' "$work/$one" ||
        bad "$one: by NIs a binomial tree has the lower latency"
done

# On Blue Gene/P the DMA moves what goes by rendezvous, on all links at once.
exchange() { sed -n "s/^exchange_rendezvous_$1 65536 MB\/s \([0-9]*\).*/\1/p" \
    "$work/bgp"; }
[ "$(exchange 6)" -gt $((5 * $(exchange 1))) ] ||
    bad "bgp: an exchange by rendezvous with 6 neighbours is over 5 links' worth"

# The rows are of the machine as --set has it: half the rate of a link.
rate() { sed -n 's/^store_async 1048576 MB\/s \([0-9]*\).*/\1/p' "$1"; }
predict sp-thin --set 'net.link=20 MB/s' --only store_async
rows sp-thin
[ "$(rate "$work/rows")" -lt "$(rate "$work/sp-thin")" ] ||
    bad "a slower link lowers the predicted bandwidth"

# The half-power point is where a straight line between two sizes has half of the
# last rate, to the byte.
for what in get half_power_get; do
    "$sim" --no-progress --json --predict --only $what sp-thin \
        >"$work/$what.json" || bad "$what as JSON"
done
python3 - "$work/get.json" "$work/half_power_get.json" <<'EOF' || bad "to the byte"
import json, sys
rows = map(json.loads, open(sys.argv[1]))
curve = [(row["bytes"], int(row["value"]))
         for row in rows if row["metric"] == "get"]
half = curve[-1][1] // 2
(a, low), (b, high) = next((one, two) for one, two in zip(curve, curve[1:])
                           if one[1] < half <= two[1])
want = a + (b - a) * (half - low) // (high - low)
rows = map(json.loads, open(sys.argv[2]))
got = {row["metric"]: int(row["value"]) for row in rows}["half_power_get"]
assert got == want, (got, want)
EOF
exit $failed
