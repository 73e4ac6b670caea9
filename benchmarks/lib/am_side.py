"""One of several MPI libraries, or sets of NAS programs, to be compared.

Owns how they are written on a command line and the command of a case.
"""

import os

import am_kernels
import am_run


class Side:
    """One of those compared: a name, a launcher, and where programs are."""

    def __init__(self, name, mpicc, folder, mpiexec):
        self.name, self.mpicc, self.folder = name, mpicc, folder
        self.launcher = am_run.launcher(mpiexec)

    def command(self, kernel, klass, ranks):
        """The command of a case, or None where there is no executable."""
        if self.mpicc is not None:
            words = am_kernels.ours(self.folder, kernel, klass)
        else:
            words = am_kernels.official(self.folder, kernel, klass, ranks)
        if words is None:
            return None
        return am_run.mpi_command(self.launcher, ranks, *words)

    def build(self):
        """Builds our kernels; official ones are there already."""
        if self.mpicc is not None and not am_kernels.build(self.mpicc,
                                                           self.folder):
            raise ValueError(f"the kernels do not build with {self.mpicc}.")


def parse(text, official):
    """NAME=MPICC[:MPIEXEC], or NAME=FOLDER:MPIEXEC for official programs."""
    name, equals, rest = text.partition("=")
    what, colon, mpiexec = rest.partition(":")
    if not equals or not name or not what or (official and not mpiexec):
        raise ValueError(f"'{text}' is not of the form NAME=" + (
            "FOLDER:MPIEXEC." if official else "MPICC[:MPIEXEC]."))
    if official:
        if not os.path.isdir(what):
            raise ValueError(f"there is no folder '{what}'.")
        return Side(name, None, what, mpiexec)
    return Side(name, what, am_kernels.folder_of(what),
                mpiexec if colon else am_run.find_mpiexec(what))
