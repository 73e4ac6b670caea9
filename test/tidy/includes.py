#!/usr/bin/env python3
"""The direction of the cut (docs/architecture.md): who may include whom."""
import os
import re

import tree

# What each layer may include besides itself, as msg_core.h, core.h, coll.h and the
# files of chan say it.
LAYERS = {
    "base": (),
    "dev": ("base",),
    "chan": ("dev", "base"),
    "am": ("chan", "dev", "base"),
    "msg": ("am", "dev", "base"),
}
PUBLIC = {"am_types.h": "base", "am.h": "am", "am_onesided.h": "am",
          "am_client.h": "am", "am_msg.h": "msg"}
# Outside am-core: what may be included besides the folder itself.  MPICH is
# built with libam installed: its module has the public headers only.
OUTSIDE = {
    "nic-sim": {"base"},
    "collectives": {"base", "dev", "am"},
    "mpich-netmod": {"am-core/include", "collectives/include"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)


def area(path):
    """The layer, or the folder outside am-core, of a file; None if neither."""
    parts = path.split("/")
    if parts[0] != "am-core":
        return parts[0]
    return parts[1] if parts[1] in LAYERS else None


def target(name, included):
    """The path in the tree that an include means, or None for a system's."""
    places = [os.path.dirname(name), "am-core", "am-core/include",
              "nic-sim/include", "nic-sim", "collectives/include", "test", ""]
    for place in places:
        path = os.path.normpath(os.path.join(place, included))
        if os.path.isfile(os.path.join(tree.ROOT, path)):
            return path
    return None


def allowed(name, path):
    here = area(name)
    if os.path.dirname(path) in OUTSIDE.get(here, ()):
        return True
    there = PUBLIC.get(os.path.basename(path)) \
        if path.startswith("am-core/include/") else area(path)
    if name.startswith("am-core/include/"):
        return path.startswith("am-core/include/")
    if here in ("test", "benchmarks") or \
            name.startswith(("am-core/tools/", "nic-sim/tools/")):
        return True
    if name == "am-core/lib.c" or here == there:
        return _same_device(name, path)
    if here in LAYERS:
        if path.startswith("nic-sim/include/"):
            return name.startswith("am-core/dev/snic/")
        return there in LAYERS[here]
    return there in OUTSIDE.get(here, ())


def _same_device(name, path):
    """A device's folder is its own; dev.c, the table, may name them all."""
    ours, theirs = name.split("/"), path.split("/")
    return not (ours[:2] == theirs[:2] == ["am-core", "dev"] and len(ours) > 3
                and len(theirs) > 3 and ours[2] != theirs[2])


for name in tree.files(".c", ".h"):
    text = tree.code(name)
    first = INCLUDE.search(text)
    if name.startswith("mpich-netmod/") and name.endswith(".c") and first \
            and "<mpidimpl.h>" in text and first.group(2) != "mpidimpl.h":
        tree.fail(name, text.count("\n", 0, first.start(2)) + 1,
                  "mpidimpl.h is first: its _GNU_SOURCE is for all headers")
    for match in INCLUDE.finditer(text):
        line = text.count("\n", 0, match.start(2)) + 1
        included = match.group(2)
        if ".." in included.split("/"):
            tree.fail(name, line, "include of %s: no ../" % included)
        if included == "config.h" and match.group(1) == "<" \
                and name.endswith(".h"):
            tree.fail(name, line, "config.h is for .c files only")
        path = target(name, included)
        if path and not allowed(name, path):
            tree.fail(name, line, "may not include %s (docs/architecture.md)"
                      % path)
tree.finish()
