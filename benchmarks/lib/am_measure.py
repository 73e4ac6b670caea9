"""What a measured command printed, as rows of numbers.

Owns the reading of outputs: a NAS report, JSON lines of am_perf and of the
MPI micro-benchmarks, or two columns as the OSU programs print them.  A row
is {"key", "bytes", "value", "unit", "better"}; better is "lower" or "higher".
"""

import json
import math
import re

import am_nas

_HIGHER = ("B/s", "MB/s", "GB/s", "msg/s", "op/s")


def row(key, size, value, unit):
    better = "higher" if unit in _HIGHER else "lower"
    return {"key": key, "bytes": size, "value": value, "unit": unit,
            "better": better}


def _json_rows(text):
    rows = []
    for line in text.splitlines():
        if not line.startswith("{"):
            continue
        try:
            found = json.loads(line)
            value = float(found["value"])
        except (ValueError, KeyError, TypeError):
            continue
        if found.get("metric") == "virtual_time":
            continue  # of the whole simulation, start and end included
        key = "/".join(str(found[name]) for name in
                       ("test", "metric", "neighbours", "words")
                       if name in found)
        rows.append(row(key, found.get("bytes"), value,
                        str(found.get("unit", ""))))
    return rows


def _column_rows(text):
    """Lines of a size and a value below a comment that names the unit."""
    rows = []
    title, unit = "value", ""
    for line in text.splitlines():
        if line.startswith("#"):
            units = "us|ns|s|MB/s|B/s|msg/s|Messages/s"
            found = re.search(rf"\(({units})\)|, ({units})$", line)
            if found:
                unit = (found.group(1) or found.group(2)).replace(
                    "Messages", "msg")
                title = re.sub(r"#|\bSize\b", " ",
                               line[:found.start()]).strip()
            continue
        found = re.fullmatch(r"\s*(\d+)\s+([-+.\deE]+)\s*.*", line)
        if found and unit:
            rows.append(row(title or "value", int(found.group(1)),
                            float(found.group(2)), unit))
    return rows


def read(outcome, pattern=None):
    """Rows of an outcome; its wall time if it printed nothing known.

    pattern is a regular expression whose first group is the value, in
    seconds: for commands that print something of their own.
    """
    if pattern is not None:
        return [row("value", None, float(found), "s") for found in
                re.findall(pattern, outcome.output, re.M)]
    report = am_nas.parse_report(outcome.output)
    if report is not None:
        name = f"{report['kernel']}.{report['class']}"
        return [row(name, None, report["seconds"], "s")]
    return (_json_rows(outcome.output) or _column_rows(outcome.output) or
            [row("wall time", None, outcome.seconds, "s")])


def problem(outcome, limit_s, wanted=None):
    """One sentence on why a run does not count, or None."""
    failure = outcome.failure(limit_s)
    report = am_nas.parse_report(outcome.output)
    if report is not None and not report["verified"]:
        return "the verification was not successful"
    if failure is not None:
        return failure
    if report is not None and report["seconds"] is None:
        return "the report has no time"
    if wanted is not None and not re.search(wanted, outcome.output, re.M):
        return f"'{wanted}' is not in its output"
    return None


def cost(found):
    """A row's value so that lower is better."""
    value = found["value"]
    if found["better"] == "higher":
        return 1.0 / value if value > 0 else math.inf
    return value


def score(rows):
    """One number for a run: the geometric mean of the costs of its rows."""
    costs = [cost(found) for found in rows]
    if not costs or min(costs) <= 0 or max(costs) == math.inf:
        return None
    return math.exp(sum(math.log(value) for value in costs) / len(costs))
