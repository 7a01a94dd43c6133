#!/usr/bin/env python3
"""Random CUDA C programs: nvcc's PTX on the executor, with and without looking for races, against the host's compiler.

usage: test.py RANDOM_RUN CACHE_DIR [--seed=FILE_SEED [--program=pN]]

24 programs; 1000 with PTXGEN_TEST_LONG=1. --seed repeats one file of programs and keeps its texts in CACHE_DIR.
Exit: 0 all equal, 1 not, 77 no nvcc (PTXGEN_NVCC, else PATH)."""
import concurrent.futures
import hashlib
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
# Optimised and not: other shapes of code. -G keeps every variable in local memory.
WAYS = [["-arch=sm_90", "-O3"], ["-arch=sm_80", "-Xcicc", "-O0"], ["-arch=sm_80", "-O3"], ["-arch=sm_90", "-G"],
        ["-arch=sm_90a", "-Xcicc", "-O1"]]
HOST = ["-x", "c", "-w", "-fwrapv", "-ffp-contract=off", "-fno-strict-aliasing", "-fPIC", "-shared"]


def make(command, result):
    """Runs a compiler unless its result is there; what it leaves is whole."""
    if not result.exists():
        part = result.with_name(f"{result.name}.{os.getpid()}")
        subprocess.run([*command, "-o", str(part)], check=True)
        part.rename(result)


def make_host(cc, source, result):
    """The host's program. gcc 12 ends with an internal error on one in some hundred of these at -O1: then -O0."""
    try:
        make([*cc, *HOST, "-O1", f"-I{HERE}", str(source), "-lm"], result)
    except subprocess.CalledProcessError:
        make([*cc, *HOST, "-O0", f"-I{HERE}", str(source), "-lm"], result)


def run_file(tools, cache, seed, count, seeds, program):
    runner, nvcc, cc = tools
    text = subprocess.run([sys.executable, HERE / "generate.py", str(seed), str(count)], check=True, capture_output=True).stdout
    way = WAYS[seed % len(WAYS)]
    key = hashlib.sha256(b"\0".join([text, (HERE / "random.h").read_bytes(), (HERE / "run.h").read_bytes(), repr(way).encode(),
                                     nvcc.encode(), " ".join(cc).encode()])).hexdigest()[:16]
    source, host, ptx = (cache / f"random{seed}.{key}{ending}" for ending in (".cu", ".so", ".ptx"))
    source.write_bytes(text)
    make_host(cc, source, host)
    make([nvcc, "-ptx", "-fmad=false", "-w", *way, f"-I{HERE}", str(source)], ptx)
    r = subprocess.run([runner, host, ptx, str(seeds), *([program] if program else [])], capture_output=True, text=True)
    words = r.stdout.split()
    passed, failed = (int(words[0]), int(words[2])) if r.returncode in (0, 1) and len(words) == 4 else (0, count)
    if r.returncode != 0:
        print(f"seed {seed} ({' '.join(way)}): {source}\n{r.stderr}exit {r.returncode}", file=sys.stderr, flush=True)
    return passed, failed


def main(argv):
    options = dict(a[2:].split("=", 1) for a in argv[3:])
    nvcc = shutil.which(os.environ.get("PTXGEN_NVCC") or "nvcc")
    if nvcc is None:
        print("skipped: no nvcc (set PTXGEN_NVCC or PATH)")
        return 77
    cache = pathlib.Path(os.environ.get("PTXGEN_TEST_CACHE") or argv[2])
    cache.mkdir(parents=True, exist_ok=True)
    is_long = bool(os.environ.get("PTXGEN_TEST_LONG"))
    files, count, seeds = (40, 25, 4) if is_long else (4, 6, 2)
    first, files = (int(options["seed"]), 1) if "seed" in options else (1, files)
    tools = argv[1], nvcc, shlex.split(os.environ.get("CC") or "cc")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(run_file, tools, cache, seed, count, seeds, options.get("program"))
                for seed in range(first, first + files)]
        results = [job.result() for job in jobs]
    passed, failed = (sum(column) for column in zip(*results))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
