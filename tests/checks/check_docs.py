#!/usr/bin/env python3
"""check_docs.py GEN_DOCS [--write]: the documents made from tables are those in docs/.

GEN_DOCS without arguments prints the names of the documents that it can make, one a line
(`ops.md`); with a name it prints that document. In every page, links lead somewhere, and paths, identifiers
and options in `code` and numbers of messages are those of the project; docs/pipeline.md has each refusal of its pass.
"""
import difflib
import functools
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


# The first part of a path that is one of the project's.
FOLDERS = ("base", "docs", "emit", "examples", "ir", "kernels", "ptxgen", "sched", "tests", "tools")
PATH = re.compile(rf"(?:{'|'.join(FOLDERS)})/[\w./*-]*")


def is_there(name, path):
    """From the root, from the page's folder, or as `#include` finds it; `*` as a shell has it."""
    places = [repo.ROOT, (repo.ROOT / name).parent, repo.ROOT / "ptxgen"]
    return any(any(p.glob(path.rstrip("/"))) for p in places)


@functools.lru_cache(maxsize=None)
def sources():
    return "\n".join(repo.text(n) for n in repo.files()
                     if n.endswith((".c", ".h", ".def", ".py", ".build", ".map", ".in", ".txt"))
                     or n in ("tools/deps", "tools/test"))


def check_names(name):
    """Paths and identifiers in `code` that the project does not have. NAME stands for any name."""
    found = []
    for n, line in enumerate(repo.text(name).splitlines(), 1):
        for code in re.findall(r"`([^`]+)`", line):
            if PATH.fullmatch(code) and not re.search(r"[A-Z]{4}", code) and not is_there(name, code):
                found.append(f"{name}:{n}: `{code}` is not there")
            word = re.fullmatch(r"((?:pg|ptxgen|ptxexec|ptxasm|run|pe)_\w+)(?:\(\))?", code)
            word = word or re.fullmatch(r"((?:PG|PTXGEN|PTXEXEC|PTXASM)_[A-Z]\w+)", code)
            # tools/deps makes the names of the tools' variables.
            is_tool = re.fullmatch(r"PTXGEN_(PTXAS|NVCC|NVDISASM|CUOBJDUMP)", code)
            if word and not is_tool and not word.group(1).endswith("_NAME") and not re.search(
                    rf"\b{word.group(1)}\b", sources()):
                found.append(f"{name}:{n}: `{word.group(1)}` is nowhere in the sources")
    return found


# Commands of others.
OTHERS = re.compile(r"meson |valgrind ")


@functools.lru_cache(maxsize=None)
def numbers():
    return set(re.findall(r"^DIAG\(\w+, *(\d+),", repo.text("ptxgen/base/diags.def"), re.M))


def check_words(name):
    """Numbers of messages, and options in `code`, that there are not."""
    found = []
    for n, line in enumerate(repo.text(name).splitlines(), 1):
        found += [f"{name}:{n}: there is no message PG{number}" for number in re.findall(r"\bPG(\d{4})\b", line)
                  if str(int(number)) not in numbers()]
        for code in re.findall(r"`([^`]+)`", line):
            found += [] if OTHERS.match(code) else [
                f"{name}:{n}: there is no option {option}" for option in re.findall(r"(?<![\w-])--[a-z][\w-]+", code)
                if not re.search(re.escape(option) + r"(?![\w-])", sources())]
    return found


def check_gemm_table(write):
    """What docs/kernels.md says of gemm's ways is what golden.txt has, where both have it."""
    golden = repo.text("tests/sass/golden.txt")
    have = repo.text("docs/kernels.md")
    page = have
    for label, settings in (("`auto`", ""), ("16 bytes only", "align=8 warps=4 stages=3 tile_m=128 tile_n=128 tile_k=32 ")):
        part = golden.split(f"\ngemm {settings}sm_80\n")[1]
        registers = re.search(r"registers (\d+)", part).group(1)
        whole = re.search(r"instructions (\d+)", part).group(1)
        loop, hmma = map(int, re.search(r"main loop (\d+): HMMA (\d+)", part).groups())
        page = re.sub(rf"^(\| {label} \|) \d+ (.*\|) \d+ \| [\d.]+", rf"\1 {registers} \2 {whole} | {loop / hmma:.2f}", page, flags=re.M)
    if write and page != have:
        (repo.ROOT / "docs/kernels.md").write_text(page, encoding="utf-8")
        print("wrote docs/kernels.md")
    return [] if write or page == have else ["the table of gemm in docs/kernels.md is stale; `ninja -C build docs` writes it again"]


def check_refusals():
    """Reasons by which the pass `pipeline` refuses a loop that docs/pipeline.md does not name."""
    page = repo.text("docs/pipeline.md")
    reasons = re.findall(r'(?:return|\?|:) "([a-z][^"%]*)"', repo.text("sched/pipeline_async.c"))
    return ([] if len(reasons) >= 10 else [f"sched/pipeline_async.c: only {len(reasons)} reasons found"]) + \
        [f"docs/pipeline.md does not name the refusal: {reason}" for reason in reasons if reason not in page]


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
            results.case(check_links(name) + check_names(name) + check_words(name))
    results.case(check_gemm_table(write))
    results.case(check_refusals())
    results.finish()


if __name__ == "__main__":
    main()
