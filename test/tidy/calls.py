#!/usr/bin/env python3
"""Calls that only a few files may make: environment variables, clock, random
numbers, sleep, standard output, bare fences."""
import fnmatch
import re

import tree

# what: (names that are called or used, files that may)
RULES = {
    "environment variables (base/config.h)": (
        r"\b(secure_)?getenv\b|\benviron\b|\b(set|put|unset)env\b",
        ["am-core/base/config.c"]),
    "a clock (base/env.h)": (
        r"\b(clock_gettime|clock_getres|gettimeofday|timespec_get|ftime|time"
        r"|clock|times|getrusage|__rdtscp?|__builtin_ia32_rdtscp?|_rdtsc"
        r"|timerfd_create|timer_create|setitimer|alarm)\s*\("
        r"|\bcntvct_el0\b",
        ["am-core/base/env.c"]),
    "random numbers (base/env.h, base/prng.h)": (
        r"\b(s?rand(_r|om|om_r)?|[dlmjn]rand48|getrandom|getentropy"
        r"|arc4random\w*|randombytes\w*)\s*\(",
        # udp_auth.c: keys, which nobody may guess or repeat
        ["am-core/base/env.c", "am-core/dev/udp/udp_auth.c"]),
    "the process's number": (
        r"\b(getpid|gettid|getppid)\s*\(",
        ["am-core/base/env.c", "am-core/dev/shm/*.c", "nic-sim/cosim/seat_init.c"]),
    "sleep (base/env.h relax)": (
        r"\b(u?sleep|nanosleep|clock_nanosleep|pthread_yield|sched_yield"
        r"|thrd_yield|thrd_sleep)\s*\(",
        ["am-core/base/env.c", "am-core/dev/shm/*wait*.c"]),
    "futexes": (
        r"\b(SYS_futex|__NR_futex|FUTEX_W\w+)\b",
        ["am-core/dev/shm/*wait*.c", "nic-sim/cosim/box.c"]),
    "standard output (base/log.h)": (
        r"\b(v?printf|puts|putchar|perror|psignal)\s*\("
        r"|\bstdout\b|\bSTDOUT_FILENO\b",
        []),
    # info.c: the reports that AM_STATS and its like ask for by name
    "standard error (base/log.h)": (
        r"\bstderr\b|\bSTDERR_FILENO\b",
        ["am-core/base/log.c", "am-core/base/assert.c",
         "am-core/am/info.c", "nic-sim/kernel/check.c"]),
    "an end of the process (base/assert.h)": (
        r"\b(abort|_?exit|_Exit|quick_exit|assert)\s*\(",
        ["am-core/base/assert.c", "nic-sim/kernel/check.c"]),
    "a bare fence (base/barrier.h)": (
        r"\b(atomic_thread_fence|__atomic_thread_fence|__sync_synchronize"
        r"|_mm_[lsm]fence|__builtin_ia32_[lsm]fence)\s*\(",
        ["am-core/base/barrier.h"]),
}
# In simulated code the process is not the machine's own.
LIBRARY = ("am-core/", "collectives/", "nic-sim/")
FREE = ("am-core/tools/", "nic-sim/tools/", "nic-sim/examples/")

for what, (pattern, files) in RULES.items():
    RULES[what] = (re.compile(r"(?<![.>\w])(?:%s)" % pattern), files)

for name in tree.files(".c", ".h"):
    if not name.startswith(LIBRARY) or name.startswith(FREE):
        continue
    for number, line in enumerate(tree.code(name).split("\n"), 1):
        for what, (pattern, files) in RULES.items():
            found = pattern.search(line)
            if found and not any(fnmatch.fnmatch(name, f) for f in files):
                tree.fail(name, number, "%s: only %s may use %s" % (
                    found.group().rstrip("( "), " and ".join(files) or
                    "a tool", what))
tree.finish()
