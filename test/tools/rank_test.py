#!/usr/bin/env python3
"""Ranks in trouble: idle for long, killed, opened again, without memory or
permissions.  Each must end with a clear sentence and leave nothing behind."""
import os
import signal
import subprocess
import threading
import time

import job

check = job.Checks()
RANK = job.program("test/tools/rank")
PERF = job.program("am_perf")
DENY = job.program("test/tools/deny")
HANG_S = 60  # no bar for speed: others may want the cores


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


class Reaped(job.Job):
    """A job whose ranks are reaped as they end, as a launcher does."""

    def wait(self, seconds=job.LIMIT_S):
        last = self.ranks[-1]
        threading.Thread(target=last.wait, daemon=True).start()
        return super().wait(seconds)


def test_killed(*how):
    """A rank is killed; with `how` before the command, by which the ranks may
    not do what they usually see it by."""
    for ranks in (2, 4):
        before = shm_names()
        results = Reaped(ranks, [*how, RANK, "die"]).wait()
        if results[0][0] == job.SKIP:
            print("not tested: seccomp filters cannot be installed here")
            return
        for rank, (code, out, err) in enumerate(results[:-1]):
            check.that(code == 0 and out != "",
                       "rank %d sees the death: %r %r" % (rank, out, err))
            if out:
                seconds, text = out.strip().split(" ", 1)
                check.that(float(seconds) < HANG_S,
                           "it does not hang, for %s s" % seconds)
                check.that("rank %d" % (ranks - 1) in text,
                           "the dead rank is named: %r" % text)
        check.that(results[-1][0] == -9, "the last rank was killed")
        check.that(shm_names() <= before, "nothing is left in /dev/shm")


def test_killed_without_proc():
    """Neither a pidfd nor /proc: the number is all that the others have."""
    flags = [] if os.geteuid() == 0 else ["-U", "-r"]
    with open(RANK, "rb") as program:
        text = program.read()
        if b"__asan_init" in text or b"__tsan_init" in text:
            print("not tested: sanitizers need /proc")
            return
    if in_namespace("mount -t tmpfs tmpfs /proc") is None:
        print("not tested: no mount namespace")
        return
    test_killed("unshare", *flags, "-m", "sh", "-c",
                'mount -t tmpfs tmpfs /proc && exec "$@"', "sh", DENY,
                "--pidfd")


def test_file_limit():
    """ulimit -f below the size of the segment: a sentence, and no signal."""
    for size in (0, 1 << 20):
        results = job.Job(2, ["sh", "-c", 'ulimit -f %d; exec "$@"' % (
            size // 1024), "sh", RANK, "close"]).wait()
        code, out, err = results[0]
        check.that(code == 1 and err.count("\n") == 1 and "ulimit -f" in err and
                   "needs" in err, "the limit is named: %r" % results)
        check.that(results[1][0] == 1, "the other one ends: %r" % results)


def test_full_disk():
    """Counters and trace on a disk without space: told, not fatal."""
    for extra, what in (({"AM_STATS": "/dev/full"}, "AM_STATS"),
                        ({"AM_TRACE": "/dev/full"}, "AM_TRACE")):
        results = job.Job(2, [RANK, "again", "1"], **extra).wait()
        for code, out, err in results:
            check.that((code, out) == (0, "again\n"),
                       "it runs all the same: %r" % results)
        said = "".join(r[2] for r in results)
        check.that(what in said and "No space left on device" in said and
                   said.count("\n") <= 2, "it is said once: %r" % results)


def test_never_comes():
    """A rank that ends before it joins: the others give up, each with one
    sentence."""
    for ranks in (2, 4):
        results = job.Job(
            ranks, [RANK, "close"], AM_CONNECT_TIMEOUT="300",
            rank_command=lambda rank: [RANK, "close"] if rank else ["true"]
        ).wait()
        for code, out, err in results[1:]:
            check.that(code not in (0, None) and err.count("\n") == 1
                       and "300 ms" in err and "AM_CONNECT_TIMEOUT" in err,
                       "a start without rank 0: %r %r" % (code, err))


def test_no_limit():
    """AM_CONNECT_TIMEOUT=0 is no limit, to whoever waits."""
    for ranks in (2, 4):
        results = job.Job(ranks, [RANK, "again", "3"],
                          AM_CONNECT_TIMEOUT="0").wait()
        check.that([r[:2] for r in results] == ranks * [(0, "again\n")],
                   "a start without a limit: %r" % results)


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


def test_denied(*how):
    """process_vm_readv forbidden: the same answers, and one line that says
    so when the log is asked for it."""
    command = [DENY, *how, PERF, "--json", "--iterations", "40", "--sizes",
               "1k,300k,4m", "--op"]
    said = []
    for op in ("isend", "put", "get"):
        # A rank that may reach itself finds out when it first tries another.
        results = job.Job(2, command + [op, "bw"], AM_LOG="info",
                          AM_SHM_CMA="on").wait()
        if results[0][0] == job.SKIP:
            print("not tested: seccomp filters cannot be installed here")
            return
        check.that([r[0] for r in results] == [0, 0],
                   "bw by %s without process_vm_readv: %r" % (op, results))
        lines = [line for code, out, err in results
                 for line in err.splitlines() if "process_vm" in line]
        check.that(len(lines) <= 2 and (lines or how),
                   "each rank says so once: %r" % lines)
        said.extend(lines)
        quiet = job.Job(2, command + [op, "bw"]).wait()
        check.that([r[2] for r in quiet] == ["", ""],
                   "and is silent unless asked: %r" % quiet)
    check.that(said, "somebody said that it is forbidden")


def test_single_copy():
    """AM_SHM_CMA=on: process_vm_readv and writev between processes."""
    if not job.may_read_others():
        print("not tested: process_vm_readv is not allowed here")
        return
    for op, counter in (("isend", "device_gets"), ("put", "device_puts")):
        results = job.Job(2, [PERF, "--json", "--iterations", "40", "--sizes",
                              "300k,4m", "--op", op, "bw"], AM_SHM_CMA="on",
                          AM_PROTO="get", AM_STATS="-").wait()
        used = [int(line.split()[3]) for code, out, err in results
                for line in err.splitlines() if counter in line.split()]
        check.that([r[0] for r in results] == [0, 0] and sum(used) >= 40,
                   "%s by single copy: %r %r" % (op, used, results))


def test_cut():
    """A peer that nothing reaches, on a network that loses all."""
    results = job.Job(2, [RANK, "cut"], AM_FAULT="drop=1/1",
                      AM_RELIABILITY="nack", AM_CHAN_GIVE_UP="1").wait()
    code, out, err = results[0]
    check.that(code == 0 and "rank 1 is gone" in out and "1 s" in out,
               "the unreachable rank is named: %r" % results)
    check.that(out != "" and 1 <= float(out.split()[0]) < 5,
               "after the time that was set: %r" % out)
    check.that(results[1][0] == 0, "the other ends by itself: %r" % results)


class Dying(job.Job):
    """A job whose rank `victim` is killed while all start: it has given its
    address and never gets the others'."""

    def __init__(self, size, victim, command, **extra):
        self.victim = victim
        super().__init__(size, command, **extra)

    def answer(self, rank, sock, line):
        if rank == self.victim and line == "cmd=barrier_out":
            self.ranks[rank].kill()
        super().answer(rank, sock, line)


def test_killed_at_start():
    for victim in (0, 2):
        before = shm_names()
        start = time.monotonic()
        results = Dying(3, victim, [RANK, "close"]).wait()
        took = time.monotonic() - start
        check.that(results[victim][0] == -9, "the victim was killed")
        for rank in (1, 2) if victim == 0 else (0,): # who waits for it
            # a line for the other survivor, too, if that gave up before
            check.that(results[rank][0] == 1 and results[rank][2].count("\n")
                       <= 3 and "rank %d is gone" % victim in results[rank][2],
                       "rank %d is named: %r" % (victim, results))
        check.that(None not in [r[0] for r in results],
                   "all end by themselves: %r" % results)
        check.that(took < 60, "and do not hang: %.1f s" % took)
        check.that(shm_names() <= before, "nothing is left in /dev/shm")


class Stopping(Dying):
    """The same, but the victim is only stopped: alive, and silent."""

    def answer(self, rank, sock, line):
        if rank == self.victim and line == "cmd=barrier_out":
            self.ranks[rank].send_signal(signal.SIGSTOP)
        job.Job.answer(self, rank, sock, line)


def test_stopped_at_start():
    """Who waits for a silent rank gives up when AM_CONNECT_TIMEOUT says."""
    for victim in (0, 1):
        started = Stopping(2, victim, [RANK, "close"],
                           AM_CONNECT_TIMEOUT="300")
        code = started.ranks[1 - victim].wait(timeout=60)
        started.ranks[victim].kill()
        results = started.wait()
        check.that(code == 1 and "within 300 ms" in results[1 - victim][2] and
                   results[1 - victim][2].count("\n") == 1,
                   "rank %d is waited for in vain: %r" % (victim, results))


def test_unknown_variable():
    """One warning with the nearest name, whatever the number of ranks."""
    results = job.Job(2, [RANK, "again", "1"], AM_EAGR_MAX="1k").wait()
    check.that([r[:2] for r in results] == 2 * [(0, "again\n")],
               "it runs all the same: %r" % results)
    lines = "".join(r[2] for r in results).splitlines()
    check.that(len(lines) == 1 and "AM_EAGR_MAX is not a variable" in lines[0]
               and "AM_EAGER_MAX" in lines[0], "one warning: %r" % lines)


def test_bad_value():
    results = job.Job(2, [RANK, "again", "1"], AM_WAIT="doze").wait()
    check.that(all(code == 1 and err.count("\n") == 1 and "AM_WAIT" in err and
                   "doze" in err and "auto|spin" in err.replace(", ", "|")
                   for code, out, err in results),
               "a bad value is one sentence: %r" % results)


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
    """/dev/shm read-only or full: libam needs none."""
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
        check.that(got.stdout.strip().endswith("exit 0"),
                   "works with /dev/shm %s: %r" % (what, got))


test_again()
test_close()
test_idle()
test_killed()
test_killed(DENY, "--pidfd")
test_killed_without_proc()
test_file_limit()
test_full_disk()
test_all_killed()
test_never_comes()
test_killed_at_start()
test_stopped_at_start()
test_cut()
test_single_copy()
test_unknown_variable()
test_bad_value()
test_memory()
test_denied()
test_denied("--others")
test_shm_trouble()
check.finish()
