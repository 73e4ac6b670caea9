"""Runs one command with a time limit and leaves no process behind.

Owns starting, stopping and timing of measured commands, and how ranks are
started with a given mpicc.  Knows nothing of what a command prints.
"""

import os
import shlex
import shutil
import signal
import subprocess
import time

KILL_GRACE_S = 5.0
WORDS_MAX = 160  # of what a command that failed said, in its sentence


class Outcome:
    """What became of one command."""

    def __init__(self, status, seconds, output, timed_out, begin=0.0):
        self.status = status  # exit status, negative for a signal
        self.seconds = seconds  # wall time
        self.output = output  # standard output and error, in order
        self.timed_out = timed_out
        self.begin = begin  # when it began, in seconds of the epoch

    def failure(self, limit_s):
        """One sentence about why the command failed, or None."""
        if self.timed_out:
            return f"did not end within the time limit of {limit_s:g} s"
        if self.status < 0:
            try:
                name = signal.Signals(-self.status).name
            except ValueError:
                name = str(-self.status)
            return f"was killed by signal {name}"
        if self.status != 0:
            said = self.last_words()
            return f"ended with status {self.status}" + (
                f" after saying: {said}" if said else "")
        return None

    def last_words(self):
        """The last sentence of the output, or ""; not mpiexec's own frame."""
        lines = [line.strip() for line in self.output.splitlines()]
        lines = [line for line in lines if line and line[0] != "="]
        return lines[-1][:WORDS_MAX].rstrip(".") if lines else ""


def _stop(process):
    """Ends the process and all that it started, first politely."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            return
        try:
            process.wait(KILL_GRACE_S)
        except subprocess.TimeoutExpired:
            continue


def run(command, settings=None, limit_s=300.0):
    """Runs command, a list, with settings added to the environment."""
    environment = dict(os.environ)
    environment.update(settings or {})
    start, begin = time.monotonic(), time.time()
    process = subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        start_new_session=True)
    timed_out = False
    try:
        output, _ = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        timed_out = True
        _stop(process)
        output = _rest(process)
    except BaseException:
        _stop(process)
        raise
    finally:
        seconds = time.monotonic() - start
        _sweep_group(process.pid)
    return Outcome(process.returncode, seconds,
                   output.decode("utf-8", "replace"), timed_out, begin)


def _rest(process):
    """What the stopped process had written; never waits for long."""
    try:
        return process.communicate(timeout=KILL_GRACE_S)[0]
    except subprocess.TimeoutExpired as late:
        return late.stdout or b""


def _sweep_group(group):
    """Ends what is left of a command's process group."""
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def find_mpiexec(mpicc):
    """The mpiexec that belongs to an mpicc: beside it, of the same suffix."""
    folder, name = os.path.split(mpicc)
    wanted = name.replace("mpicc", "mpiexec", 1)
    if wanted == name:
        raise ValueError(f"cannot tell which mpiexec belongs to '{mpicc}'; "
                         "give that too.")
    return os.path.join(folder, wanted) if folder else wanted


def sentence(error):
    """What is wrong, of an exception, without Python's number for it."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}."
    return str(error)


def launcher(mpiexec):
    """The words before '-n N' that start ranks with this mpiexec."""
    words = shlex.split(mpiexec)
    if not words or shutil.which(words[0]) is None:
        raise ValueError(f"there is no command '{mpiexec}'.")
    if len(words) > 1:
        return words
    text = subprocess.run([words[0], "--version"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False,
                          stdin=subprocess.DEVNULL, timeout=60).stdout
    if b"open" in text.lower() and b"hydra" not in text.lower():
        words.append("--oversubscribe")
        if os.geteuid() == 0:
            words.append("--allow-run-as-root")
    return words


def mpi_command(words, ranks, program, *arguments):
    """The command that starts a program on some ranks."""
    return [*words, "-n", str(ranks), program, *arguments]
