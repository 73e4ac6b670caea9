#!/usr/bin/env python3
"""The checks themselves: each finds what it is for in a small bad tree, and
finds nothing in a good one."""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
GUARDED = "#ifndef %s\n#define %s\n%s\n#endif\n"
LONG = "int f(void)\n{\n%s    return 0;\n}\n" % ("    /* */\n" * 60)
ME = "/ho" + "me/me"
WANTS = "Build-Depends: debhelper-compat (= 13),\n python3:any, %s\nSection: a\n"
STEPS = "| step | file | function |\n|---|---|---|\n"

# check, file, its text, what the check must say (None: nothing)
CASES = [
    ("includes", "am-core/dev/a.c", '#include "am/core.h"\n', "am/core.h"),
    ("includes", "am-core/am/a.c", '#include "dev/dev.h"\n', None),
    ("includes", "am-core/base/a.c", "#include <am.h>\n", "am.h"),
    ("includes", "am-core/am/a.c", '#include "chan/chan.h"\n', None),
    ("includes", "am-core/msg/a.c", '#include "am/core.h"\n', None),
    ("includes", "am-core/msg/a.c", '#include "chan/chan.h"\n', "chan.h"),
    ("includes", "am-core/am/a.c", '#include "../dev/dev.h"\n', "no ../"),
    ("includes", "am-core/am/a.c", '/* #include "../dev/dev.h" */\n', None),
    ("includes", "am-core/dev/shm/a.c", '#include "dev/self/self.h"\n',
     "self.h"),
    ("includes", "am-core/dev/dev.c", '#include "dev/self/self.h"\n', None),
    ("includes", "am-core/base/a.h", "#include <config.h>\n", "config.h"),
    ("includes", "nic-sim/kernel/a.c", '#include "base/env.h"\n', None),
    ("includes", "nic-sim/kernel/a.c", '#include "dev/dev.h"\n', "dev.h"),
    ("includes", "collectives/a.c", '#include "am/core.h"\n', None),
    ("includes", "collectives/a.c", '#include "chan/chan.h"\n', "chan.h"),
    ("includes", "collectives/a.c", '#include "msg/msg_core.h"\n',
     "msg_core.h"),
    ("includes", "collectives/a.c", "#include <am_msg.h>\n", "am_msg.h"),
    ("includes", "mpich-netmod/a.c", "#include <am.h>\n", None),
    ("includes", "mpich-netmod/a.c", '#include "base/env.h"\n', "env.h"),
    ("includes", "mpich-netmod/a.c",
     "#include <mpidimpl.h>\n#include <sched.h>\n", None),
    ("includes", "mpich-netmod/a.c",
     "#include <sched.h>\n#include <mpidimpl.h>\n", "mpidimpl.h"),
    ("calls", "am-core/am/a.c", 'char *x = getenv("A");\n', "getenv"),
    ("calls", "am-core/base/config.c", 'char *x = getenv("A");\n', None),
    ("calls", "am-core/am/a.c", "clock_gettime(0, &t);\n", "clock_gettime"),
    ("calls", "am-core/am/a.c", "x = time(NULL);\n", "time"),
    ("calls", "am-core/am/a.c", "x = y->time(0) + a.time(0);\n", None),
    ("calls", "am-core/am/a.c", "x = rand();\n", "rand"),
    ("calls", "am-core/am/a.c", "usleep(1);\n", "usleep"),
    ("calls", "am-core/am/a.c", "sched_yield();\n", "sched_yield"),
    ("calls", "am-core/dev/shm/shm_wait.c", "sched_yield();\n", None),
    ("calls", "am-core/am/a.c", 'printf("x");\n', "printf"),
    ("calls", "am-core/am/a.c", 'snprintf(a, b, "printf()"); // puts()\n',
     None),
    ("calls", "am-core/am/a.c", "fputs(x, stdout);\n", "stdout"),
    ("calls", "am-core/am/a.c", "abort();\n", "abort"),
    ("calls", "am-core/am/a.c", "atomic_thread_fence(x);\n", "fence"),
    ("calls", "am-core/tools/a.c", 'printf("x");\n', None),
    ("calls", "test/a.c", "usleep(1);\n", None),
    ("text", "scripts/a", "#!/bin/sh\n", "cannot be run"),
    ("text", "scripts/a.in", "#!/bin/sh\n", None),
    ("text", "a.md", "see %s/x\n" % ME, "absolute path"),
    ("text", "a.md", "see src%s\n" % ME, None),
    ("text", "a.sh", "pull docker" + ".io/x\n", "registry"),
    ("text", "a.c", "int x; \n", "white space"),
    ("text", "a.c", "\tint x;\n", "tab"),
    ("text", "Makefile", "\tcc\n", None),
    ("docs", "am-core/am/a.h", "/* see docs/none.md */\n", "docs/none.md"),
    ("docs", "am-core/am/a.h", "/* see docs/some.md */\n", None),
    ("docs", "am-core/am/a.h", "/* rows in none.c */\n", "none.c is not"),
    ("docs", "am-core/am/a.h", "/* rows in core.h */\n", None),
    ("docs", "docs/some.md", "[it](none.md)\n", "none.md"),
    ("docs", "docs/some.md", "`test/none --help` or `test/tidy/*.txt`\n",
     "test/none is"),
    ("docs", "docs/some.md", STEPS + "| 1 | `am-core/am/core.h` | *`am_f`* |\n",
     "am_f is not in am-core/am/core.h"),
    ("docs", "docs/some.md", STEPS + "| 1 | `am-core/am/core.h` | `ifndef` |\n",
     None),
    ("docs", "README.md", "\n" * 121, "121 lines"),
    ("docs", "packaging/debian-a/control", WANTS % "gfortran", None),
    ("docs", "packaging/debian-a/control", WANTS % "mpich", "mpich is not in"),
    ("built", "am-core/am/a.c", "\n", "not named"),
    ("built", "local.mk", "x = am-core/none.c\n", "not there"),
    ("sizes", "am-core/am/a.c", LONG, "f has 61 lines"),
    ("sizes", "test/a.c", LONG, None),
    ("sizes", "am-core/am/a.c", "\n" * 401, "has 401 lines"),
    ("sizes", "mpich-netmod/overlay/src/mpid/ch4/netmod/am/am_cvars.c",
     "\n" * 801, None),
    ("sizes", "test/tidy/sizes.txt", "am-core/am/b.c 500\n", "any more"),
    ("headers", "am-core/am/a.h", GUARDED % ("AM_A_H", "AM_A_H", "int a;"),
     "expected AM_AM_A_H"),
    ("headers", "am-core/am/a.h", GUARDED % ("AM_AM_A_H", "AM_AM_A_H",
                                             "size_t a;"), "size_t"),
    ("headers", "am-core/am/a.h", GUARDED % ("AM_AM_A_H", "AM_AM_A_H",
                                             "extern int a;"), None),
]
# The tree around each case.
GOOD = {
    "am-core/include/am.h": GUARDED % ("AM_H", "AM_H", "extern int am;"),
    "am-core/include/am_msg.h": GUARDED % ("AM_MSG_H", "AM_MSG_H", ""),
    "am-core/am/core.h": GUARDED % ("AM_AM_CORE_H", "AM_AM_CORE_H", ""),
    "am-core/msg/msg_core.h": GUARDED % (
        "AM_MSG_MSG_CORE_H", "AM_MSG_MSG_CORE_H", ""),
    "am-core/chan/chan.h": GUARDED % ("AM_CHAN_CHAN_H", "AM_CHAN_CHAN_H", ""),
    "am-core/dev/dev.h": GUARDED % ("AM_DEV_DEV_H", "AM_DEV_DEV_H", ""),
    "am-core/dev/self/self.h": GUARDED % (
        "AM_DEV_SELF_SELF_H", "AM_DEV_SELF_SELF_H", ""),
    "am-core/base/env.h": GUARDED % ("AM_BASE_ENV_H", "AM_BASE_ENV_H", ""),
    "Makefile.am": "x = am-core/include/am.h am-core/am/core.h "
                   "am-core/dev/dev.h am-core/dev/self/self.h "
                   "am-core/base/env.h am-core/include/am_msg.h "
                   "am-core/chan/chan.h "
                   "am-core/msg/msg_core.h\n",
    "test/tidy/sizes.txt": "",
    "docs/some.md": "",
    "docs/packages.md": "    apt-get install debhelper python3 \\\n gfortran\n",
}
API = "#define AM_API __attribute__((visibility(\"default\")))\n"
SYMBOL_CASES = [  # declared, defined, what must be said
    ("AM_API int am_a(void);", "int am_a(void) { return 0; }", None),
    ("AM_API int am_a(void);", "int am_b;", "am_a is declared"),
    ("", "__attribute__((visibility(\"default\"))) int am_b;", "am_b"),
]


def write(root, name, text):
    path = os.path.join(root, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def run(root, check):
    result = subprocess.run(
        [sys.executable, os.path.join(HERE, check + ".py")],
        capture_output=True, text=True,
        env=dict(os.environ, AM_SRCDIR=root, AM_BUILDDIR=root + "/build"))
    return result.returncode, result.stdout + result.stderr


def judge(what, code, said, expected):
    good = code == 0 if expected is None else code == 1 and expected in said
    if not good:
        print("%s: expected %s, status %d: %s" % (what, expected, code, said))
    return good


def case(check, name, text, expected):
    with tempfile.TemporaryDirectory() as root:
        for good_name, good_text in GOOD.items():
            write(root, good_name, good_text)
        write(root, name, text)
        return judge((check, name, text[:40]), *run(root, check), expected)


def symbol_case(declared, defined, expected):
    with tempfile.TemporaryDirectory() as root:
        write(root, "am-core/include/am.h", API + declared + "\n")
        write(root, "a.c", '#include "am-core/include/am.h"\n%s\n' % defined)
        write(root, "build/.libs/x", "")
        subprocess.run(["cc", "-shared", "-fPIC", "-fvisibility=hidden", "-o",
                        root + "/build/.libs/libam.so", root + "/a.c"],
                       check=True)
        return judge(("symbols", declared), *run(root, "symbols"), expected)


results = [case(*c) for c in CASES] + [symbol_case(*c) for c in SYMBOL_CASES]
sys.exit(0 if all(results) else 1)
