#!/usr/bin/env python3
"""No kernel of the library spills: all kernels x types x a grid of settings, through ptxas for six targets.

usage: spills.py PTXGEN [--all] [--list] [--bless] [--only=WORDS] [--arch=NAME]

Each row is one kernel with settings for one target. A row fails where ptxas spills although ptxgen did not say that it
would (PG3031), and more than spills.txt has for it; rows that ptxgen refuses (too many registers, too much shared memory)
are counted apart. Without --all, a part of the rows: the default settings of each kernel and type, and what once spilled,
each for one of the targets in turn. With --all the whole grid for LONG_ARCHS, and the default settings for all targets;
PTXGEN_TEST_LONG=1 is the same. --list prints each row, --only= takes those whose text has these words, --bless writes
what was found into spills.txt. Exit status 77 with a reason where ptxas is missing."""
import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from sass import Report, find

ARCHS = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
LONG_ARCHS = ("sm_80", "sm_90")
FLOATS = ("f16", "bf16", "f32")
GEMM_TYPES = ("f16", "bf16", "tf32", "f32", "s8", "u8")

# (block, warps): usual ones, and as many elements in a thread as fit.
BLOCKS = ("1024 4", "4096 4", "256 8", "2048 2", "512 1")
ROW_BLOCKS = ("1024 4", "4096 4", "2048 8", "512 1", "4096 1", "16384 4", "16384 8", "16384 16")
TILES = ("128 128 32 4", "128 128 32 8", "128 256 32 8", "256 128 32 8", "256 64 32 4", "64 256 32 4", "64 128 64 4",
         "64 64 32 4", "128 64 32 2", "64 64 32 1", "32 32 16 1", "16 64 32 2", "256 128 32 16")
MUCH = "act=gelu bias=1 beta=1"
EPILOGUES = {"f": ("", MUCH, "act=relu alpha=2 beta=0.5", "a=col", "b=col", "a=col b=col", "split_k=4"),
             "i": ("", "act=relu bias=1 beta=1", "a=col", "b=col", "a=col b=col", "split_k=4")}

# Rows that spilled once, beside the defaults: always looked at.
BIG = "tile_m=128 tile_n=128 tile_k=32 warps=4"
ONCE = (
    f"gemm dtype=f16 {BIG} align=16 {MUCH}", f"gemm dtype=bf16 {BIG} align=16 {MUCH}", f"gemm dtype=tf32 {BIG} align=16",
    "softmax dtype=f16 block=16384 warps=4 div=1", "softmax dtype=f16 block=4096 warps=1 div=1",
)
# Rows that still spill: bytes, target, kernel and settings.
KNOWN = pathlib.Path(__file__).with_name("spills.txt")


def read_known():
    """{(kernel and settings, target): bytes}"""
    lines = KNOWN.read_text(encoding="ascii").splitlines() if KNOWN.exists() else []
    return {(text, arch): int(n) for n, arch, text in (line.split(maxsplit=2) for line in lines)}


def write_known(known):
    part = KNOWN.with_suffix(".part")
    part.write_text("".join(f"{n} {arch} {text}\n" for (text, arch), n in sorted(known.items())), encoding="ascii")
    part.replace(KNOWN)


def gemm_rows():
    for d in GEMM_TYPES:
        kind = "i" if d in ("s8", "u8") else "f"
        for e in EPILOGUES[kind]:
            for align in ("", "align=16", "align=1"):
                yield f"gemm dtype={d} {align} {e}"
        for tile in TILES:
            m, n, k, warps = tile.split()
            for rest in ("align=16", f"align=16 {EPILOGUES[kind][1]}", "align=1 a=col b=col"):
                yield f"gemm dtype={d} tile_m={m} tile_n={n} tile_k={k} warps={warps} {rest}"


def other_rows():
    for d in FLOATS:
        for kernel in ("add", "gelu", "silu_mul"):
            for b in BLOCKS:
                for div in (1, 8):
                    yield "{} dtype={} block={} warps={} div={}".format(kernel, d, *b.split(), div)
        for rank in (2, 3, 4):
            yield f"add dtype={d} rank={rank}"
        for kernel in ("layernorm", "rmsnorm", "softmax", *(f"reduce axis={a} op={o}" for a in ("inner", "outer", "full")
                                                            for o in ("sum", "max"))):
            for b in ROW_BLOCKS:
                for div in (1, 8):
                    yield "{} dtype={} block={} warps={} div={}".format(kernel, d, *b.split(), div)
        for length in ("block", "long"):
            for kernel in ("layernorm", "rmsnorm", "softmax", "reduce"):
                yield f"{kernel} dtype={d} length={length}"
    for d in ("f16", "bf16", "f32", "f64", "i8", "i16", "i32", "i64"):
        for tile in ("64 64 4", "128 128 8", "128 64 4", "32 32 1", "16 256 4"):
            for div in (1, 16):
                yield "transpose dtype={} tile_m={} tile_n={} warps={} div={}".format(d, *tile.split(), div)


def default_rows():
    yield from (f"gemm dtype={d}" for d in GEMM_TYPES)
    for kernel in ("add", "gelu", "silu_mul", "layernorm", "rmsnorm", "softmax", "reduce axis=inner", "reduce axis=outer",
                   "reduce axis=full"):
        yield from (f"{kernel} dtype={d}" for d in FLOATS)
    yield from (f"transpose dtype={d}" for d in ("f16", "f32", "f64", "i8"))


def rows(is_all, only, arch):
    """[(kernel and settings, target)], each once."""
    if is_all:
        found = [(t, a) for t in (*default_rows(), *ONCE) for a in ARCHS]
        found += [(" ".join(t.split()), a) for t in (*gemm_rows(), *other_rows()) for a in LONG_ARCHS]
    else:
        found = [(t, ARCHS[i % len(ARCHS)]) for i, t in enumerate(default_rows())]
        found += [(t, a) for t in ONCE for a in ARCHS[::5]]
    return [r for r in dict.fromkeys(found) if only in f"{r[0]} {r[1]}" and r[1].startswith(arch)]


def measure(tools, folder, number, text, arch, known):
    """(what became of it, registers, bytes spilled, what was said)"""
    ptxgen, ptxas = tools
    ptx = os.path.join(folder, f"k{number}.ptx")
    name, *sets = text.split()
    done = subprocess.run([ptxgen, "kernel", name, f"--arch={arch}", *(f"--set={s}" for s in sets), "-o", ptx],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        is_refusal = re.search(r"PG303[02]|PG2\d\d\d .*shared|PG0\d\d\d|do not go together|is at most|at least", done.stderr)
        return ("refused" if is_refusal else "failed", 0, 0, done.stderr.strip()[:300])
    asm = subprocess.run([ptxas, "-v", f"-arch={arch}", ptx, "-o", os.devnull], capture_output=True, text=True, check=False)
    os.remove(ptx)
    if asm.returncode:
        return ("failed", 0, 0, asm.stderr.strip()[:300])
    registers = max(map(int, re.findall(r"Used (\d+) registers", asm.stderr)))
    spill = sum(map(int, re.findall(r"(\d+) bytes spill stores", asm.stderr)))
    what = "fits" if spill == 0 else "warned" if "PG3031" in done.stderr else "known" if spill <= known else "spills"
    return (what, registers, spill, "")


def main():
    flags = [a for a in sys.argv[1:] if a.startswith("--")]
    args = [a for a in sys.argv[1:] if not a.startswith("--")]
    value = {f.split("=")[0]: f.split("=", 1)[1] for f in flags if "=" in f}
    if len(args) != 1:
        sys.exit(__doc__)
    ptxas = find("ptxas", "PTXGEN_PTXAS")
    if not ptxas:
        print("skipped: no ptxas")
        sys.exit(77)
    is_all = "--all" in flags or os.environ.get("PTXGEN_TEST_LONG") == "1"
    wanted = rows(is_all, value.get("--only", ""), value.get("--arch", ""))
    r, count, known = Report(), collections.Counter(), read_known()
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(measure, (args[0], ptxas), folder, k, *row, known.get(row, 0)) for k, row in enumerate(wanted)]
        for (text, arch), job in zip(wanted, jobs):
            what, registers, spill, said = job.result()
            count[what] += 1
            known.pop((text, arch), None)
            if what in ("known", "spills"):
                known[text, arch] = spill
            if "--list" in flags or what in ("warned", "known", "spills", "failed"):
                print(f"{what:8} {arch:7} {registers:4} {spill:6}  {text}  {said}", flush=True)
            if what in ("fits", "spills", "failed"):
                r.n_pass += what == "fits"
                r.n_fail += what != "fits"
    if "--bless" in flags:
        write_known(known)
    print(", ".join(f"{n} {what}" for what, n in sorted(count.items())))
    r.end()


if __name__ == "__main__":
    main()
