#!/usr/bin/env python3
"""The library's gemm: right at odd sizes on the executor, without races, in each layout, type, way of
copying and number of stages; and what it refuses. Orders taken away: tests/mutants; spills:
sweep.py."""
import os
import random
import shutil
import subprocess
import sys

import harness

PTXGEN = sys.argv[1]
SMALL = {"tile_m": 32, "tile_n": 32, "tile_k": 16}
FREE = [(1, 1, 1), (17, 33, 19), (40, 24, 5), (0, 8, 8), (3, 9, 0), (65, 47, 70)]
EIGHTS = [(8, 8, 8), (24, 40, 72), (40, 32, 8), (16, 8, 0), (64, 72, 136)]


def run(size, **settings):
    args = [f"--arg={name}={x}" for name, x in zip("mnk", size)]
    args += [f"--set={name}={x}" for name, x in settings.items()]
    done = subprocess.run([PTXGEN, "run", "gemm", "--device=cpu", "--verify", "--races",
                           "--seeds=2", *args], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"FAIL {' '.join(args)}: {done.returncode}\n{done.stdout}{done.stderr}")
        return 1
    return 0


def layouts(dtype, tile):
    """Each way that operands lie, on each way of copying: rows of 16 bytes, of 4, and odd ones."""
    failed = 0
    for size in ((16, 48, 32), (20, 36, 44), (21, 35, 43)):
        for a in ("row", "col"):
            for b in ("row", "col"):
                failed += run(size, dtype=dtype, a=a, b=b, align="auto4", **tile)
    return failed


def parts(dtype, tile):
    """split_k: fewer steps than parts, none, and an epilogue that must be applied once."""
    failed = 0
    for size in ((17, 33, 19), (32, 32, 256), (5, 3, 0), (0, 3, 5)):
        failed += run(size, dtype=dtype, split_k=3, beta=2, alpha=-1, bias=1, act="relu", **tile)
    return failed


def refusals():
    """Settings that do not go together, or ask for too much: a numbered message, never a defect."""
    failed = 0
    for wanted, settings in ((2, {"dtype": "s8", "alpha": "0.5"}), (2, {"dtype": "u8", "act": "gelu"}),
                             (2, {"dtype": "s8", "tile_k": 16}), (2, {"tile_k": 8}),
                             (2, {"tile_n": 256}), (2, {"tile_m": "2^4..2^8"}), (2, {"align": 3}),
                             (1, {"dtype": "f32", "tile_k": 128, "stages": 1})):  # not even one slot fits
        args = ["--arch=sm_86", *(f"--set={name}={x}" for name, x in settings.items())]
        done = subprocess.run([PTXGEN, "kernel", "gemm", *args], capture_output=True, text=True,
                              check=False)
        if done.returncode != wanted or "error: PG" not in done.stderr or "help:" not in done.stderr:
            print(f"FAIL {args}: {done.returncode} {done.stderr}")
            failed += 1
    return failed


def numbers():
    failed = 0
    for dtype in ("f16", "bf16", "tf32", "f32", "s8", "u8"):
        tile = {**SMALL, "tile_k": 32 if dtype in ("s8", "u8") else 16}
        for i, size in enumerate(FREE):
            failed += run(size, dtype=dtype, a=("row", "col")[i % 2], b=("row", "col")[i // 2 % 2],
                          **tile)
        for i, size in enumerate(EIGHTS):
            failed += run(size, dtype=dtype, align=8, stages=1 + i, a=("row", "col")[i % 2],
                          b=("row", "col")[i // 2 % 2], **tile)
        failed += layouts(dtype, tile)
        failed += parts(dtype, tile)
    for trips in range(10):
        for stages in range(2, 6):
            failed += run((16, 16, 16 * trips), align=8, stages=stages, tile_m=16, tile_n=16,
                          tile_k=16, warps=1)
    # operands that fill the registers, fetched as they are needed
    failed += run((132, 136, 72), dtype="tf32", align=4, tile_m=128, tile_n=128, tile_k=32, warps=4)
    for act in ("relu", "gelu"):
        failed += run((17, 33, 19), act=act, bias=1, alpha=-1, beta=0.5, **SMALL)
    return failed


def rounded():
    """tf32: operands are rounded to nearest, ties away, not cut: the sums are exact then."""
    failed = 0
    cases = ((1 + 2**-10 - 2**-23, 1 + 2**-10), (1 + 2**-11, 1 + 2**-10), (1 + 2**-11 - 2**-23, 1.0),
             (-1 - 2**-11, -1 - 2**-10), (1 + 3 * 2**-11, 1 + 2**-9))
    c = harness.Cli(PTXGEN)
    for x, want in cases:
        for name, shape in (("a.npy", (16, 8)), ("b.npy", (8, 16))):
            c.write(name, harness.npy("<f4", shape, [x] * 128))
        c.run("run", "gemm", "--set", "dtype=tf32", "--in", f"a={c.path('a.npy')}", "--in",
              f"b={c.path('b.npy')}", "--out", f"c={c.path('c.npy')}", "--device=cpu", "--verify", want=0)
        with open(c.path("c.npy"), "rb") as f:
            got = set(harness.read_npy(f.read())[2])
        if got != {8 * want * want}:
            print(f"FAIL tf32 {x}: {got}, not {8 * want * want}")
            failed += 1
    shutil.rmtree(c.dir)
    return failed


def any_settings(n):
    """Settings and sizes at random: right, or refused with a message (1, 2)."""
    failed, ran = 0, 0
    draw = random.Random(5)
    for _ in range(n):
        dtype = draw.choice(("f16", "bf16", "tf32", "f32", "s8", "u8"))
        multiple = draw.choice((1, 2, 4, 16))
        settings = {"dtype": dtype, "tile_m": 2 ** draw.randint(4, 8), "tile_n": 2 ** draw.randint(3, 8),
                    "tile_k": 2 ** draw.randint(5 if dtype in ("s8", "u8") else 4, 7),
                    "warps": 2 ** draw.randint(0, 4), "stages": draw.randint(1, 8),
                    "a": draw.choice(("row", "col")), "b": draw.choice(("row", "col")),
                    "align": draw.choice(("auto", "auto4", multiple)), "split_k": draw.choice((1, 1, 2, 5)),
                    "bias": draw.randint(0, 1), "beta": draw.choice((0, 1, -1, 2)),
                    "alpha": draw.choice((1, -1, 2)), "act": draw.choice(("none", "relu"))}
        size = [draw.randint(0, 200 // multiple) * multiple for _ in range(3)]
        args = [f"--arg={name}={x}" for name, x in zip("mnk", size)]
        args += [f"--set={name}={x}" for name, x in settings.items()]
        done = subprocess.run([PTXGEN, "run", "gemm", "--device=cpu", "--verify", "--races", "--seeds=2",
                               *args], capture_output=True, text=True, check=False)
        ran += done.returncode == 0
        if done.returncode not in (0, 1, 2) or (done.returncode != 0 and "help:" not in done.stderr):
            print(f"FAIL {' '.join(args)}: {done.returncode}\n{done.stdout}{done.stderr}")
            failed += 1
    if 2 * ran < n:
        print(f"FAIL only {ran} of {n} settings were not refused")
        failed += 1
    return failed


def main():
    is_long = os.environ.get("PTXGEN_TEST_LONG", "0") not in ("", "0")
    failed = numbers() + rounded() + refusals() + any_settings(1000 if is_long else 25)
    print(f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
