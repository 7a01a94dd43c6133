#!/usr/bin/env python3
"""Runs PTX that Triton made from kernels of our own (kernels.py) on the executor: right numbers at odd sizes, several
seeds, --races=practice, no report. Matrix products run wgmma, tiles of all types that it has.

usage: run.py PTXGEN [NAME...]

Triton is looked for as tests/sass/peers.py says (.venv-peers/, PTXGEN_PEERS_VENV); without it: skipped, 77. With
PTXGEN_TEST_LONG it is installed, and 16 seeds are run instead of 3."""
import hashlib
import json
import math
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "sass"))
from peers import triton_python  # noqa: E402

CODES = {"f16": "e", "f32": "f", "s32": "i", "s8": "b", "u16": "H", "u8": "B"}
NPY = {"f16": "<f2", "f32": "<f4", "s32": "<i4", "s8": "|i1", "bf16": "<u2", "e4m3": "|u1"}


def bits_of(values, dtype):
    if dtype == "bf16":
        return b"".join(struct.pack("<f", v)[2:] for v in values)  # whole numbers: exact
    if dtype == "e4m3":
        codes = {0: 0, 1: 0x38, 2: 0x40, 3: 0x44, 4: 0x48}
        return bytes(codes[abs(v)] | (0x80 if v < 0 else 0) for v in values)
    return struct.pack(f"<{len(values)}{CODES[dtype]}", *values)


def save(path, values, dtype):
    head = f"{{'descr': '{NPY[dtype]}', 'fortran_order': False, 'shape': ({len(values)},), }}"
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + bits_of(values, dtype))


def load(path, dtype):
    data = path.read_bytes()
    raw = data[10 + struct.unpack("<H", data[8:10])[0]:]
    if dtype == "bf16":
        return [struct.unpack("<f", b"\0\0" + raw[i:i + 2])[0] for i in range(0, len(raw), 2)]
    return list(struct.unpack(f"<{len(raw) // struct.calcsize(CODES[dtype])}{CODES[dtype]}", raw))


class In:
    def __init__(self, values, dtype):
        self.values, self.dtype = values, dtype


class Out:
    """Expected values; `error` relative to 1 + |value|, 0: equal. `zeros`: it starts as zeros."""

    def __init__(self, values, dtype, error=0.0, zeros=False):
        self.values, self.dtype, self.error, self.zeros = values, dtype, error, zeros


class Map:
    """A tensor map over an In or an Out, rows of `dims` elements; its extents and strides are parameters too."""

    def __init__(self, x, dims, box):
        self.x, self.dims, self.box, self.dtype = x, dims, box, x.dtype


PTR = {"f16": "*fp16", "f32": "*fp32", "s32": "*i32", "s8": "*i8", "bf16": "*bf16", "e4m3": "*fp8e4nv"}


def small(rng, n):
    return [rng.randrange(-3, 5) for _ in range(n)]


def product(a, b, m, n, k, transposed):
    rows = [a[i * k:(i + 1) * k] for i in range(m)]
    cols = [b[j * k:(j + 1) * k] if transposed else b[j::n] for j in range(n)]
    return [sum(map(lambda x, y: x * y, r, c)) for r in rows for c in cols]


def matmul(rng, m, n, k, elem, out, tile, split=1, transposed=False, warps=4, stages=3):
    a, b = small(rng, m * k), small(rng, k * n)
    tm, tn, tk = tile
    grid = [-(-m // tm) * -(-n // tn), split]
    return {"kernel": "matmul", "grid": grid, "warps": warps, "stages": stages,
            "values": {"TM": tm, "TN": tn, "TK": tk, "SPLIT": split, "BT": transposed},
            "args": {"a_ptr": In(a, elem), "b_ptr": In(b, elem),
                     "c_ptr": Out(product(a, b, m, n, k, transposed), out, zeros=split > 1), "m": m, "n": n, "k": k}}


def matmul_maps(rng, m, n, k, tile):
    a, b = small(rng, m * k), small(rng, k * n)
    tm, tn, tk = tile
    return {"kernel": "matmul_maps", "grid": [-(-m // tm) * -(-n // tn)], "values": {"TM": tm, "TN": tn, "TK": tk},
            "args": {"a": Map(In(a, "f16"), (m, k), (tm, tk)), "b": Map(In(b, "f16"), (n, k), (tn, tk)),
                     "c": Map(Out(product(a, b, m, n, k, True), "f16"), (m, n), (tm, tn)), "m": m, "n": n, "k": k}}


def matmul_by_maps(rng, kernel, m, n, k, tile, stages=3, **values):
    """Tensor maps of the device; without PROGRAMS among the values, one program for each tile."""
    a, b = small(rng, m * k), small(rng, k * n)
    tm, tn, tk = tile
    grid = [values.get("PROGRAMS") or -(-m // tm) * -(-n // tn)]
    return {"kernel": kernel, "grid": grid, "stages": stages, "values": {"TM": tm, "TN": tn, "TK": tk, **values},
            "args": {"a_ptr": In(a, "f16"), "b_ptr": In(b, "f16"),
                     "c_ptr": Out(product(a, b, m, n, k, True), "f16"), "m": m, "n": n, "k": k}}


def floats(rng, n):
    return [struct.unpack("<e", struct.pack("<e", rng.uniform(-2, 2)))[0] for _ in range(n)]


def attention(rng, heads, length, d, kernel="attention", tile=(64, 64), stages=3):
    q, k, v = (floats(rng, heads * length * d) for _ in range(3))
    scale = 1 / math.sqrt(d)
    want = []
    for h in range(heads):
        base = h * length * d
        keys = [k[base + j * d:base + (j + 1) * d] for j in range(length)]
        vals = [v[base + c:base + length * d:d] for c in range(d)]
        for i in range(length):
            row = q[base + i * d:base + (i + 1) * d]
            s = [sum(map(lambda x, y: x * y, row, key)) * scale for key in keys]
            top = max(s)
            p = [math.exp(x - top) for x in s]
            total = sum(p)
            want += [sum(map(lambda x, y: x * y, p, c)) / total for c in vals]
    return {"kernel": kernel, "grid": [-(-length // tile[0]), heads], "stages": stages,
            "values": {"TM": tile[0], "TN": tile[1], "D": d},
            "args": {"q_ptr": In(q, "f16"), "k_ptr": In(k, "f16"), "v_ptr": In(v, "f16"),
                     "o_ptr": Out(want, "f16", 4e-3), "length": length, "scale": scale}}


def rows_of(rng, rows, cols):
    x = floats(rng, rows * cols)
    return x, [x[r * cols:(r + 1) * cols] for r in range(rows)]


def softmax(rng, rows, cols):
    x, parts = rows_of(rng, rows, cols)
    want = []
    for row in parts:
        e = [math.exp(v - max(row)) for v in row]
        want += [v / sum(e) for v in e]
    return {"kernel": "softmax", "grid": [rows], "values": {"BLOCK": 1024},
            "args": {"x_ptr": In(x, "f16"), "y_ptr": Out(want, "f16", 2e-3), "cols": cols}}


def layernorm(rng, rows, cols):
    x, parts = rows_of(rng, rows, cols)
    w, b = floats(rng, cols), floats(rng, cols)
    want = []
    for row in parts:
        mean = sum(row) / cols
        scale = 1 / math.sqrt(sum((v - mean) ** 2 for v in row) / cols + 1e-5)
        want += [(v - mean) * scale * w[i] + b[i] for i, v in enumerate(row)]
    return {"kernel": "layernorm", "grid": [rows], "values": {"BLOCK": 256},
            "args": {"x_ptr": In(x, "f16"), "w_ptr": In(w, "f16"), "b_ptr": In(b, "f16"),
                     "y_ptr": Out(want, "f16", 2e-3), "cols": cols}}


def add(rng, n):
    a, b = small(rng, n), small(rng, n)
    return {"kernel": "add", "grid": [-(-n // 256)], "values": {"BLOCK": 256},
            "args": {"a_ptr": In(a, "f32"), "b_ptr": In(b, "f32"), "c_ptr": Out([x + y for x, y in zip(a, b)], "f32"),
                     "n": n}}


def transpose(rng, rows, cols):
    x = [rng.randrange(-1000, 1000) for _ in range(rows * cols)]
    return {"kernel": "transpose", "grid": [-(-rows // 32), -(-cols // 32)], "values": {"TILE": 32},
            "args": {"x_ptr": In(x, "s32"), "y_ptr": Out([x[r * cols + c] for c in range(cols) for r in range(rows)], "s32"),
                     "rows": rows, "cols": cols}}


def row_argmax(rng, rows, cols):
    x = [rng.randrange(-1000, 1000) for _ in range(rows * cols)]
    parts = [x[r * cols:(r + 1) * cols] for r in range(rows)]
    return {"kernel": "row_argmax", "grid": [rows], "values": {"BLOCK": 512},
            "args": {"x_ptr": In(x, "s32"), "y_ptr": Out([p.index(max(p)) for p in parts], "s32"),
                     "sums_ptr": Out([sum(p) for p in parts], "s32"), "cols": cols}}


def scan(rng, rows, cols):
    x = [rng.randrange(-1000, 1000) for _ in range(rows * cols)]
    want = [sum(x[r * cols:r * cols + c + 1]) for r in range(rows) for c in range(cols)]
    return {"kernel": "scan", "grid": [rows], "values": {"BLOCK": 512},
            "args": {"x_ptr": In(x, "s32"), "y_ptr": Out(want, "s32"), "cols": cols}}


def sort_rows(rng, rows):
    x = [rng.randrange(-1000, 1000) for _ in range(rows * 256)]
    return {"kernel": "sort_rows", "grid": [rows], "values": {"BLOCK": 256},
            "args": {"x_ptr": In(x, "s32"), "y_ptr": Out(sum((sorted(x[r * 256:r * 256 + 256]) for r in range(rows)), []), "s32")}}


def gather(rng, n, rows, cols):
    x, index = small(rng, n * cols), [rng.randrange(n) for _ in range(rows)]
    return {"kernel": "gather", "grid": [rows], "values": {"BLOCK": 128},
            "args": {"x_ptr": In(x, "f16"), "index_ptr": In(index, "s32"),
                     "y_ptr": Out(sum((x[i * cols:(i + 1) * cols] for i in index), []), "f16"), "n": n, "cols": cols}}


def jobs():
    rng = random.Random(2026)
    yield "add", add(rng, 1777)
    yield "softmax", softmax(rng, 5, 777)
    yield "layernorm", layernorm(rng, 3, 613)
    yield "matmul_f16", matmul(rng, 100, 70, 90, "f16", "f32", (128, 128, 64))
    yield "matmul_f16_bt", matmul(rng, 65, 130, 77, "f16", "f16", (64, 128, 32), transposed=True, stages=4)
    yield "matmul_bf16", matmul(rng, 130, 66, 100, "bf16", "f32", (64, 64, 64), stages=2)
    yield "matmul_8_warps", matmul(rng, 129, 120, 96, "f16", "f32", (128, 128, 64), warps=8)
    yield "matmul_s8", matmul(rng, 70, 60, 130, "s8", "s32", (64, 64, 64), transposed=True)
    yield "matmul_e4m3", matmul(rng, 64, 50, 130, "e4m3", "f32", (64, 64, 64), transposed=True)
    yield "matmul_tf32", matmul(rng, 64, 50, 70, "f32", "f32", (64, 64, 32), transposed=True)
    yield "matmul_split_k", matmul(rng, 60, 70, 200, "f16", "f32", (64, 64, 32), split=3)
    yield "matmul_maps", matmul_maps(rng, 130, 72, 200, (64, 64, 64))
    yield "matmul_persistent", matmul_by_maps(rng, "matmul_persistent", 130, 136, 104, (64, 64, 64),
                                              PROGRAMS=2, SPECIALIZED=False)
    yield "attention", attention(rng, 2, 100, 64)
    yield "transpose", transpose(rng, 70, 45)
    yield "row_argmax", row_argmax(rng, 4, 333)
    yield "scan", scan(rng, 3, 401)
    yield "sort_rows", sort_rows(rng, 3)
    yield "gather", gather(rng, 20, 9, 100)
    for tm, tn, tk, stages in ((128, 128, 64, 3), (128, 256, 64, 2)):
        yield f"matmul_specialized_{tn}_{stages}", matmul_by_maps(rng, "matmul_persistent", 300, 264, 200, (tm, tn, tk), stages,
                                                                   PROGRAMS=2, SPECIALIZED=True)
    yield "matmul_specialized_k", matmul_by_maps(rng, "matmul_specialized_k", 130, 136, 440, (128, 128, 64))
    yield "attention_specialized", attention(rng, 2, 200, 64, "attention_specialized", (128, 64))


def describe(name, job):
    types = {}
    for arg, x in job["args"].items():
        types[arg] = f"tensordesc<{PTR[x.dtype][1:]}{list(x.box)}>" if isinstance(x, Map) else PTR[x.dtype] if isinstance(x, (In, Out)) else "fp32" if isinstance(x, float) else "i32"
    return {"name": name, "kernel": job["kernel"], "warps": job.get("warps", 4), "stages": job.get("stages", 3),
            "types": types, "values": job["values"]}


def compile_all(python, todo, folder):
    """{name: (path, shared, threads)}, from the cache where kernels.py and the job are the same."""
    source = (HERE / "kernels.py").read_bytes()
    made, missing = {}, []
    for name, job in todo:
        text = json.dumps(describe(name, job), sort_keys=True)
        key = hashlib.sha256(source + text.encode()).hexdigest()[:16]
        path = folder / f"triton_{name}_{key}.ptx"
        note = path.with_suffix(".txt")
        if path.exists() and note.exists():
            made[name] = (path, *note.read_text().split())
        else:
            missing.append((name, text, path, note))
    if missing:
        with tempfile.TemporaryDirectory() as tmp:
            lines = "".join(t + "\n" for _, t, _, _ in missing)
            done = subprocess.run([python, str(HERE / "kernels.py"), tmp], input=lines, capture_output=True, text=True,
                                  check=False)
            if done.returncode:
                print(done.stderr)
            said = {w[0]: w[1:] for w in (x.split() for x in done.stdout.splitlines()) if len(w) == 5}
            for name, _, path, note in missing:
                if name in said:
                    path.write_bytes(pathlib.Path(tmp, name + ".ptx").read_bytes())
                    note.write_text(" ".join(said[name][:3]))
                    made[name] = (path, *said[name][:3])
    return made


def close(got, want, error):
    return got == want if error == 0 else abs(got - want) <= error * (1 + abs(want))


def run(ptxgen, name, job, made, tmp, seeds, options=("--races",)):
    """What is wrong, or None."""
    path, shared, threads, scratch = made
    if "specialized" in name and "setmaxnreg" not in path.read_text():
        return "Triton did not specialise its warps"
    command = [ptxgen, "exec", str(path), "--grid=" + ",".join(map(str, job["grid"])), f"--block={threads}",
               f"--smem={shared}", *options, f"--seeds={seeds}"]
    outs = []
    for arg, given in job["args"].items():
        file = tmp / f"{name}_{arg}.npy"
        x = given.x if isinstance(given, Map) else given
        dtype = getattr(x, "dtype", None)
        spec = f"f32:{x!r}" if isinstance(x, float) else f"s32:{x}"
        if isinstance(x, In):
            save(file, x.values, dtype)
            spec = f"in:{file}" + (f":{dtype}" if dtype in ("bf16", "e4m3") else "")
        elif isinstance(x, Out):
            spec = f"out:{file}:{dtype}:{len(x.values)}"
            if x.zeros:
                start = tmp / f"{name}_{arg}_0.npy"
                save(start, [0] * len(x.values), dtype)
                spec = f"inout:{start}:{file}"
            outs.append((arg, x, file))
        if isinstance(given, Map):
            (rows, cols), (box_rows, box_cols) = given.dims, given.box
            spec = (f"tmap:{spec}:box={box_rows}x{min(box_cols, 64)}:swizzle=128:dtype={dtype}:dims={rows}x{cols}"
                    f":strides={2 * cols}")
        command.append(f"--arg={spec}")
        if isinstance(given, Map):
            command += [f"--arg=u32:{rows}", f"--arg=u32:{cols}", f"--arg=u64:{cols}", "--arg=u64:1"]
    n_scratch = int(scratch) * math.prod(job["grid"])
    command += [f"--arg=zero:{n_scratch}" if n_scratch else "--arg=null", "--arg=null"]  # the last: for profiling
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode or done.stderr.strip():
        return " ".join(command) + "\n" + done.stderr[-3000:]
    for arg, x, file in outs:
        got = load(file, x.dtype)
        bad = [i for i, (g, w) in enumerate(zip(got, x.values)) if not close(g, w, x.error)]
        if bad or len(got) != len(x.values):
            i = bad[0] if bad else 0
            return f"{arg}[{i}] is {got[i]}, expected {x.values[i]}; {len(bad)} of {len(got)} wrong"
    return None


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__.split("\n\n")[1])
    python = triton_python("PTXGEN_TEST_LONG" in os.environ)
    seeds = 16 if "PTXGEN_TEST_LONG" in os.environ else 3
    folder = pathlib.Path(os.environ.get("PTXGEN_TEST_CACHE") or tempfile.gettempdir())
    folder.mkdir(parents=True, exist_ok=True)
    todo = [(n, j) for n, j in jobs() if len(sys.argv) == 2 or n in sys.argv[2:]]
    made = compile_all(python, todo, folder)
    n_bad = 0
    with tempfile.TemporaryDirectory() as tmp:
        for name, job in todo:
            why = run(sys.argv[1], name, job, made[name], pathlib.Path(tmp), seeds) if name in made else "not compiled"
            if why is not None:
                n_bad += 1
                print(f"FAILED {name}: {why}")
    print(f"{len(todo) - n_bad} passed, {n_bad} failed")
    sys.exit(1 if n_bad else 0)


if __name__ == "__main__":
    main()
