#!/usr/bin/env python3
"""The symbols that libam.so exports are the functions declared AM_API in the
installed headers: none less, none more."""
import os
import re
import subprocess
import sys

import tree

LIBRARY = os.path.join(tree.BUILD, ".libs/libam.so")
FOREIGN = re.compile(r"__(asan|odr_asan|tsan|ubsan|start|stop|bss|gcov)|_init$"
                     r"|_fini$|_edata$|_end$")

declared = {}
for header in tree.files(".h"):
    if header.startswith(("am-core/include/", "collectives/include/")):
        text = tree.code(header)
        for match in re.finditer(r"(?<!define )\bAM_API\b[^;{]*?(\w+)\s*\(", text):
            declared[match.group(1)] = (
                header, text.count("\n", 0, match.start()) + 1)

if not os.path.exists(LIBRARY):
    print("%s is not there: static build" % LIBRARY)
    sys.exit(77)
lines = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], check=True,
                       capture_output=True, text=True).stdout.splitlines()
exported = {line.split()[-1] for line in lines}
exported = {name for name in exported if not FOREIGN.match(name)}

for name in sorted(exported - set(declared)):
    tree.fail("libam.so", name, "exported, but not declared AM_API")
for name in sorted(set(declared) - exported):
    tree.fail(*declared[name], "%s is declared AM_API, but not exported" % name)
tree.finish()
