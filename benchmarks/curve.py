"""The bandwidth curve over message sizes, for benchmarks/am_core_compare.

A machine that drifts, or flips between two speeds, spoils a curve that is
measured once from end to end.  So only ratios of neighbours in time count: of
one size and the next, visited within some milliseconds of each other, and of
the default and a forced protocol, run in turn; and of each ratio the median
over all visits."""
import statistics

PROTOCOLS = ["eager", "buffered", "prefix", "get", "put"]
FIRST, LAST, FACTOR = 1, 4 << 20, 1.4
# Up to this size: messages of one visit, which then takes 1 to 10 ms.
VISITS = [(2 << 10, 4000), (64 << 10, 1000), (512 << 10, 256), (LAST, 64)]
SWEEPS = 5  # over the sizes of a group, in one process


def sizes():
    """FIRST, ... by FACTOR, LAST, as am_perf's FIRST:LAST:xFACTOR."""
    found, at = [], FIRST
    while at < LAST:
        found.append(at)
        at = max(at + 1, int(at * FACTOR + 0.5))
    return found + [LAST]


def groups():
    """[(sizes, messages)], each group with the first size of the next, so that
    every step is inside one."""
    found, every, first = [], sizes(), 0
    for last, messages in VISITS:
        end = sum(size <= last for size in every)
        found.append((every[first:end + 1], messages))
        first = end
    return found


class Curve:
    """Collects ratios; `add(name, value)` keeps them."""

    def __init__(self, perf, add):
        self.perf, self.add = perf, add

    def visit(self, group, messages, protocol=None):
        """{size: median bandwidth}; adds the ratio of each step if the
        protocol is the default."""
        env = {"AM_PROTO": protocol} if protocol else {}
        rows = self.perf("--sizes", ",".join(map(str, group * SWEEPS)),
                         "--iterations", str(messages), "bw", **env)
        got = [(row["bytes"], row["value"]) for row in rows]
        if protocol is None:
            for (size, value), (larger, after) in zip(got, got[1:]):
                if larger > size:
                    self.add("step %d" % larger, after / value)
        return {size: statistics.median(v for s, v in got if s == size)
                for size in group}

    def round(self):
        """The default, each protocol forced, and the default in between."""
        for group, messages in groups():
            before = self.visit(group, messages)
            for size in group:
                self.add("bw auto %d" % size, before[size])
            for protocol in PROTOCOLS:
                forced = self.visit(group, messages, protocol)
                after = self.visit(group, messages)
                for size in group:
                    self.add("auto/%s %d" % (protocol, size),
                             (before[size] + after[size]) / 2 / forced[size])
                before = after


def worst_step(series):
    """(ratio, size) of the deepest drop from a size to the next, or None."""
    found = [(statistics.median(values), int(name.split()[1]))
             for name, values in series.items() if name.startswith("step ")]
    return min(found, default=None)


def worst_choice(series):
    """(ratio, size, protocol) where the default is furthest behind the best
    protocol forced, or None."""
    found = []
    for name, values in series.items():
        if name.startswith("auto/"):
            protocol, size = name[len("auto/"):].split()
            found.append((statistics.median(values), int(size), protocol))
    return min(found, default=None)
