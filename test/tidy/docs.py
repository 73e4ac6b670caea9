#!/usr/bin/env python3
"""The documentation names what there is: every .md file that any text names is
in the tree, and so are the files and links that the .md files name, and the sources
that a source names; a table of steps names functions that are in the files of their
row; docs/packages.md names what Debian's packages are built with; README.md stays a
front door."""
import glob
import os
import re

import tree

README_LINES_MAX = 120
PAGE = re.compile(r"(?<![\w/.*-])((?:[\w.-]+/)*[\w-]+\.md)\b")
LINK = re.compile(r"\]\(([^)#\s]+)")
SOURCE = re.compile(r"(?<![\w/.*<-])(?:[\w-]+/)*([\w-]+\.[ch])\b")
SPAN = re.compile(r"`([^`\s]+)[^`]*`")
FOLDERS = ("am-core/", "benchmarks/", "docs/", "mpich-netmod/", "nic-sim/",
           "scripts/", "test/")
LIBRARY = ("am-core/", "collectives/", "nic-sim/")
STEPS = "| step | file | function |"
OVERLAY = "mpich-netmod/overlay/src/mpid/ch4/netmod/am/"
PACKAGES = "docs/packages.md"
BUILD_DEPENDS = re.compile(r"^Build-Depends:((?:.*\n )*.*)", re.M)
SKIP = "test/tidy/"
BINARY = (".png", ".patch")


SOURCES = {os.path.basename(path) for path in tree.files(".c", ".h")}


def is_there(name, folder):
    return any(glob.glob(os.path.join(tree.ROOT, base, name))
               for base in ("", folder, "docs"))


def check(name, number, what, folder):
    if not is_there(what, folder):
        tree.fail(name, number, "%s is not there" % what)


def check_step(name, number, line):
    """The functions of the last cell are in the files of the one before."""
    cells = line.strip().strip("|").split("|")
    named = [span.replace(".../", OVERLAY) for span in SPAN.findall(cells[-2])]
    text = "".join(tree.read(path) for path in named
                   if os.path.isfile(os.path.join(tree.ROOT, path)))
    for word in re.findall(r"`(\w+)`", cells[-1]):
        if named and not re.search(r"\b%s\b" % word, text):
            tree.fail(name, number, "%s is not in %s" %
                      (word, ", ".join(named)))


def check_packages(name):
    """The page's apt-get line has what this control file wants.  debhelper-compat
    is debhelper, and libam-dev is made on the way."""
    named = set()
    if is_there(PACKAGES, ""):
        named.update(tree.read(PACKAGES).split(), ("libam-dev",))
    for wanted in BUILD_DEPENDS.findall(tree.read(name)):
        for what in re.sub(r"\([^)]*\)|:any|-compat", "", wanted).split(","):
            if what.strip() not in named:
                tree.fail(name, 1, "%s is not in %s" %
                          (what.strip(), PACKAGES))


for name in tree.files():
    if name.startswith("packaging/") and name.endswith("/control"):
        check_packages(name)
    if name.startswith(SKIP) or name.endswith(BINARY):
        continue
    folder = os.path.dirname(name)
    lines = tree.read(name).split("\n")
    in_steps = False
    for number, line in enumerate(lines, 1):
        in_steps = line == STEPS or in_steps and line.startswith("|")
        if in_steps and line != STEPS and not line.startswith("|-"):
            check_step(name, number, line)
        if name.startswith(LIBRARY) and name.endswith((".c", ".h")) and \
                "#include" not in line:
            for what in set(SOURCE.findall(line)) - SOURCES:
                tree.fail(name, number, "%s is not there" % what)
        named = set(PAGE.findall(line))
        if name.endswith(".md"):
            named.update(link for link in LINK.findall(line)
                         if "://" not in link)
            # `benchmarks/nas/build/nas_cg` is built, `a/.../b` abbreviated
            named.update(span for span in SPAN.findall(line)
                         if span.startswith(FOLDERS) and
                         "..." not in span and "/build/" not in span)
        for what in sorted(named):
            check(name, number, what, folder)
    if name == "README.md" and len(lines) - 1 > README_LINES_MAX:
        tree.fail(name, len(lines), "has %d lines, at most %d" %
                  (len(lines) - 1, README_LINES_MAX))
tree.finish()
