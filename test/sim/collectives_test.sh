#!/bin/sh
# am_sim --reproduce of collectives: the tables, on few nodes, and what follows from
# the algorithms.  What only the machines predict is not tested.
# shellcheck source=test/sim/common.sh
. "${AM_SRCDIR:-.}/test/sim/common.sh"

# NAME NODES MACHINE...: its tables, in $work/out.
table() {
    name=$1
    nodes=$2
    shift 2
    "$sim" --no-progress --reproduce "$name" -n "$nodes" "$@" >"$work/out" ||
        bad "$name on $nodes nodes"
}

# PROGRAM: awk on the rows of numbers; it fails where one is not as it should be.
rows() {
    grep '^[0-9]' "$work/out" | awk "$1 { exit 1 }" ||
        bad "$2: $(cat "$work/out")"
    [ "$(grep -c '^[0-9]' "$work/out")" -ge "$3" ] || bad "$3 rows"
}

# All-to-all: block, naive, staggered, pairwise, bruck, by cost.
table sp-alltoall 8 sp-thin
rows '$3 > $2' "staggered is not slower than naive" 6
grep -q '^[a-z].*the paper: .*not all send to the same' "$work/out" ||
    bad "what the paper says"
"$sim" --no-progress --reproduce sp-alltoall -n 8 sp-thin >"$work/again" ||
    bad "once more"
cmp -s "$work/out" "$work/again" || bad "the same table each time"

# Broadcast: bytes, then NI binary, NI binomial, driver binary, driver binomial, coll
# binary, binomial, kary:4, chain, and along the NIs' tree; then as MB/s; then by how data moves.  The root's
# children of a chain wait longest, and hosts that forward cost more than NIs.
table lci-bcast 8 myrinet-p3
sed -n '/until the last/,/MB.s/p' "$work/out" | sed '/MB.s/,$d' >"$work/us"
cp "$work/out" "$work/whole"
cp "$work/us" "$work/out"
rows '$2 >= $4 || $3 >= $5' "NIs forward faster than their drivers" 6
rows '$9 <= $6 || $9 <= $7' "a chain is slower than trees" 6
rows '$10 >= $8 || $10 < $2' "collectives that the NIs forward are faster" 6
cp "$work/whole" "$work/out"
[ "$(grep -c '^65536 ' "$work/out")" = 3 ] || bad "three tables"
[ "$(grep -c 'the paper:' "$work/out")" = 10 ] || bad "what the paper found"

# Allreduce: doubling, halving, ring, by cost, network; in quad mode network twice.
# Rounds: doubling has half of those of halving, and the ring 2 (P - 1).  The sums of
# the network are checked in am_sim itself.
table bgp-allreduce 4 bgp
rows '$1 == 8 && ($2 >= $3 || $3 >= $4)' "fewer rounds are faster for 8 bytes" 14
rows '$1 == 524288 && $3 >= $2' "halving sends less than doubling" 14
[ "$(grep -c '^[0-9].*[0-9]$' "$work/out")" = 14 ] || bad "two tables"
[ "$(grep -c '^524288' "$work/out")" = 2 ] || bad "up to 512 KiB"

# Patterns: bytes, plain, ring, by cost, on 2 and 4 nodes.  The ring packs a block once
# and sends the others on as they come, with the same messages.
table patterns 4 bgp
[ "$(grep -c '^# bgp' "$work/out")" = 4 ] || bad "two patterns on 2 and 4 nodes"
grep -q 'on 8 nodes' "$work/out" && bad "no more nodes than are wanted"
sed -n '/multi-broadcast on 4/,/paper/p' "$work/out" >"$work/part"
cp "$work/part" "$work/out"
rows '$3 >= $2' "a block that is packed once is there sooner" 4

# Scaling: nodes, two algorithms of log P rounds, the hardware; of three collectives.
table scaling 128 bgp
rows '$1 == 64 { at = $2 } $1 == 128 && $2 <= at' "more rounds take longer" 6
rows '$4 >= $2' "the hardware is faster than messages" 6
[ "$(grep -c 'log P: ' "$work/out")" = 6 ] || bad "what log P says"

# Fewer nodes than those of the first row: one row with these, which says nothing of
# how times grow.
table scaling 8 bgp
[ "$(grep -c '^8 ' "$work/out")" = 3 ] || bad "8 nodes: $(cat "$work/out")"
[ "$(grep -c '^[0-9]' "$work/out")" = 3 ] || bad "and no others"
grep -q 'so here' "$work/out" && bad "one point has no law"

# Overlap: polls, all-to-all, allreduce; then us.  The DMA engine moves what the core
# would copy, if the core looks at it often enough.
table overlap 4 bgp
rows '$2 < 0 || $2 > 1e6 || $3 < 0' "no less than nothing is hidden" 18
sed -n '/per cent/,/alone/p' "$work/out" >"$work/part"
cp "$work/part" "$work/out"
rows '$1 == 1 { a = $2; b = $3 } $1 == 100 && ($2 <= a || $3 <= b)' \
    "more polls hide more" 9
rows '$2 > 100 || $3 > 100' "no more than all" 9

# The file of a machine may have a name with a quotation mark; it is a text in the plot.
if command -v gnuplot >/dev/null; then
    "$sim" --print bgp >"$work/it's; system 'touch $$'.conf"
    "$sim" --no-progress --reproduce scaling -n 2 --plot "$work/one.svg" \
        "$work/it's; system 'touch $$'.conf" >/dev/null 2>&1 || bad "a plot of it"
    grep -q 'it.*s; system' "$work/one.svg" || bad "and its title"
fi

"$sim" --reproduce buffering -n 4 2>"$work/err" && bad "nodes where there are two"
grep -q 'nodes is for' "$work/err" || bad "and told so"
"$sim" --reproduce collectives sp-thin 2>"$work/err" && bad "one machine for all"
grep -q 'leave the machine out' "$work/err" || bad "and told to leave it out"
exit $failed
