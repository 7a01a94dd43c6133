#!/usr/bin/env python3
"""Every kernel of the library, as `ptxgen kernel --list --json` names them: right and without races at odd
sizes in every type, and machine code without a spill on every target.

  sweep.py PTXGEN            some sizes, few seeds, one target
  PTXGEN_TEST_LONG=1 ...     all of it

Sizes go to the scalars that have no default, in order; settings keep their defaults but for `dtype`, and, one
at a time in the first type, each word of the other settings and the ends of a range."""
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

PTXGEN = sys.argv[1]
IS_LONG = os.environ.get("PTXGEN_TEST_LONG", "0") not in ("", "0")
TARGETS = ["sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"]
# One, odd, a few tiles, none of each extent, one that is shorter than a tile's depth, multiples of 16.
SIZES = [(1, 1, 1), (17, 333, 5), (333, 17, 129), (0, 17, 333), (17, 0, 5), (64, 48, 0), (5, 7, 3),
         (48, 160, 64), (129, 130, 131)]
SHORT_SIZES = [(17, 33, 5), (0, 17, 3), (5, 0, 7), (48, 32, 64)]
PROMISES = {"align", "div"}  # what their numbers say of sizes is not so for ours
SPILL = re.compile(r"\bPG3204\b")


def choices(setting):
    """Words, and the ends of ranges such as 1..16; sizes that are powers of two stay what they are."""
    out = []
    for word in setting["allowed"].split():
        ends = re.fullmatch(r"(\d+)\.\.(\d+)", word)
        out += [ends[1], ends[2]] if ends else [] if ".." in word else [word]
    if setting["name"] in PROMISES:
        out = [w for w in out if not w.isdigit()]
    return [w for w in out if w != setting["default"]]


def variants(kernel):
    """Settings to try: each type, then each choice of the other settings."""
    types = [s["allowed"].split() for s in kernel["settings"] if s["name"] == "dtype"]
    for dtype in types[0] if types else [None]:
        yield [] if dtype is None else [f"dtype={dtype}"]
    for setting in kernel["settings"]:
        if setting["name"] != "dtype":
            for word in choices(setting):
                yield [f"{setting['name']}={word}"]


def scalars(kernel, size):
    free = [s["name"] for s in kernel["scalars"] if s["default"] is None]
    return [f"--arg={name}={size[i % len(size)]}" for i, name in enumerate(free)]


def call(args):
    done = subprocess.run([PTXGEN, *args], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def run(name, settings, args):
    seeds = 8 if IS_LONG else 2
    status, said = call(["run", name, *[f"--set={s}" for s in settings], *args, "--device=cpu", "--verify",
                         "--races", f"--seeds={seeds}"])
    return None if status == 0 else f"run {name} {' '.join(settings)} {' '.join(args)}: exit {status}\n{said}"


def assemble(name, settings, target, folder):
    out = os.path.join(folder, "-".join([name, *settings, target]) + ".cubin")
    status, said = call(["kernel", name, *[f"--set={s}" for s in settings], f"--arch={target}",
                         "--emit=cubin", "-o", out])
    if status == 0 and not SPILL.search(said):
        return None
    return f"kernel {name} {' '.join(settings)} --arch={target}: exit {status}\n{said}"


def jobs(kernels, has_ptxas, folder):
    for kernel in kernels:
        name = kernel["name"]
        for settings in variants(kernel):
            for args in sorted({tuple(scalars(kernel, s)) for s in (SIZES if IS_LONG else SHORT_SIZES)}):
                yield run, (name, settings, list(args))
            for target in TARGETS if IS_LONG else TARGETS[:1]:
                if has_ptxas and int(target[3:]) >= kernel["least_sm"]:
                    yield assemble, (name, settings, target, folder)


def main():
    kernels = json.loads(subprocess.run([PTXGEN, "kernel", "--list", "--json"], capture_output=True,
                                        text=True, check=True).stdout)["kernels"]
    ptxas = os.environ.get("PTXGEN_PTXAS") or shutil.which("ptxas")
    if not ptxas:
        print("no ptxas: machine code is not checked")
    n = {run: 0, assemble: 0}
    failed = 0
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        todo = list(jobs(kernels, bool(ptxas), folder))
        for (what, _), why in zip(todo, pool.map(lambda j: j[0](*j[1]), todo)):
            n[what] += 1
            if why is not None:
                failed += 1
                print("FAIL", why)
    print(f"{len(kernels)} kernels, {n[run]} runs, {n[assemble]} cubins, {failed} failed")
    return 1 if failed or not n[run] else 0


if __name__ == "__main__":
    sys.exit(main())
