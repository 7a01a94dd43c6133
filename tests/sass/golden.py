#!/usr/bin/env python3
"""Machine code of a table of library kernels, held to the figures in golden.txt: registers, spills,
barriers, shared memory, and the instructions of the main loop by class.

usage: golden.py PTXGEN FOLDER [--bless] [--only=WORDS]

FOLDER holds *.ptir files of kernels that the library does not have. The figures belong to one version of
ptxas, which golden.txt names; with another one the test says so and ends with 77. --bless writes golden.txt
anew, --only= takes the rows whose name has these words."""
import concurrent.futures
import difflib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from sass import BY_NAME, KIND_OF, Code, innermost, ptxas_version, tools_or_skip, word

GOLDEN = pathlib.Path(__file__).with_name("golden.txt")

# The main loop is the innermost one with the first of these that occurs in a loop at all.
MAIN = ("HGMMA", "HMMA", "IMMA", "DMMA", "FFMA", "LDG")

BIG = "gemm align=8 warps=4 stages=3 tile_m=128 tile_n=128 tile_k=32"
WIDE = "gemm align=8 warps=8 stages=3 tile_m=128 tile_n=256 tile_k=32"
ALL = "sm_80 sm_90 sm_100"
TABLE = [  # (kernel and settings, architectures)
    (BIG, f"{ALL} sm_120"), (WIDE, ALL),
    ("gemm align=8 tile_m=64 tile_n=64 dtype=bf16 act=gelu bias=1 beta=1", "sm_80"), (f"{BIG} a=col b=col", "sm_80"),
    (f"{BIG.replace('tile_k=32', 'tile_k=16')} dtype=tf32", "sm_80"), (f"{BIG} dtype=s8", "sm_80"),
    ("gemm align=1 warps=4 stages=3 tile_m=64 tile_n=64 tile_k=32", "sm_80"),
    ("gemm align=4 warps=4 stages=2 tile_m=64 tile_n=64 tile_k=16 dtype=f32", "sm_80"),
    ("gemm align=8 split_k=4", "sm_80"), ("gemm", "sm_80"),
    ("gemm_ws.ptir", "sm_90a"),
    ("softmax div=8", ALL), ("layernorm div=8", ALL), ("rmsnorm div=8 dtype=bf16", "sm_80 sm_90"),
    ("softmax block=4096 warps=8 dtype=f32", "sm_80"),
    ("transpose div=8", ALL), ("transpose dtype=f32 div=1", "sm_80"),
    ("reduce axis=inner div=8", "sm_80 sm_90"), ("reduce axis=outer div=8", "sm_80 sm_90"),
    ("reduce axis=full op=max div=8", "sm_80 sm_90"),
    ("gelu", ALL), ("silu_mul dtype=f32", "sm_80 sm_90"), ("add rank=1", "sm_80 sm_90"), ("add rank=4", "sm_80"),
]


def rows(only):
    for what, archs in TABLE:
        for arch in archs.split():
            if only in f"{what} {arch}":
                yield what, arch


def counts(code):
    """`HMMA 64, LDSM 16, integer 33, ...`: what the code consists of, most frequent first."""
    n = {}
    for _, _, text in code:
        w = word(text)
        name = w if w in BY_NAME else KIND_OF.get(w, "other")
        n[name] = n.get(name, 0) + 1
    return ", ".join(f"{k} {v}" for k, v in sorted(n.items(), key=lambda kv: (-kv[1], kv[0])))


def main_loop(code):
    for name in MAIN:
        loop = innermost(code, name)
        if loop:
            return loop
    return []


def lines_of(what, arch, entry, dynamic, is_one):
    loop = main_loop(entry.code)
    name = f"{what} {arch}" + ("" if is_one else f" @{entry.name}")
    return [name,
            f"  registers {entry.registers}",
            f"  spilled bytes {entry.spill}",
            f"  stack bytes {entry.stack}",
            f"  barriers {entry.barriers}",
            f"  shared bytes {entry.shared + dynamic}",
            f"  instructions {len(entry.code)}: {counts(entry.code)}",
            f"  main loop {len(loop)}" + (f": {counts(loop)}" if loop else "")]


def measure(ptxgen, folder, tools, tmp, number, what, arch):
    """The lines of a row; what failed as a line that begins with `FAILED`."""
    name, *sets = what.split()
    ptx = os.path.join(tmp, f"k{number}.ptx")
    source = ["compile", os.path.join(folder, name)] if name.endswith(".ptir") else ["kernel", name]
    command = [ptxgen, *source, f"--arch={arch}", *(f"--set={s}" for s in sets)]
    done = subprocess.run([*command, "-o", ptx], capture_output=True, text=True, check=False)
    if done.returncode:
        return [f"{what} {arch}", f"FAILED: {done.stderr.strip()}"]
    manifest = subprocess.run([*command, "--emit=manifest"], capture_output=True, text=True, check=True).stdout
    dynamic = {m["entry"]: int(m["smem"]) for m in map(json.loads, manifest.splitlines())}
    code = Code(ptx, arch, tools, tmp)
    if code.failed:
        return [f"{what} {arch}", f"FAILED: {code.failed.strip()}"]
    out = []
    for entry in code.entries:
        out += lines_of(what, arch, entry, dynamic[entry.name], len(code.entries) == 1)
    return out


def blocks(lines):
    """{name: lines} of what stands under each name."""
    out, name = {}, None
    for line in lines:
        if line and not line[0].isspace() and not line.startswith("FAILED"):
            name = line
            out[name] = []
        elif line:
            out[name].append(line)
    return out


def committed():
    """(version of ptxas, blocks)"""
    if not GOLDEN.exists():
        return None, {}
    first, *lines = GOLDEN.read_text(encoding="ascii").splitlines()
    return first.removeprefix("ptxas "), blocks(lines)


def compare(was, now):
    """The names whose figures differ, each with its difference printed."""
    bad = []
    for name in [*was, *(n for n in now if n not in was)]:
        a, b = was.get(name, []), now.get(name, [])
        if a != b:
            bad.append(name)
            print(f"changed: {name}")
            print("\n".join(d for d in difflib.ndiff(a, b) if d[0] in "-+"))
    return bad


def main():
    flags = [a for a in sys.argv[1:] if a.startswith("--")]
    args = [a for a in sys.argv[1:] if not a.startswith("--")]
    only = next((f.removeprefix("--only=") for f in flags if f.startswith("--only=")), "")
    is_bless = "--bless" in flags
    if len(args) != 2 or is_bless and only:
        sys.exit(__doc__)
    tools = tools_or_skip()
    version = ptxas_version(tools[0])
    golden, was = committed()
    if golden != version and not is_bless:
        print(f"skipped: golden.txt has figures of ptxas {golden}, and this is {version}")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as tmp, concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(measure, *args, tools, tmp, k, *row) for k, row in enumerate(rows(only))]
        lines = [line for job in jobs for line in job.result()]
    failed = [line for line in lines if line.startswith("FAILED")]
    now = blocks(lines)
    if only:
        was = {n: v for n, v in was.items() if n in now}
    bad = compare(was, now)
    if is_bless:
        if failed:
            sys.exit("\n".join(failed))
        GOLDEN.write_text("\n".join([f"ptxas {version}", *lines]) + "\n", encoding="ascii")
        print(f"{len(bad)} of {len(now)} kernels changed in {GOLDEN.name}")
        sys.exit(0)
    spilled = [n for n, v in now.items() if "  spilled bytes 0" not in v]
    print("".join(f"spills: {n}\n" for n in spilled), end="")
    if bad:
        print("where the change is meant: ninja -C BUILD bless-sass writes golden.txt, and the commit says why")
    n_bad = len(set(bad) | set(spilled))
    print(f"{len(now) - n_bad} passed, {n_bad} failed")
    sys.exit(1 if n_bad or failed else 0)


if __name__ == "__main__":
    main()
