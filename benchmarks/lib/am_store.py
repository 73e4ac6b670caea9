"""Results as JSON lines, written as they come, so that a sweep can go on.

The first line is the plan; each other line is one run.
"""

import json
import os


class Store:
    """A file of results; what is there already is kept."""

    def __init__(self, path, plan, fresh=False):
        self.path = path
        self.runs = []
        if fresh and os.path.exists(path):
            os.replace(path, path + ".old")
        if os.path.exists(path) and not self._is_torn_plan(plan):
            found, self.runs = load(path)
            if found != plan:
                raise ValueError(
                    f"'{path}' holds results of something else; give "
                    "another --out, or --fresh to begin anew.")
        if os.path.exists(path):
            self._drop_torn_line()
        self.file = open(path, "ab", buffering=0)
        if self.file.tell() == 0:
            self._write(plan)

    def _is_torn_plan(self, plan):
        """Is there nothing but the beginning of this plan, or nothing?"""
        with open(self.path, "rb") as file:
            first = file.readline()
        return not first.endswith(b"\n") and _line(plan).startswith(first)

    def _drop_torn_line(self):
        """Cuts off what a killed run left of its last line."""
        with open(self.path, "rb+") as file:
            data = file.read()
            file.truncate(data.rfind(b"\n") + 1)

    def _write(self, thing):
        data = _line(thing)
        try:
            while data:
                data = data[self.file.write(data):]
        except OSError as error:
            error.filename = self.path
            raise

    def add(self, run):
        self.runs.append(run)
        self._write(run)

    def close(self):
        self.file.close()


def _line(thing):
    return (json.dumps(thing, sort_keys=True) + "\n").encode()


def load(path):
    """(plan, runs) of a file; a torn last line is left out."""
    lines = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith("\n"):
                break
            try:
                lines.append(json.loads(line))
            except ValueError:
                raise ValueError(
                    f"'{path}' line {number} is no JSON.") from None
    if not lines or "command" not in lines[0]:
        raise ValueError(f"'{path}' holds no results of am_sweep or nas_run.")
    return lines[0], lines[1:]
