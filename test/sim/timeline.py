#!/usr/bin/env python3
"""A timeline that am_sim wrote: valid JSON, every track named, spans closed."""
import json
import sys


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        records = json.load(f)
    named = {}
    processes = set()
    used = set()
    depth = {}
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
    assert set(depth) or not any(t >= 4 for _, t in named), \
        "no link carries a packet"


main()
