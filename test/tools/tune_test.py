#!/usr/bin/env python3
"""am_tune: its options; that the profile it writes is one that libam begins
with; and what is said of one that is not.  What the numbers are is not
checked: others may want the cores."""
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
    for args in (["--nonsense"], ["extra"], ["--check", "-o", "x"]):
        got = job.run(TUNE, *args)
        check.that(got.returncode == 2 and got.stderr != "" and
                   got.stdout == "", "am_tune %s is refused" % args)
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


test_options()
if len(os.sched_getaffinity(0)) < 2:
    sys.exit(job.SKIP)  # there is nothing to measure
with tempfile.TemporaryDirectory() as folder:
    test_profile(folder)
check.finish()
