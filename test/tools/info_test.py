#!/usr/bin/env python3
"""am_info: its options, its JSON, and that docs/variables.md has the table of
variables that it prints."""
import json
import os

import job

check = job.Checks()
INFO = job.program("am_info")


def info(*args, **extra):
    return job.run(INFO, *args, **extra)


def test_version():
    for args in ([], ["-v"], ["--version"]):
        got = info(*args)
        check.that(got.returncode == 0 and got.stderr == "",
                   "am_info %s ends well, silently" % args)
        check.that(got.stdout.startswith("libam ") and "build:" in got.stdout,
                   "am_info %s names version and build" % args)


def test_variables():
    got = info("-c", AM_EAGER_MAX="2k")
    check.that(got.returncode == 0, "am_info -c ends well: " + got.stderr)
    check.that("AM_EAGER_MAX=2k (default " in got.stdout,
               "am_info -c shows a value from the environment")
    got = info("-c", "--json", AM_WAIT="yield")
    table = {row["name"]: row for row in json.loads(got.stdout)["variables"]}
    check.that(len(table) >= 15, "am_info -c --json has all variables")
    for name, row in table.items():
        check.that(name.startswith("AM_"), "%s is ours" % name)
        check.that(all(isinstance(row[key], str) for key in
                       ("value", "default", "unit", "help")),
                   "%s has value, default, unit and help" % name)
        check.that(row["help"].strip() != "", "%s has help" % name)
    check.that(table["AM_WAIT"]["value"] == "yield", "AM_WAIT is shown")
    check.that("auto" in table["AM_WAIT"]["choices"], "AM_WAIT has choices")


def test_other_parts():
    got = info("-d")
    check.that(got.returncode == 0 and "shm" in got.stdout,
               "am_info -d names the devices: " + got.stdout + got.stderr)
    got = info("-p")
    check.that(got.returncode == 0 and "eager" in got.stdout,
               "am_info -p names the protocols: " + got.stdout + got.stderr)
    origins = [line for line in got.stdout.splitlines()
               if line.startswith("  costs")]
    check.that(len(origins) == got.stdout.count(", contiguous data") and
               all("(built in)" in line for line in origins),
               "and says where each one's costs come from: " + got.stdout)
    if "ofi" in info("-v").stdout:
        got = info("-d", "-p", AM_DEVICES="shm,ofi", AM_OFI_DOMAIN="lo",
                   AM_OFI_PROVIDER="tcp;ofi_rxm", AM_OFI_WRITES="on",
                   AM_WAIT="sleep")
        check.that("device shm, " in got.stdout and
                   "device ofi, " in got.stdout and
                   "sleep yes" in got.stdout and "writes yes" in got.stdout,
                   "and a device that no peer is met by, with what its provider "
                   "has: " + got.stdout + got.stderr)
    got = info("-v", "-c", "-d", "-p", "--json")
    parts = json.loads(got.stdout)
    check.that(sorted(parts) == ["devices", "protocols", "variables",
                                 "version"], "--json has every part asked for")
    shm = [dev for dev in parts["devices"] if dev["name"] == "shm"]
    check.that(len(shm) == 1 and shm[0]["packet_bytes_max"] >= 1024 and
               "reliable" in shm[0]["capabilities"] and
               shm[0]["cost"]["wire"]["fixed_ps"] > 0, "shm's numbers")
    tables = {table["device"]: table for table in parts["protocols"]}
    check.that({"shm", "self"} <= set(tables), "a table for each kind of peer")
    for table in tables.values():
        for rows in (table["contiguous"], table["other"]):
            check.that(rows[0]["from"] == 0 and rows[-1]["to"] == 2**63 - 1,
                       "a table covers every size")
            for before, row in zip(rows, rows[1:]):
                check.that(row["from"] == before["to"] + 1, "without a gap")
            for row in rows:
                costs = row["cost_ps_at_from"]
                check.that(row["reason"] != "lowest cost" or
                           row["protocol"] in costs, "with its cost")
    forced = json.loads(info("-p", "--json", AM_PROTO="put").stdout)
    check.that(all(row["protocol"] == "put" and
                   row["reason"] == "set by a variable"
                   for table in forced["protocols"]
                   for row in table["contiguous"]), "AM_PROTO=put is shown")


def test_bad_options():
    for args, word in ((["--nonsense"], "--nonsense"), (["-x"], "-x"),
                       (["-vq"], "-q"), (["extra"], "extra"),
                       (["--markdown"], "--markdown")):
        got = info(*args)
        check.that(got.returncode == 2, "am_info %s exits with 2" % args)
        check.that(word in got.stderr and got.stderr.count("\n") == 1,
                   "am_info %s says why in a line: %r" % (args, got.stderr))
        check.that(got.stdout == "", "am_info %s prints nothing else" % args)


def test_full():
    """What does not get there is no success, and why is said once."""
    for args in (["-v"], ["-c"], ["-c", "--json"], ["--help"]):
        got = job.run_full(INFO, *args)
        check.that(got.returncode == 1 and got.stderr.count("\n") == 1 and
                   "No space left on device" in got.stderr,
                   "am_info %s to a full disk: %r" % (args, got))


def test_bad_value():
    got = info("-c", AM_EAGER_MAX="banana")
    check.that(got.returncode == 1, "a bad value fails")
    check.that("AM_EAGER_MAX" in got.stderr and "banana" in got.stderr and
               got.stderr.count("\n") == 1,
               "a bad value is named in one sentence: %r" % got.stderr)
    got = info("-c", AM_SHM_RING="64k", AM_SHM_PACKET="32k")
    check.that(got.returncode == 1 and "AM_SHM_PACKET" in got.stderr and
               "AM_SHM_RING" in got.stderr and got.stderr.count("\n") == 1,
               "two values that do not fit are named: %r" % got.stderr)
    devices = json.loads(info("-d", "--json", AM_SHM_RING="64k").stdout)
    shm = [dev for dev in devices["devices"] if dev["name"] == "shm"]
    check.that(shm[0]["packet_bytes_max"] == 16384,
               "a smaller ring alone makes the packets smaller: %r" % shm)


def test_variables_page():
    with open(os.path.join(job.SRC, "docs", "variables.md")) as file:
        page = file.read()
    table = info("-c", "--markdown").stdout
    check.that(table.count("\n") > 10, "the table has rows")
    check.that(table in page,
               "docs/variables.md has the table of variables as am_info -c "
               "--markdown prints it; run scripts/variables")


test_version()
test_variables()
test_other_parts()
test_bad_options()
test_full()
test_bad_value()
test_variables_page()
check.finish()
