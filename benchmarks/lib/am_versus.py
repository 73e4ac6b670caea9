"""Several MPI libraries, or several sets of programs, on the same NAS cases.

Owns the bars of such a comparison and the reckoning of ratios.  Pure
functions over the runs as nas_compare keeps them: {"side", "case", "ranks",
"round", "problem", "report"}.
"""

import math
import re

import am_stats

BEST = "best"  # in a bar: whichever of the others has the lowest mean


class Bar:
    """The first side's mean time on some ranks, at most ratio x another's."""

    def __init__(self, ranks, other, ratio):
        self.ranks, self.other, self.ratio = ranks, other, ratio


def parse_bar(text, others):
    """RANKS:OTHER:RATIO, where OTHER is the name of a side, or best."""
    found = re.fullmatch(r"(\d+):([^:]+):(\d+(?:\.\d+)?)", text)
    if found is None:
        raise ValueError(f"'{text}' is no bar; bars are RANKS:OTHER:RATIO.")
    ranks, other, ratio = found.groups()
    if other != BEST and other not in others:
        raise ValueError(f"bar '{text}': there is no '{other}' to compare "
                         f"with; there are {', '.join([BEST, *others])}.")
    return Bar(int(ranks), other, float(ratio))


def times(runs):
    """{case: {side: {round: seconds}}} of the runs that count."""
    found = {}
    for run in runs:
        if run["problem"] is None:
            found.setdefault(run["case"], {}).setdefault(
                run["side"], {})[run["round"]] = run["report"]["seconds"]
    return found


def ratio(of_case, side, other):
    """The median over rounds of a side's time over another's, or None.

    Both of a round ran one after the other, so that what the machine does
    meets both.
    """
    a, b = of_case.get(side, {}), of_case.get(other, {})
    shared = [number for number in a if b.get(number)]
    if not shared:
        return None
    return am_stats.median([a[number] / b[number] for number in shared])


def mean_ratio(cases, side, other):
    """(geometric mean of the ratios over cases, how many cases)."""
    ratios = [ratio(of_case, side, other) for of_case in cases]
    logs = [math.log(value) for value in ratios if value]
    if not logs:
        return None, 0
    return math.exp(sum(logs) / len(logs)), len(logs)


def judge_bar(bar, cases, first, others):
    """(ratio, other, cases) that a bar is about; ratio None: not measured."""
    names = others if bar.other == BEST else [bar.other]
    found = [(*mean_ratio(cases, first, name), name) for name in names]
    found = [(value, name, count) for value, count, name in found if count]
    return max(found) if found else (None, bar.other, 0)
