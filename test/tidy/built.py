#!/usr/bin/env python3
"""Every tracked .c and .h is named in a makefile, so it is built and goes into
a release; and every file that a makefile names is there or made by a rule."""
import os
import re

import tree

makefiles = {name: tree.read(name) for name in tree.files()
             if os.path.basename(name) in ("Makefile", "Makefile.am")
             or name.endswith(".mk")}


def is_named(name):
    for makefile, text in makefiles.items():
        folder = os.path.dirname(makefile)
        if re.search(r"(?<![\w./-])%s(?![\w.])" % re.escape(name), text):
            return True
        # A folder with a makefile of its own names its files without path.
        stem = os.path.splitext(os.path.basename(name))[0]
        if folder and os.path.dirname(name) == folder and \
                not makefile.endswith("local.mk") and \
                re.search(r"(?<![\w-])%s(?![\w-])" % re.escape(stem), text):
            return True
    return False


for name in tree.files(".c", ".h"):
    if not name.startswith("mpich-netmod/overlay/") and not is_named(name):
        tree.fail(name, 1, "not named in any local.mk")
for makefile, text in makefiles.items():
    if makefile.endswith("local.mk"):
        for match in re.finditer(r"(?<![\w./$()-])[\w-]+(?:/[\w.-]+)+\.[ch]\b",
                                 text):
            made = re.search(r"^%s\s*:" % re.escape(match.group()), text, re.M)
            if not made and not os.path.isfile(
                    os.path.join(tree.ROOT, match.group())):
                line = text.count("\n", 0, match.start()) + 1
                tree.fail(makefile, line, "%s is not there" % match.group())
tree.finish()
