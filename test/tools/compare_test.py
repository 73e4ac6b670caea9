#!/usr/bin/env python3
"""benchmarks/am_core_compare: what it reads from other programs' output, and
how it judges, on figures made up here."""
import importlib.machinery
import importlib.util
import os
import sys

import job

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(job.SRC, "benchmarks"))
import curve  # noqa: E402
import peers  # noqa: E402

check = job.Checks()
PATH = os.path.join(job.SRC, "benchmarks", "am_core_compare")


def load(path):
    loader = importlib.machinery.SourceFileLoader("am_core_compare", path)
    spec = importlib.util.spec_from_loader(loader.name, loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


compare = load(PATH)

UCX = """iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr
200000,0.021,0.095,0.095,80.11,80.11,10500329,10500329
"""
TESTAM = """=====> testam nprocs=2 config=RELEASE
A:         AMShort     ping-pong roundtrip ReqRep:  0.141 sec    2.820 us
A:         AMShort     ping-pong roundtrip ReqReq:  0.207 sec    4.136 us
A:         AMShort     flood     one-way   Req   :  0.017 sec    0.050 us
A:         AMShort     flood     roundtrip ReqRep:  0.079 sec    1.588 us
B:       0 AMMedium    ping-pong roundtrip ReqRep:  0.101 sec    2.027 us
"""


def fails(function, *args):
    try:
        function(*args)
    except peers.Failed as error:
        return str(error) != ""
    return False


def test_reading():
    check.that(peers.read_ucx(UCX)["overall_mr"] == 10500329, "ucx rate")
    got = peers.read_testam(TESTAM)
    check.that(got == {"half_round_trip_ns": 1410.0, "rate": 2e7},
               "testam: %r" % got)
    check.that(fails(peers.read_ucx, "error"), "no figures from ucx")
    check.that(fails(peers.read_testam, UCX), "no figures from testam")
    check.that(fails(peers.read_testam, TESTAM.replace("0.050", "0.000")),
               "a flood of no time")
    check.that(fails(peers.testam, "/nonexistent", [0, 1]), "no testam")


class Options:
    build = "."
    pin = "0,1"
    gasnet = None
    only = None
    slices = 1


def verdicts(values, rounds=()):
    """Rows judged on these series, and on slices that got these values."""
    runner = compare.Runner(Options())
    for name, series in values.items():
        for value in series:
            runner.add(name, value)
    for got in rounds:
        def short():
            for name, value in got.items():
                runner.add(name, value)
        runner.measurements = lambda: [[("made up", short)], []]
        runner.slice(lambda name: None)
    return {row["figure"]: row for row in compare.judge(runner)}


def test_judging():
    base = {"probe flag_pingpong_one_way": 50, "rtt": 70, "gasnet rtt": 108,
            "ucx am_lat": 400, "rate": 50e6, "gasnet rate": 22e6}
    slow = {name: value * 4 for name, value in base.items()}
    rows = verdicts({}, [base, slow, dict(base, rtt=500)])
    row = rows["request/reply, half round trip, against a flag"]
    check.that(row["ratio"] == 1.4 and row["pass"] is True,
               "the median of the slices' ratios: %r" % row)
    row = rows["the same against the best of GASNet and UCX"]
    check.that(row["reference"] == 108 and row["pass"] is True,
               "the better peer counts")
    row = rows["requests one way, against GASNet"]
    check.that(row["pass"] is True, "2.27 x GASNet")
    row = rows["8-byte message, half round trip, against a flag"]
    check.that(row["pass"] is None, "what was not taken is not judged")
    rows = verdicts({}, [dict(base, rtt=100, rate=40e6)])
    check.that([row["pass"] for row in list(rows.values())[:3]] ==
               [False, False, False], "missed bars fail")


def test_interval():
    check.that(curve.interval([1, 2, 3]) == (-curve.math.inf, curve.math.inf),
               "three values say nothing")
    check.that(curve.interval(list(range(8))) == (0, 7), "eight say a little")
    low, high = curve.interval(list(range(100)))
    check.that(36 <= low <= 38 and 61 <= high <= 63,
               "a hundred: %r to %r" % (low, high))
    check.that(curve.is_open([1] * 7, 0.9), "too few values")
    check.that(not curve.is_open([1] * 20, 0.9) and
               not curve.is_open([0.8] * 20, 0.9), "either side is decided")
    check.that(curve.is_open([0.8, 1] * 10, 0.9) and
               not curve.is_open([0.8, 1] * curve.MOST, 0.9),
               "on the bar: again, but not for ever")


class MadeUp:
    """A machine whose forced protocols are all as good as the default."""

    def __init__(self):
        self.calls = []

    def perf(self, *args, **env):
        sizes = [int(word) for word in args[1].split(",")]
        self.calls.append((env.get("AM_PROTO"), set(sizes)))
        return [{"bytes": size, "value": 10.0 + size} for size in sizes]


def test_curve():
    every = curve.sizes()
    check.that(every[:4] == [1, 2, 3, 4] and every[-1] == 4 << 20,
               "sizes: %r" % every)
    steps = [(a, b) for group, _ in curve.groups()
             for a, b in zip(group, group[1:])]
    check.that(steps == list(zip(every, every[1:])), "each step once")
    # a machine that is twice as slow in one round: no step and no choice
    values = {"step 2": [2, 2, 2], "step 4": [0.85, 0.84, 1.7],
              "step 8": [2, 1, 2], "bw auto 4": [17, 8, 17],
              "auto/get 4": [17 / 18, 17 / 18, 2], "auto/put 8": [40 / 39],
              "auto/eager 2": [1]}
    rows = verdicts(values)
    step = rows["bandwidth from a size to the next, worst at 4"]
    check.that(step["pass"] is False and abs(step["ratio"] - 0.85) < 1e-9,
               "a drop of 15%")
    best = rows["bandwidth against get, the best, worst at 4"]
    check.that(best["pass"] is False, "17 against 18 of get")


def test_settle():
    machine = MadeUp()
    runner = compare.Runner(Options())
    taken = curve.Curve(machine.perf, runner.add)
    taken.round()
    pairs = list(zip(machine.calls[::2], machine.calls[1::2]))
    check.that(all(a[1] == b[1] and None in (a[0], b[0]) for a, b in pairs),
               "a forced protocol stands beside the default")
    for _ in range(curve.LEAST):
        taken.round()
    runner.series["auto/get 2"] = [0.9, 1.0] * 10
    runner.series["step 4"] = [0.8, 1.1] * 10
    check.that(curve.undecided(runner.series) == ({("get", 2)}, {4}),
               "undecided: %r" % (curve.undecided(runner.series),))
    machine.calls = []
    taken.settle(runner.series, 60)
    check.that(curve.undecided(runner.series) == (set(), set()), "settled")
    check.that({3, 4} in [sizes for _, sizes in machine.calls] and
               {p for p, _ in machine.calls} == {None, "get"},
               "only what was open: %r" % machine.calls[:4])
    count = len(runner.series["auto/get 2"])
    taken.settle(runner.series, 60)
    check.that(len(runner.series["auto/get 2"]) == count, "and no more")


def test_arguments():
    got = job.run(sys.executable, PATH, "--build", "/nonexistent")
    check.that(got.returncode == 2 and "no am_perf" in got.stderr,
               "no build: %r" % got.stderr)
    for args, word in ((["--runs", "0"], "--runs"),
                       (["--slices", "0"], "--slices"), (["--pin", "0"], "--pin"),
                       (["--nope"], "--nope")):
        got = job.run(sys.executable, PATH, "--build", job.BUILD, *args)
        check.that(got.returncode == 2 and word in got.stderr,
                   "%r: %r" % (args, got.stderr))


def test_one_round():
    """A small real round, from the measurement to the file."""
    if job.launcher() is None or len(os.sched_getaffinity(0)) < 2:
        return
    path = os.path.join(job.BUILD, "compare_test.json")
    got = job.run(sys.executable, PATH, "--build", job.BUILD, "--runs", "1",
                  "--slices", "2", "--only", "rtt", "--json", path)
    check.that(got.returncode in (0, 1) and "not taken" in got.stdout,
               "one round of rtt: %r" % got)
    with open(path) as file:
        text = file.read()
    os.unlink(path)
    check.that('"rtt"' in text and '"series"' in text, "the file has it")


test_reading()
test_judging()
test_interval()
test_curve()
test_settle()
test_arguments()
test_one_round()
check.finish()
