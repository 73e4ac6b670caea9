"""Tables and the progress bar: everything a person sees while tools run."""

import sys
import time


def table(heads, rows, out=sys.stdout):
    """Prints columns; the first is set left, the others right."""
    cells = [[str(cell) for cell in line] for line in [heads, *rows]]
    widths = [max(len(line[i]) for line in cells) for i in range(len(heads))]
    for number, line in enumerate(cells):
        parts = [line[0].ljust(widths[0])]
        parts += [cell.rjust(width) for cell, width in
                  zip(line[1:], widths[1:])]
        print("  ".join(parts).rstrip(), file=out)
        if number == 0:
            print("-" * (sum(widths) + 2 * (len(widths) - 1)), file=out)


def number(value):
    """Four significant digits without an exponent where one can read it."""
    if value is None:
        return "-"
    if value != 0 and not 1e-4 <= abs(value) < 1e7:
        return f"{value:.3e}"
    return f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"


def duration(seconds):
    seconds = int(seconds + 0.5)
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60}:{seconds % 60:02d} min"
    return f"{seconds // 3600}:{seconds % 3600 // 60:02d} h"


class Progress:
    """A bar with the time left on a terminal; a line per tenth elsewhere."""

    WIDTH = 24

    def __init__(self, total, done=0, out=sys.stderr):
        self.total = total
        self.done = done
        self.first = done
        self.out = out
        self.live = out.isatty()
        self.start = time.monotonic()
        self.told = done * 10 // total if total else 0

    def left(self):
        """Time left, from the runs of this call; empty before the first."""
        ran = self.done - self.first
        if ran == 0:
            return ""
        spent = time.monotonic() - self.start
        return ", " + duration(spent / ran * (self.total - self.done)) + \
               " left"

    def show(self, what):
        """Says what runs next."""
        if not self.live:
            return
        full = self.WIDTH * self.done // self.total
        bar = "#" * full + "-" * (self.WIDTH - full)
        line = f"[{bar}] {self.done}/{self.total}{self.left()}  {what}"
        self.out.write("\r\033[K" + line[:118])
        self.out.flush()

    def step(self):
        """One more is done."""
        self.done += 1
        tenth = self.done * 10 // self.total
        if not self.live and tenth > self.told:
            self.told = tenth
            print(f"{self.done} of {self.total} runs done{self.left()}",
                  file=self.out, flush=True)

    def close(self):
        if self.live:
            self.out.write("\r\033[K")
            self.out.flush()
