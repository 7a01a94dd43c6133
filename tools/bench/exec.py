"""Executing PTX: loops of one kind of instruction, library kernels, products with specialised warps; races, threads, peers.

Times on one thread are of the processor, so that other work on the machine disturbs them little; on more threads they
are of the clock. A loop's peer is the same loop in C, as the project was built; a product's is NumPy's, in f32."""
import argparse
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMITS = {("gemm 256^3 f16", "practice"): 1000.0, ("gemm_ws 256^3 f16", "practice"): 1000.0}  # ms
NUMPY = """
import json, sys, time, numpy
clock = time.process_time if sys.argv[1] == "1" else time.perf_counter
for n in map(int, sys.argv[2:]):
    a, b = (numpy.random.default_rng(s).random((n, n), dtype=numpy.float32) for s in (1, 2))
    taken = []
    for _ in range(9):
        start = clock()
        a @ b
        taken.append(clock() - start)
    print(json.dumps({"what": f"NumPy {n}^3 f32", "ms": min(taken) * 1e3}))
"""


def rows_of(command, **kwargs):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, **kwargs)
    if done.returncode:
        sys.exit(done.stderr.strip() or f"{command[0]} ended with {done.returncode}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def numpy_python():
    """A Python that has NumPy: this one, or that of PTXGEN_PEERS_VENV or .venv-peers."""
    venv = pathlib.Path(os.environ.get("PTXGEN_PEERS_VENV") or ROOT / ".venv-peers")
    for python in (sys.executable, venv / "bin/python"):
        try:
            if subprocess.run([python, "-c", "import numpy"], capture_output=True, check=False).returncode == 0:
                return python
        except OSError:
            continue
    return None


def measure_peers(sizes):
    python = numpy_python()
    if python is None:
        return [{"what": "NumPy", "missing": "python3 -m pip install numpy"}]
    out = []
    for threads in sorted({1, os.cpu_count() or 1}):
        env = {**os.environ, "OPENBLAS_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
        out += [{**row, "threads": threads} for row in rows_of([python, "-c", NUMPY, threads, *sizes], env=env)]
    return out


def taken(row):
    return row["cpu_ms"] if row["threads"] == 1 else row["ms"]


def show(figures):
    alone = {r["what"]: r["ms"] for r in figures["runs"] if r["threads"] == 1 and r["races"] == "off"}
    print(f"{'what':28}{'races':>10}{'threads':>8}{'ms':>10}{'faster':>8}{'lane instr/s':>14}{'mult-adds/s':>13}{'C ms':>9}{'ratio':>7}")
    for r in figures["runs"]:
        faster = f"{alone[r['what']] / r['ms']:8.2f}" if r["threads"] > 1 and r["ms"] else f"{'':8}"
        adds = f"{r['multiply_adds_per_second']:13.2g}" if r["multiply_adds_per_second"] else f"{'':13}"
        beside = f"{r['c_ms']:9.2f}{taken(r) / r['c_ms']:7.1f}" if r["c_ms"] else ""
        print(f"{r['what']:28}{r['races']:>10}{r['threads']:8}{taken(r):10.2f}{faster}"
              f"{r['lane_instructions_per_second']:14.3g}{adds}{beside}")
    if "peers" not in figures:
        return
    print(f"\n{'peer':28}{'threads':>8}{'ms':>10}{'ours':>10}{'ratio':>9}")
    for p in figures["peers"]:
        if "missing" in p:
            print(f"{p['what']:28}  {p['missing']}")
            continue
        size = p["what"].split()[1]
        mine = next((taken(r) for r in figures["runs"] if r["what"] == f"gemm_ws {size} f16" and
                     r["threads"] == p["threads"] and r["races"] == "off"), None)
        print(f"{p['what']:28}{p['threads']:8}{p['ms']:10.2f}" + (f"{mine:10.1f}{mine / p['ms']:9.0f}" if mine else ""))


def main(args):
    parser = argparse.ArgumentParser(prog="tools/bench/run exec", description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="build folder")
    parser.add_argument("--runs", type=int, default=5, help="runs of each, 1024^3 at most 3")
    parser.add_argument("--only", metavar="WORD", help="those with WORD in their names")
    parser.add_argument("--quick", action="store_true", help="few and short runs, no peers: does it work?")
    parser.add_argument("--no-peers", action="store_true", help="ours alone")
    parser.add_argument("--json", action="store_true", help="all figures as one JSON object")
    a = parser.parse_args(args)
    bench = a.build / "tools/bench/bench_exec"
    if not bench.exists():
        sys.exit(f"{bench} is missing: meson setup build && ninja -C build")
    how = ["--runs=1", "--trips=20"] if a.quick else [f"--runs={a.runs}", "--long"]
    only = [f"--only={a.only}"] if a.only else []
    ir = ROOT / "tests/filetests/whole/gemm_ws.ptir"
    figures = {"schema": 1, "runs": rows_of([bench, *how, *only, f"--ir={ir}"])}
    if not a.quick and not a.no_peers:
        figures["peers"] = measure_peers([256, 1024])
    if a.json:
        print(json.dumps(figures))
    else:
        show(figures)
    bad = [] if a.quick else [f"{r['what']}, races {r['races']}: {taken(r):.0f} ms" for r in figures["runs"]
                              if taken(r) > LIMITS.get((r["what"], r["races"]), 1e9)]
    for line in bad:
        print("beyond the limit: " + line, file=sys.stderr)
    return 1 if bad else 0
