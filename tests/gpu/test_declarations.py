#!/usr/bin/env python3
"""Our declarations of the CUDA driver (tools/run/cuda_api.*) against NVIDIA's cuda.h, where a toolkit is installed."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def folders():
    for name in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(name):
            yield pathlib.Path(os.environ[name]) / "include"
    yield pathlib.Path("/usr/local/cuda/include")
    yield from sorted(pathlib.Path("/usr/local").glob("cuda-*/include"), reverse=True)
    yield pathlib.Path("/usr/include")


def main():
    found = next((f for f in folders() if (f / "cuda.h").is_file()), None)
    if found is None:
        print("skipped: no cuda.h in CUDA_HOME, /usr/local/cuda* or /usr/include")
        return 77
    version = int(re.search(r"#define CUDA_VERSION (\d+)", (found / "cuda.h").read_text(encoding="utf-8", errors="replace")).group(1))
    if version < 12040:
        print(f"skipped: the cuda.h here is of {version}, before cuFuncGetParamInfo")
        return 77
    compiler = os.environ.get("CC", "").split() or [shutil.which("gcc") or shutil.which("clang") or "cc"]
    done = subprocess.run(
        [*compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{ROOT}", f"-I{ROOT}/ptxgen",
         "-isystem", str(found), str(ROOT / "tests/gpu/declarations.c")], capture_output=True, text=True, check=False)
    print(done.stderr, end="")
    functions = len(re.findall(r"^CU\(", (ROOT / "tools/run/cuda_api.def").read_text(encoding="utf-8"), re.M))
    print(f"{functions if done.returncode == 0 else 0} passed, {int(done.returncode != 0)} failed")
    return done.returncode


sys.exit(main())
