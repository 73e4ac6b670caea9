"""Plots through gnuplot, as SVG and PNG.

Owns the gnuplot scripts.  A plot that cannot be drawn is no error of the
measurement: the caller prints the sentence that comes back.
"""

import os
import shutil
import subprocess


# Colours that also those who see few of them can tell apart (Okabe, Ito).
_COLOURS = ("0072b2", "d55e00", "009e73", "cc79a7", "56b4e9", "e69f00",
            "000000", "999933")


def _colour(index):
    return f'linecolor rgb "#{_COLOURS[index % len(_COLOURS)]}"'


def _quote(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _run(folder, name, body):
    """Draws body as name.svg and name.png; returns (paths, sentence)."""
    if shutil.which("gnuplot") is None:
        return [], "no plots: gnuplot is not installed."
    paths = [os.path.join(folder, name + end) for end in (".svg", ".png")]
    script = os.path.join(folder, name + ".gp")
    try:
        with open(script, "w", encoding="utf-8") as file:
            for terminal, path in zip(("svg size 900,560 dynamic background "
                                       "rgb 'white'",
                                       "pngcairo size 900,560"), paths):
                file.write(f"set terminal {terminal} noenhanced\n"
                           f"set output {_quote(path)}\n{body}\n")
    except OSError as error:
        return [], f"no plots: {script}: {error.strerror}."
    done = subprocess.run(["gnuplot", script], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        return [], "gnuplot: " + done.stdout.decode("utf-8", "replace").strip()
    return paths, None


def by_size(folder, name, title, unit, series):
    """Lines over message sizes, with intervals; series is
    {label: [(size, value, low, high), ...]}."""
    blocks, parts = [], []
    for index, (label, points) in enumerate(series.items()):
        data = "\n".join(f"{max(size, 1)} {value:.9g} {low:.9g} {high:.9g}"
                         for size, value, low, high in sorted(points))
        blocks.append(f"$d{index} << EOD\n{data}\nEOD")
        parts.append(f"$d{index} using 1:2:3:4 with yerrorlines pointtype 7 "
                     f"pointsize 0.5 linewidth 1.5 {_colour(index)} "
                     f"title {_quote(label)}")
    body = "\n".join(blocks) + f"""
set title {_quote(title)}
set xlabel "message size, bytes"
set ylabel {_quote(unit)}
set logscale x 2
set logscale y 10
set format x "%.0b%B"
set format y "%.0s%c"
set key outside
set grid
plot """ + ", ".join(parts)
    return _run(folder, name, body)


def by_setting(folder, name, title, unit, bars):
    """Bars with intervals; bars is [(label, value, low, high), ...]."""
    data = "\n".join(f"{index} {value:.9g} {low:.9g} {high:.9g} "
                     f"{_quote(label)}"
                     for index, (label, value, low, high) in enumerate(bars))
    body = f"""$d << EOD
{data}
EOD
set title {_quote(title)}
set ylabel {_quote(unit)}
set yrange [0:*]
set xrange [-0.6:{len(bars) - 0.4}]
set boxwidth 0.7
set style fill solid 0.5
set xtics rotate by -30
set bmargin 7
set rmargin 12
set grid y
set key off
plot $d using 1:2:xtic(5) with boxes linecolor rgb "#4477aa", \\
     $d using 1:2:3:4 with yerrorbars pointtype -1 linecolor rgb "black"
"""
    return _run(folder, name, body)


def by_case(folder, name, title, unit, cases, bars):
    """Groups of bars: one group for each case, one colour for each label.

    bars is {label: [(value, low, high) for each case, None where there is
    none]}.
    """
    lines = []
    for index, case in enumerate(cases):
        values = [bars[label][index] for label in bars]
        lines.append(" ".join([_quote(case), *(
            f"{part:.9g}" if value else "-"
            for value in values for part in value or (0, 0, 0))]))
    data = "\n".join(lines)
    parts = [f"$d using {3 * column + 2}:{3 * column + 3}:{3 * column + 4}"
             f":xtic(1) title {_quote(label)} {_colour(column)}"
             for column, label in enumerate(bars)]
    body = f"""$d << EOD
{data}
EOD
set datafile missing "-"
set title {_quote(title)}
set ylabel {_quote(unit)}
set yrange [0:*]
set style data histogram
set style histogram errorbars gap 1 linewidth 1
set style fill solid 0.7
set xtics rotate by -30
set bmargin 7
set grid y
set key outside
plot """ + ", ".join(parts)
    return _run(folder, name, body)
