#!/usr/bin/env python3
"""The manual pages of this build: each says every option that --help names and
its text, libam.7 every variable with its default and meaning; they are what
scripts/man-pages writes now, and man finds no fault in them."""
import os
import re
import shutil
import subprocess
import sys

import job

check = job.Checks()
SCRIPT = os.path.join(job.SRC, "scripts", "man-pages")
SECTIONS = ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS",
            "ENVIRONMENT", "SEE ALSO"]


def page(name):
    with open(os.path.join(job.BUILD, "docs", name), encoding="utf-8") as file:
        return file.read()


def plain(text):
    """What a reader sees, in one line: requests, fonts and escapes undone."""
    text = re.sub(r"^\.(br|PP|TP|SH|RS|RE|nf|fi|ad l)\b", "", text, flags=re.M)
    for escape, character in (("\\-", "-"), ("\\(aq", "'"), ("\\(ga", "`"),
                              ("\\fB", ""), ("\\fR", ""), ("\\&", ""),
                              ("\\:", ""), ("\\e", "\\")):
        text = text.replace(escape, character)
    return re.sub(r"\s+", " ", text)


def test_current(name):
    new = subprocess.run([sys.executable, SCRIPT, "--build", job.BUILD, name],
                         capture_output=True, text=True, check=True).stdout
    check.that(new == page(name), "%s is what scripts/man-pages writes" % name)


def test_tool(tool):
    text = page(tool + ".1")
    said = plain(text)
    told = job.run(job.program(tool), "--help").stdout
    options = set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", told))
    check.that(len(options) > 4, "%s --help has options" % tool)
    for option in sorted(options):
        check.that(re.search(r"(?<![\w-])%s(?![\w-])" % re.escape(option),
                             said), "%s.1 has %s" % (tool, option))
    words = [word for word in told.split() if not word.startswith("usage")]
    for word in words:
        check.that(word in said or word == "tests:",
                   "%s.1 has the word %s of --help" % (tool, word))
    for section in SECTIONS:
        check.that("\n.SH %s\n" % section in text,
                   "%s.1 has %s" % (tool, section))


def test_library():
    said = plain(page("libam.7"))
    rows = job.run(job.program("am_info"), "-c",
                   "--markdown").stdout.split("\n")[2:-1]
    check.that(len(rows) >= 15, "there are variables")
    for row in rows:
        name, default, unit, meaning = (
            cell.strip().replace("`", "").replace("\\|", "|")
            for cell in re.split(r"(?<!\\)\|", row)[1:-1])
        entry = "%s %s default: %s" % (name, meaning, default or "empty")
        if unit:
            entry += ", unit: " + unit
        check.that(entry in said, "libam.7 has %s" % entry)


def test_render(name):
    path = os.path.join(job.BUILD, "docs", name)
    got = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8",
                          path], capture_output=True, text=True,
                         env=dict(os.environ, LC_ALL="C.UTF-8", MANWIDTH="80"))
    check.that(got.returncode == 0 and got.stderr == "",
               "man has no fault to find in %s: %s" % (name, got.stderr))
    check.that(len(got.stdout) > 1000, "man shows %s" % name)


if not os.path.exists(os.path.join(job.BUILD, "docs", "libam.7")):
    sys.exit(job.SKIP)  # configured without python3
tools = [tool for tool in ("am_info", "am_perf", "am_sim", "am_tune")
         if os.path.exists(job.program(tool))]
for tool in tools:
    test_tool(tool)
test_library()
for made in [tool + ".1" for tool in tools] + ["libam.7"]:
    test_current(made)
    if shutil.which("man"):
        test_render(made)
check.finish()
