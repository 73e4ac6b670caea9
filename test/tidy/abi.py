#!/usr/bin/env python3
"""A program that was compiled against the last release runs with this library:
abidiff compares it with that release's interface in packaging/abi.  Functions
may be added.  `abi.py --write FILE` writes the interface of the library in the
build folder, which is to be kept with each release."""
import glob
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

import tree

LIBRARY = os.path.join(tree.BUILD, ".libs/libam.so")
HEADERS = os.path.join(tree.ROOT, "am-core/include")


def skip(why):
    print("not compared: %s" % why)
    sys.exit(77)


def version(path):
    return [int(n) for n in re.findall(r"\d+", os.path.basename(path))]


def output(*command):
    return subprocess.run(command, capture_output=True, text=True,
                          check=True).stdout


def interface():
    """The library's interface, without what no installed header shows."""
    return output("abidw", "--exported-interfaces-only", "--headers-dir",
                  HEADERS, "--drop-private-types", "--no-show-locs",
                  "--no-corpus-path", "--no-comp-dir-path", LIBRARY)


if not shutil.which("abidiff"):
    skip("abidiff is not here (Debian: abigail-tools)")
if not os.path.exists(LIBRARY):
    skip("%s is not there: static build" % LIBRARY)
if ".debug_info" not in output("readelf", "-SW", LIBRARY):
    skip("%s has no debugging information" % LIBRARY)
if sys.argv[1:2] == ["--write"]:
    with open(sys.argv[2], "w") as file:
        file.write(interface())
    sys.exit(0)
if platform.machine() != "x86_64":
    skip("the releases' interfaces are those of x86-64")
if re.search(r" U __(asan|tsan|ubsan)", output("nm", "-D", LIBRARY)):
    skip("a sanitizer is in it")

released = max(glob.glob(os.path.join(tree.ROOT, "packaging/abi/libam-*.abi")),
               key=version)
with tempfile.NamedTemporaryFile("w", suffix=".abi") as now:
    now.write(interface())
    now.flush()
    result = subprocess.run(
        ["abidiff", "--no-added-syms", released, now.name],
        capture_output=True, text=True)
if result.returncode != 0:
    print(result.stdout + result.stderr)
    tree.fail("libam.so", 0, "a program compiled against %s does not run with "
              "it: take the change back, or raise the soname (NEWS)"
              % os.path.basename(released)[:-len(".abi")])
tree.finish()
