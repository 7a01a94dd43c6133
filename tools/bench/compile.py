"""Compiling: IR text to PTX in process, its growth with the module, the command's start, sizes, peers.

Times are of the processor where the compile runs in our process, so that other work on the machine disturbs
them little; of the clock where processes are started. Each is a median; of generated modules the least median of some
rounds. Ratios to peers are of one run."""
import argparse
import collections
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import peers

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHAPES = ["straight", "loops", "kernels"]
SIZES = [10000, 30000, 100000, 300000]
ROUNDS = 5
LIMITS = {"slope": 1.2, "start ms": 5.0, "library MB": 2.0}  # what the project promises


def programs(build):
    """The programs of a build folder; ends where one is missing."""
    out = {"ptxgen": build / "ptxgen/cli/ptxgen", "bench": build / "tools/bench/bench_compile",
           "empty": build / "tools/bench/bench_empty"}
    for path in out.values():
        if not path.exists():
            sys.exit(f"{path} is missing: meson setup build && ninja -C build")
    return out


def bench(tools, *args):
    done = subprocess.run([tools["bench"], *map(str, args)], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr.strip() or f"bench_compile ended with {done.returncode}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def kernel_files(tools, folder):
    """IR text of each kernel of the library with its defaults, and of two files."""
    ptxgen = tools["ptxgen"]
    listed = subprocess.run([ptxgen, "kernel", "--list", "--json"], capture_output=True, check=True)
    files = []
    for kernel in json.loads(listed.stdout)["kernels"]:
        path = os.path.join(folder, kernel["name"] + ".ptir")
        subprocess.run([ptxgen, "kernel", kernel["name"], "--passes=none", "--emit=ir", "-o", path], check=True)
        files.append(path)
    return [*files, ROOT / "docs/examples/gemm_bias_gelu.ptir", ROOT / "tests/filetests/whole/gemm_ws.ptir"]


def measure_kernels(tools, ms):
    with tempfile.TemporaryDirectory() as folder:
        files = kernel_files(tools, folder)
        kept = bench(tools, f"--ms={ms}", *files)
        new = bench(tools, f"--ms={ms}", "--new-context", *files)
    for row, other in zip(kept, new):
        row["new_context_ns"] = other["median_ns"]
    return kept


def measure_slope(tools, sizes, rounds):
    """Of each module the quickest of some rounds over all of them: what else the machine does only adds, and to some rounds more
    than to others."""
    rows = collections.defaultdict(list)
    for _ in range(rounds):
        for shape in SHAPES:
            for n in sizes:
                rows[shape, n] += bench(tools, "--ms=100", f"--generated={shape}:{n}")
    return {shape: [min(rows[shape, n], key=lambda r: r["median_ns"]) for n in sizes] for shape in SHAPES}


def times_of(command, n):
    out = []
    for _ in range(n):
        start = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        out.append((time.perf_counter() - start) * 1e3)
    return out


def measure_start(tools, n):
    """Milliseconds from start to end of processes; by turns, so that both see the same machine."""
    commands = {"empty": [tools["empty"]], "version": [tools["ptxgen"], "--version"],
                "compile": [tools["ptxgen"], "compile", ROOT / "docs/examples/gemm_bias_gelu.ptir"]}
    taken = {name: [] for name in commands}
    for _ in range(n):
        for name, command in commands.items():
            taken[name] += times_of(command, 1)
    return {name: statistics.median(ms) for name, ms in taken.items()}


def measure_size(build):
    """Bytes of the shared library as it is, and without debugging information."""
    library = next(p for p in sorted(build.glob("ptxgen/libptxgen.so*")) if not p.is_symlink() and p.is_file())
    out = {"with_debug": library.stat().st_size}
    strip = shutil.which("strip")
    if strip:
        with tempfile.TemporaryDirectory() as folder:
            copy = os.path.join(folder, "library")
            subprocess.run([strip, "-o", copy, library], check=True)
            out["stripped"] = os.path.getsize(copy)
    return out


def ms(ns):
    return ns / 1e6


def show_kernels(rows):
    print(f"{'kernel':22}{'ms':>8}{'new ctx':>9}{'ops':>6}{'ops/s':>10}{'PTX kB':>8}{'peak kB':>9}"
          f"{'parse':>7}{'verify':>7}{'passes':>7}{'emit':>6}")
    for r in rows:
        s = r["shares"]
        print(f"{r['name'].removesuffix('.ptir'):22}{ms(r['median_ns']):8.3f}{ms(r['new_context_ns']):9.3f}"
              f"{r['n_ops']:6}{r['ops_per_s']:10.0f}{r['ptx_bytes'] / 1e3:8.1f}{r['peak_bytes'] / 1e3:9.0f}"
              f"{s['parse']:7.0%}{s['verify']:7.0%}{s['passes']:7.0%}{s['emit']:6.0%}")
    names = sorted({name for r in rows for name in r["passes"]})
    print(f"\nshare of each pass\n{'kernel':22}" + "".join(f"{n:>10}" for n in names))
    for r in rows:
        print(f"{r['name'].removesuffix('.ptir'):22}" + "".join(f"{r['passes'].get(n, 0):10.1%}" for n in names))


def slope_of(rows):
    """Time for each operation in the largest module over that in the smallest."""
    return (rows[-1]["median_ns"] / rows[-1]["n_ops"]) / (rows[0]["median_ns"] / rows[0]["n_ops"])


def show_slope(slopes):
    print(f"\n{'generated module':22}{'ops':>8}{'ms':>10}{'us/op':>8}{'bytes/op':>10}{'slope':>8}")
    for shape, rows in slopes.items():
        for i, r in enumerate(rows):
            last = f"{slope_of(rows):8.2f}" if i + 1 == len(rows) else ""
            print(f"{shape:22}{r['n_ops']:8}{ms(r['median_ns']):10.1f}{r['median_ns'] / 1e3 / r['n_ops']:8.2f}"
                  f"{r['bytes_per_op']:10.0f}{last}")


def show_peers(found, kernels):
    ours = {r["name"].removesuffix(".ptir"): ms(r["median_ns"]) for r in kernels}
    print(f"\n{'peer':44}{'ms':>10}{'ours ms':>10}{'ratio':>9}")
    for peer in found:
        if "missing" in peer:
            print(f"{peer['name']:44}{'-':>10}  {peer['missing']}")
            continue
        mine = ours.get(peer.get("beside"))
        beside = f"{mine:10.3f}{peer['ms'] / mine:9.0f}" if mine else ""
        print(f"{peer['name']:44}{peer['ms']:10.2f}{beside}")


def show(figures):
    show_kernels(figures["kernels"])
    show_slope(figures["slope"])
    start, size = figures["start"], figures["size"]
    print(f"\nstart: empty process {start['empty']:.2f} ms, ptxgen --version {start['version']:.2f} ms, "
          f"ptxgen compile of a GEMM {start['compile']:.2f} ms")
    print("libptxgen.so: " + ", ".join(f"{n / 1e6:.2f} MB {what.replace('_', ' ')}" for what, n in size.items()))
    if "peers" in figures:
        show_peers(figures["peers"], figures["kernels"])


def beyond(figures):
    """What is beyond the project's limits."""
    out = [f"{shape}: time for each operation grows by {slope_of(rows):.2f}"
           for shape, rows in figures["slope"].items() if slope_of(rows) > LIMITS["slope"]]
    over = figures["start"]["version"] - figures["start"]["empty"]
    if over > LIMITS["start ms"]:
        out.append(f"the command takes {over:.1f} ms more than an empty process")
    size = figures["size"].get("stripped", figures["size"]["with_debug"])
    if size > LIMITS["library MB"] * 1e6:
        out.append(f"libptxgen has {size / 1e6:.2f} MB")
    return out


def main(args):
    parser = argparse.ArgumentParser(prog="tools/bench/run compile", description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="build folder")
    parser.add_argument("--ms", type=int, default=1000, help="time for each kernel")
    parser.add_argument("--quick", action="store_true", help="few runs, small modules, no peers: does it work?")
    parser.add_argument("--no-peers", action="store_true", help="ours alone")
    parser.add_argument("--json", action="store_true", help="all figures as one JSON object")
    a = parser.parse_args(args)
    tools = programs(a.build)
    figures = {"schema": 1, "kernels": measure_kernels(tools, 1 if a.quick else a.ms),
               "slope": measure_slope(tools, *(([500, 1000], 1) if a.quick else (SIZES, ROUNDS))),
               "start": measure_start(tools, 3 if a.quick else 60), "size": measure_size(a.build)}
    if not a.quick and not a.no_peers:
        figures["peers"] = peers.measure(tools)
    if a.json:
        print(json.dumps(figures))
    else:
        show(figures)
    bad = [] if a.quick else beyond(figures)
    for line in bad:
        print("beyond the limit: " + line, file=sys.stderr)
    return 1 if bad else 0
