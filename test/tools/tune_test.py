#!/usr/bin/env python3
"""am_tune: its options; that the profile it writes is one that libam begins
with, and what is said of one that is not; that --check compares.  What the
numbers are is not checked: others may want the cores."""
import os
import sys
import tempfile

import job

check = job.Checks()
TUNE = job.program("am_tune")


def test_options():
    got = job.run(TUNE, "--help")
    check.that(got.returncode == 0 and got.stdout.startswith("usage: am_tune"),
               "am_tune --help ends well")
    for args in (["--nonsense"], ["extra"], ["--check", "-o", "x"],
                 ["--sizes", "8"], ["--check", "--sizes", "8x"],
                 ["--check", "--rounds", "0"], ["--check", "--rounds", "3x"],
                 ["--check", "--rounds", "65"], ["--rounds", "3"]):
        got = job.run(TUNE, *args)
        check.that(got.returncode == 2 and got.stderr != "" and
                   got.stdout == "", "am_tune %s is refused" % args)
    for sizes in ("4g", "8,max", "1:65m:x2"):
        got = job.run(TUNE, "--check", "--sizes", sizes, "--rounds", "1")
        check.that(got.returncode == 2 and got.stdout == "" and
                   got.stderr.count("\n") == 1 and "64m" in got.stderr,
                   "more than there may be memory for is refused: %r" % got)
    got = job.run(TUNE, AM_PROTO="eagre")
    check.that(got.returncode == 1 and got.stderr.count("\n") == 1,
               "a bad variable is told once: " + got.stderr)


def test_profile(folder):
    path = os.path.join(folder, "profile")
    got = job.run(TUNE, "-o", path)
    check.that(got.returncode == 0 and got.stderr == "",
               "am_tune measures: " + got.stderr)
    check.that("distance " in got.stdout and path in got.stdout,
               "and says what, and where it is")
    info = job.program("am_info")
    got = job.run(info, "-p", AM_PROFILE=path)
    check.that(got.returncode == 0 and "(profile)" in got.stdout,
               "am_info -p says that costs are a profile's: " + got.stdout)
    with open(path) as file:
        text = file.read()
    with open(path, "w") as file:
        file.write(text.replace("version = 1", "version = 9"))
    got = job.run(info, "-p", AM_PROFILE=path)
    check.that(got.returncode != 0 and got.stderr.count("\n") == 1 and
               path in got.stderr, "a bad one is told once: " + got.stderr)
    with open(path, "w") as file:
        file.write(text.replace("cpus = ", "cpus = 7"))
    got = job.run(info, "-p", AM_PROFILE=path)
    check.that(got.returncode == 0 and "(profile)" not in got.stdout and
               "not used" in got.stderr, "a foreign one is left: " + got.stderr)


def test_full():
    """What does not get there is no success, and why is said once."""
    got = job.run_full(TUNE, "--check", "--sizes", "1", "--rounds", "1")
    check.that(got.returncode == 1 and got.stderr.count("\n") == 1 and
               "No space left on device" in got.stderr,
               "am_tune --check to a full disk: %r" % got)


def test_check(folder):
    got = job.run(TUNE, "--check", "--sizes", "1,16k", "--rounds", "1")
    check.that(got.returncode == 0 and got.stderr == "",
               "am_tune --check compares: " + got.stderr)
    rows = [line.split() for line in got.stdout.splitlines()
            if not line.startswith("#")]
    kinds = [line for line in got.stdout.splitlines()
             if line.endswith(", warm") or line.endswith(" in new rings")]
    check.that(len(kinds) >= 12 and len(rows) == 2 * len(kinds),
               "warm and cold, three ways, on two cores and on one: " +
               got.stdout)
    names = {"eager", "buffered", "prefix", "get", "put"}
    check.that(all(row[1] in names and row[4] in names and
                   float(row[3]) > 0 for row in rows),
               "each row has a choice, a time and the best: " + got.stdout)
    check.that("# one core, cores " in got.stdout and
               " of %d rows" % (len(rows) // (len(kinds) // 6)) in got.stdout,
               "and it counts the rows that lose")
    bad = os.path.join(folder, "bad")
    with open(bad, "w") as file:
        file.write("version = 9;\n")
    got = job.run(TUNE, "--check", "--sizes", "1", "--rounds", "1",
                  AM_PROFILE=bad)
    check.that(got.returncode == 1 and bad in got.stderr,
               "the profile that AM_PROFILE names is the one in use: " +
               got.stderr)


test_options()
if len(os.sched_getaffinity(0)) < 2:
    sys.exit(job.SKIP)  # there is nothing to measure
test_full()
with tempfile.TemporaryDirectory() as folder:
    test_profile(folder)
    test_check(folder)
check.finish()
