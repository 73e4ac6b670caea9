#!/usr/bin/env python3
"""am_perf: every test and operation on 2 and 4 ranks with few iterations, the
rows it prints, and what it says about bad arguments."""
import json
import os
import tempfile

import job

check = job.Checks()
PERF = job.program("am_perf")
FEW = ["--json", "--iterations", "40"]
UNITS = {"ns", "B/s", "msg/s", "ratio"}
if job.launcher() is None:
    job.skip("there is no mpiexec (Debian package mpich)")


def rows_of(*args, ranks=2, **extra):
    got = job.perf(*FEW, *args, ranks=ranks, **extra)
    name = "am_perf -n %d %s" % (ranks, " ".join(args))
    check.that(got.returncode == 0, "%s: %s" % (name, got.stderr))
    if got.returncode != 0:
        return []
    check.that(got.stderr == "", "%s is silent on stderr: %r" % (
        name, got.stderr))
    found = job.rows(got.stdout)
    check.that(len(found) > 0, name + " prints rows")
    for row in found:
        check.that(row["test"] == args[-1], name + ": test")
        check.that(row["unit"] in UNITS and row["metric"] and
                   row["bytes"] >= 0, name + ": metric, bytes, unit")
        check.that(row["value"] > 0 or row["metric"] in ("L", "os", "or"),
                   name + ": %s is positive" % row["metric"])
        settings = row["settings"]
        check.that("AM_WAIT" in settings["variables"] and settings["version"]
                   and settings["cpu"] and settings["pinning"],
                   name + ": settings")
        check.that(settings["ranks"] == ranks, name + ": ranks")
        p = row.get("percentiles")
        if p:
            check.that(p["50"] <= p["90"] <= p["99"] <= p["max"],
                       name + ": percentiles in order")
    return found


def metrics(found):
    return [row["metric"] for row in found]


def test_each():
    found = rows_of("rtt")
    check.that([row["words"] for row in found] == [1, 2, 3, 4], "rtt words")
    check.that(set(metrics(found)) == {"half_round_trip"}, "rtt metric")
    for op in ("isend", "put", "store", "store_async", "get", "get_async"):
        for test in ("lat", "bw"):
            found = rows_of("--op", op, "--sizes", "1,100,5000,70001,1m", test)
            check.that([row["bytes"] for row in found] ==
                       [1, 100, 5000, 70001, 1 << 20], "%s sizes" % test)
            check.that(all(row["op"] == op for row in found), "op in the row")
    for op in ("request", "isend"):
        found = rows_of("--op", op, "rate")
        check.that(found and found[0]["unit"] == "msg/s", "rate unit")
    check.that(metrics(rows_of("logp")) == ["os", "or", "L", "g",
                                            "end_to_end"], "logp metrics")
    found = rows_of("--sizes", "1k,100k", "exchange")
    check.that(metrics(found) == 2 * ["sends_first", "receives_first",
                                      "out_of_step"], "exchange metrics")
    found = rows_of("--sizes", "1k,1m", "overlap")
    check.that(all(row["value"] >= 0.99 for row in found),
               "an overlap ratio is at least one")
    rows_of("fadd")
    for op in ("posted", "unexpected"):
        found = rows_of("--op", op, "--depth", "64", "match")
        check.that([row["depth"] for row in found] == [0, 1, 4, 16, 64],
                   "match depths")


def test_more_ranks():
    for ranks in (2, 4):
        for op in ("isend", "request"):
            rows_of("--op", op, "--sizes", "0,1,3000", "ring", ranks=ranks)
        rows_of("--sizes", "0,8,100k", "mcast", ranks=ranks)
        for op in ("barrier", "bcast", "allreduce", "alltoall"):
            found = rows_of("--op", op, "--sizes", "0,8,100k", "coll",
                            ranks=ranks)
            check.that(metrics(found) == (1 if op == "barrier" else 3) * [op],
                       "%s rows" % op)
    rows_of("rtt", ranks=4)
    rows_of("--sizes", "0,8,100k", "lat", ranks=3)
    found = rows_of("--pin", "0", "rtt")
    check.that(found and found[0]["settings"]["pinning"] == "0,0",
               "both ranks on one core")


def test_settings_shown():
    found = rows_of("--sizes", "1k", "lat", AM_PROTO="get")
    check.that(found and found[0]["settings"]["variables"]["AM_PROTO"] ==
               "get", "an effective setting is in the row")


def test_files():
    """Counters, trace and table go where the variables say, and nowhere
    else; a file that cannot be written is named and spoils nothing."""
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "trace%r.json")
        rows_of("--sizes", "8,100k", "lat", AM_TRACE=trace,
                AM_TRACE_RECORDS="1k")
        for rank in (0, 1):
            with open(trace.replace("%r", str(rank))) as file:
                events = json.load(file)
            eager = [e for e in events if e["name"] == "msg_eager"]
            check.that(40 <= len(eager) <= 1024 and all(
                e["pid"] == rank and e["args"]["a"] == 1 - rank
                for e in eager), "rank %d's messages are in its trace" % rank)
        check.that(len(os.listdir(folder)) == 2, "a file for each rank")
        for name in ("AM_TRACE", "AM_STATS"):
            got = job.perf(*FEW, "rtt", **{name: folder + "/none/file"})
            lines = got.stderr.splitlines()
            check.that(got.returncode == 0 and len(lines) == 2 and all(
                "%s names the file %s/none/file, which cannot be written: No such"
                " file" % (name, folder) in line for line in lines), "%s: %r" % (name, got.stderr))
    got = job.perf(*FEW, "--sizes", "8", "lat", AM_EXPLAIN="yes",
                   AM_LOG="info")
    check.that(got.returncode == 0 and "device shm, contiguous data" in
               got.stderr and "lowest cost" in got.stderr,
               "AM_EXPLAIN logs the table: %r" % got.stderr)


def test_text():
    got = job.perf("--iterations", "40", "--sizes", "8", "lat")
    check.that(got.returncode == 0 and got.stdout.startswith("# libam "),
               "text output has a header")
    check.that("half_round_trip" in got.stdout, "text output names the metric")
    got = job.perf("--iterations", "40", "--sizes", "8", "--progress", "lat")
    check.that("%" in got.stderr, "--progress draws a bar on stderr")


def test_bad_arguments():
    for args, word in (
            ([], "one test"), (["rtt", "lat"], "one test"),
            (["--nonsense", "rtt"], "--nonsense"), (["-x", "rtt"], "-x"),
            (["nope"], "nope"), (["--op", "nope", "lat"], "nope"),
            (["--op", "put", "rtt"], "put"),
            (["--sizes", "8", "rtt"], "--sizes"),
            (["--sizes", "", "lat"], "--sizes"),
            (["--sizes", "8:4", "lat"], "8:4"),
            (["--sizes", "1:8:x1", "lat"], "x1"),
            (["--sizes", "1:max:+1", "lat"], "1:max:+1"),
            (["--iterations", "0", "rtt"], "--iterations"),
            (["--iterations", "-4", "rtt"], "-4"),
            (["--window", "x", "bw"], "--window"),
            (["--pin", "a,b", "rtt"], "a,b"), (["-n", "0", "rtt"], "0"),
            (["--pin", "1023", "rtt"], "core 1023"),
            (["-n", "4", "--pin", "0,0,0,1023", "rtt"], "core 1023"),
            (["-n", "1", "rtt"], "2 ranks"), (["lat", "--sizes"], "--sizes")):
        got = job.run(PERF, *args)
        check.that(got.returncode == 2, "am_perf %s exits with 2, not %d" % (
            args, got.returncode))
        check.that(word in got.stderr and got.stderr.count("\n") == 1,
                   "am_perf %s says why in a line: %r" % (args, got.stderr))
        check.that(got.stdout == "", "am_perf %s prints nothing else" % args)


def test_bad_job():
    """What the launcher or the environment gets wrong is one sentence."""
    got = job.run(PERF, "rtt", PMI_RANK="0", PMI_SIZE="2")
    check.that(got.returncode == 1 and "PMI_FD is not set" in got.stderr,
               "no PMI_FD: %r" % got.stderr)
    got = job.run(PERF, "rtt", PMI_RANK="0", PMI_SIZE="2", PMI_PORT="h:1")
    check.that(got.returncode == 1 and "PMI_PORT" in got.stderr,
               "PMI_PORT alone: %r" % got.stderr)
    for value, word in (("get_result rc=0 value=00", "get"),
                        ("get_result", "get"), ("", "get")):
        results = job.Job(
            2, [PERF, "rtt"], edit=lambda rank, line: value
            if line.startswith("cmd=get_result") else line).wait()
        for code, out, err in results:
            check.that(code == 1 and err.count("\n") == 1 and
                       "the launcher answered" in err,
                       "a bad answer %r: %r %r" % (value, code, err))
    results = job.Job(2, [PERF, "--pin", "0,1023", "rtt"]).wait()
    check.that([code for code, out, err in results] == [2, 2] and
               [err.count("\n") for code, out, err in results] == [1, 0] and
               "core 1023" in results[0][2],
               "rank 0 alone says which core there is not: %r" % results)
    for name, value in (("AM_EAGER_MAX", "banana"), ("AM_LOG", "loud"),
                        ("AM_PROTO", "eager:4k,get:1k"),
                        ("AM_SHM_SLOTS", "0"), ("AM_FAULT", "drop=2/1")):
        got = job.perf("rtt", **{name: value})
        check.that(got.returncode == 1 and got.stdout == "" and
                   got.stderr.count("\n") == 1 and
                   '%s is "%s"' % (name, value) in got.stderr,
                   "a bad variable is one sentence, once: %r" % got.stderr)
    got = job.perf(*FEW, "rtt", AM_EAGER_MAXX="1k", AM_STATS="-")
    check.that(got.returncode == 0 and got.stderr.count("AM_EAGER_MAXX") == 1
               and got.stderr.count("rank 0 tx_requests") == 1,
               "the launcher's look at the variables is silent: %r" % got.stderr)


def test_limits():
    got = job.run(PERF, *FEW, "--sizes", "64k,1m", "limits")
    check.that(got.returncode == 0, "limits: " + got.stderr)
    names = set(metrics(job.rows(got.stdout)))
    check.that({"yield_handoff_one_core", "futex_handoff_one_core"} <= names,
               "limits has the hand-offs on one core")
    if len(os.sched_getaffinity(0)) > 1:
        check.that({"flag_pingpong_one_way", "memcpy", "pipelined_copy",
                    "udp_echo", "tcp_echo"} <= names, "limits has all probes")
    got = job.run(PERF, *FEW, "--op", "handoff", "limits")
    check.that(set(metrics(job.rows(got.stdout))) ==
               {"yield_handoff_one_core", "futex_handoff_one_core"},
               "a group of probes alone: %r" % got)


def test_full():
    """What does not get there is no success, and why is said once."""
    got = job.run_full(PERF, "--iterations", "1", "--op", "flag", "limits")
    check.that(got.returncode == 1 and got.stderr.count("\n") == 1 and
               "cannot write the results" in got.stderr,
               "am_perf limits to a full disk: %r" % got)


def test_pmi_server():
    """The tools run under the tests' own server, and say farewell to it."""
    started = job.Job(2, [PERF, "--iterations", "40", "rtt"])
    results = started.wait()
    check.that([code for code, out, err in results] == [0, 0],
               "rtt under the test's server: %r" % results)
    check.that(started.finalized == {0, 1}, "both ranks finalise")


test_bad_arguments()
test_bad_job()
test_pmi_server()
test_each()
test_more_ranks()
test_settings_shown()
test_files()
test_text()
test_limits()
test_full()
check.finish()
