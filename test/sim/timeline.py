#!/usr/bin/env python3
"""A timeline that am_sim wrote: valid JSON, every track named, spans closed.
What follows its name are calls that each node's track of calls must have."""
import json
import sys


def main():
    wanted = sys.argv[2:]
    with open(sys.argv[1], encoding="utf-8") as f:
        records = json.load(f)
    named = {}
    processes = set()
    used = set()
    depth = {}
    calls = {}
    for r in records:
        key = (r["pid"], r["tid"])
        if r["ph"] == "M":
            if r["name"] == "process_name":
                processes.add(r["pid"])
            else:
                assert key not in named, "track %s has two names" % (key,)
                named[key] = r["args"]["name"]
            continue
        used.add(key)
        assert r["ph"] in "iBE" and r["ts"] >= 0, r
        if named[key] == "calls":
            calls.setdefault(r["pid"], []).append(r)
            continue
        if r["ph"] != "i":
            depth[key] = depth.get(key, 0) + (1 if r["ph"] == "B" else -1)
            assert depth[key] in (0, 1), "a link carries one packet: %s" % r
    assert used <= set(named), "tracks without a name: %s" % (used - set(named))
    assert {p for p, _ in used} <= processes, "a process without a name"
    assert not any(depth.values()), "a packet that never ends"
    shown = {named[k].split()[0] for k in used}
    assert "host" in shown, "nothing on the track of the host"
    assert len(shown & {"bus", "NIC", "network"}) >= 2, \
        "nothing of the adapter: %s" % shown
    assert set(depth) or not any(t >= 5 for _, t in named), \
        "no link carries a packet"
    assert bool(calls) == bool(wanted), "calls: %s" % list(calls)
    assert set(calls) == {p for p, _ in used if (p, 1) in used} or not wanted
    for of_node in calls.values():
        look_at_calls(of_node, wanted)


def look_at_calls(records, wanted):
    """One after the other, each begun and ended, one inside the other or not."""
    begun = []
    names = []
    before = 0
    for r in records:
        assert r["ts"] >= before, "a call goes back in time: %s" % r
        before = r["ts"]
        if r["ph"] == "B":
            begun.append(r["name"])
            names.append(r["name"])
        else:
            assert r["ph"] == "E" and begun.pop() == r["name"], r
    assert not begun, "calls that never end: %s" % begun
    assert set(wanted) <= set(names), "missing: %s" % (set(wanted) - set(names))
    for one, two in zip(wanted, wanted[1:]):
        assert names.index(one) < names.index(two), "%s after %s" % (one, two)


main()
