"""The settings that a run is really made with.

Asks am_info -c, run in the environment of the measured command; where there
is no am_info, the AM_* variables of that environment are all that is known.
"""

import functools
import os
import re
import shutil
import sys

import am_run


@functools.cache
def tell(warning):
    """Says once what the transport says of the settings."""
    print(f"warning: {warning}", file=sys.stderr)


BUILT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..",
                     "build", "am_info")


def find_am_info(given=None):
    """The am_info to ask: the one given, installed or built; or None."""
    if given is not None:
        if shutil.which(given) is None:
            raise ValueError(f"there is no command '{given}'.")
        return given
    found = shutil.which("am_info") or shutil.which(BUILT)
    if found is None:
        tell("there is no am_info (--am-info), so only the AM_* variables of "
             "the environment are kept with each run.")
    return found


def effective(setting, am_info=None):
    """{name: value} of all settings in force with setting applied."""
    known = {name: value for name, value in os.environ.items()
             if name.startswith("AM_")}
    known.update(setting)
    if am_info is None:
        return known
    outcome = am_run.run([am_info, "-c"], setting, 20.0)
    if outcome.failure(20.0) is not None:
        return known
    for line in outcome.output.splitlines():
        found = re.match(r"(AM_\w+)=(.*?)(?: \(default .*)?$", line)
        if found:
            known[found.group(1)] = found.group(2)
        elif " warn: " in line:
            tell(line.split(" warn: ", 1)[1])
    return known
