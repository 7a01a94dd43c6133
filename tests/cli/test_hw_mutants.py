#!/usr/bin/env python3
"""Each fence, wait, arrival, expectation, commit and barrier in the PTX of a kernel of the hw level is needed: deleted
or weakened one at a time, the executor reports something.

  test_hw_mutants.py PTXGEN GEMM_WS.ptir

The PTX as it is runs silently, in both modes of --races, and gives right numbers. A mutant must fail in
one of a few seeds, with the fences of practice or else with those of the ISA. Mutants that no execution can tell
from the original stand in SURVIVORS, each with its argument."""
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

PTXGEN, SOURCE = sys.argv[1:3]
LONG = os.environ.get("PTXGEN_TEST_LONG")
M, N, K, CTAS = 130, 200, 312, 1  # two tiles for one CTA, ten trips through a ring of four
# Rows of the maps are multiples of 16 bytes, so k is one of 8.
SIZES = [(M, N, K, CTAS, "practice"), (1, 1, 8, 1, "isa"), (127, 255, 56, 2, "practice"), (129, 257, 72, 3, "isa"),
         (257, 300, 264, 2, "practice"), (256, 256, 64, 132, "practice")]
GUARD = r"\s*(?:@!?%p\d+ )?"
ORDER = re.compile(GUARD + r"(bar\.sync|barrier|fence|mbarrier\.(?:init|arrive|try_wait)|wgmma\.(?:fence|commit|wait)"
                   r"|cp\.async\.bulk\.(?:commit|wait)|cp\.async\.bulk\.tensor)")
# (pattern of the line, what was done): why it makes no difference.
SURVIVORS = []


def sh(*args):
    return subprocess.run(args, capture_output=True, text=True, check=False)


def arguments():
    return [f"--arg=zero:{2 * M * K}", f"--arg=zero:{2 * N * K}", f"--arg=zero:{4 * M * N}",
            f"--arg=tmap:@0:box=128x64:swizzle=128:dtype=f16:dims={M}x{K}:strides={2 * K}",
            f"--arg=tmap:@1:box=256x64:swizzle=128:dtype=f16:dims={N}x{K}:strides={2 * K}",
            f"--arg=s32:{M}", f"--arg=s32:{N}", f"--arg=s32:{K}", f"--arg=s32:{CTAS}"]


def execute(text, path, smem, seeds, races):
    with open(path, "w", encoding="ascii") as f:
        f.write(text)
    done = sh(PTXGEN, "exec", path, f"--grid={CTAS}", "--block=384", f"--smem={smem}",
              f"--races={races}", f"--seeds={seeds}", "--max-steps=3000000", *arguments())
    if done.returncode not in (0, 4):
        raise RuntimeError(f"exit {done.returncode}: {done.stderr}")
    return done.returncode == 0, done.stderr


def weakenings(line):
    """(what was done, line or None) for a line that orders something"""
    wait = re.match(r"(\s*)(@!?%p\d+ )?mbarrier\.try_wait\S*\s+(%p\d+),", line)
    if wait:
        yield "waits for nothing", f"{wait.group(1)}setp.eq.u32 {wait.group(3)}, 0, 0;"
        return
    yield "deleted", None
    if "expect_tx" in line:
        n = int(re.search(r", (\d+);", line).group(1))
        yield "16 bytes more", line.replace(f", {n};", f", {n + 16};")
        yield "16 bytes less", line.replace(f", {n};", f", {n - 16};")
    if "mbarrier.init" in line:
        n = int(re.search(r", (\d+);", line).group(1))
        yield "one arrival more", line.replace(f", {n};", f", {n + 1};")
        if n > 1:
            yield "one arrival less", line.replace(f", {n};", f", {n - 1};")
    group = re.search(r"wait_group\S*\s+(\d+);", line)
    if group:
        yield "one group more in flight", line.replace(group.group(1) + ";",
                                                       f"{int(group.group(1)) + 1};")


def try_mutant(job):
    at, what, line, text, path, smem = job
    for races, seeds in (("practice", 4 if LONG else 2), ("isa", 2)):
        silent, said = execute(text, path, smem, seeds, races)
        if not silent:
            kind = re.search(r"PG6150 ([^:]*):", said)
            return at, what, line, f"{races}: {kind.group(1) if kind else said.splitlines()[0]}"
    return at, what, line, None


def main():
    for m, n, k, ctas, races in SIZES:
        verified = sh(PTXGEN, "run", SOURCE, f"--arg=m={m}", f"--arg=n={n}", f"--arg=k={k}",
                      f"--arg=ctas={ctas}", "--device=cpu", "--verify", f"--races={races}", "--seeds=8")
        if verified.returncode != 0:
            print(f"m {m}, n {n}, k {k}, ctas {ctas}: {verified.stderr}")
            return 1
    text = sh(PTXGEN, "compile", SOURCE).stdout
    smem = re.search(r'"smem": "(\d+)"', text).group(1)
    lines = text.split("\n")
    with tempfile.TemporaryDirectory() as folder:
        jobs = []
        for at, line in enumerate(lines):
            if not ORDER.match(line):
                continue
            for what, other in weakenings(line):
                mutant = lines[:at] + ([] if other is None else [other]) + lines[at + 1:]
                jobs.append((at + 1, what, line, "\n".join(mutant), f"{folder}/{len(jobs)}.ptx", smem))
        for races in ("practice", "isa"):
            silent, said = execute(text, f"{folder}/whole.ptx", smem, 2, races)
            if not silent:
                print(f"the kernel itself, {races}: {said}")
                return 1
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            results = list(pool.map(try_mutant, jobs))
    missed = 0
    for at, what, line, report in results:
        known = any(re.search(p, line) and w == what for p, w, _ in SURVIVORS)
        missed += (report is None) != known
        print(f"line {at}, {what}: {report or 'SILENT'}{' (known)' if known else ''}: {' '.join(line.split())}")
    print(f"{len(results)} mutants, {sum(r[3] is not None for r in results)} reported, {missed} failed")
    return 1 if missed or not results else 0


sys.exit(main())
