"""Sums up the runs of a sweep: medians, verdict, plots.

Reads the runs as am_store keeps them; prints through am_show.
"""

import am_change
import am_grid
import am_measure
import am_plot
import am_show
import am_stats

SERIES_MAX = 12  # settings that still make a readable table by size


def label_of(run):
    return am_grid.label(run["setting"])


def good_runs(runs, narrowing=False):
    """{label: [run, ...]} of the runs that count, in order of first use.

    Runs that only look where the best setting changes have sizes of their own,
    and are left out unless they are asked for.
    """
    groups = {}
    for run in runs:
        group = groups.setdefault(label_of(run), [])
        if run["problem"] is None and (narrowing or "sizes" not in run):
            group.append(run)
    return groups


def collect(runs):
    """{(key, bytes): [row, ...]} over some runs."""
    found = {}
    for run in runs:
        for row in run["rows"]:
            found.setdefault((row["key"], row["bytes"]), []).append(row)
    return found


def medians(runs):
    """{(key, bytes): (median, low, high, unit)} over some runs."""
    result = {}
    for place, rows in collect(runs).items():
        values = [row["value"] for row in rows]
        low, high = am_stats.median_interval(values)
        result[place] = (am_stats.median(values), low, high, rows[0]["unit"])
    return result


def scores(runs):
    """The cost of each run that has one."""
    found = [am_measure.score(run["rows"]) for run in runs]
    return [score for score in found if score is not None]


def print_failures(runs):
    """One line for each kind of failure of each setting."""
    kinds = {}
    for run in runs:
        if run["problem"] is not None:
            kind = (label_of(run), run["problem"])
            kinds[kind] = kinds.get(kind, 0) + 1
    for (label, problem), count in kinds.items():
        times = "once" if count == 1 else f"{count} times"
        print(f"{label}: {times}: {problem}.")


def print_single(groups):
    """A table for commands with single values: settings down."""
    places = list(dict.fromkeys(
        place for runs in groups.values() for place in collect(runs)))
    for place in places:
        rows = []
        unit = ""
        for label, runs in groups.items():
            found = medians(runs).get(place)
            if found is None:
                rows.append([label, 0, "-", "-", "-"])
            else:
                unit = found[3]
                rows.append([label, len(runs), *map(am_show.number,
                                                    found[:3])])
        print(f"\n{place[0]}, {unit}" +
              (f", {place[1]} bytes" if place[1] is not None else ""))
        am_show.table(["setting", "runs", "median", "low", "high"], rows)


def print_series(groups):
    """A table for each key over sizes: sizes down, settings across."""
    found = {label: medians(runs) for label, runs in groups.items()}
    places = sorted({place for one in found.values() for place in one},
                    key=lambda place: (place[0], place[1] or 0))
    for key in dict.fromkeys(place[0] for place in places):
        sizes = [place for place in places if place[0] == key]
        unit = next(one[sizes[0]][3] for one in found.values()
                    if sizes[0] in one)
        print(f"\n{key}, {unit}, medians")
        am_show.table(
            ["bytes", *found],
            [[place[1] if place[1] is not None else "-",
              *(am_show.number(one[place][0]) if place in one else "-"
                for one in found.values())] for place in sizes])


def has_sizes(groups):
    """Whether the runs measured something over more than one size."""
    sizes = {place[1] for runs in groups.values() for place in collect(runs)}
    return len(sizes - {None}) > 1


def print_scores(groups):
    """The table of settings by the geometric mean of all that was measured."""
    first = None
    rows = []
    for label, runs in groups.items():
        values = scores(runs)
        if not values:
            rows.append([label, 0, "-", "-", "-"])
            continue
        middle = am_stats.median(values)
        first = first or middle
        low, high = am_stats.median_interval(values)
        rows.append([label, len(values), f"{middle / first:.3f}",
                     f"{low / first:.3f}", f"{high / first:.3f}"])
    print("\nall sizes, relative cost (geometric mean, lower is better)")
    am_show.table(["setting", "runs", "median", "low", "high"], rows)


def compare_rounds(a, b, confidence):
    """Compares two settings over the rounds in which both ran well."""
    by_round = [{run["round"]: am_measure.score(run["rows"]) for run in runs}
                for runs in (a, b)]
    shared = [number for number, score in by_round[0].items()
              if score is not None and by_round[1].get(number) is not None]
    return am_stats.compare_turns([by_round[0][n] for n in shared],
                                  [by_round[1][n] for n in shared],
                                  confidence=confidence)


def ties_of(ranked, groups, exact):
    """(labels that are not told from the best, why nothing can be told)."""
    best = ranked[0][1]
    if exact:
        return [label for score, label in ranked[1:]
                if score == ranked[0][0]], None
    confidence = 1.0 - 0.05 / (len(ranked) - 1)  # of all taken together
    ties = []
    for _, label in ranked[1:]:
        comparison = compare_rounds(groups[best], groups[label], confidence)
        if comparison.ratio is None:
            return ties, comparison.reason
        if comparison.verdict == am_stats.UNKNOWN:
            ties.append(label)
    return ties, None


def verdict(groups, exact=False):
    """One sentence: the best setting, or that they cannot be told apart."""
    ranked = sorted(((am_stats.median(scores(runs)), label)
                     for label, runs in groups.items() if scores(runs)))
    if not ranked:
        return "No run counts, so nothing can be said."
    if len(ranked) == 1:
        return f"There is only one setting that works: {ranked[0][1]}."
    best = ranked[0][1]
    ties, reason = ties_of(ranked, groups, exact)
    if reason is not None:
        return f"The best setting cannot be told: {reason}; " \
               f"the lowest median is that of {best}."
    if len(ties) == len(ranked) - 1:
        return "All settings cost the same." if exact else \
            "The difference between the settings is within noise."
    if ties:
        how = "at the same cost" if exact else "within noise of it"
        said = f"Best are {best} and, {how}, " + ", ".join(ties)
    else:
        said = f"Best is {best}"
    worst, label = ranked[-1][0] / ranked[0][0], ranked[-1][1]
    if label in ties:
        return said + "."
    return f"{said}; the worst, {label}, costs {am_stats.percent(worst)}."


def draw(groups, folder):
    """Draws what fits the measurements; returns (paths, sentences)."""
    found = {label: medians(runs) for label, runs in groups.items() if runs}
    keys = dict.fromkeys(place[0] for one in found.values() for place in one)
    paths, sentences = [], []
    for number, key in enumerate(keys):
        name = "".join(c if c.isalnum() else "_" for c in key)
        unit = next(one[place][3] for one in found.values()
                    for place in one if place[0] == key)
        series = {label: [(place[1], *value[:3])
                          for place, value in one.items()
                          if place[0] == key and place[1] is not None]
                  for label, one in found.items()}
        if max(len(points) for points in series.values()) > 1:
            drawn, sentence = am_plot.by_size(
                folder, f"{number}_{name}", f"{key} by size", unit,
                {label: points for label, points in series.items() if points})
        else:
            bars = [(label, *value[:3]) for label, one in found.items()
                    for place, value in one.items() if place[0] == key]
            drawn, sentence = am_plot.by_setting(
                folder, f"{number}_{name}", f"{key} by setting", unit, bars)
        paths += drawn
        if sentence is not None and sentence not in sentences:
            sentences.append(sentence)
    return paths, sentences


def summarise(runs, folder, plots=True, exact=False):
    """Prints all of it; exact: a value is the same however often it is
    measured."""
    groups = good_runs(runs)
    if has_sizes(groups):
        if len(groups) <= SERIES_MAX:
            print_series(groups)
        print_scores(groups)
        if am_change.can_tell(groups, exact):
            am_change.print_changes(good_runs(runs, narrowing=True), exact)
    else:
        print_single(groups)
    print()
    print_failures(runs)
    print(verdict(groups, exact))
    if plots:
        paths, sentences = draw(groups, folder)
        for line in [*paths, *sentences]:
            print(line)


def merge_rounds(runs):
    """Runs of several cases as one run for each round and setting.

    A merged run counts only if all cases of it do.
    """
    merged = {}
    cases = len({run["case"] for run in runs})
    for run in runs:
        one = merged.setdefault(
            (run["round"], label_of(run)),
            {"round": run["round"], "setting": run["setting"],
             "problem": None, "rows": [], "cases": 0})
        one["cases"] += 1
        one["rows"] += run["rows"]
        one["problem"] = one["problem"] or run["problem"]
    for one in merged.values():
        if one["cases"] < cases:
            one["problem"] = "not all cases were run"
    return list(merged.values())


def draw_cases(runs, folder):
    """Draws the time of each case by setting, against the first setting."""
    found = {}
    for run in runs:
        found.setdefault(label_of(run), []).append(run)
    found = {label: medians([run for run in group if run["problem"] is None])
             for label, group in found.items()}
    places = list(dict.fromkeys(place for one in found.values()
                                for place in one))
    first = next(iter(found.values()))
    bars = {label: [tuple(value / first[place][0] for value in one[place][:3])
                    if place in one and place in first and
                    first[place][0] > 0 else None for place in places]
            for label, one in found.items()}
    if not places:
        return [], None
    return am_plot.by_case(folder, "nas_by_setting", "NAS time by setting",
                           f"time, relative to {next(iter(found))}",
                           [place[0] for place in places], bars)
