#!/usr/bin/env python3
"""check_docs.py GEN_DOCS [--write]: the documents made from tables are those in docs/.

GEN_DOCS without arguments prints the names of the documents that it can make, one a line
(`ops.md`); with a name it prints that document.
"""
import difflib
import pathlib
import re
import subprocess
import sys

import repo


def made(gen, *args):
    return subprocess.run([gen, *args], capture_output=True, text=True, check=True).stdout


def check_links(name):
    """Links of a page to files of the project that are not there."""
    found = []
    base = (repo.ROOT / name).parent
    body = re.sub(r"```.*?```", lambda m: "\n" * m.group(0).count("\n"), repo.text(name), flags=re.S)
    body = re.sub(r"`[^`\n]*`", "", body)
    for m in re.finditer(r"\]\(([^)\s#]+)(#[^)]*)?\)", body):
        if re.match(r"[a-z]+:", m.group(1)):
            continue
        if not (base / m.group(1)).exists():
            line = body.count("\n", 0, m.start()) + 1
            found.append(f"{name}:{line}: link to {m.group(1)}, which is not there")
    return found


def main():
    results = repo.Results()
    write = "--write" in sys.argv
    gens = [a for a in sys.argv[1:] if not a.startswith("-")]
    for gen in gens:
        for name in made(gen).split():
            path = repo.ROOT / "docs" / name
            want = made(gen, name)
            have = path.read_text(encoding="utf-8") if path.exists() else ""
            if write and want != have:
                path.write_text(want, encoding="utf-8")
                print(f"wrote docs/{name}")
                have = want
            diff = list(difflib.unified_diff(have.splitlines(), want.splitlines(),
                                             f"docs/{name}", f"{pathlib.Path(gen).name} {name}",
                                             lineterm=""))
            if diff:
                diff = diff[:40] + [f"docs/{name} is stale; `ninja -C build docs` writes it again"]
            results.case(diff)
    for name in repo.files():
        if name.endswith(".md") and not write:
            results.case(check_links(name))
    results.finish()


if __name__ == "__main__":
    main()
