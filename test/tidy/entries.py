#!/usr/bin/env python3
"""The netmod has what every release of MPICH that it works with calls, with the
same types; and the comparison finds what is missing, changed or not called."""
import importlib.machinery
import importlib.util
import os
import subprocess
import sys

import tree

SCRIPTS = os.path.join(tree.ROOT, "mpich-netmod/scripts")
API = """\
Non Native API:
  progress : int
      NM*: vci, blocking-2
     SHM*: vci
Native API:
  put : int
      NM*: buf, counts
  alloc : void *
      NM : size
PARAM:
    blocking-2: int *
    buf: const  void*
    counts: const int[]
    size: MPI_Aint
    vci: int
"""
EXPECTED = {
    "progress": (True, "int(int, int *)"),
    "put": (True, "int(const void *, const int *)"),
    "alloc": (False, "void *(MPI_Aint)"),
}


def script(name):
    loader = importlib.machinery.SourceFileLoader(
        name, os.path.join(SCRIPTS, name))
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


def problem(text):
    tree.fail("mpich-netmod/scripts/entries", 1, text)


entries, releases = script("entries"), script("releases")

run = subprocess.run([os.path.join(SCRIPTS, "entries"), "--recorded"],
                     stderr=subprocess.PIPE, text=True)
for line in run.stderr.splitlines():
    problem(line)

recorded = entries.recorded(tree.read("mpich-netmod/entries.txt"))
for version in releases.RELEASES:
    if len(recorded.get(version, {})) < 100:
        tree.fail("mpich-netmod/entries.txt", 1, "lacks MPICH " + version)

if entries.api(API) != EXPECTED:
    problem("reads an API as %s" % entries.api(API))

# The newest release, with one entry more, one of other types, one less.
version = list(releases.RELEASES)[-1]
calls = dict(recorded.get(version, {}))
calls["mpi_new"] = ("plain", "int(int)")
calls["init_local"] = ("plain", "int(long *)")
calls.pop("mpi_imrecv", None)
said = list(entries.problems(version, calls))
for expected in ("calls mpi_new, which the netmod lacks: int(int)",
                 "calls init_local as int(long *), and the netmod has"
                 " int(int *)", "does not call mpi_imrecv"):
    if sum(expected in text for text in said) != 1:
        problem("does not say: " + expected)
if len(said) != 3:
    problem("says " + "; ".join(said))
tree.finish()
