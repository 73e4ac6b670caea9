"""Jobs for the tests of the tools: ranks started by mpiexec, or by a small
PMI-1 server here, which lets a rank die without ending the others."""
import ctypes
import errno
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

BUILD = os.environ.get("AM_BUILDDIR", os.getcwd())
SRC = os.environ.get("AM_SRCDIR", os.path.join(os.path.dirname(
    os.path.realpath(__file__)), "..", ".."))
LIMIT_S = 90  # no command of a test may take longer; libam gives up at 60
SKIP = 77


def program(name):
    return os.path.join(BUILD, name)


def may_read_others():
    """Does the system allow process_vm_readv between processes of one user?"""
    child = subprocess.Popen(["sleep", "60"])
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        word = ctypes.create_string_buffer(8)

        class IoVec(ctypes.Structure):
            _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]

        local = IoVec(ctypes.addressof(word), 8)
        remote = IoVec(8, 8)  # nothing is mapped there: EFAULT when allowed
        libc.process_vm_readv(child.pid, ctypes.byref(local), 1,
                              ctypes.byref(remote), 1, 0)
        return ctypes.get_errno() == errno.EFAULT
    finally:
        child.kill()
        child.wait()


def launcher():
    for name in ("mpiexec.hydra", "mpiexec"):
        if shutil.which(name):
            return name
    return None


def clean_env(**extra):
    """This environment without AM_* and PMI_* variables, and with `extra`."""
    env = {k: v for k, v in os.environ.items()
           if not k.startswith(("AM_", "PMI_"))}
    env.update(extra)
    return env


def tree(pid):
    """The process and all that descend from it, parents first."""
    children = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % name) as stat:
                parent = int(stat.read().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it has just ended
        children.setdefault(parent, []).append(int(name))
    found = [pid]
    for one in found:
        found.extend(children.get(one, []))
    return found


def told(command):
    """What a command prints, or why it printed nothing."""
    try:
        got = subprocess.run(command, stdout=subprocess.PIPE, text=True,
                             stderr=subprocess.STDOUT, timeout=LIMIT_S)
        return got.stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        return "%s\n" % error


def where(pid):
    """Where a process that does not end, and all below it, are: state, what
    each waits for in the kernel, how long it ran, the calls it is in."""
    text = told(["ps", "-o", "pid,ppid,stat,wchan:24,time,args", "-p",
                 ",".join(map(str, tree(pid)))])
    if shutil.which("gdb"):
        for one in tree(pid):
            text += "process %d\n" % one + told(
                ["gdb", "-p", str(one), "-batch", "-ex",
                 "thread apply all backtrace"])
    return text


def stop(pid):
    for one in tree(pid):
        try:
            os.kill(one, signal.SIGKILL)
        except ProcessLookupError:
            pass


def run(*args, stdout=subprocess.PIPE, **extra):
    """Run a command; the result has returncode, stdout, stderr.  One that
    does not end is killed, with all that it started, after its place in the
    code is printed."""
    with subprocess.Popen(args, stdout=stdout, text=True,
                          stderr=subprocess.PIPE,
                          env=clean_env(**extra)) as started:
        try:
            out, err = started.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            print("FAIL: %s is not at its end after %d s\n%s" % (
                " ".join(args), LIMIT_S, where(started.pid)))
            stop(started.pid)
            out, err = started.communicate()
            print("its output: %r %r" % (out, err), flush=True)
            raise
    return subprocess.CompletedProcess(args, started.returncode, out, err)


def run_full(*args):
    """The same, with standard output on a full disk."""
    with open("/dev/full", "w") as full:
        return run(*args, stdout=full)


def perf(*args, ranks=2, **extra):
    return run(program("am_perf"), "-n", str(ranks), *args, **extra)


def rows(text):
    return [json.loads(line) for line in text.splitlines()]


def skip(why):
    print("skipped: " + why)
    sys.exit(SKIP)


class Checks:
    """Counts failures and prints each."""

    def __init__(self):
        self.failures = 0
        self.done = 0

    def that(self, condition, text):
        self.done += 1
        if not condition:
            self.failures += 1
            print("FAIL: " + text)

    def finish(self):
        print("%d checks, %d failed" % (self.done, self.failures))
        sys.exit(1 if self.failures else 0)


class Job:
    """`size` ranks of a command with a PMI-1 server.  `edit(rank, line)` may
    change an answer before it is sent."""

    def __init__(self, size, command, edit=None, rank_command=None, **extra):
        self.size = size
        self.edit = edit or (lambda rank, line: line)
        self.store = {}
        self.waiting = []
        self.lock = threading.Lock()
        self.ranks = []
        self.sockets = []
        self.finalized = set()
        for rank in range(size):
            ours, theirs = socket.socketpair()
            os.set_inheritable(theirs.fileno(), True)
            argv = rank_command(rank) if rank_command else command
            env = clean_env(PMI_FD=str(theirs.fileno()), PMI_RANK=str(rank),
                            PMI_SIZE=str(size), **extra)
            self.ranks.append(subprocess.Popen(
                argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                text=True, pass_fds=[theirs.fileno()]))
            theirs.close()
            self.sockets.append(ours)
            threading.Thread(target=self.serve, args=(rank, ours),
                             daemon=True).start()

    def answer(self, rank, sock, line):
        try:
            sock.sendall((self.edit(rank, line) + "\n").encode())
        except OSError:
            pass  # the rank is gone

    def serve(self, rank, sock):
        try:
            for line in sock.makefile():
                words = dict(w.split("=", 1) for w in line.split() if "=" in w)
                self.handle(rank, sock, words)
        except OSError:
            pass

    def handle(self, rank, sock, words):
        cmd = words.get("cmd")
        if cmd == "init":
            self.answer(rank, sock, "cmd=response_to_init pmi_version=1 "
                        "pmi_subversion=1 rc=0")
        elif cmd == "get_maxes":
            self.answer(rank, sock, "cmd=maxes kvsname_max=256 keylen_max=64 "
                        "vallen_max=1024")
        elif cmd == "get_my_kvsname":
            self.answer(rank, sock, "cmd=my_kvsname kvsname=test")
        elif cmd == "put":
            with self.lock:
                known = words["key"] in self.store
                self.store[words["key"]] = words["value"]
            self.answer(rank, sock, "cmd=put_result rc=%d msg=%s" % (
                -1 if known else 0, "duplicate_key" if known else "success"))
        elif cmd == "get":
            value = self.store.get(words["key"])
            self.answer(rank, sock, "cmd=get_result rc=%d value=%s" % (
                -1 if value is None else 0, value or "unknown"))
        elif cmd == "barrier_in":
            with self.lock:
                self.waiting.append((rank, sock))
                if len(self.waiting) == self.size:
                    for one, its in self.waiting:
                        self.answer(one, its, "cmd=barrier_out")
                    self.waiting = []
        elif cmd == "finalize":
            self.finalized.add(rank)
            self.answer(rank, sock, "cmd=finalize_ack")

    def wait(self, seconds=LIMIT_S):
        """(returncode, stdout, stderr) of each rank; those that do not end in
        time are killed and have returncode None."""
        end = time.monotonic() + seconds
        results = []
        for rank in self.ranks:
            try:
                out, err = rank.communicate(
                    timeout=max(0.01, end - time.monotonic()))
                results.append((rank.returncode, out, err))
            except subprocess.TimeoutExpired:
                print("a rank is not at its end after %d s\n%s" % (
                    seconds, where(rank.pid)), flush=True)
                rank.kill()
                out, err = rank.communicate()
                results.append((None, out, err))
        for sock in self.sockets:
            sock.close()
        return results
