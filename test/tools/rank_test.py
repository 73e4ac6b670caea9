#!/usr/bin/env python3
"""Ranks in trouble: idle for long, killed, opened again, without memory or
permissions.  Each must end with a clear sentence and leave nothing behind."""
import os
import subprocess

import job

check = job.Checks()
RANK = job.program("test/tools/rank")
PERF = job.program("am_perf")
DENY = job.program("test/tools/deny")


def shm_names():
    """What a job of ours could leave: others use /dev/shm as well."""
    return {name for name in os.listdir("/dev/shm") if "am" in name.lower()
            and not name.startswith(("sem.", "psm", "ucx", "vader"))}


def test_idle():
    """A bound on a resource, not a time: blocked means off the core."""
    for ranks in (2, 4):
        results = job.Job(ranks, [RANK, "idle", "3"]).wait()
        check.that(all(code == 0 for code, out, err in results),
                   "idle ranks end well: %r" % results)
        out = results[1][1].split()
        check.that(len(out) == 2 and float(out[0]) < 0.02,
                   "a rank blocked in a receive uses %r of a core" % out)


def test_killed():
    for ranks in (2, 4):
        before = shm_names()
        results = job.Job(ranks, [RANK, "die"]).wait()
        for rank, (code, out, err) in enumerate(results[:-1]):
            check.that(code == 0 and out != "",
                       "rank %d sees the death: %r %r" % (rank, out, err))
            if out:
                seconds, text = out.strip().split(" ", 1)
                check.that(float(seconds) < 2, "within 2 s, not " + seconds)
                check.that("rank %d" % (ranks - 1) in text,
                           "the dead rank is named: %r" % text)
        check.that(results[-1][0] == -9, "the last rank was killed")
        check.that(shm_names() <= before, "nothing is left in /dev/shm")


def test_all_killed():
    """kill -9 of every rank in the middle of traffic leaves nothing."""
    before = shm_names()
    started = job.Job(2, [PERF, "--iterations", "100000000", "rtt"])
    try:
        started.ranks[0].wait(timeout=1)
    except subprocess.TimeoutExpired:
        pass
    for rank in started.ranks:
        rank.kill()
    started.wait()
    check.that(shm_names() <= before, "nothing is left in /dev/shm")


def test_again():
    for ranks in (1, 2, 4):
        results = job.Job(ranks, [RANK, "again", "5"]).wait()
        check.that([r[:2] for r in results] == ranks * [(0, "again\n")],
                   "five times open and close: %r" % results)
    if job.launcher():
        got = job.run(job.launcher(), "-n", "2", RANK, "again", "3")
        check.that(got.returncode == 0 and got.stdout == 2 * "again\n" and
                   got.stderr == "", "the same under mpiexec: %r" % got)


def test_close():
    results = job.Job(4, [RANK, "close"]).wait()
    check.that([r[:2] for r in results] == 4 * [(0, "closed\n")],
               "ranks that end at different times: %r" % results)


def test_denied():
    """process_vm_readv forbidden: the same answers, and one line that says
    so when the log is asked for it."""
    command = [DENY, PERF, "--json", "--iterations", "40", "--sizes",
               "1k,300k,4m", "--op"]
    for op in ("isend", "put", "get"):
        results = job.Job(2, command + [op, "bw"], AM_LOG="info").wait()
        if results[0][0] == job.SKIP:
            print("not tested: seccomp filters cannot be installed here")
            return
        check.that([r[0] for r in results] == [0, 0],
                   "bw by %s without process_vm_readv: %r" % (op, results))
        lines = [line for code, out, err in results
                 for line in err.splitlines() if "process_vm" in line]
        check.that(1 <= len(lines) <= 2, "each rank says so once: %r" % lines)
        quiet = job.Job(2, command + [op, "bw"]).wait()
        check.that([r[2] for r in quiet] == ["", ""],
                   "and is silent unless asked: %r" % quiet)


def memory_of(ranks):
    """The largest holding of a rank that has talked to nobody: (malloc,
    shared)."""
    results = job.Job(ranks, [RANK, "memory"]).wait()
    check.that(all(code == 0 for code, out, err in results),
               "%d ranks start: %r" % (ranks, results[:2]))
    held = [[int(word) for word in out.split()] for code, out, err in results]
    return max(h[0] for h in held), max(h[1] for h in held)


def test_memory():
    """A peer that was never talked to costs at most 256 bytes."""
    few, many = 4, 100
    before, after = memory_of(few), memory_of(many)
    if before[0] == 0:
        print("not tested: this malloc counts nothing (a sanitizer's)")
        return
    # Shared memory is reported in whole kilobytes: one is chance.
    each = (after[0] - before[0] + max(0, after[1] - before[1] + 1024)) / (
        many - few)
    print("memory for a peer never talked to: %.0f bytes (malloc %r, shared "
          "%r)" % (each, (before[0], after[0]), (before[1], after[1])))
    check.that(each <= 256, "a peer never talked to costs %.0f bytes" % each)


def in_namespace(script, *args):
    """Run a shell script in a mount namespace of its own; None if there can
    be none."""
    flags = [] if os.geteuid() == 0 else ["-U", "-r"]
    if job.run("unshare", *flags, "-m", "true").returncode != 0:
        return None
    return job.run("unshare", *flags, "-m", "sh", "-c", script, "sh", *args)


def test_shm_trouble():
    """/dev/shm read-only or full: it works without it, or says why not."""
    if job.launcher() is None:
        print("not tested: no mpiexec")
        return
    line = '"$@" 2>&1; echo "exit $?"'
    for what, options in (("read-only", "ro"), ("full", "size=4k")):
        script = ("mount -t tmpfs -o %s tmpfs /dev/shm && "
                  "{ dd if=/dev/zero of=/dev/shm/full bs=4k count=1 "
                  "2>/dev/null; %s; }" % (options, line))
        got = in_namespace(script, PERF, "-n", "2", "--iterations", "40",
                           "--sizes", "8,100k", "lat")
        if got is None:
            print("not tested: no mount namespaces here")
            return
        works = got.stdout.strip().endswith("exit 0")
        says = "/dev/shm" in got.stdout and "exit" in got.stdout
        check.that(works or says, "/dev/shm %s: %r" % (what, got))


test_again()
test_close()
test_idle()
test_killed()
test_all_killed()
test_memory()
test_denied()
test_shm_trouble()
check.finish()
