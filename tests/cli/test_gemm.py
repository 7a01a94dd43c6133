#!/usr/bin/env python3
"""The library's gemm: right at odd sizes on the executor, without races, in each layout, type and
number of stages; and without a spill on each target."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

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


def numbers():
    failed = 0
    for dtype in ("f16", "bf16", "f32"):
        for i, size in enumerate(FREE):
            failed += run(size, dtype=dtype, a=("row", "col")[i % 2], b=("row", "col")[i // 2 % 2],
                          **SMALL)
        for i, size in enumerate(EIGHTS):
            failed += run(size, dtype=dtype, align=8, stages=1 + i, a=("row", "col")[i % 2],
                          b=("row", "col")[i // 2 % 2], **SMALL)
    for trips in range(10):
        for stages in range(2, 6):
            failed += run((16, 16, 16 * trips), align=8, stages=stages, tile_m=16, tile_n=16,
                          tile_k=16, warps=1)
    for act in ("relu", "gelu"):
        failed += run((17, 33, 19), act=act, bias=1, alpha=-1, beta=0.5, **SMALL)
    return failed


def spills():
    ptxas = os.environ.get("PTXGEN_PTXAS") or shutil.which("ptxas")
    failed = 0
    for arch in ("sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"):
        for align in ("1", "8"):
            if not ptxas:
                continue
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "g.ptx")
                subprocess.run([PTXGEN, "kernel", "gemm", f"--arch={arch}", f"--set=align={align}",
                                "-o", path], check=True)
                done = subprocess.run([ptxas, f"-arch={arch}", "-v", path, "-o", path + ".cubin"],
                                      capture_output=True, text=True, check=False)
            text = done.stdout + done.stderr
            if done.returncode != 0 or not re.search(r"\b0 bytes spill stores", text):
                print(f"FAIL {arch} align={align}: {text}")
                failed += 1
    return failed


def missing_order():
    """Each wait and barrier of the PTX, taken away, is found by the executor."""
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "g.ptx")
        for align, stages in ((1, 1), (8, 2), (8, 3), (8, 4)):
            text = subprocess.run([PTXGEN, "kernel", "gemm", f"--set=align={align}",
                                   f"--set=stages={stages}", "--set=tile_m=32", "--set=tile_n=32"],
                                  capture_output=True, text=True, check=True).stdout
            lines = text.splitlines()
            orders = [i for i, line in enumerate(lines)
                      if re.search(r"\b(bar\.sync|barrier\.sync|cp\.async\.wait_group)", line)]
            if align == 8:
                orders.pop()  # behind the loop: nothing but the end follows
            smem = re.search(r'"smem": "(\d+)"', text).group(1)
            for gone in [None, *orders]:
                with open(path, "w", encoding="ascii") as f:
                    f.write("\n".join(x for i, x in enumerate(lines) if i != gone) + "\n")
                done = subprocess.run(
                    [PTXGEN, "exec", path, "--grid=1", "--block=128", f"--smem={smem}", "--races",
                     "--seeds=4", "--arg=zero:16384", "--arg=zero:16384", "--arg=zero:2048",
                     "--arg=s32:32", "--arg=s32:32", "--arg=s32:256"],
                    capture_output=True, text=True, check=False)
                if (done.returncode == 0) != (gone is None):
                    failed += 1
                    print(f"FAIL align={align} stages={stages}: without "
                          f"{lines[gone] if gone else 'nothing'}: {done.returncode}\n{done.stderr}")
    return failed


def main():
    failed = numbers() + spills() + missing_order()
    print(f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
