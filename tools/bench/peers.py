"""Other compilers, where they are installed: what they take for a kernel like ours, in milliseconds.

Each function gives a list of {"name", "ms", "beside": our kernel} or {"name", "missing": how to get it}."""
import ctypes
import glob
import json
import os
import pathlib
import runpy
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]

# A vector sum and a matrix product through shared memory, as one would write them in CUDA C++.
CUDA_ADD = """
extern "C" __global__ void add(const float *a, const float *b, float *c, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        c[i] = a[i] + b[i];
}
"""
CUDA_GEMM = """
extern "C" __global__ void gemm(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float as[2][16][64], bs[2][16][64];
    float sum[4][4] = {};
    int tx = threadIdx.x % 16, ty = threadIdx.x / 16, bm = blockIdx.y * 64, bn = blockIdx.x * 64;
    for (int k0 = 0, slot = 0; k0 < k; k0 += 16, slot ^= 1) {
        for (int i = threadIdx.x; i < 16 * 64; i += 256) {
            int row = i / 64, col = i % 64;
            as[slot][row][col] = bm + col < m && k0 + row < k ? a[(bm + col) * k + k0 + row] : 0.f;
            bs[slot][row][col] = bn + col < n && k0 + row < k ? b[(k0 + row) * n + bn + col] : 0.f;
        }
        __syncthreads();
#pragma unroll
        for (int j = 0; j < 16; j++)
#pragma unroll
            for (int y = 0; y < 4; y++)
#pragma unroll
                for (int x = 0; x < 4; x++)
                    sum[y][x] += as[slot][j][ty * 4 + y] * bs[slot][j][tx * 4 + x];
    }
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 4; x++)
            if (bm + ty * 4 + y < m && bn + tx * 4 + x < n)
                c[(bm + ty * 4 + y) * n + bn + tx * 4 + x] = sum[y][x];
}
"""


def nvrtc_library():
    places = [os.path.join(root, sub, "libnvrtc.so*")
              for root in ["/usr/local/cuda", *sorted(glob.glob("/usr/local/cuda-*"))]
              for sub in ("lib64", "lib")]
    found = [p for place in places for p in sorted(glob.glob(place))]
    try:
        return ctypes.CDLL(found[0] if found else "libnvrtc.so")
    except OSError:
        return None


def nvrtc_ms(lib, source):
    options = (ctypes.c_char_p * 1)(b"--gpu-architecture=compute_80")
    taken = []
    for _ in range(7):
        program = ctypes.c_void_p()
        start = time.perf_counter()
        status = lib.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"k.cu", 0, None, None)
        status = status or lib.nvrtcCompileProgram(program, 1, options)
        taken.append((time.perf_counter() - start) * 1e3)
        lib.nvrtcDestroyProgram(ctypes.byref(program))
        if status:
            return None
    return statistics.median(taken)


def nvrtc(_):
    name = "NVRTC, CUDA C++ to PTX"
    lib = nvrtc_library()
    if lib is None:
        return [{"name": name, "missing": "no libnvrtc.so: install CUDA's NVRTC"}]
    out = []
    for label, source, beside in (("add", CUDA_ADD, "add"), ("gemm f32, 64x64x16", CUDA_GEMM, "gemm")):
        taken = nvrtc_ms(lib, source)
        out.append({"name": f"{name}: {label}", "ms": taken, "beside": beside} if taken else
                   {"name": name, "missing": "NVRTC failed"})
    return out


def ptxas_program():
    known = ROOT / ".venv/ptxgen-tools.env"
    for line in known.read_text().splitlines() if known.exists() else []:
        if line.startswith("export PTXGEN_PTXAS='") and len(line) > 23:
            return line.split("'")[1]
    return os.environ.get("PTXGEN_PTXAS") or shutil.which("ptxas")


def ptxas(tools):
    program = ptxas_program()
    if not program:
        return [{"name": "ptxas", "missing": "not found: tools/deps installs it"}]
    out = []
    with tempfile.TemporaryDirectory() as folder:
        text = os.path.join(folder, "k.ptx")
        for kernel in ("add", "gemm"):
            subprocess.run([tools["ptxgen"], "kernel", kernel, "-o", text], check=True)
            taken = []
            for _ in range(3):
                start = time.perf_counter()
                subprocess.run([program, "-arch=sm_80", text, "-o", os.path.join(folder, "k.cubin")], check=True)
                taken.append((time.perf_counter() - start) * 1e3)
            out.append({"name": f"ptxas of our PTX (a process): {kernel}", "ms": statistics.median(taken),
                        "beside": kernel})
    return out


def triton(_):
    python = pathlib.Path(os.environ.get("PTXGEN_PEERS_VENV") or ROOT / ".venv-peers") / "bin/python"
    if not python.exists():
        return [{"name": "Triton", "missing": "tests/sass/peers.py build/ptxgen/cli/ptxgen --install installs it"}]
    sys.path.append(str(ROOT / "tests/sass"))
    sass = runpy.run_path(str(ROOT / "tests/sass/peers.py"))  # its jobs, for kernels of the same name
    job = sass["job"]
    jobs = [*(job(name, name, {"BLOCK": 1024}) for name in ("add", "softmax", "layernorm")),
            job("gemm", "gemm", {"TM": 128, "TN": 128, "TK": 32, "MASKED": True})]
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "TRITON_CACHE_DIR": os.path.join(folder, "cache"), "TRITON_ALWAYS_COMPILE": "1"}
        # The first job starts Triton up; it is done once more.
        text = "".join(json.dumps(j) + "\n" for j in [jobs[0], *jobs])
        done = subprocess.run([python, sass["KERNELS"], folder], input=text, text=True,
                              capture_output=True, env=env, check=False)
    if done.returncode:
        return [{"name": "Triton", "missing": "failed: " + (done.stderr.strip().splitlines() or ["?"])[-1]}]
    rows = [line.split() for line in done.stdout.splitlines()[1:]]
    return [{"name": f"Triton, its IR to cubin (ptxas included): {name}", "ms": float(taken), "beside": name}
            for name, _, _, _, taken in rows]


def llvm_text(n):
    """A straight line of n operations, like the generated modules."""
    ops = ["add", "xor", "mul", "sub", "or", "and"]
    body = [f"  %v{i} = {ops[i % len(ops)]} i32 %v{i - 1}, %v{i - 3}" for i in range(3, n)]
    return "\n".join(['target triple = "nvptx64-nvidia-cuda"', "define void @k(i32* %p, i32 %v0, i32 %v1, i32 %v2) {",
                      *body, f"  store i32 %v{n - 1}, i32* %p", "  ret void", "}"])


def llc(tools):
    program = shutil.which("llc") or shutil.which("llc-14")
    if not program:
        return [{"name": "llc", "missing": "not found: apt-get install llvm"}]
    n = 10000
    with tempfile.TemporaryDirectory() as folder:
        text = pathlib.Path(folder, "k.ll")
        text.write_text(llvm_text(n))
        start = time.perf_counter()
        subprocess.run([program, "-O3", "-mcpu=sm_80", text, "-o", os.path.join(folder, "k.ptx")], check=True)
        taken = (time.perf_counter() - start) * 1e3
    ours = json.loads(subprocess.run([tools["bench"], "--ms=1", f"--generated=straight:{n}"], check=True,
                                     capture_output=True).stdout)
    return [{"name": f"llc -O3, {n} operations in a line (a process)", "ms": taken},
            {"name": f"  ours, {n} operations in a line", "ms": ours["median_ns"] / 1e6}]


def measure(tools):
    return [row for peer in (nvrtc, ptxas, triton, llc) for row in peer(tools)]
