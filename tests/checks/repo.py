"""What the checks share: the files of the project, their includes, and how results are printed."""
import functools
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = ("ptxgen/base", "ir", "sched", "emit", "kernels", "ptxgen")
_SKIP_DIRS = re.compile(r"^(\.git|\.venv|\.cache|build.*|demo-out|out|__pycache__|subprojects)$")
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)


@functools.lru_cache(maxsize=None)
def files():
    """Paths of the project's files, relative to ROOT, sorted: tracked, or new and not ignored."""
    git = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z", "-co", "--exclude-standard"],
                         capture_output=True, check=False)
    if git.returncode == 0:
        names = [n.decode() for n in git.stdout.split(b"\0") if n]
    else:  # an unpacked archive
        names = []
        for top, dirs, leaves in os.walk(ROOT):
            dirs[:] = [d for d in dirs if not _SKIP_DIRS.match(d)]
            names += [os.path.relpath(os.path.join(top, leaf), ROOT) for leaf in leaves]
    return sorted(n for n in set(names) if (ROOT / n).is_file())


def c_files():
    return [n for n in files() if n.endswith((".c", ".h"))]


@functools.lru_cache(maxsize=None)
def text(name):
    return (ROOT / name).read_text(encoding="utf-8", errors="replace")


def folder(name):
    """The layer that a file belongs to: the longest listed prefix, else its folder."""
    parent = os.path.dirname(name)
    for layer in ("ptxgen/base", "ptxgen/cli", "ptxgen/include", "ptxgen", "ir", "sched", "emit",
                  "kernels", "tools/asm", "tools/exec", "tools/run", "tools/sass", "tools/bench",
                  "tests"):
        if parent == layer or parent.startswith(layer + "/"):
            return layer
    return parent


def includes(name):
    """[(line, is_system, spelled)] of one file."""
    body = text(name)
    return [(body.count("\n", 0, m.start()) + 1, m.group(1) == "<", m.group(2))
            for m in _INCLUDE.finditer(body)]


def resolve(name, spelled):
    """The project's file that an include of `name` means, or None (a system header)."""
    for base in (os.path.dirname(name), "", "ptxgen", "ptxgen/include"):
        path = os.path.normpath(os.path.join(base, spelled))
        if (ROOT / path).is_file() and not path.startswith(".."):
            return path
    return None


@functools.lru_cache(maxsize=None)
def closure(name):
    """All project files that `name` includes, directly or not, and itself."""
    seen, todo = set(), [name]
    while todo:
        n = todo.pop()
        if n in seen:
            continue
        seen.add(n)
        for _, _, spelled in includes(n):
            path = resolve(n, spelled)
            if path:
                todo.append(path)
    return sorted(seen)


class Results:
    """Counts cases; prints each failure at once, and at the end `N passed, N failed`."""

    def __init__(self):
        self.passed = self.failed = 0

    def case(self, problems):
        """One case; `problems` is a list of lines, empty where all is well."""
        if problems:
            self.failed += 1
            for p in problems:
                print(p)
        else:
            self.passed += 1

    def finish(self):
        print(f"{self.passed} passed, {self.failed} failed")
        sys.exit(1 if self.failed else 0)


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)
