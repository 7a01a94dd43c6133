#!/usr/bin/env python3
"""Random programs of integers on the executor, against Python's integers: test_integers.py PTXGEN

What is known of a number (its range, that it does not wrap) decides what is emitted. Half of the sums and products
that do not wrap promise so (`nw`). Of those that wrap, some stand there twice, with a promise that is broken, whose
value is not used, and without one, whose value is: what the first says must not be believed of the second.
60 programs; 2 000 with PTXGEN_TEST_LONG=1.
"""
import os
import random

import harness

N = 64
FLOOR = {"idiv": lambda p, k: abs(p) // abs(k) * (1 if (p < 0) == (k < 0) else -1),
         "irem": lambda p, k: abs(p) % abs(k) * (-1 if p < 0 else 1)}
SUMS = {"iadd": lambda p, q: p + q, "isub": lambda p, q: p - q, "imul": lambda p, q: p * q}
PLAIN = {"and": lambda p, q: p & q, "or": lambda p, q: p | q, "xor": lambda p, q: p ^ q, "imin": min, "imax": max}


def wrap(x, bits):
    return (x + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


class Program:
    """Lines of text, and beside each value what it must be."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = []
        self.inputs = [[self.number() for _ in range(N)] for _ in range(2)]
        self.values = [("%x", 32, self.inputs[0]), ("%y", 32, self.inputs[1]), ("%l", 32, list(range(N)))]
        for name, mask in (("%x", 2**31 - 1), ("%y", 1023)):
            values = self.inputs["xy".index(name[1])]
            self.add(f"and {name}, {mask}", 32, [v & mask for v in values])
        self.positive = self.values[3:]
        for _ in range(self.random.randint(15, 40)):
            self.step()

    def number(self):
        r = self.random
        return r.choice([r.randint(-5, 5), r.randint(-2**31, 2**31 - 1), 2**31 - 1 - r.randint(0, 70),
                         r.randint(0, 70) - 2**31, r.randint(0, 2000), 1 << r.randint(0, 30)])

    def add(self, text, bits, values):
        name = f"%v{len(self.values)}"
        self.lines.append(f"{name} = {text} : tile<{N}xi{bits}>")
        self.values.append((name, bits, values))
        return name

    def sum(self, op, a, b, bits, exact):
        values = [wrap(e, bits) for e in exact]
        if values == exact:
            self.add(f"{op} {a}, {b}{self.random.choice(['', ' [nw]'])}", bits, values)
            return
        if self.random.random() < 0.5:
            self.add(f"{op} {a}, {b}", bits, values)
            return
        is_first = self.random.random() < 0.5
        name = self.add(f"{op} {a}, {b}", bits, values) if is_first else None
        n = len(self.values)
        self.lines += [f"%q{n} = {op} {a}, {b} [nw] : tile<{N}xi{bits}>",
                       f"%never{n} = icmp {self.positive[0][0]}, 0 [is=lt] : tile<{N}xi1>"]
        self.add(f"select %never{n}, %q{n}, 0", bits, [0] * N)
        name = name or self.add(f"{op} {a}, {b}", bits, values)
        self.add(f"idiv {name}, 3", bits, [FLOOR["idiv"](v, 3) for v in values])
        self.add(f"ishr {name}, 1", bits, [v >> 1 for v in values])
        if bits == 32:
            self.add(f"cast {name}", 64, values)

    def step(self):
        r = self.random
        a, bits, va = r.choice(self.values[-8:] if r.random() < 0.7 else self.values)
        if r.random() < 0.2:
            a, bits, va = r.choice(self.positive)
        b, _, vb = r.choice([v for v in self.values if v[1] == bits])
        if r.random() < 0.5:
            k = r.choice([r.randint(-9, 9), 1 << r.randint(0, 12), r.randint(1, 10**5), -(1 << r.randint(0, 10))])
            b, vb = str(k), [k] * N
        op = r.choice(["iadd", "isub", "imul"] * 3 + list(PLAIN) + list(FLOOR) +
                      ["shl", "ishr", "ushr", "umin", "umax", "udiv", "urem", "icdiv", "cast", "ucast", "select"])
        bare = [v % (1 << bits) for v in va]
        if op in SUMS:
            self.sum(op, a, b, bits, [SUMS[op](p, q) for p, q in zip(va, vb)])
        elif op in PLAIN:
            self.add(f"{op} {a}, {b}", bits, [wrap(PLAIN[op](p, q), bits) for p, q in zip(va, vb)])
        elif op in ("shl", "ishr", "ushr"):
            s = r.randint(0, bits - 1)
            by = {"shl": [p << s for p in va], "ishr": [p >> s for p in va], "ushr": [p >> s for p in bare]}
            self.add(f"{op} {a}, {s}", bits, [wrap(v, bits) for v in by[op]])
        elif op in ("umin", "umax"):
            which = min if op == "umin" else max
            self.add(f"{op} {a}, {b}", bits, [wrap(which(p, q % (1 << bits)), bits) for p, q in zip(bare, vb)])
        elif op in FLOOR:
            k = r.choice([2, 3, 7, 64, 1000, 1 << 20, -3, -64])
            self.add(f"{op} {a}, {k}", bits, [wrap(FLOOR[op](p, k), bits) for p in va])
        elif op in ("udiv", "urem"):
            k = r.choice([2, 3, 7, 64, 1000, 1 << 20])
            self.add(f"{op} {a}, {k}", bits, [wrap(p // k if op == "udiv" else p % k, bits) for p in bare])
        elif op == "icdiv" and min(va) >= 0:
            k = r.choice([1, 2, 3, 64, 1000])
            self.add(f"icdiv {a}, {k}", bits, [-(-p // k) for p in va])
        elif op in ("cast", "ucast"):
            other = 96 - bits
            self.add(f"{op} {a}", other, [wrap(p, other) for p in (bare if op == "ucast" else va)])
        elif op == "select":
            n = len(self.values)
            self.lines.append(f"%c{n} = icmp {a}, {b} [is=lt] : tile<{N}xi1>")
            self.add(f"select %c{n}, {a}, {b}", bits, [p if p < q else q for p, q in zip(va, vb)])

    def text(self):
        made = self.values[3:]
        lines = ["ptir 1", "module sm_80",
                 f"kernel @k(%px: ptr<i32> [in, shape=({N})], %py: ptr<i32> [in, shape=({N})], "
                 f"%o: ptr<i64> [out, shape=({len(made)}, {N})]) [warps={self.random.choice([1, 2])}] {{",
                 f"%l = iota : tile<{N}xi32>"]
        for name in "xy":
            lines += [f"%a{name} = addptr %p{name}, %l : tile<{N}xptr<i32>>", f"%{name} = load %a{name} : tile<{N}xi32>"]
        lines += self.lines
        for i, (name, bits, _) in enumerate(made):
            lines += [f"%oi{i} = iadd %l, {N * i} : tile<{N}xi32>", f"%op{i} = addptr %o, %oi{i} : tile<{N}xptr<i64>>"]
            if bits == 32:
                lines.append(f"%ow{i} = cast {name} : tile<{N}xi64>")
                name = f"%ow{i}"
            lines.append(f"store %op{i}, {name}")
        return "\n".join(lines + ["return", "}"]) + "\n", [values for _, _, values in made]


def integers_are_right(c):
    for seed in range(2000 if os.environ.get("PTXGEN_TEST_LONG") else 60):
        program = Program(seed)
        text, want = program.text()
        c.write("k.ptir", text)
        for name, values in zip("xy", program.inputs):
            c.write(f"{name}.npy", harness.npy("<i4", (N,), values))
        c.run("run", "k.ptir", "--in=px=x.npy", "--in=py=y.npy", "--out=o=o.npy", "--device=cpu", want=0)
        have = harness.read_npy(c.read("o.npy"))[2]
        for i, values in enumerate(want):
            got = have[i * N:(i + 1) * N]
            assert got == values, (f"seed {seed}: {program.values[3 + i][0]}: {got} not {values}\n{text}")


if __name__ == "__main__":
    harness.main([integers_are_right])
