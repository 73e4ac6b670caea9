"""The source tree as the tidy checks see it: tracked files, C without its
comments, and the way to report."""
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
ROOT = os.environ.get("AM_SRCDIR") or os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("AM_BUILDDIR") or os.path.join(ROOT, "build")
_problems = []


GENERATED = re.compile(
    r"(^|/)(autom4te\.cache|build-aux|m4|_build|_inst|__pycache__)/|^ChangeLog$"
    r"|^(configure~?|aclocal\.m4|config\.h\.in~?|(.*/)?Makefile\.in)$")


def files(*suffixes):
    """Tracked files, and new ones that git does not ignore; in an unpacked
    release all that is not generated.  Names are relative to ROOT."""
    if os.path.exists(os.path.join(ROOT, ".git")):
        names = subprocess.run(
            ["git", "-C", ROOT, "ls-files", "--cached", "--others",
             "--exclude-standard"], check=True, capture_output=True, text=True
        ).stdout.split("\n")
    else:
        names = [name for name in _walk() if not GENERATED.search(name)]
    names = sorted(n for n in names if n.endswith(suffixes or "")
                   and os.path.isfile(os.path.join(ROOT, n)))
    if not names:
        sys.exit("no files to check in %s" % ROOT)
    return names


def _walk():
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [f for f in folders if not os.path.exists(
            os.path.join(folder, f, "config.log"))]
        for name in names:
            yield os.path.relpath(os.path.join(folder, name), ROOT)


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8", errors="replace") as f:
        return f.read()


_TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def code(name):
    """The file with comments and the inside of strings blanked; lines stay.
    Strings of #include lines are kept."""
    def blank(match):
        text = match.group()
        if text.startswith(("/*", "//")):
            return re.sub(r"[^\n]", " ", text)
        return text[0] + " " * (len(text) - 2) + text[-1]
    text = read(name)
    kept = re.sub(r'^(\s*#\s*include\s*)"([^"\n]*)"', r"\1<<\2>>", text,
                  flags=re.M)
    return re.sub(r"<<([^>\n]*)>>", r'"\1"', _TOKEN.sub(blank, kept))


def fail(name, line, text):
    _problems.append("%s:%s: %s" % (name, line, text))


def finish():
    for problem in _problems:
        print(problem)
    sys.exit(1 if _problems else 0)
