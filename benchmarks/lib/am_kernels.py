"""NAS programs: where the executable of a case is, ours or an official one.

Owns the building of our kernels with an mpicc and the names of official
executables.  Runs nothing but make.
"""

import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(os.path.dirname(HERE), "nas")


def folder_of(mpicc):
    """Where our kernels are built with an mpicc, unless it is given."""
    return os.path.join(SOURCE, "build", mpicc.strip("/").replace("/", "_"))


def build(mpicc, folder):
    """Builds our kernels into a folder; returns whether that went well."""
    command = ["make", "-s", "-f", os.path.join(SOURCE, "Makefile"), "-j2",
               f"MPICC={mpicc}", f"O={os.path.abspath(folder)}"]
    return subprocess.run(command, check=False).returncode == 0


def ours(folder, kernel, klass):
    """The words that run a case with our kernels."""
    return [os.path.join(os.path.abspath(folder), f"nas_{kernel}"),
            "-c", klass]


def official(folder, kernel, klass, ranks):
    """The words that run the official executable of a case, or None."""
    for ending in (str(ranks), "x"):
        path = os.path.join(folder, f"{kernel}.{klass}.{ending}")
        if os.access(path, os.X_OK):
            return [os.path.abspath(path)]
    return None
