#!/usr/bin/env python3
"""The two GEMMs that are written by hand: right at odd sizes on the executor, without races, and each
wait and barrier that is taken away is found by it."""
import os
import re
import subprocess
import sys
import tempfile

PTXGEN = sys.argv[1]
WHOLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "filetests", "whole")
SIZES = [(1, 8, 8), (17, 24, 72), (130, 136, 136), (5, 8, 0)]


def run(path, size, *more):
    args = [f"--arg={name}={x}" for name, x in zip("mnk", size)]
    return subprocess.run([PTXGEN, "run", path, "--passes=layouts", "--device=cpu", "--races", *args, *more],
                          capture_output=True, text=True, check=False)


def main():
    failed = 0
    n_broken = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in ("gemm_sm80.ptir", "gemm_sm80_3.ptir"):
            path = os.path.join(WHOLE, name)
            for size in SIZES:
                done = run(path, size, "--verify", "--seeds=2")
                if done.returncode != 0:
                    failed += 1
                    print(name, size, done.stdout, done.stderr)
            with open(path, encoding="ascii") as f:
                lines = f.read().split("\n")
            for i, line in enumerate(lines):
                # A wait behind the loop keeps the copies from outliving the CTA: the interpreter's business.
                is_last = line == "  async.wait"
                if is_last or not re.match(r"\s*(async\.wait|cta\.sync)", line):
                    continue
                n_broken += 1
                broken = os.path.join(folder, "broken.ptir")
                with open(broken, "w", encoding="ascii") as f:
                    f.write("\n".join(lines[:i] + lines[i + 1:]))
                done = run(broken, (130, 136, 136), "--seeds=2")
                if done.returncode != 4 or "race" not in done.stderr:
                    failed += 1
                    print(name, "without line", i + 1, line.strip(), done.returncode, done.stderr)
    print(f"{failed} failed, {n_broken} broken ones")
    return 1 if failed or n_broken != 5 else 0


sys.exit(main())
