#!/usr/bin/env python3
"""check_format.py BUILD_DIR [--fix]: clang-format and clang-tidy are content.

clang-format looks at every .c and .h; clang-tidy at every .c of compile_commands.json outside
tests/.  What was clean is remembered under BUILD_DIR by a hash of the file, all that it includes,
the configuration and the tool's version, so that a second run looks at changes only.
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import repo


# The analyzer gives up on a function after so many steps: a bound on time, as it grows with the
# power of the branches.  What lies behind is left to the sanitizers.
ANALYZER = [f"--extra-arg={x}" for x in ("-Xclang", "-analyzer-config", "-Xclang",
                                          "max-nodes=20000")]


def version(tool):
    return subprocess.run([tool, "--version"], capture_output=True, text=True, check=True).stdout


def digest(names, *more):
    h = hashlib.sha256("\0".join(more).encode())
    for n in names:
        h.update(n.encode() + b"\0" + (repo.ROOT / n).read_bytes() + b"\0")
    return h.hexdigest()


def format_one(name):
    r = subprocess.run(["clang-format", "--dry-run", "--Werror", name], cwd=repo.ROOT,
                       capture_output=True, text=True, check=False)
    return [x for x in r.stderr.splitlines() if ": error:" in x][:5] if r.returncode else []


def tidy_one(name, build):
    r = subprocess.run(["clang-tidy", "--quiet", "-p", str(build), "--use-color=false",
                        "--extra-arg=-Wno-unknown-warning-option", *ANALYZER, name],
                       cwd=repo.ROOT, capture_output=True, text=True, check=False)
    if r.returncode == 0:
        return []
    found = []
    for x in r.stdout.splitlines():
        m = re.match(r"(\S+?):(\d+:\d+: (error|warning):.*)", x)
        if m:
            path = os.path.normpath(os.path.join(build, m.group(1)))
            found.append(f"{os.path.relpath(path, repo.ROOT)}:{m.group(2)}")
    return found or [name + ": " + r.stderr]


class Cache:
    """The hashes that were clean."""

    def __init__(self, path):
        self.path = path
        self.clean = set(path.read_text().split()) if path.exists() else set()
        self.used = set()

    def add(self, key):
        """Kept at once, so that a run that is stopped has not run in vain."""
        self.used.add(key)
        if key not in self.clean:
            with self.path.open("a") as f:
                f.write(key + "\n")

    def has(self, key):
        if key in self.clean:
            self.used.add(key)
        return key in self.clean

    def save(self):
        self.path.write_text("\n".join(sorted(self.used)) + "\n")


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    for tool in ("clang-format", "clang-tidy"):
        if not shutil.which(tool):
            repo.skip(f"{tool} is not installed")
    results = repo.Results()
    cache = Cache(build / "check_format.cache")
    pool = concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1)

    if "--fix" in sys.argv:
        subprocess.run(["clang-format", "-i", *repo.c_files()], cwd=repo.ROOT, check=True)

    jobs = []
    config = repo.text(".clang-format") + version("clang-format")
    for name in repo.c_files():
        key = digest([name], config)
        jobs.append((key, None if cache.has(key) else pool.submit(format_one, name)))

    config = repo.text(".clang-tidy") + version("clang-tidy") + " ".join(ANALYZER)
    commands = {}
    for c in json.loads((build / "compile_commands.json").read_text()):
        path = os.path.relpath(os.path.join(c["directory"], c["file"]), repo.ROOT)
        commands.setdefault(path, c["command"])
    for name in repo.c_files():
        if name in commands and not name.startswith("tests/"):
            key = digest(repo.closure(name), config, commands[name])
            jobs.append((key, None if cache.has(key) else pool.submit(tidy_one, name, build)))

    for key, job in jobs:
        problems = job.result() if job else []
        results.case(problems)
        if not problems:
            cache.add(key)
    cache.save()
    results.finish()


if __name__ == "__main__":
    main()
