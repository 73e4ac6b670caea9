#!/usr/bin/env python3
"""Text that no tracked file may contain: absolute paths of somebody's machine
and addresses of package registries; and what marks careless edits: scripts that
cannot be run among them."""
import os
import re

import tree

RULES = {
    "absolute path of one machine": re.compile(
        r"(?<![\w.$(){}<>*/-])/(?:work|root|home|Users|workspace)(?:/|\b)"),
    "address of a registry or mirror": re.compile(
        r"(?:docker|ghcr|quay|gcr|npmjs|pypi)\.(?:io|org)\b|\bregistry[.-]\w"
        r"|\bartifactory\b|\bjfrog\b|(?<=://)[\w.-]*\.(?:internal|local)\b"),
    "white space at the end of a line": re.compile(r"[ \t]+$"),
    "carriage return": re.compile(r"\r"),
    "merge marker": re.compile(r"^(?:<{7}|>{7}|={7})(?: |$)"),
}
SKIP = ("test/tidy/text.py",)
BINARY = (".png", ".pdf", ".gz", ".xz", ".ico")

for name in tree.files():
    if name in SKIP or name.endswith(BINARY) or name.endswith(".patch"):
        continue
    text = tree.read(name)
    if text.startswith("#!") and not name.endswith(".in") and \
            not os.access(os.path.join(tree.ROOT, name), os.X_OK):
        tree.fail(name, 1, "a script that cannot be run: chmod +x")
    for number, line in enumerate(text.split("\n"), 1):
        for what, pattern in RULES.items():
            if pattern.search(line):
                tree.fail(name, number, what)
        if "\t" in line and name.endswith((".c", ".h", ".py")):
            tree.fail(name, number, "tab")
tree.finish()
