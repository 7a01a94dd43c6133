#!/usr/bin/env python3
"""Compiles CUDA C to PTX with nvcc and lets same read, check and print what came out.

Usage: nvcc.py SAME SOURCE.cu...   Exits with 77 where there is no nvcc.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile


def find_nvcc():
    """nvcc from PTXGEN_NVCC, PATH, or the file that tools/deps wrote."""
    found = os.environ.get("PTXGEN_NVCC") or shutil.which("nvcc")
    if found:
        return found
    env = pathlib.Path(__file__).resolve().parents[3] / ".venv" / "ptxgen-tools.env"
    if env.exists():
        for line in env.read_text().splitlines():
            if line.startswith("export PTXGEN_NVCC="):
                return line.split("=", 1)[1].strip("'\"") or None
    return None


def main():
    same, *sources = sys.argv[1:]
    nvcc = find_nvcc()
    if not nvcc:
        print("skipped: no nvcc in PTXGEN_NVCC, PATH or .venv")
        return 77
    files = []
    with tempfile.TemporaryDirectory() as folder:
        for source in sources:
            for arch in ("sm_80", "sm_90a"):
                out = pathlib.Path(folder) / f"{pathlib.Path(source).stem}_{arch}.ptx"
                run = subprocess.run([nvcc, "-std=c++17", "-lineinfo", f"-arch={arch}", "--ptx", source, "-o", out],
                                     capture_output=True, text=True, check=False)
                if run.returncode != 0:
                    print(f"{source}: nvcc failed\n{run.stderr}")
                    return 1
                files.append(str(out))
        return subprocess.run([same, *files], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
