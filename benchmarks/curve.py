"""The bandwidth curve over message sizes, for benchmarks/am_core_compare.

A machine that drifts, or flips between two speeds, spoils a curve that is
measured once from end to end.  So only ratios of neighbours in time count: of
one size and the next, visited within some milliseconds of each other, and of
the default and a forced protocol, run one after the other, now this one first
and now that.  Of each ratio the median over all visits counts.

The worst of some two hundred medians is below the truth if each is of a few
visits only.  So after the rounds every ratio whose interval still has the bar
inside is measured again, whether its median is below the bar or above, until
the bar is outside, or it has MOST values, or the time is over.  No value is
ever thrown away."""
import math
import statistics
import time

PROTOCOLS = ["eager", "buffered", "prefix", "get", "put"]
FIRST, LAST, FACTOR = 1, 4 << 20, 1.4
STEP_BAR, CHOICE_BAR = 0.90, 0.95
# Up to this size: messages of one visit, which then takes 1 to 20 ms.
VISITS = [(2 << 10, 4000), (64 << 10, 1000), (512 << 10, 400), (LAST, 128)]
# Over the sizes of a group, in one process; the first makes the pages of the
# rings and is not counted.
SWEEPS = 4
LEAST, MOST = 8, 120  # values before a ratio is judged; before it is left alone


def sizes():
    """FIRST, ... by FACTOR, LAST, as am_perf's FIRST:LAST:xFACTOR."""
    found, at = [], FIRST
    while at < LAST:
        found.append(at)
        at = max(at + 1, int(at * FACTOR + 0.5))
    return found + [LAST]


NEXT = dict(zip(sizes(), sizes()[1:]))


def groups():
    """[(sizes, messages)], each group with the first size of the next, so that
    every step is inside one."""
    found, every, first = [], sizes(), 0
    for last, messages in VISITS:
        end = sum(size <= last for size in every)
        found.append((every[first:end + 1], messages))
        first = end
    return found


def interval(values):
    """The 99% interval of the median, by the sign test."""
    count, tail, below = len(values), 0.0, 0
    while below < count // 2:
        tail += math.comb(count, below) / 2 ** count
        if 2 * tail > 0.01:
            break
        below += 1
    if below == 0:
        return (-math.inf, math.inf)
    return (sorted(values)[below - 1], sorted(values)[count - below])


def is_open(values, bar):
    low, high = interval(values)
    return len(values) < LEAST or (len(values) < MOST and low < bar < high)


class Curve:
    """Collects ratios; `add(name, value)` keeps them."""

    def __init__(self, perf, add):
        self.perf, self.add = perf, add
        self.turn = False

    def visit(self, group, messages, protocol=None):
        """{size: median bandwidth}; adds the ratio of each step if the
        protocol is the default."""
        env = {"AM_PROTO": protocol} if protocol else {}
        rows = self.perf("--sizes", ",".join(map(str, group * SWEEPS)),
                         "--iterations", str(messages), "bw", **env)
        got = [(row["bytes"], row["value"]) for row in rows][len(group):]
        if protocol is None:
            for (size, value), (larger, after) in zip(got, got[1:]):
                if NEXT.get(size) == larger:
                    self.add("step %d" % larger, after / value)
        return {size: statistics.median(v for s, v in got if s == size)
                for size in group}

    def pair(self, group, messages, protocol):
        """The default and a forced protocol, each first in turn."""
        order = [None, protocol] if self.turn else [protocol, None]
        self.turn = not self.turn
        got = {p: self.visit(group, messages, p) for p in order}
        for size in group:
            self.add("bw auto %d" % size, got[None][size])
            self.add("auto/%s %d" % (protocol, size),
                     got[None][size] / got[protocol][size])

    def round(self):
        for group, messages in groups():
            for protocol in PROTOCOLS:
                self.pair(group, messages, protocol)

    def settle(self, series, seconds):
        """Measure again what is not decided yet."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            choices, steps = undecided(series)
            if not choices and not steps:
                return
            for group, messages in groups():
                for protocol in PROTOCOLS:
                    some = [s for s in group if (protocol, s) in choices]
                    if some and time.monotonic() < end:
                        self.pair(some, messages, protocol)
                for size in group[:-1]:
                    if NEXT[size] in steps and time.monotonic() < end:
                        self.visit([size, NEXT[size]], messages)


def undecided(series):
    """({(protocol, size)}, {size}) of the choices and steps to go on with."""
    choices, steps = set(), set()
    for name, values in series.items():
        if name.startswith("auto/") and is_open(values, CHOICE_BAR):
            protocol, size = name[len("auto/"):].split()
            choices.add((protocol, int(size)))
        elif name.startswith("step ") and is_open(values, STEP_BAR):
            steps.add(int(name.split()[1]))
    return choices, steps


def worst_step(series):
    """(ratio, size, interval) of the deepest drop from a size to the next, or
    None."""
    found = [(statistics.median(values), int(name.split()[1]),
              interval(values))
             for name, values in series.items() if name.startswith("step ")]
    return min(found, default=None)


def worst_choice(series):
    """(ratio, size, interval, protocol) where the default is furthest behind
    the best protocol forced, or None."""
    found = []
    for name, values in series.items():
        if name.startswith("auto/"):
            protocol, size = name[len("auto/"):].split()
            found.append((statistics.median(values), int(size),
                          interval(values), protocol))
    return min(found, default=None)
