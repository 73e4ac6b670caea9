#!/usr/bin/env python3
"""The netmod's patches say for which releases of MPICH they are, every release
that the module works with has its needed ones, and a tree of another release is
refused in one sentence."""
import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import tempfile

import tree

SCRIPTS = os.path.join(tree.ROOT, "mpich-netmod/scripts")
PATCH = "Why.\n\n%s\n\n--- a/x\n+++ b/x\n"


def script(name):
    loader = importlib.machinery.SourceFileLoader(
        name, os.path.join(SCRIPTS, name))
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def problem(text):
    tree.fail("mpich-netmod/scripts/patches", 1, text)


patches, releases = script("patches"), script("releases")

# Every patch has a reason and a head that can be read.
all_say = True
for name in tree.files(".patch"):
    text = tree.read(name)
    if not text.split("\n--- ")[0].strip().split("\n")[0]:
        tree.fail(name, 1, "begins without saying why")
    if patches.head(os.path.join(tree.ROOT, name)) is None:
        all_say = False
        tree.fail(name, 1, "does not say for which releases it is, as in "
                  + patches.FORM)

# Every release has the patch that names the module.
if all_say:
    for release in releases.RELEASES:
        chosen = [os.path.basename(path) for kind, path
                  in patches.choose(patches.numbers(release))
                  if kind == "needed"]
        if not any(name.startswith("0001-") for name in chosen):
            problem("MPICH %s has no patch 0001" % release)

with tempfile.TemporaryDirectory() as folder:
    for name, said in (("0001-a", "Needed: 4.0 and later"),
                       ("0002-b", "Wanted: 4.0 to 4.1"),
                       ("0003-c", "Wanted: 4.0.2 to 4.0.2"),
                       ("4.1/0001-a", "Needed: 4.1 and later"),
                       ("4.10/0002-b", "Wanted: 4.10 and later"),
                       ("4.1.2/0003-c", "Wanted: 4.1.2 to 4.1.2")):
        write(os.path.join(folder, name + ".patch"), PATCH % said)
    for release, expected in (
            ("4.0.2", "0001 0002 0003"), ("4.0.3", "0001 0002"),
            ("4.1.2", "4.1/0001 0002 4.1.2/0003"), ("4.1.3", "4.1/0001 0002"),
            ("4.2", "4.1/0001"), ("4.10.1", "4.1/0001 4.10/0002")):
        got = " ".join(os.path.relpath(path, folder).split("-")[0]
                       for _, path in patches.choose(patches.numbers(release),
                                                     folder))
        if got != expected:
            problem("%s: %s, expected %s" % (release, got, expected))

    for text, expected in (
            ("m4_define([MPICH_VERSION_m4],[4.0.2])dnl\n", "4.0.2\n"),
            ("MPICH_VERSION_m4=4.0.2\n", "4.0.2\n"),
            ("m4_define([MPICH_VERSION_m4],[3.4.1])dnl\n", "does not work with"
             " MPICH 3.4.1; it works with 4.0.2")):
        write(os.path.join(folder, "maint/version.m4"), text)
        run = subprocess.run([sys.executable, os.path.join(SCRIPTS, "releases"),
                              folder], capture_output=True, text=True)
        if expected not in run.stdout + run.stderr:
            problem("releases says " + (run.stdout + run.stderr).strip())
tree.finish()
