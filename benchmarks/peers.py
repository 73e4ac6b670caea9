"""Measurements by other transports for benchmarks/am_core_compare: runs UCX's
ucx_perftest and GASNet's testam pinned, and reads their figures."""
import csv
import os
import re
import shutil
import socket
import subprocess
import time

LIMIT_S = 120


class Failed(Exception):
    """A measurement that could not be made, in one sentence."""


# ------------------------------------------------------------------- reading

def read_ucx(text):
    """The last row of ucx_perftest -f -v as a dict of numbers."""
    lines = [line for line in text.splitlines() if "," in line]
    for header, row in zip(lines, lines[1:]):
        if header.startswith("iterations,"):
            names = next(csv.reader([header]))
            values = next(csv.reader([row]))
            return {n: float(v) for n, v in zip(names, values)}
    raise Failed("ucx_perftest printed no figures: %r" % text[-200:])


TESTAM = re.compile(r"^\S+:\s+AMShort\s+(ping-pong|flood)\s+(one-way|roundtrip)"
                    r"\s+(ReqRep|ReqReq|Req)\s*:\s+[\d.]+ sec\s+([\d.]+) us")


def read_testam(text):
    """{"half_round_trip_ns", "rate"} of testam's section of short messages."""
    found = {}
    for line in text.splitlines():
        match = TESTAM.match(line)
        if match:
            found.setdefault(match.groups()[:3], float(match.group(4)))
    try:
        ping = found[("ping-pong", "roundtrip", "ReqRep")]
        flood = found[("flood", "one-way", "Req")]
    except KeyError:
        raise Failed("testam printed no AMShort figures: %r" % text[-200:])
    if flood <= 0:
        raise Failed("testam's flood took no time: raise --iterations")
    return {"half_round_trip_ns": ping * 500, "rate": 1e6 / flood}


# ------------------------------------------------------------------- running

def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def pinned(core, *args):
    return ["taskset", "-c", str(core), *args]


def ucx(test, cores, size=8, iterations=300000, uct=None):
    """One run of ucx_perftest TEST over shared memory, one side a core."""
    if shutil.which("ucx_perftest") is None:
        raise Failed("ucx_perftest is not installed (Debian: ucx-utils)")
    port = str(free_port())
    env = dict(os.environ, UCX_TLS="shm,self", UCX_WARN_UNUSED_ENV_VARS="n")
    server = subprocess.Popen(pinned(cores[0], "ucx_perftest", "-p", port),
                              env=env, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    args = ["ucx_perftest", "127.0.0.1", "-p", port, "-t", test, "-f", "-v",
            "-s", str(size), "-n", str(iterations)]
    if uct:
        args += ["-x", uct, "-d", "memory"]
    try:
        for attempt in range(20):  # until the server listens
            got = subprocess.run(pinned(cores[1], *args), env=env,
                                 capture_output=True, text=True,
                                 timeout=LIMIT_S)
            if got.returncode == 0:
                return read_ucx(got.stdout)
            if server.poll() is not None:
                break
            time.sleep(0.1)
        raise Failed("ucx_perftest -t %s failed: %s" % (
            test, got.stderr.strip().splitlines()[-1:]))
    except subprocess.TimeoutExpired:
        raise Failed("ucx_perftest -t %s did not end" % test)
    finally:
        server.kill()
        server.wait()


def children(pid):
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def pin_family(process, cores):
    """testam forks its second node: bind both once they are there."""
    while process.poll() is None:
        second = children(process.pid)
        if second:
            try:
                os.sched_setaffinity(process.pid, {cores[0]})
                os.sched_setaffinity(second[0], {cores[1]})
            except OSError:
                pass  # it has ended already
            return
        time.sleep(0.001)


def testam(directory, cores, iterations=500000):
    """GASNet's testam of the smp conduit, two nodes, short messages."""
    path = os.path.join(directory, "testam")
    if not os.access(path, os.X_OK):
        raise Failed("%s has no testam; build it there with make testam-seq"
                     % directory)
    process = subprocess.Popen(
        [path, str(iterations), "8", "A"],
        env=dict(os.environ, GASNET_PSHM_NODES="2"),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    pin_family(process, cores)
    try:
        out, _ = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise Failed("testam did not end")
    return read_testam(out)
