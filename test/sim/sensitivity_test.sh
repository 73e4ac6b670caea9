#!/bin/sh
# am_sim --sensitivity: each prediction lies in its interval, what is known to
# move one is named with the sign that it must have, and "all" has the targets of
# every machine and the predictions.
# shellcheck source=test/sim/common.sh
. "${AM_SRCDIR:-.}/test/sim/common.sh"
machines=$source/nic-sim/machines

"$sim" --no-progress --sensitivity --only I-none myrinet-p3 >"$work/out" \
    2>"$work/err" && bad "a name that nothing has"
grep -q 'no prediction has a name' "$work/err" || bad "and told so"
"$sim" --no-progress --predict --only I-none myrinet-p3 >"$work/out" \
    2>"$work/err" && bad "--predict of a name that nothing has"
grep -q 'no prediction has a name' "$work/err" || bad "and told so"
"$sim" --only os sp-thin 2>"$work/err" && bad "--only without its use"
grep -q -e '--only is for' "$work/err" || bad "and told so"
[ "$("$sim" --no-progress --predict --only I-pio. myrinet-p3 | wc -l)" = 5 ] ||
    bad "--predict --only prints those rows alone"

# A slower link between switches is a longer latency, and costs a host nothing.
"$sim" --no-progress --json --sensitivity --only I-pio. myrinet-p3 \
    >"$work/out" || bad "as JSON"
python3 - "$work/out" <<'EOF' || bad "intervals and moves of I-pio"
import json, sys
rows = {row["metric"]: row for row in map(json.loads, open(sys.argv[1]))}
assert set(rows) == {"I-pio." + n
                     for n in ("os", "or", "latency", "gap", "end_to_end")}
for row in rows.values():
    assert row["low"] <= row["value"] <= row["high"], row
latency = rows["I-pio.latency"]
moves = {move["setting"]: move for move in latency["moves"]}
assert moves["net.switch"]["less_percent"] < 0 < moves["net.switch"]["more_percent"]
assert latency["low"] < latency["value"] < latency["high"]
assert "host.copy" not in moves  # it is derived, and so not moved
for move in rows["I-pio.os"]["moves"]:
    assert max(map(abs, (move["less_percent"], move["more_percent"]))) < 1, move
# one setting alone is within the interval of all
for move in moves.values():
    for side in ("less_percent", "more_percent"):
        value = latency["value"] * (1 + move[side] / 100)
        assert latency["low"] - 0.01 <= value <= latency["high"] + 0.01, move
EOF
"$sim" --no-progress --sensitivity --only I-pio.latency myrinet-p3 \
    >"$work/out" || bad "as a table"
grep -q '^# not moved: .*net.buffer (1 packets)' "$work/out" ||
    bad "what cannot be moved by 20% is told"
grep -q '^I-pio.latency .* us .* to .*bus.arbitration -.*% +.*%' "$work/out" ||
    bad "what moves it is named"

"$sim" --no-progress --sensitivity --only I-pio.os all >"$work/out" ||
    bad "all machines meet their targets"
for expect in "$machines"/*.expect; do
    name=$(sed -n 's/^machine = "\(.*\)";$/\1/p' "$expect")
    grep -q "^# targets of $name" "$work/out" || bad "the targets of $name"
done
[ "$(grep -c ' good ' "$work/out")" = \
    "$(cat "$machines"/*.expect | grep -c '= \["[0-9]')" ] ||
    bad "each target of each file is there and good"
[ "$(grep -c '^# predictions of' "$work/out")" = 7 ] || bad "all machines"
[ "$(grep -c '^I-pio.os .* to ' "$work/out")" = 2 ] || bad "and predictions"
exit $failed
