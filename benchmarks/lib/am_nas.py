"""NAS kernels: what they print, and where they may run.

Owns the reading of a NAS report, ours or that of the official programs, and
the rank counts that are legal.  Starts nothing.
"""

import math
import re

KERNELS = ("ep", "is", "cg", "ft", "mg", "lu", "sp", "bt")
CLASSES = ("S", "W", "A", "B")

_LINES = {
    "class": (r"^ *Class +=\s+(\S+)", str),
    "size": (r"^ *Size +=\s+(\S.*?)\s*$", str),
    "iterations": (r"^ *Iterations +=\s+(\d+)", int),
    "seconds": (r"^ *Time in seconds +=\s+([-+.\dEe]+)", float),
    "ranks": (r"^ *Total processes +=\s+(\d+)", int),
    "mops": (r"^ *Mop/s total +=\s+([-+.\dEe]+)", float),
    "mops_rank": (r"^ *Mop/s/process +=\s+([-+.\dEe]+)", float),
    "verification": (r"^ *Verification +=\s+(\S+)", str),
    "version": (r"^ *Version +=\s+(\S+)", str),
}


def parse_report(text):
    """The last NAS report in text as a dictionary, or None."""
    names = re.findall(r"^ *(\w\w) Benchmark Completed", text, re.M)
    if not names:
        return None
    tail = text[text.rindex("Benchmark Completed"):]
    report = {"kernel": names[-1].lower()}
    for key, (pattern, convert) in _LINES.items():
        found = re.search(pattern, tail, re.M)
        try:
            report[key] = convert(found.group(1)) if found else None
        except ValueError:  # Fortran prints *** when a number does not fit
            report[key] = None
    report["verified"] = report["verification"] == "SUCCESSFUL"
    report["seconds"] = _exact_seconds(report)
    return report


def mismatch(report, kernel, klass, ranks):
    """One sentence if a report is not of the run that was asked for, or None.

    A launcher of another MPI library than the program was built with starts
    so many programs of one rank each, and every one of them verifies.
    """
    for what, wanted in (("kernel", kernel), ("class", klass),
                         ("ranks", ranks)):
        if report[what] != wanted:
            return (f"the report is of {what} {report[what]} and not of "
                    f"{wanted}" + ("; is this mpiexec of another MPI library?"
                                   if what == "ranks" else ""))
    return None


_SIDES = {"sp": {"S": 12, "W": 36, "A": 64, "B": 102},
          "bt": {"S": 12, "W": 24, "A": 64, "B": 102},
          "lu": {"S": 12, "W": 33, "A": 64, "B": 102},
          "mg": {"S": 32, "W": 128, "A": 256, "B": 256}}
_STEPS = {"sp": {"S": 100, "W": 400, "A": 400, "B": 400},
          "bt": {"S": 60, "W": 200, "A": 200, "B": 200},
          "lu": {"S": 50, "W": 300, "A": 250, "B": 250},
          "mg": {"S": 4, "W": 4, "A": 4, "B": 20}}
_BY_SIDE = {  # operations of a step: cube, square, side, constant
    "sp": (881.174, -4683.91, 11484.5, -19272.4),
    "bt": (3478.8, -17655.7, 28023.7, 0.0),
    "lu": (1984.77, -10923.3, 27770.9, -144010.0),
    "mg": (58.0, 0.0, 0.0, 0.0)}
_FT = {"S": (64 * 64 * 64, 6), "W": (128 * 128 * 32, 6),
       "A": (256 * 256 * 128, 6), "B": (512 * 256 * 256, 20)}
_CG = {"S": (1400, 7, 15), "W": (7000, 8, 15), "A": (14000, 11, 15),
       "B": (75000, 13, 75)}
_EP = {"S": 25, "W": 26, "A": 29, "B": 31}
_IS = {"S": 16, "W": 20, "A": 23, "B": 25}


def operations(kernel, klass):
    """The operations of a run that Mop/s is reckoned with."""
    if kernel == "ep":
        return 2.0 ** _EP[klass]
    if kernel == "is":
        return 10 * 2.0 ** _IS[klass]
    if kernel == "cg":
        order, nonzeros, steps = _CG[klass]
        terms = nonzeros * (nonzeros + 1)
        return 2 * steps * order * (3 + terms + 25 * (5 + terms) + 3)
    if kernel == "ft":
        points, steps = _FT[klass]
        log = math.log(points)
        return points * (14.8157 + 7.19641 * log +
                         (5.23518 + 7.21113 * log) * steps)
    side = _SIDES[kernel][klass]
    cube, square, line, rest = _BY_SIDE[kernel]
    return _STEPS[kernel][klass] * (cube * side ** 3 + square * side ** 2 +
                                    line * side + rest)


def _exact_seconds(report):
    """The time with all digits that the report has.

    The official programs print hundredths of a second, which is little for
    a small class; their Mop/s has more digits and the same meaning.
    """
    seconds, mops = report["seconds"], report["mops"]
    known = report["kernel"] in KERNELS and report["class"] in CLASSES
    if seconds is None or not mops or not known:
        return seconds
    exact = operations(report["kernel"], report["class"]) / mops * 1e-6
    return exact if abs(exact - seconds) <= 0.0051 else seconds


def _power_of_two(ranks):
    return ranks & (ranks - 1) == 0


def _lu_grid(ranks):
    """The longer side of LU's grid of ranks, or None if there is none."""
    longer = math.isqrt(ranks - 1) + 1
    while ranks % longer != 0:
        longer += 1
    return longer if longer <= 2 * (ranks // longer) else None


def legal(kernel, klass, ranks):
    """Whether a kernel of a class can run on this number of ranks."""
    if ranks < 1:
        return False
    if kernel == "ep":
        return True
    if kernel in ("sp", "bt"):
        root = math.isqrt(ranks)
        return root * root == ranks and root <= _SIDES[kernel][klass] // 3
    if kernel == "lu":
        longer = _lu_grid(ranks)
        return longer is not None and _SIDES["lu"][klass] // longer >= 4
    if not _power_of_two(ranks):
        return False
    if kernel == "ft":
        return ranks <= {"S": 4096, "W": 1024, "A": 16384, "B": 65536}[klass]
    if kernel == "is":
        return ranks <= {"S": 128, "W": 512, "A": 1024, "B": 1024}[klass]
    return True


def check_words(words, allowed, what):
    """Splits a comma list and refuses words that are not allowed."""
    chosen = [w for w in words.split(",") if w]
    for word in chosen:
        if word not in allowed:
            raise ValueError(f"there is no {what} '{word}'; there are "
                             f"{', '.join(allowed)}.")
    if not chosen:
        raise ValueError(f"no {what} is given.")
    return chosen


def check_ranks(text):
    """Splits a comma list of rank counts."""
    try:
        ranks = [int(word) for word in text.split(",")]
    except ValueError:
        raise ValueError(f"'{text}' is no list of rank counts.") from None
    if min(ranks) < 1:
        raise ValueError("a rank count must be at least 1.")
    return ranks
