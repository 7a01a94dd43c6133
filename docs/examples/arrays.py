#!/usr/bin/env python3
"""Arrays for gemm_bias_gelu.ptir, and the check of its result, without NumPy.

    arrays.py make     writes a.npy (100 x 136), b.npy (136 x 72) and bias.npy (72), all of f16
    arrays.py check    compares c.npy with gelu(a * b + bias) in double precision

With NumPy the first is `numpy.save("a.npy", a.astype("f2"))`.
"""
import math
import random
import struct
import sys

M, N, K = 100, 72, 136


def save(name, shape, values):
    head = f"{{'descr': '<f2', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (-(11 + len(head)) % 64) + "\n"
    with open(name, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        f.write(struct.pack(f"<{len(values)}e", *values))


def load(name, n):
    with open(name, "rb") as f:
        data = f.read()
    return struct.unpack(f"<{n}e", data[10 + struct.unpack("<H", data[8:10])[0]:])


def make():
    draw = random.Random(1)
    for name, shape in (("a.npy", (M, K)), ("b.npy", (K, N)), ("bias.npy", (N,))):
        save(name, shape, [draw.uniform(-1, 1) for _ in range(math.prod(shape))])


def check():
    a, b, bias, c = load("a.npy", M * K), load("b.npy", K * N), load("bias.npy", N), load("c.npy", M * N)
    worst = 0.0
    for i in range(M):
        for j in range(N):
            x = bias[j] + sum(a[i * K + k] * b[k * N + j] for k in range(K))
            want = x / 2 * (1 + math.erf(x / math.sqrt(2)))
            worst = max(worst, abs(c[i * N + j] - want) / (abs(want) + 0.01))
    print(f"largest error: {worst:.0e} of the element")
    return worst > 2e-3  # the rounding to f16, 5e-4, and f32 sums


if __name__ == "__main__":
    sys.exit({"make": make, "check": check}[sys.argv[1]]())
