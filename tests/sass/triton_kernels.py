"""Compiles Triton kernels to PTX without a GPU, for peers.py. Runs under the Python that has Triton.

usage: triton_kernels.py FOLDER < JOBS

A job is a line of JSON: {"name", "kernel", "arch", "warps", "stages", "values": {constant: value}}.
FOLDER gets NAME.ptx; a line "NAME MILLISECONDS SHARED_BYTES" says so. The kernels are the
usual ones of Triton's tutorials: pointers and extents that are multiples of 16 are declared so,
rows and columns beyond the array wrap around, and k is masked."""
import json
import os
import pathlib
import sys
import tempfile
import time

os.environ["TRITON_ALWAYS_COMPILE"] = "1"
os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp(prefix="ptxgen-triton-")

import triton  # noqa: E402
import triton.language as tl  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.backends.driver import DriverBase  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402


class NoDriver(DriverBase):
    """Stands where Triton asks which device is there."""

    def __init__(self):
        pass

    @classmethod
    def is_active(cls):
        return True

    def get_current_target(self):
        return GPUTarget("cuda", 80, 32)

    def get_active_torch_device(self):
        return None

    def get_benchmarker(self):
        return None

    def map_python_to_cpp_type(self, ty):
        return ty


@triton.jit
def gemm(a_ptr, b_ptr, c_ptr, m, n, k, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr,
         MASKED: tl.constexpr):
    pid = tl.program_id(0)
    tiles_m = tl.cdiv(m, TM)
    tiles_n = tl.cdiv(n, TN)
    width = 8 * tiles_n
    group = pid // width
    top = group * 8
    height = min(tiles_m - top, 8)
    row = top + (pid % width) % height
    col = (pid % width) // height
    if MASKED:
        at_m = row * TM + tl.arange(0, TM)
        at_n = col * TN + tl.arange(0, TN)
    else:
        at_m = (row * TM + tl.arange(0, TM)) % m
        at_n = (col * TN + tl.arange(0, TN)) % n
    at_k = tl.arange(0, TK)
    a_at = a_ptr + at_m[:, None] * k + at_k[None, :]
    b_at = b_ptr + at_k[:, None] * n + at_n[None, :]
    acc = tl.zeros((TM, TN), dtype=tl.float32)
    for step in range(0, tl.cdiv(k, TK)):
        left = k - step * TK
        if MASKED:
            a = tl.load(a_at, mask=(at_m[:, None] < m) & (at_k[None, :] < left), other=0.0)
            b = tl.load(b_at, mask=(at_k[:, None] < left) & (at_n[None, :] < n), other=0.0)
        else:
            a = tl.load(a_at, mask=at_k[None, :] < left, other=0.0)
            b = tl.load(b_at, mask=at_k[:, None] < left, other=0.0)
        acc = tl.dot(a, b, acc)
        a_at += TK
        b_at += TK * n
    c = acc.to(c_ptr.dtype.element_ty)
    at_m = row * TM + tl.arange(0, TM)
    at_n = col * TN + tl.arange(0, TN)
    tl.store(c_ptr + at_m[:, None] * n + at_n[None, :], c,
             mask=(at_m[:, None] < m) & (at_n[None, :] < n))


@triton.jit
def add(a_ptr, b_ptr, c_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(c_ptr + at, tl.load(a_ptr + at, mask=inside) + tl.load(b_ptr + at, mask=inside),
             mask=inside)


@triton.jit
def softmax(x_ptr, y_ptr, rows, cols, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0)
    x = tl.load(x_ptr + row * cols + at, mask=at < cols, other=-float("inf")).to(tl.float32)
    x = tl.exp(x - tl.max(x, axis=0))
    y = x / tl.sum(x, axis=0)
    tl.store(y_ptr + row * cols + at, y.to(y_ptr.dtype.element_ty), mask=at < cols)


@triton.jit
def layernorm(x_ptr, w_ptr, b_ptr, y_ptr, rows, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row * cols
    y_ptr += row * cols
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + at, mask=at < cols, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / cols
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < cols, other=0.0).to(tl.float32)
        x = tl.where(at < cols, x - mean, 0.0)
        total += x * x
    scale = 1 / tl.sqrt(tl.sum(total, axis=0) / cols + 1e-5)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < cols
        w = tl.load(w_ptr + at, mask=inside).to(tl.float32)
        b = tl.load(b_ptr + at, mask=inside).to(tl.float32)
        x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
        y = (x - mean) * scale * w + b
        tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=inside)


KERNELS = {"gemm": gemm, "add": add, "softmax": softmax, "layernorm": layernorm}
EXTENTS = {"m": "i32", "n": "i32", "k": "i32", "rows": "i32", "cols": "i32"}


def compile_job(job, folder):
    fn = KERNELS[job["kernel"]]
    elem = job.get("dtype", "fp16")
    signature, attrs = {}, {}
    for i, name in enumerate(fn.arg_names):
        if name in job["values"]:
            signature[name] = "constexpr"
        else:
            signature[name] = EXTENTS.get(name, "*" + elem)
            if name != "rows":
                attrs[(i,)] = [["tt.divisibility", 16]]
    source = ASTSource(fn, signature, constexprs=job["values"], attrs=attrs)
    start = time.perf_counter()
    out = triton.compile(source, target=GPUTarget("cuda", job["arch"], 32),
                         options={"num_warps": job["warps"], "num_stages": job["stages"]})
    taken = (time.perf_counter() - start) * 1e3
    pathlib.Path(folder, job["name"] + ".ptx").write_text(out.asm["ptx"])
    print(job["name"], f"{taken:.0f}", out.metadata.shared, flush=True)


def main():
    triton.runtime.driver.set_active(NoDriver())
    for line in sys.stdin:
        compile_job(json.loads(line), sys.argv[1])


if __name__ == "__main__":
    main()
