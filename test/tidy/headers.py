#!/usr/bin/env python3
"""Headers: each compiles alone without a warning (the public ones as C++ too),
and has the guard that its path says."""
import os
import re
import subprocess

import tree

CC = os.environ.get("CC", "cc").split()
INCLUDES = ["-I" + os.path.join(tree.ROOT, place) for place in (
    "am-core/include", "am-core", "nic-sim/include", "nic-sim", "collectives/include",
    "test", "")]
FLAGS = ["-fsyntax-only", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wshadow",
         "-Wno-unused-parameter", "-Werror"]


def check_guard(name):
    path = re.sub(r"^am-core/(include/)?", "", name)
    strict = re.sub(r"\W", "_", path).upper()
    strict = strict if "/include/" in name else "AM_" + strict
    stem = re.sub(r"\W", "_", os.path.basename(name)).upper()
    text = tree.code(name)
    found = re.search(r"^#ifndef (\w+)\n#define (\w+)$", text, re.M)
    guard = found.group(1) if found and found.group(1) == found.group(2) else ""
    good = guard == strict if name.startswith("am-core/") \
        else re.fullmatch(r"(AM|NS)_(\w+_)?" + stem, guard)
    if not good:
        tree.fail(name, 1, "guard is %s, expected %s" % (guard or "missing",
                                                        strict))


def compile_alone(names, language, standard):
    """All headers in one command, each a translation unit of its own."""
    command = CC + FLAGS + [standard] + INCLUDES + ["-x", language]
    command += [os.path.join(tree.ROOT, name) for name in names]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        tree.fail(names[0], 1, "headers that do not compile alone:\n"
                  + result.stderr.replace(tree.ROOT + "/", ""))


def has_cplusplus():
    probe = subprocess.run(CC + ["-fsyntax-only", "-x", "c++", os.devnull],
                           capture_output=True)
    return probe.returncode == 0


headers = [name for name in tree.files(".h")
           if not name.startswith("mpich-netmod/overlay/")]
for header in headers:
    check_guard(header)
# Plain MPI programs are built by mpicc, which need not be there.
mpi = {os.path.dirname(name) for name in headers
       if "#include <mpi.h>" in tree.read(name)}
alone = [name for name in headers if os.path.dirname(name) not in mpi]
compile_alone(alone, "c", "-std=gnu11")
if has_cplusplus():
    compile_alone([n for n in alone if "/include/" in n], "c++", "-std=c++11")
tree.finish()
