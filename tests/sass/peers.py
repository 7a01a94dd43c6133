#!/usr/bin/env python3
"""Machine code of our kernels beside Triton's of the same tile, both through the same ptxas.

usage: peers.py PTXGEN [--install] [--keep FOLDER]

Triton is looked for in .venv-peers/ beside the sources; --install, or PTXGEN_TEST_LONG as `tools/test
--all` sets it, puts it there first (PyPI, 1.1 GB, fixed version). Without it the script says so and ends
with 77. Neither compiler needs a GPU.
Prints one table for each GEMM and one for the other kernels; the figures are counts of
instructions, so the same on every machine with that ptxas. Ends with 1 where we are worse than Triton in a
column that is judged and that REASONS does not name."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from sass import ROOT, Code, kinds, loops, ptxas_version, tools_or_skip, widths, words

TRITON = "3.9.0"
VENV = pathlib.Path(os.environ.get("PTXGEN_PEERS_VENV") or ROOT / ".venv-peers")

# Architecture, warps, stages, tile.
GEMMS = [(sm, w, s, (128, n, 32)) for n, w in ((128, 4), (256, 8)) for s in (3, 4) for sm in (80,)]
KERNELS = ROOT / "tests/peer/triton/kernels.py"
# The other kernels, f16, blocks of 1024, four warps: (title, ours, its settings, Triton's, whether it may divide
# extents by 16, sizes to run: extents and outputs by name). Forms are compared with their like: extents that may be
# anything, and such as are promised to be multiples of 16; rows that fit into a block, and rows in a loop.
FLAT = {"n": 16384}
BLOCK, BLOCK_ANY = {"rows": 4, "cols": 1024}, {"rows": 4, "cols": 1001}
LONG, LONG_ANY = {"rows": 4, "cols": 8192}, {"rows": 4, "cols": 8192 - 23}
ROWS = [
    ("add, any n", "add", ["broadcast=0"], "add", False, {"n": 16384 - 23}),
    ("add", "add", ["broadcast=0", "div=16"], "add", True, FLAT),
    ("gelu, any n", "gelu", [], "gelu", False, {"n": 16384 - 23}),
    ("gelu", "gelu", ["div=16"], "gelu", True, FLAT),
    ("silu_mul, any n", "silu_mul", [], "silu_mul", False, {"n": 16384 - 23}),
    ("silu_mul", "silu_mul", ["div=16"], "silu_mul", True, FLAT),
    ("reduce, any row of a block", "reduce", ["length=block"], "row_sum_block", False, BLOCK_ANY),
    ("reduce, rows of a block", "reduce", ["length=block", "div=16"], "row_sum_block", True, BLOCK),
    ("reduce, any row", "reduce", ["length=long"], "row_sum", False, LONG_ANY),
    ("reduce", "reduce", ["length=long", "div=16"], "row_sum", True, LONG),
    ("softmax, any row of a block", "softmax", ["length=block"], "softmax", False, BLOCK_ANY),
    ("softmax, rows of a block", "softmax", ["length=block", "div=16"], "softmax", True, BLOCK),
    ("layernorm, any row of a block", "layernorm", ["length=block"], "layernorm_block", False, BLOCK_ANY),
    ("layernorm, rows of a block", "layernorm", ["length=block", "div=16"], "layernorm_block", True, BLOCK),
    ("layernorm, any row", "layernorm", ["length=long"], "layernorm", False, LONG_ANY),
    ("layernorm", "layernorm", ["length=long", "div=16"], "layernorm", True, LONG),
    ("rmsnorm, any row", "rmsnorm", ["length=long"], "rmsnorm", False, LONG_ANY),
    ("rmsnorm", "rmsnorm", ["length=long", "div=16"], "rmsnorm", True, LONG),
]
# Judged: at most Triton's times this.
ROW_COLUMNS = [("registers", 1.0), ("spilled", 1.0), ("instructions", 1.5), ("in loops", 1.0), ("BAR", 1.0), ("SHFL", 1.0),
               ("accesses", 1.0), ("PTX executed", None)]

# (name, what it counts): how the number comes from a Gemm; at most Triton's where it is judged.
COLUMNS = [
    ("registers", True), ("spilled bytes", True), ("shared memory", False),
    ("loop / HMMA", True), ("LDSM / HMMA", True), ("HMMA / k-block", True),
    ("LDGSTS / k-block", True), ("BAR / k-block", True), ("waits / k-block", True),
    ("integer, move, compare, uniform", True), ("  integer", False), ("  compare", False),
    ("  move", False), ("  uniform", False), ("before the loop", True), ("after the loop", True),
    ("all instructions", True), ("ptxas ms", False),
]

# Where we are above Triton and stay so for now: (title, column) of the other kernels -> why.
UNROLLED = "ptxas unrolls Triton's loop, whose counter has 32 bits, four times; its kernel is nearly twice as long for that"
IN_PLACE = "the output may be an input: threads wait for each other before a loop reads again what it may have written"
ROW_REASONS = {
    ("layernorm, rows of a block", "registers"): "two more, for extents of 64 bits",
    ("layernorm", "in loops"): UNROLLED,
    ("rmsnorm", "in loops"): UNROLLED,
    ("rmsnorm", "BAR"): IN_PLACE,
    ("add, any n", "BAR"): IN_PLACE + "; in the last block only",
    ("gelu, any n", "BAR"): IN_PLACE + "; in the last block only",
    ("silu_mul, any n", "BAR"): IN_PLACE + "; in the last block only",
    ("reduce, any row", "instructions"): "whole blocks run in a loop without masks, the rest of a row in one of its own",
    ("reduce", "in loops"): UNROLLED,
}
# The same for products: (column, tile_n, stages or None) -> why.
REASONS = {
    ("shared memory", None, None): "a slot more: Triton holds one buffer less than stages, and waits for it with a "
                                   "second barrier in each k-block",
}


def job(name, kernel, values, arch=80, warps=4, stages=3):
    """A job for KERNELS: f16, extents that are multiples of 16, as we are told of them."""
    pointers = {f"{x}_ptr": "*fp16" for x in "abcxyw"}
    sizes = dict.fromkeys(("m", "n", "k", "cols"), "i32")
    return {"name": name, "kernel": kernel, "arch": arch, "warps": warps, "stages": stages, "values": values,
            "types": {**pointers, **sizes}, "sixteens": list(sizes)}


def gemm_jobs():
    for sm, warps, stages, tile in GEMMS:
        values = dict(zip(("TM", "TN", "TK"), tile))
        base = f"gemm_{tile[1]}_{stages}"
        for masked in (False, True):
            yield job(f"{base}_{'masked' if masked else 'wrapped'}", "gemm", {**values, "MASKED": masked}, sm, warps,
                      stages)


def row_jobs():
    for kernel, divides in sorted({(row[3], row[4]) for row in ROWS}):
        yield {**job(f"{kernel}_{divides}", kernel, {"BLOCK": 1024}), **({} if divides else {"sixteens": []})}


def install():
    """Triton into its own folder; what pip said where it cannot be had."""
    steps = [[sys.executable, "-m", "venv", str(VENV)],
             [str(VENV / "bin" / "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check",
              f"triton=={TRITON}"]]
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True, check=False)
        if done.returncode:
            return (done.stderr or done.stdout).strip().splitlines()[-1:]
    return None


def triton_python(wanted):
    python = VENV / "bin" / "python"
    says = install() if wanted and not python.exists() else None
    version = "import triton; print(triton.__version__)"
    got = python.exists() and subprocess.run([str(python), "-c", version], capture_output=True,
                                             text=True, check=False).stdout.strip()
    if got != TRITON:
        print(f"skipped: no Triton {TRITON} in {VENV.name}/ " + (f"({says})" if says else
              "(peers.py PTXGEN --install puts it there)"))
        sys.exit(77)
    return str(python)


def compile_peers(python, folder):
    """{name: (ms, bytes of shared memory)}; the PTX lies in the folder."""
    jobs = "".join(json.dumps(j) + "\n" for j in [*gemm_jobs(), *row_jobs()])
    done = subprocess.run([python, str(KERNELS), folder], input=jobs, capture_output=True, text=True,
                          check=False)
    if done.returncode:
        print(done.stderr)
        sys.exit("Triton failed")
    return {name: (float(ms), int(smem)) for name, smem, _, _, ms in
            (line.split() for line in done.stdout.splitlines())}


def ours(ptxgen, kernel, sets, folder, name):
    """(PTX file, bytes of shared memory) of a kernel of the library."""
    out = os.path.join(folder, f"ptxgen_{name}.ptx")
    command = [ptxgen, "kernel", kernel, "--arch=sm_80"] + [f"--set={s}" for s in sets]
    subprocess.run(command + ["-o", out], check=True)
    text = subprocess.run(command + ["--emit=manifest"], check=True, capture_output=True, text=True).stdout
    smem = json.loads(text)["smem"]
    return out, int(smem) if str(smem).isdigit() else 0


def gemm_figures(code, smem):
    """The columns. A turn of the loop is a k-block, which the caller checks against the tile."""
    before, loop, after = code.parts("HMMA")
    w, k = words(loop), kinds(loop)
    n = max(w["HMMA"], 1)
    groups = [k[g] for g in ("integer", "compare", "move", "uniform")]
    return dict(zip((c for c, _ in COLUMNS), (
        code.registers, code.spill, smem, len(loop) / n, w["LDSM"] / n, w["HMMA"],
        w["LDGSTS"], w["BAR"], k["wait"], sum(groups), *groups, len(before), len(after), len(code.code),
        code.ptxas_ms)))


def text_of(x):
    return f"{x:.2f}" if isinstance(x, float) else str(x)


def reason(column, tile_n, stages):
    return next((why for (c, t, s), why in REASONS.items()
                 if c == column and t in (None, tile_n) and s in (None, stages)), None)


def gemm_table(title, mine, masked, wrapped, key):
    """Prints one table; the columns where we are worse and have no reason."""
    print(f"\n{title}\n{'':34}{'ptxgen':>10}{'Triton':>10}{'ratio':>8}{'wrapped':>10}")
    bad, notes = [], []
    for column, judged in COLUMNS:
        a, b = mine[column], masked[column]
        ratio = f"{a / b:.2f}" if b else "-"
        mark = ""
        if judged and a > b:
            why = reason(column, *key)
            mark = " (why: below)" if why else " WORSE"
            notes += [f"  {column.strip()}: {why}"] if why else []
            bad += [] if why else [column]
        print(f"{column:34}{text_of(a):>10}{text_of(b):>10}{ratio:>8}{text_of(wrapped[column]):>10}{mark}")
    print("\n".join(notes), end="\n" if notes else "")
    return bad


def gemms(ptxgen, tools, folder, peers):
    bad = []
    for sm, warps, stages, tile in GEMMS:
        name = f"gemm_{tile[1]}_{stages}"
        sets = [f"tile_m={tile[0]}", f"tile_n={tile[1]}", f"tile_k={tile[2]}", f"warps={warps}",
                f"stages={stages}", "align=8"]
        ptx, smem = ours(ptxgen, "gemm", sets, folder, name)
        figures = [gemm_figures(Code(ptx, f"sm_{sm}", tools, folder), smem)]
        for kind in ("masked", "wrapped"):
            path = os.path.join(folder, f"{name}_{kind}.ptx")
            figures.append(gemm_figures(Code(path, f"sm_{sm}", tools, folder), peers[f"{name}_{kind}"][1]))
        per_block = tile[0] * tile[1] * tile[2] // (16 * 8 * 16) // warps
        if any(f["HMMA / k-block"] != per_block for f in figures):
            bad.append(f"{name}: a loop is not one k-block ({per_block} HMMA a warp)")
        title = f"gemm {tile[0]}x{tile[1]}x{tile[2]} f16, sm_{sm}, {warps} warps, {stages} stages"
        bad += [f"{name}: {c}" for c in gemm_table(title, *figures, (tile[1], stages))]
    return bad


def executed(ptxgen, ptx, order, sizes, smem, is_ours):
    """What a warp executes on the executor: accesses to global memory, and PTX instructions without those that ptxas makes
    nothing of. `order` names the parameters that are extents, None for an array. Triton's are not told the number of rows,
    and have two more pointers."""
    n = sizes.get("n") or sizes["rows"] * sizes["cols"]
    grid = -(-n // 1024) if "n" in sizes else sizes["rows"]
    order = [o for o in order if is_ours or o != "rows"]
    args = [f"--arg={'s64' if is_ours else 's32'}:{sizes[o]}" if o else f"--arg=zero:{2 * n}" for o in order]
    args += [] if is_ours else ["--arg=null"] * 2
    out = subprocess.run([ptxgen, "exec", ptx, f"--grid={grid}", "--block=128", f"--smem={smem}", "--stats", "--json", *args], check=True,
                         capture_output=True, text=True).stdout
    stats = json.loads(out)["launches"][0]["stats"]
    free = ("mov.", "ld.param.", "cvta.")
    real = sum(o["warp_instructions"] for o in stats["opcodes"] if not o["opcode"].startswith(free))
    return stats["global"]["accesses"] / stats["warps"], real / stats["warps"]


def in_loops(code):
    """Instructions for 8 elements of a thread, all passes together: loops that take fewer are those of rests."""
    spans = [s for s in loops(code) if not any(s[0] <= t[0] and t[1] <= s[1] and s != t for t in loops(code))]
    total = 0.0
    for first, last in spans:
        part = code[first:last + 1]
        n = sum(bits * k for bits, k in widths(part, "STG" if words(part)["STG"] else "LDG").items()) / 16
        total += 8 * len(part) / n if n >= 8 else 0
    return total


def row_figures(code, ran):
    w = words(code.code)
    return dict(zip((c for c, _ in ROW_COLUMNS), (
        code.registers, code.spill, len(code.code), in_loops(code.code), w["BAR"], w["SHFL"], *ran)))


def allocated(registers):
    """Registers that a thread is given: by eights, and all threads of a multiprocessor have 32."""
    return max(32, -(-registers // 8) * 8)


def rows(ptxgen, tools, folder, peers):
    print(f"\n{'f16, sm_80, 4 warps':32}{'':>8}" + "".join(f"{c:>14}" for c, _ in ROW_COLUMNS))
    bad, notes = [], []
    for title, kernel, sets, theirs, divides, sizes in ROWS:
        arrays = {"add": 3, "gelu": 2, "silu_mul": 3, "reduce": 2, "softmax": 2, "layernorm": 4, "rmsnorm": 3}[kernel]
        order = [None] * arrays + list(sizes)
        ptx, smem = ours(ptxgen, kernel, sets, folder, title.replace(" ", "_").replace(",", ""))
        peer = os.path.join(folder, f"{theirs}_{divides}.ptx")
        mine, other = (row_figures(Code(path, "sm_80", tools, folder), executed(ptxgen, path, order, sizes, n, is_ours))
                       for path, n, is_ours in ((ptx, smem, True), (peer, peers[f"{theirs}_{divides}"][1], False)))
        for who, f in (("ptxgen", mine), ("Triton", other)):
            print(f"{title if who == 'ptxgen' else '':32}{who:>8}" + "".join(f"{text_of(f[c]):>14}" for c in f))
        for column, most in ROW_COLUMNS:
            a, b = (allocated(f[column]) if column == "registers" else f[column] for f in (mine, other))
            if most is not None and a > most * b:
                why = ROW_REASONS.get((title, column))
                notes += [f"  {title}: {column}: {why}"] if why else []
                bad += [] if why else [f"{title}: {column}"]
    print("\n".join(notes), end="\n" if notes else "")
    return bad


def main():
    args = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    args.add_argument("ptxgen")
    args.add_argument("--install", action="store_true")
    args.add_argument("--keep", metavar="FOLDER")
    args = args.parse_args()
    tools = tools_or_skip()
    python = triton_python(args.install or "PTXGEN_TEST_LONG" in os.environ)
    with tempfile.TemporaryDirectory() as tmp:
        folder = args.keep or tmp
        os.makedirs(folder, exist_ok=True)
        peers = compile_peers(python, folder)
        print(f"ptxas {ptxas_version(tools[0])}, Triton {TRITON}. The column Triton masks rows, columns and k, as "
              "ptxgen does; wrapped\nmasks k only and lets rows and columns wrap around.")
        bad = gemms(args.ptxgen, tools, folder, peers) + rows(args.ptxgen, tools, folder, peers)
    print("\n" + ("worse without a reason: " + "; ".join(bad) if bad else
                  "at or below Triton in every column that is judged, or with a reason"))
    print(f"{0 if bad else 1} passed, {len(bad)} failed")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
