"""Instructions of the processor for one compile, by callgrind: the same however busy the machine is.

Counts a compile in a new context, IR text to PTX, and what each part of it takes. Needs valgrind; without it
says so and ends with 77."""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIP = 77
# Parts of a compile: the functions that do them. Where the compiler has put one into another it is not seen.
PARTS = {"parse": ["pg_parse"], "verify": ["pg_verify"], "passes": ["pg_passes_run"], "print": ["pg_print"],
         "lower": ["pg_lower"], "registers": ["pg_regs_measure"], "write": ["pg_ptx_write_map"]}
WHOLE = "ptxgen_compile"
DEFAULT = ["add", "gelu", "softmax", "layernorm", "gemm", "gemm,align=8", "docs/examples/gemm_bias_gelu.ptir",
           "tests/filetests/whole/gemm_ws.ptir", "straight:10000"]
# "1,234 (56.78%)  file:function [object]"
LINE = re.compile(r"^\s*([\d,]+) \([^)]*\)\s+\S*?:([^\s:]+)(?: \[|$)")


def ir_of(build, what, folder):
    """A file with the IR text of NAME[,SETTING=VALUE...], of a generated module SHAPE:OPERATIONS, or of the file
    that `what` names."""
    if what.endswith(".ptir"):
        return pathlib.Path(what) if os.path.exists(what) else ROOT / what
    path = os.path.join(folder, "kernel.ptir")
    if ":" in what:
        with open(path, "w") as f:
            subprocess.run([build / "tools/bench/bench_compile", f"--print={what}"], check=True, stdout=f)
        return path
    ptxgen = build / "ptxgen/cli/ptxgen"
    name, *settings = what.split(",")
    command = [ptxgen, "kernel", name, "--passes=none", "--emit=ir", "-o", path]
    subprocess.run(command + [word for s in settings for word in ("--set", s)], check=True)
    return path


def count(build, what):
    """{part: instructions} of one compile, with "all", "lines" and "bytes" of PTX."""
    with tempfile.TemporaryDirectory() as folder:
        ptx, out = os.path.join(folder, "out.ptx"), os.path.join(folder, "out.callgrind")
        subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--dump-instr=no",
                        f"--toggle-collect={WHOLE}", build / "ptxgen/cli/ptxgen", "compile",
                        ir_of(build, what, folder), "-o", ptx],
                       check=True, capture_output=True)
        shown = subprocess.run(["callgrind_annotate", "--inclusive=yes", "--threshold=100", out], check=True,
                               capture_output=True, text=True).stdout
        text = pathlib.Path(ptx).read_bytes()
    costs = {}
    for m in filter(None, map(LINE.match, shown.splitlines())):  # a function has a line for each file it has code of
        costs[m[2]] = max(costs.get(m[2], 0), int(m[1].replace(",", "")))
    if WHOLE not in costs:
        sys.exit(f"callgrind saw no {WHOLE}: a build with -Db_lto or without symbols does not name its functions")
    found = {part: sum(costs.get(f, 0) for f in functions) for part, functions in PARTS.items()}
    return {"name": what, "all": costs[WHOLE], **found, "lines": text.count(b"\n"), "bytes": len(text)}


def show(rows):
    names = ["all", *PARTS]
    print(f"{'thousands of instructions':36}" + "".join(f"{n:>10}" for n in names)
          + f"{'PTX lines':>11}{'emission per line':>19}")
    for r in rows:
        emission = r["lower"] + r["registers"] + r["write"]
        print(f"{os.path.basename(r['name']):36}" + "".join(f"{r[n] / 1e3:10.0f}" for n in names)
              + f"{r['lines']:11}{emission / r['lines']:19.0f}")


def main(args):
    parser = argparse.ArgumentParser(prog="tools/bench/run instructions", description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="build folder")
    parser.add_argument("--json", action="store_true", help="all figures as one JSON object")
    parser.add_argument("what", nargs="*", metavar="KERNEL[,NAME=VALUE...]|SHAPE:OPERATIONS|FILE.ptir",
                        help="without any, those of docs/performance.md")
    a = parser.parse_args(args)
    if not shutil.which("valgrind") or not shutil.which("callgrind_annotate"):
        print("skipped: valgrind is not installed", file=sys.stderr)
        return SKIP
    ptxgen = a.build / "ptxgen/cli/ptxgen"
    if not ptxgen.exists():
        sys.exit(f"{ptxgen} is missing: meson setup build && ninja -C build")
    try:
        rows = [count(a.build, what) for what in a.what or DEFAULT]
    except subprocess.CalledProcessError as e:
        sys.exit(f"{' '.join(map(str, e.cmd))} ended with {e.returncode}")
    if a.json:
        print(json.dumps({"schema": 1, "kernels": rows}))
    else:
        show(rows)
    return 0
