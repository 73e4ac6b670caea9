"""Where, over the sizes of messages, the best setting changes.

A span is a run of sizes over which one setting is never told to be worse than
the best.  Of measured values that is judged round by round, as the verdict of a
sweep is; exact values (of a simulated machine) are compared as they are.
"""

import math

import am_grid
import am_measure
import am_show
import am_stats


def values_of(groups):
    """{key: {bytes: {label: {round: cost}}}} of all that has a size."""
    found = {}
    for label, runs in groups.items():
        for run in runs:
            for row in run["rows"]:
                if row["bytes"] is not None:
                    found.setdefault(row["key"], {}).setdefault(
                        row["bytes"], {}).setdefault(label, {})[
                            run["round"]] = am_measure.cost(row)
    return found


def _middle(by_round):
    return am_stats.median(list(by_round.values()))


def _worse(best, other, exact, confidence):
    """Is the other told to cost more than the best?"""
    if exact:
        return _middle(other) > _middle(best)
    shared = [number for number in best if number in other]
    return am_stats.compare_turns(
        [best[n] for n in shared], [other[n] for n in shared],
        confidence=confidence).verdict == am_stats.SLOWER


def best_at(costs, exact):
    """The labels that are not told to cost more than the lowest, at a size."""
    first = min(costs, key=lambda label: _middle(costs[label]))
    confidence = 1.0 - 0.05 / max(len(costs) - 1, 1)
    return {label for label in costs if label == first or
            not _worse(costs[first], costs[label], exact, confidence)}


def spans(by_size, exact):
    """[(first size, last size, labels)]: as few as there can be, in which each
    of the labels is among the best at every size."""
    found = []
    for size in sorted(by_size):
        best = best_at(by_size[size], exact)
        if found and found[-1][2] & best:
            found[-1] = (found[-1][0], size, found[-1][2] & best)
        else:
            found.append((size, size, best))
    return found


def gaps(groups, exact=True):
    """[(size, larger)] between which the best changes, and which leave sizes
    out, over all that was measured."""
    found = set()
    for by_size in values_of(groups).values():
        rows = spans(by_size, exact)
        found |= {(one[1], after[0]) for one, after in zip(rows, rows[1:])
                  if after[0] > one[1] + 1}
    return sorted(found)


def _mean(by_size, first, last, label):
    """Geometric mean of a label's costs in a span; infinite if some lack."""
    total, count = 0.0, 0
    for size in by_size:
        if first <= size <= last:
            if label not in by_size[size]:
                return math.inf
            total += math.log(_middle(by_size[size][label]))
            count += 1
    return math.exp(total / count)


def _row(by_size, span, order):
    """One line of the table: sizes, the best, what the next and the last of the
    others cost."""
    first, last, best = span
    sizes = " to ".join(dict.fromkeys(map(am_grid.format_size,
                                          (first, last))))
    means = {label: _mean(by_size, first, last, label) for label in order}
    lowest = min(means[label] for label in best)
    others = sorted((means[label] / lowest, label) for label in order
                    if label not in best and means[label] < math.inf)
    told = [f"{label} {am_stats.percent(ratio)}" for ratio, label in others]
    return [sizes, ", ".join(label for label in order if label in best),
            told[0] if told else "-", told[-1] if len(told) > 1 else "-"]


def print_changes(groups, exact):
    """For each key: which setting is best for which sizes."""
    for key, by_size in values_of(groups).items():
        if len(by_size) < 2 or min(len(costs) for costs in
                                   by_size.values()) < 2:
            continue
        print(f"\n{key}, the best by size")
        am_show.table(["bytes", "best", "next", "last"],
                      [_row(by_size, span, groups)
                       for span in spans(by_size, exact)])


def can_tell(groups, exact):
    """Are there enough runs to compare at all?"""
    return exact or all(len(runs) >= am_stats.RUNS_MIN
                        for runs in groups.values() if runs)
