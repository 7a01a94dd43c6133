#!/usr/bin/env python3
"""Coefficients of emit/lower_f64.c, in double precision, printed as the C tables there.

Each is a weighted minimax polynomial by the Remez exchange in 60 digits (mpmath), with the
coefficients that are fixed left out of the fit: the error printed is the largest of the weighted
error after rounding to double."""
import struct
from mpmath import mp, mpf, mpf as F, matrix, lu_solve, cos, pi, exp, log, erf, erfc, expm1, log1p, sqrt, atanh

mp.dps = 60


def dbl(x):
    return float(x)


def bits(x):
    return struct.unpack("<Q", struct.pack("<d", float(x)))[0]


def remez(f, weight, lo, hi, degree, rounds=12):
    """Minimax of weight(t) * (p(t) - f(t)) on [lo, hi]."""
    lo, hi = F(lo), F(hi)
    n = degree + 2
    at = [(lo + hi) / 2 - (hi - lo) / 2 * cos(pi * k / (n - 1)) for k in range(n)]
    for _ in range(rounds):
        a, b = matrix(n, n), matrix(n, 1)
        for r, t in enumerate(at):
            for c in range(degree + 1):
                a[r, c] = t ** c
            a[r, degree + 1] = (-1) ** r / weight(t)
            b[r] = f(t)
        solved = lu_solve(a, b)
        p = [solved[c] for c in range(degree + 1)]
        grid = [(lo + hi) / 2 - (hi - lo) / 2 * cos(pi * k / (60 * n)) for k in range(60 * n + 1)]
        err = [weight(t) * (poly(p, t) - f(t)) for t in grid]
        # extremes of runs of one sign
        best, run = [], 0
        for k in range(1, len(grid)):
            if (err[k] > 0) != (err[run] > 0):
                best.append(max(range(run, k), key=lambda i: abs(err[i])))
                run = k
        best.append(max(range(run, len(grid)), key=lambda i: abs(err[i])))
        while len(best) > n:  # drop the smaller end
            best.pop(0 if abs(err[best[0]]) < abs(err[best[-1]]) else -1)
        if len(best) < n:
            break
        new = [grid[i] for i in best]
        if max(abs(x - y) for x, y in zip(new, at)) < (hi - lo) * F(10) ** -9:
            at = new
            break
        at = new
    return p


def poly(p, t):
    s = F(0)
    for c in reversed(p):
        s = s * t + c
    return s


def show(name, p, f, weight, lo, hi):
    """Highest power first, as Horner takes them."""
    q = [F(dbl(c)) for c in p]
    lo, hi = F(lo), F(hi)
    worst = max(abs(weight(t) * (poly(q, t) - f(t)))
                for t in (lo + (hi - lo) * k / 2000 for k in range(2001)))
    print(f"/* {name}: degree {len(p) - 1}, error {mp.nstr(worst * 2 ** 53, 3)} * 2^-53 */")
    print("{" + ", ".join(f"0x{bits(c):016X}" for c in reversed(p)) + "}")


LN2 = log(F(2))
TINY = F(10) ** -25


def expm1_tail(r):  # expm1(r) = r + r^2 q(r)
    r = r if abs(r) > TINY else TINY
    return (expm1(r) - r) / r ** 2


def exp2_tail(r):  # 2^r = 1 + r q(r)
    r = r if abs(r) > TINY else TINY
    return expm1(r * LN2) / r


def log2_tail(z):  # log2(m) = s (2 / ln 2 + z q(z)), s = (m - 1) / (m + 1), z = s^2
    z = z if z > TINY else TINY
    s = sqrt(z)
    return (2 * atanh(s) / s - 2) / (z * LN2)


def erf_small(z):  # erf(x) = x + x q(x^2)
    x = sqrt(z if z > TINY else TINY)
    return erf(x) / x - 1


def erfc_log(t):  # erfc(1 + t) = 2^q(t)
    return log(erfc(1 + t)) / LN2


if __name__ == "__main__":
    import sys
    half = LN2 / 2 * F("1.001")
    table = [
        ("expm1", expm1_tail, lambda r: r ** 2 / 1 + F("1e-3"), -half, half, 10),
        ("exp2", exp2_tail, lambda r: abs(r) + F("1e-3"), F("-0.5005"), F("0.5005"), 11),
        ("log2", log2_tail, lambda z: z + F("1e-4"), 0, F("0.02945"), 6),
        ("erf", erf_small, lambda z: F(1), 0, 1, 12),
        ("erfc", erfc_log, lambda t: erfc(1 + t) * LN2 / erf(1 + t), 0, 5, 17),
    ]
    for name, f, w, lo, hi, degree in table:
        degree = int(sys.argv[2]) if len(sys.argv) > 2 and sys.argv[1] == name else degree
        if len(sys.argv) > 1 and sys.argv[1] != name:
            continue
        show(name, remez(f, w, lo, hi, degree), f, w, lo, hi)
    print("/* log2(e) */", hex(bits(1 / LN2)))
    hi = F(struct.unpack("<d", struct.pack("<Q", bits(LN2) & ~0x7FF))[0])
    print("/* ln2 hi lo */", hex(bits(hi)), hex(bits(LN2 - hi)))
    c = F(float(2 / LN2))
    print("/* 2/ln2 hi lo */", hex(bits(c)), hex(bits(2 / LN2 - c)))
