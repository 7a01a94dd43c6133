#!/usr/bin/env python3
"""Every kernel of the library, and the hw-level product, on the GPU of this machine and on the executor: each right by
its reference, and the two beside each other. Skipped where there is no GPU.

  test_device.py PTXGEN      some sizes; PTXGEN_TEST_LONG=1: all of them, and every setting
"""
import json
import os
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cli"))
import harness  # noqa: E402
import sweep  # noqa: E402

EXACT = {"add", "transpose"}  # no sum, no approximation: every bit is the same
WHOLE = HERE.parent / "filetests/whole/gemm_ws.ptir"


def outputs(cli, kernel, settings):
    text = cli.run("kernel", kernel, *settings, "--emit=manifest", want=0).out
    args = {a["name"]: a for line in text.splitlines() for a in json.loads(line)["args"]}
    return sorted(n for n, a in args.items() if a.get("role") in ("out", "inout"))


def both(cli, kernel, what, names):
    """One run on each; how many bytes differ."""
    differing = 0
    for device in ("cuda", "cpu"):
        out = [f"--out={n}={n}.{device}.npy" for n in names]
        cli.run("run", kernel, *what, *out, "--verify", f"--device={device}", want=0, timeout=600)
    for name in names:
        a, b = cli.read(f"{name}.cuda.npy"), cli.read(f"{name}.cpu.npy")
        assert len(a) == len(b), (kernel, what, name)
        differing += sum(x != y for x, y in zip(a, b))
    assert kernel not in EXACT or differing == 0, (kernel, what, differing)
    return differing


def main():
    cli = harness.Cli(sys.argv[1])
    probe = cli.run("run", "add", "--arg=n=100", "--device=cuda", "--verify")
    if probe.status == 3 and probe.numbers() == ["6140"]:
        print(f"skipped: {re.search(r'PG6140 (.*)', probe.err)[1]}")
        return 77
    passed, failed = 0, 0
    kernels = json.loads(cli.run("kernel", "--list", "--json", want=0).out)["kernels"]
    cases = []
    for kernel in kernels:
        variants = list(sweep.variants(kernel))
        sizes = sweep.SIZES if sweep.IS_LONG else sweep.SHORT_SIZES
        for settings in variants if sweep.IS_LONG else variants[:3]:
            what = [f"--set={s}" for s in settings]
            cases += [(kernel["name"], what, sweep.scalars(kernel, size)) for size in sizes]
    for m, n, k, ctas in ((128, 256, 64, 1), (256, 512, 200, 3), (136, 264, 72, 132)):
        cases.append((str(WHOLE), [], [f"--arg=m={m}", f"--arg=n={n}", f"--arg=k={k}", f"--arg=ctas={ctas}"]))
    for kernel, settings, args in cases:
        try:
            names = ["pc"] if kernel.endswith(".ptir") else outputs(cli, kernel, settings)
            differing = both(cli, kernel, [*settings, *args], names)
            print(f"{kernel} {' '.join(settings + args)}: {differing} bytes differ")
            passed += 1
        except AssertionError as why:
            if "PG6146" in str(why):  # compiled for another target than this device
                print(f"skipped: {kernel}: the device is of another target")
                continue
            failed += 1
            print(f"FAILED {kernel} {settings} {args}: {why}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    os.environ.setdefault("LC_ALL", "C")
    sys.exit(main())
