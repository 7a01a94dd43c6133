#!/usr/bin/env python3
"""The order in the library gemm's PTX is needed, piece by piece: without any one of its barriers and
waits, or with a wait that leaves one group more in flight, the executor finds a fault.

  test_gemm_mutants.py PTXGEN

For each number of stages the emitted PTX runs as it is, for trip counts 0 to 9, and must be right; then
each mutant must fail in at least one of a few seeds. One survivor is known and held to: the wait behind
the loop (SURVIVES)."""
import re
import subprocess
import sys
import tempfile

PTXGEN = sys.argv[1]
TILE = 16
TRIPS = 9
ORDER = re.compile(r"\s*(?:@!?%p\d+ )?(bar\.sync|barrier\.sync|cp\.async\.wait_group\s+(\d+)|cp\.async\.wait_all)")
# What runs: the type decides copies and instructions; align=1 is the loop with one buffer.
FORMS = [("f16", 8, 2), ("f16", 8, 3), ("f16", 8, 4), ("f16", 8, 5), ("f16", 1, 1), ("f16", 2, 3),
         ("tf32", 4, 3), ("tf32", 1, 2), ("f32", 1, 3), ("s8", 16, 3)]
# The wait behind the loop, the last one: it keeps copies from outliving the program. Copies that still
# run there have a mask that is false (no iteration is left) and write zeros where nobody reads: no
# result can differ, and the executor, which lets copies end with the program, has nothing to see.
SURVIVES = "the wait behind the loop"


def build(dtype, align, stages):
    deep = 32 if dtype == "s8" else TILE
    args = [f"--set=dtype={dtype}", f"--set=align={align}", f"--set=stages={stages}",
            f"--set=tile_m={2 * TILE}", f"--set=tile_n={2 * TILE}", f"--set=tile_k={deep}"]
    text = subprocess.run([PTXGEN, "kernel", "gemm", *args], capture_output=True, text=True,
                          check=True).stdout
    return text, deep, args


def runs_clean(text, path, dtype, k, seeds):
    """Zeros as input: what counts is which accesses are ordered."""
    with open(path, "w", encoding="ascii") as f:
        f.write(text)
    size = 2 * TILE
    smem = re.search(r'"smem": "(\d+)"', text).group(1)
    width, out = {"f16": (2, 2), "tf32": (4, 4), "f32": (4, 4), "s8": (1, 4)}[dtype]
    block = re.search(r'"block": \[(\d+)', text).group(1)
    done = subprocess.run(
        [PTXGEN, "exec", path, "--grid=1", f"--block={block}", f"--smem={smem}", "--races",
         f"--seeds={seeds}", f"--arg=zero:{max(16, size * k * width)}",
         f"--arg=zero:{max(16, size * k * width)}", f"--arg=zero:{size * size * out}",
         f"--arg=s32:{size}", f"--arg=s32:{size}", f"--arg=s32:{k}"],
        capture_output=True, text=True, check=False)
    if done.returncode not in (0, 4):
        raise RuntimeError(f"exit {done.returncode}: {done.stderr}")
    return done.returncode == 0


def mutants(lines):
    """(line, what was done, text) for each barrier and wait."""
    orders = [(i, m) for i, m in ((i, ORDER.match(x)) for i, x in enumerate(lines)) if m]
    waits = [i for i, m in orders if m.group(1).startswith("cp")]
    last = waits[-1] if waits else None
    for i, m in orders:
        tail = SURVIVES if i == last else ""
        yield i, "deleted", lines[:i] + lines[i + 1:], tail
        if m.group(2) is not None:
            weaker = lines[i].replace(m.group(2) + ";", f"{int(m.group(2)) + 1};")
            assert weaker != lines[i], lines[i]
            yield i, "one group more in flight", lines[:i] + [weaker] + lines[i + 1:], tail


def check(dtype, align, stages, path):
    """(failed, caught, survived)"""
    failed, caught, survived = 0, 0, 0
    text, deep, args = build(dtype, align, stages)
    for trips in range(TRIPS + 1):
        done = subprocess.run(
            [PTXGEN, "run", "gemm", *args, f"--arg=m={2 * TILE}", f"--arg=n={2 * TILE}",
             f"--arg=k={trips * deep}", "--device=cpu", "--verify", "--races", "--seeds=2"],
            capture_output=True, text=True, check=False)
        if done.returncode != 0:
            failed += 1
            print(f"FAIL {args} trips={trips}: {done.returncode} {done.stderr}")
    n = 0
    for i, what, lines, tail in mutants(text.splitlines()):
        n += 1
        is_clean = runs_clean("\n".join(lines) + "\n", path, dtype, TRIPS * deep, 4)
        if is_clean != (tail != ""):
            failed += 1
            print(f"FAIL {dtype} align={align} stages={stages}: line {i + 1}, "
                  f"{text.splitlines()[i].strip()}, {what}: {'not caught' if is_clean else 'caught: no survivor'}")
        caught += not is_clean
        survived += is_clean
    # At least a barrier; of a pipeline also the wait of the loop and the one behind it.
    if n < (1 if stages == 1 else 5):
        failed += 1
        print(f"FAIL {dtype} align={align} stages={stages}: only {n} mutants")
    return failed, caught, survived


def main():
    totals = [0, 0, 0]
    with tempfile.TemporaryDirectory() as folder:
        for form in FORMS:
            totals = [a + b for a, b in zip(totals, check(*form, f"{folder}/g.ptx"))]
    print(f"{totals[0]} failed, {totals[1]} mutants caught, {totals[2]} survived ({SURVIVES})")
    return 1 if totals[0] else 0


if __name__ == "__main__":
    sys.exit(main())
