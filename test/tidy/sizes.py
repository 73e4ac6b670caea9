#!/usr/bin/env python3
"""Lengths of functions and files.  What is longer than the limit is listed in
sizes.txt with its length, and may not grow; `sizes.py --update` writes the
list anew.  Prefer a split to an entry."""
import os
import re
import sys

import tree

DATA = os.path.join(tree.ROOT, "test/tidy/sizes.txt")
FUNCTION_SOFT, FUNCTION_HARD = 50, 70
FILE_SOFT, FILE_HARD = 400, 800
STRICT = ("am-core/", "collectives/", "nic-sim/")
# Lists that a script writes, one entry for each variable.
WRITTEN = ("mpich-netmod/overlay/src/mpid/ch4/netmod/am/am_cvars.c",)


def functions(name):
    """(name, line, length) of each function; a body is { to } at column 0."""
    lines = tree.code(name).split("\n")
    start = None
    for number, line in enumerate(lines):
        if line.rstrip() == "{":
            start = number
        elif line.startswith("}") and start is not None:
            yield _name_of(lines, start), start + 1, number - start - 1
            start = None


def _name_of(lines, start):
    head = ""
    while start > 0 and lines[start - 1].strip() not in ("", "}") \
            and not lines[start - 1].startswith(("#", "}")):
        start -= 1
        head = lines[start] + " " + head
    found = re.search(r"(\w+)\s*\(", re.sub(r"__attribute__\s*\(\(.*?\)\)+", "",
                                            head))
    return found.group(1) if found else "?"


def measure():
    """key -> (length, soft limit, hard limit, file, line)"""
    sizes = {}
    for name in tree.files(".c", ".h"):
        strict = name.startswith(STRICT)
        count = tree.read(name).count("\n")
        if name not in WRITTEN:
            sizes[name] = (count, FILE_SOFT if strict else FILE_HARD,
                           FILE_HARD, name, 1)
        for function, line, length in functions(name):
            sizes["%s:%s" % (name, function)] = (
                length, FUNCTION_SOFT if strict else FUNCTION_HARD,
                FUNCTION_HARD, name, line)
    return sizes


def main():
    sizes = measure()
    if "--update" in sys.argv:
        with open(DATA, "w", encoding="utf-8") as f:
            for key, (length, soft, *_) in sorted(sizes.items()):
                if length > soft:
                    f.write("%s %u\n" % (key, length))
        return
    with open(DATA, encoding="utf-8") as f:
        known = {k: int(v) for k, v in (line.split() for line in f)}
    for key, (length, soft, hard, name, line) in sizes.items():
        if length > known.get(key, soft):
            tree.fail(name, line, "%s has %u lines, the limit is %u (hard %u)"
                      % (key.split(":")[-1], length, known.get(key, soft),
                         hard))
    for key in sorted(set(known) - set(sizes)):
        tree.fail("test/tidy/sizes.txt", 1, "%s is not there any more" % key)
    tree.finish()


main()
