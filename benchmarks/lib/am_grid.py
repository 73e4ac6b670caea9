"""Grids of settings: AM_EAGER_MAX=0,256:64k:x4 and their product.

Owns the syntax of --var and of sizes.  Pure functions.
"""

import itertools
import re

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
VALUES_MAX = 1000


def parse_size(text):
    """A size with an optional k, m or g (of 1024) as a number."""
    found = re.fullmatch(r"(\d+)([kmg]?)", text.strip().lower())
    if found is None:
        raise ValueError(f"'{text}' is no size; sizes are digits with an "
                         "optional k, m or g.")
    return int(found.group(1)) * _UNITS[found.group(2)]


def format_size(number):
    """The shortest exact form of a size: 65536 is 64k."""
    for unit in ("g", "m", "k"):
        if number != 0 and number % _UNITS[unit] == 0:
            return f"{number // _UNITS[unit]}{unit}"
    return str(number)


def _parse_range(text):
    """lo:hi:xFACTOR or lo:hi:+STEP as a list of sizes."""
    parts = text.split(":")
    if len(parts) != 3 or not re.fullmatch(r"[x+]\w+", parts[2]):
        raise ValueError(f"'{text}' is no range; ranges are "
                         "low:high:xFACTOR or low:high:+STEP.")
    low, high = parse_size(parts[0]), parse_size(parts[1])
    by = parse_size(parts[2][1:])
    multiply = parts[2][0] == "x"
    if by < (2 if multiply else 1) or (multiply and low == 0):
        raise ValueError(f"the range '{text}' never ends.")
    if low > high:
        raise ValueError(f"the range '{text}' is empty.")
    values = []
    while low <= high:
        values.append(format_size(low))
        low = low * by if multiply else low + by
        if len(values) > VALUES_MAX:
            raise ValueError(f"the range '{text}' has over {VALUES_MAX} "
                             "values.")
    return values


def parse_variable(text):
    """NAME=value,low:high:xFACTOR,... as (name, list of values)."""
    name, equals, values = text.partition("=")
    if not equals or not re.fullmatch(r"[A-Za-z_]\w*", name) or not values:
        raise ValueError(f"'{text}' is no variable; they are written "
                         "NAME=value,value,low:high:xFACTOR.")
    chosen = []
    for word in values.split(","):
        # "auto", "eager:1k,..." is one value of AM_PROTO: only what looks
        # like low:high:step is a range
        if re.fullmatch(r"\w+:\w+:[x+]\w+", word):
            chosen.extend(_parse_range(word))
        else:
            chosen.append(word)
    return name, list(dict.fromkeys(chosen))


def product(variables):
    """All combinations of [(name, values), ...], as dictionaries."""
    names = [name for name, _ in variables]
    if len(set(names)) != len(names):
        raise ValueError("a variable is given twice.")
    return [dict(zip(names, values))
            for values in itertools.product(*(v for _, v in variables))]


def label(setting):
    """A setting as text, for tables and plots."""
    if not setting:
        return "as is"
    return " ".join(f"{name}={value}" for name, value in setting.items())
