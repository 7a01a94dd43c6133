"""Kernels of our own in Triton, and what compiles them without a GPU: for run.py here, tests/sass/peers.py and
tools/bench/peers.py. Runs under the Python that has Triton.

usage: kernels.py FOLDER < JOBS

A job is a line of JSON: {"name", "kernel", "warps", "stages", "types": {argument: type}, "values": {constant: value}},
and for other targets than sm_90 "arch"; "sixteens" names numbers that are multiples of 16, as pointers always are.
FOLDER gets NAME.ptx; a line "NAME SHARED_BYTES THREADS SCRATCH_BYTES MILLISECONDS" says so, SCRATCH_BYTES for each
program (CTA)."""
import json
import os
import pathlib
import sys
import tempfile
import time

os.environ["TRITON_ALWAYS_COMPILE"] = "1"
os.environ["TRITON_DEFAULT_FP_FUSION"] = "1"
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
        return GPUTarget("cuda", 90, 32)

    def get_active_torch_device(self):
        return None

    def get_benchmarker(self):
        return None

    def map_python_to_cpp_type(self, ty):
        return ty


@triton.jit
def add(a_ptr, b_ptr, c_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(c_ptr + at, tl.load(a_ptr + at, mask=inside) + tl.load(b_ptr + at, mask=inside), mask=inside)


@triton.jit
def silu_mul(a_ptr, b_ptr, c_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    a = tl.load(a_ptr + at, mask=inside).to(tl.float32)
    b = tl.load(b_ptr + at, mask=inside).to(tl.float32)
    tl.store(c_ptr + at, (a * tl.sigmoid(a) * b).to(c_ptr.dtype.element_ty), mask=inside)


@triton.jit
def row_sum(x_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row * cols + at, mask=at < cols, other=0.0).to(tl.float32)
    tl.store(y_ptr + row, tl.sum(total, axis=0).to(y_ptr.dtype.element_ty))


@triton.jit
def row_sum_block(x_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + at, mask=at < cols, other=0.0).to(tl.float32)
    tl.store(y_ptr + row, tl.sum(x, axis=0).to(y_ptr.dtype.element_ty))


@triton.jit
def softmax(x_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0)
    x = tl.load(x_ptr + row * cols + at, mask=at < cols, other=-float("inf")).to(tl.float32)
    x = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row * cols + at, (x / tl.sum(x, axis=0)).to(y_ptr.dtype.element_ty), mask=at < cols)


@triton.jit
def layernorm(x_ptr, w_ptr, b_ptr, y_ptr, cols, BLOCK: tl.constexpr):
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
        tl.store(y_ptr + at, ((x - mean) * scale * w + b).to(y_ptr.dtype.element_ty), mask=inside)


@triton.jit
def layernorm_block(x_ptr, w_ptr, b_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < cols
    x = tl.load(x_ptr + row * cols + at, mask=inside, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + at, mask=inside).to(tl.float32)
    b = tl.load(b_ptr + at, mask=inside).to(tl.float32)
    x = tl.where(inside, x - tl.sum(x, axis=0) / cols, 0.0)
    scale = 1 / tl.sqrt(tl.sum(x * x, axis=0) / cols + 1e-5)
    tl.store(y_ptr + row * cols + at, (x * scale * w + b).to(y_ptr.dtype.element_ty), mask=inside)


@triton.jit
def rmsnorm(x_ptr, w_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row * cols
    y_ptr += row * cols
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < cols, other=0.0).to(tl.float32)
        total += x * x
    scale = 1 / tl.sqrt(tl.sum(total, axis=0) / cols + 1e-5)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < cols
        w = tl.load(w_ptr + at, mask=inside).to(tl.float32)
        x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
        tl.store(y_ptr + at, (x * scale * w).to(y_ptr.dtype.element_ty), mask=inside)


@triton.jit
def gelu(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_ptr + at, mask=inside).to(tl.float32)
    y = x * tl.sigmoid(1.5957691216057308 * x * (1 + 0.044715 * x * x))
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=inside)


@triton.jit
def gemm(a_ptr, b_ptr, c_ptr, m, n, k, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr,
         MASKED: tl.constexpr):
    """As in Triton's tutorials: tiles in groups of 8 rows, pointers that move along k. Rows and columns beyond the arrays
    are masked, or wrap around as there."""
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
def matmul(a_ptr, b_ptr, c_ptr, m, n, k, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr, SPLIT: tl.constexpr,
           BT: tl.constexpr):
    """c = a b, or a b^T where BT; SPLIT programs share k and add by atomics."""
    pid = tl.program_id(0)
    part = tl.program_id(1)
    tiles_m = tl.cdiv(m, TM)
    at_m = pid % tiles_m * TM + tl.arange(0, TM)
    at_n = pid // tiles_m * TN + tl.arange(0, TN)
    acc = tl.zeros((TM, TN), dtype=c_ptr.dtype.element_ty if c_ptr.dtype.element_ty == tl.int32 else tl.float32)
    for step in range(part, tl.cdiv(k, TK), SPLIT):
        at_k = step * TK + tl.arange(0, TK)
        a = tl.load(a_ptr + at_m[:, None] * k + at_k[None, :], mask=(at_m[:, None] < m) & (at_k[None, :] < k), other=0.0)
        in_b = (at_k[:, None] < k) & (at_n[None, :] < n)
        if BT:
            b = tl.load(b_ptr + at_n[None, :] * k + at_k[:, None], mask=in_b, other=0.0)
        else:
            b = tl.load(b_ptr + at_k[:, None] * n + at_n[None, :], mask=in_b, other=0.0)
        acc = tl.dot(a, b, acc)
    c = c_ptr + at_m[:, None] * n + at_n[None, :]
    inside = (at_m[:, None] < m) & (at_n[None, :] < n)
    if SPLIT == 1:
        tl.store(c, acc.to(c_ptr.dtype.element_ty), mask=inside)
    else:
        tl.atomic_add(c, acc, mask=inside)


@triton.jit
def matmul_maps(a, b, c, m, n, k, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr):
    """c = a b^T by tensor maps that the host makes."""
    tiles_m = tl.cdiv(m, TM)
    at_m = tl.program_id(0) % tiles_m * TM
    at_n = tl.program_id(0) // tiles_m * TN
    acc = tl.zeros((TM, TN), dtype=tl.float32)
    for at_k in range(0, k, TK):
        acc = tl.dot(a.load([at_m, at_k]), b.load([at_n, at_k]).T, acc)
    c.store([at_m, at_n], acc.to(tl.float16))


@triton.jit
def matmul_persistent(a_ptr, b_ptr, c_ptr, m, n, k, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr,
                      PROGRAMS: tl.constexpr, SPECIALIZED: tl.constexpr):
    """The same by tensor maps that each program makes; programs go through the tiles. Specialised: with a warp that loads
    and warp groups that multiply. Triton does so on sm_90 where programs have 4 warps, make their maps themselves, and the
    loop over tiles is not flattened."""
    a = tl.make_tensor_descriptor(a_ptr, [m, k], [k, 1], [TM, TK])
    b = tl.make_tensor_descriptor(b_ptr, [n, k], [k, 1], [TN, TK])
    c = tl.make_tensor_descriptor(c_ptr, [m, n], [n, 1], [TM, TN])
    tiles_m = tl.cdiv(m, TM)
    for tile in tl.range(tl.program_id(0), tiles_m * tl.cdiv(n, TN), PROGRAMS, flatten=not SPECIALIZED,
                         warp_specialize=SPECIALIZED):
        at_m = tile % tiles_m * TM
        at_n = tile // tiles_m * TN
        acc = tl.zeros((TM, TN), dtype=tl.float32)
        for at_k in range(0, k, TK):
            acc = tl.dot(a.load([at_m, at_k]), b.load([at_n, at_k]).T, acc)
        c.store([at_m, at_n], acc.to(tl.float16))


@triton.jit
def matmul_specialized_k(a_ptr, b_ptr, c_ptr, m, n, k, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr):
    """One tile for each program, its loop over k specialised."""
    a = tl.make_tensor_descriptor(a_ptr, [m, k], [k, 1], [TM, TK])
    b = tl.make_tensor_descriptor(b_ptr, [n, k], [k, 1], [TN, TK])
    c = tl.make_tensor_descriptor(c_ptr, [m, n], [n, 1], [TM, TN])
    tiles_m = tl.cdiv(m, TM)
    at_m = tl.program_id(0) % tiles_m * TM
    at_n = tl.program_id(0) // tiles_m * TN
    acc = tl.zeros((TM, TN), dtype=tl.float32)
    for at_k in tl.range(0, k, TK, warp_specialize=True):
        acc = tl.dot(a.load([at_m, at_k]), b.load([at_n, at_k]).T, acc)
    c.store([at_m, at_n], acc.to(tl.float16))


@triton.jit
def attention(q_ptr, k_ptr, v_ptr, o_ptr, length, scale, TM: tl.constexpr, TN: tl.constexpr, D: tl.constexpr):
    at_m = tl.program_id(0) * TM + tl.arange(0, TM)
    at_d = tl.arange(0, D)
    head = tl.program_id(1) * length * D
    q = tl.load(q_ptr + head + at_m[:, None] * D + at_d[None, :], mask=at_m[:, None] < length, other=0.0)
    best = tl.full([TM], -float("inf"), dtype=tl.float32)
    total = tl.zeros([TM], dtype=tl.float32)
    acc = tl.zeros([TM, D], dtype=tl.float32)
    for start in range(0, length, TN):
        at_n = start + tl.arange(0, TN)
        inside = at_n[:, None] < length
        k = tl.load(k_ptr + head + at_n[:, None] * D + at_d[None, :], mask=inside, other=0.0)
        s = tl.dot(q, tl.trans(k)) * scale
        s = tl.where(at_n[None, :] < length, s, -float("inf"))
        new = tl.maximum(best, tl.max(s, 1))
        p = tl.exp(s - new[:, None])
        shrink = tl.exp(best - new)
        total = total * shrink + tl.sum(p, 1)
        v = tl.load(v_ptr + head + at_n[:, None] * D + at_d[None, :], mask=inside, other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc * shrink[:, None])
        best = new
    o = acc / total[:, None]
    tl.store(o_ptr + head + at_m[:, None] * D + at_d[None, :], o.to(o_ptr.dtype.element_ty), mask=at_m[:, None] < length)


@triton.jit
def attention_specialized(q_ptr, k_ptr, v_ptr, o_ptr, length, scale, TM: tl.constexpr, TN: tl.constexpr,
                          D: tl.constexpr):
    """The same by tensor maps of the program and with specialised warps, heads one below the other in a matrix. Each head
    has a map of its own, so that rows beyond it are zeros."""
    head = tl.program_id(1) * length * D
    q_map = tl.make_tensor_descriptor(q_ptr + head, [length, D], [D, 1], [TM, D])
    k_map = tl.make_tensor_descriptor(k_ptr + head, [length, D], [D, 1], [TN, D])
    v_map = tl.make_tensor_descriptor(v_ptr + head, [length, D], [D, 1], [TN, D])
    o_map = tl.make_tensor_descriptor(o_ptr + head, [length, D], [D, 1], [TM, D])
    at_m = tl.program_id(0) * TM
    q = q_map.load([at_m, 0])
    best = tl.full([TM], -float("inf"), dtype=tl.float32)
    total = tl.zeros([TM], dtype=tl.float32)
    acc = tl.zeros([TM, D], dtype=tl.float32)
    for start in tl.range(0, length, TN, warp_specialize=True):
        s = tl.dot(q, k_map.load([start, 0]).T) * scale
        s = tl.where((start + tl.arange(0, TN))[None, :] < length, s, -float("inf"))
        new = tl.maximum(best, tl.max(s, 1))
        p = tl.exp(s - new[:, None])
        shrink = tl.exp(best - new)
        total = total * shrink + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), v_map.load([start, 0]), acc * shrink[:, None])
        best = new
    o_map.store([at_m, 0], (acc / total[:, None]).to(tl.float16))


@triton.jit
def transpose(x_ptr, y_ptr, rows, cols, TILE: tl.constexpr):
    at_r = tl.program_id(0) * TILE + tl.arange(0, TILE)
    at_c = tl.program_id(1) * TILE + tl.arange(0, TILE)
    inside = (at_r[:, None] < rows) & (at_c[None, :] < cols)
    x = tl.load(x_ptr + at_r[:, None] * cols + at_c[None, :], mask=inside, other=0)
    tl.store(y_ptr + at_c[:, None] * rows + at_r[None, :], tl.trans(x), mask=tl.trans(inside))


@triton.jit
def row_argmax(x_ptr, y_ptr, sums_ptr, cols, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0)
    x = tl.load(x_ptr + row * cols + at, mask=at < cols, other=-1000000)
    tl.store(y_ptr + row, tl.argmax(x, axis=0))
    tl.store(sums_ptr + row, tl.sum(tl.where(at < cols, x, 0), axis=0))


@triton.jit
def scan(x_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0)
    x = tl.load(x_ptr + row * cols + at, mask=at < cols, other=0)
    tl.store(y_ptr + row * cols + at, tl.cumsum(x, axis=0), mask=at < cols)


@triton.jit
def sort_rows(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.sort(tl.load(x_ptr + at)))


@triton.jit
def gather(x_ptr, index_ptr, y_ptr, n, cols, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.load(index_ptr + tl.program_id(0))
    x = tl.load(x_ptr + row * cols + at, mask=(at < cols) & (row < n), other=0.0)
    tl.store(y_ptr + tl.program_id(0) * cols + at, x, mask=at < cols)


KERNELS = {k: v for k, v in globals().items() if isinstance(v, triton.runtime.jit.JITFunction)}


def compile_job(job, folder):
    fn = KERNELS[job["kernel"]]
    signature, attrs = {}, {}
    for i, name in enumerate(fn.arg_names):
        signature[name] = "constexpr" if name in job["values"] else job["types"][name]
        if signature[name].startswith("*") or name in job.get("sixteens", []):
            attrs[(i,)] = [["tt.divisibility", 16]]
    source = ASTSource(fn, signature, constexprs=job["values"], attrs=attrs)
    options = {"num_warps": job["warps"], "num_stages": job["stages"]}
    start = time.perf_counter()
    out = triton.compile(source, target=GPUTarget("cuda", job.get("arch", 90), 32), options=options)
    taken = (time.perf_counter() - start) * 1e3
    text = out.asm["ptx"]
    at = text.index(".reqntid") + len(".reqntid")
    pathlib.Path(folder, job["name"] + ".ptx").write_text(text)
    scratch = out.metadata.global_scratch_size or 0
    print(job["name"], out.metadata.shared, text[at:].split()[0].rstrip(","), scratch, f"{taken:.0f}", flush=True)


def main():
    triton.runtime.driver.set_active(NoDriver())
    for line in sys.stdin:
        compile_job(json.loads(line), sys.argv[1])


if __name__ == "__main__":
    main()
