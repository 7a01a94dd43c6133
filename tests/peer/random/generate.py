#!/usr/bin/env python3
"""Random CUDA C programs for the executor, in one file that nvcc and the host's C compiler take (random.h says how).

usage: generate.py SEED COUNT > programs.cu

The same seed gives the same bytes. Undefined behaviour is kept out by construction: integers are computed unsigned, shift
counts masked, indices reduced, loops and recursion bounded; shared memory written in a step is read in later ones only."""
import random
import sys

INTS = ["s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"]
FLOATS = ["f32", "f64"]
TYPES = INTS + FLOATS
WIDTH = {t: int(t[1:]) for t in TYPES}
SHOW = {"f32": "bits_f32(%s)", "f64": "bits_f64(%s)"}


def wide(t):
    return "u64" if WIDTH[t] == 64 else "u32"


class Var:
    def __init__(self, text, type, is_fixed=False, n=0):
        self.text, self.type, self.is_fixed, self.n = text, type, is_fixed, n  # n: elements, 0: no array


class Function:
    def __init__(self, name, result, params, cost):
        self.name, self.result, self.params, self.cost = name, result, params, cost


class Program:
    def __init__(self, number, seed):
        self.r = random.Random(seed)
        self.name = f"p{number}"
        self.text, self.functions, self.counter = [], [], 0
        self.pointers = []  # functions of one type, called through pointers
        self.threads = self.r.choice([32, 64, 64, 96, 128])
        self.blocks = self.r.choice([1, 1, 2, 3])
        self.state = [(f"{t}{i}", t) for i, t in enumerate(self.r.choice(TYPES) for _ in range(self.r.randint(4, 9)))]
        for t in ["u32", "s32", "u64"]:
            self.state.append((f"{t}w", t))  # what warps exchange is among these
        self.fields = [(f"m{i}", self.r.choice(TYPES)) for i in range(self.r.randint(2, 4))]
        self.shared = [(f"a{i}", self.r.choice(TYPES)) for i in range(self.r.randint(1, 3))]
        self.make()

    # ---- expressions

    def chance(self, p):
        return self.r.random() < p

    def fresh(self, letter):
        self.counter += 1
        return f"{letter}{self.counter}"

    def literal(self, t):
        r = self.r
        if t in FLOATS:
            v = r.choice([0.0, 1.0, -1.0, 0.5, 3.0, 1e-3, 1e10, -2.5, r.uniform(-100, 100), 2.0 ** r.randint(-60, 60)])
            return f"({t}){v.hex()}" if v >= 0 else f"({t})(-{(-v).hex()})"
        bits = WIDTH[t]
        v = r.choice([0, 1, 2, 3, 7, r.randrange(100), (1 << bits) - 1, 1 << (bits - 1), (1 << (bits - 1)) - 1,
                      r.randrange(1 << bits), 1 << r.randrange(bits)])
        return f"({t}){v}u" if bits < 64 else f"({t}){v}ull"

    def leaf(self, t, is_inner=False):
        """Something without operators; what it is indexed by is simpler still."""
        r = self.r
        vars = [v for v in self.scope if v.type == t and not (is_inner and v.n)]
        if vars and not self.chance(0.25):
            v = r.choice(vars)
            return f"{v.text}[{self.leaf('u32', True)} % {v.n}]" if v.n else v.text
        kinds = {"u32": ["in", "table", "t", "b"], "s32": ["in"], "f32": ["bits"], "f64": ["bits"], "u64": ["in2"]}.get(t, [])
        for name, type in self.reads:
            if type == t:
                kinds = kinds + ["shared"] * 3
                at = name
        if is_inner:
            return r.choice(["t", "b", str(r.randrange(1000)) + "u"])
        index = lambda: self.leaf("u32", True)  # noqa: E731
        kind = r.choice(kinds + ["literal"] + (["other"] if self.scope else []))
        if kind == "in":
            return f"({t})in[{index()} % N_IN]"
        if kind == "in2":
            return f"((u64)in[{index()} % N_IN] << 32 | in[{index()} % N_IN])"
        if kind == "table":
            return f"{self.name}_table[{index()} % 8]"
        if kind in ("t", "b"):
            return kind
        if kind == "bits":
            return f"as_f32(in[{index()} % N_IN])" if t == "f32" else f"as_f64((u64)in[{index()} % N_IN] << 32 | {index()})"
        if kind == "shared":
            return f"sh->{at}[{index()} % {self.threads}]"
        if kind == "other":
            v = r.choice(self.scope)
            return self.cast(t, v.type, f"{v.text}[{r.randrange(v.n)}]" if v.n else v.text)
        return self.literal(t)

    def cast(self, t, from_type, text):
        if from_type in FLOATS and t in INTS:
            via = self.r.choice(["s32", "u32", "s64", "u64"])
            return f"({t}){from_type}_to_{via}({text})"
        return f"({t})({text})"

    def condition(self, depth):
        r = self.r
        kind = r.randrange(8)
        if kind == 0 and depth > 0:
            return f"({self.condition(depth - 1)} {r.choice(['&&', '||'])} {self.condition(depth - 1)})"
        if kind == 1 and depth > 0:
            return f"!{self.condition(depth - 1)}"
        if kind == 2:
            return f"({self.expr('u32', depth - 1)} & {1 << r.randrange(8)}u)"
        t = r.choice(TYPES)
        return f"({self.expr(t, depth - 1)} {r.choice(['<', '>', '<=', '>=', '==', '!='])} {self.expr(t, depth - 1)})"

    def expr(self, t, depth):
        r = self.r
        if depth <= 0 or self.chance(0.15):
            return self.leaf(t)
        d = depth - 1
        callable = [f for f in self.functions if f.result == t and f.cost * self.times <= 3000]
        if callable and self.chance(0.12):
            return self.call(r.choice(callable), d)
        if t == "u32" and self.pointers and self.times <= 40 and self.chance(0.06):
            return f"{self.name}_pick({self.expr('u32', d)})({self.expr('u32', d)}, {self.expr('u32', d)})"
        if self.chance(0.08):
            return f"({t})({self.condition(d)} ? {self.expr(t, d)} : {self.expr(t, d)})"
        if self.chance(0.12):
            other = r.choice(TYPES)
            return self.cast(t, other, self.expr(other, d))
        if t in FLOATS:
            return self.float_expr(t, d)
        e = lambda: self.expr(t, d)  # noqa: E731
        u, bits = wide(t), WIDTH[t]
        special = {
            "u32": [lambda: f"popc({e()})", lambda: f"clz({e()})", lambda: f"ffs({e()})", lambda: f"brev({e()})",
                    lambda: f"popc64({self.expr('u64', d)})", lambda: f"clz64({self.expr('u64', d)})",
                    lambda: f"permute({e()}, {e()}, {e()})", lambda: f"funnel_l({e()}, {e()}, {e()})",
                    lambda: f"funnel_r({e()}, {e()}, {e()})", lambda: f"mulhi_u32({e()}, {e()})",
                    lambda: f"sad({self.expr('s32', d)}, {self.expr('s32', d)}, {e()})", lambda: f"vadd4({e()}, {e()})",
                    lambda: f"vmax2({e()}, {e()})",
                    lambda: f"half_{r.choice(['less', 'equal'])}_mask({e()}, {e()})", lambda: f"bits_f32({self.expr('f32', d)})",
                    lambda: f"({e()} >> {r.randrange(32)} & {(1 << r.randrange(1, 32)) - 1}u)"],
            "s32": [lambda: f"mulhi_s32({e()}, {e()})",
                    lambda: f"dp4a({self.expr('u32', d)}, {self.expr('u32', d)}, {e()})",
                    lambda: f"((s32)({self.expr('u32', d)} << {(n := r.randrange(32))}) >> {n})"],
            "u64": [lambda: f"brev64({e()})", lambda: f"mulhi_u64({e()}, {e()})",
                    lambda: f"((u64){self.expr('u32', d)} * {self.expr('u32', d)})",
                    lambda: f"bits_f64({self.expr('f64', d)})"],
            "s64": [lambda: f"mulhi_s64({e()}, {e()})", lambda: f"((s64){self.expr('s32', d)} * {self.expr('s32', d)})"],
            "u16": [lambda: f"half_{r.choice(['add', 'sub', 'mul'])}({e()}, {e()})",
                    lambda: f"f32_to_half({self.expr('f32', d)})"],
        }.get(t, [])
        kind = r.randrange(14)
        if special and kind < 4:
            return r.choice(special)()
        if kind < 8:
            return f"({t})(({u}){e()} {r.choice(['+', '-', '*', '+', '-'])} ({u}){e()})"
        if kind < 10:
            return f"({t})({e()} {r.choice('&|^')} {e()})"
        if kind == 10:
            return f"{r.choice(['div', 'rem'])}_{t}({e()}, {e()})"
        if kind == 11:
            return f"({t})(({u}){e()} << ({self.expr('u32', d)} & {bits - 1}))"
        if kind == 12:
            return f"({t})({e()} >> ({self.expr('u32', d)} & {bits - 1}))"
        return r.choice([f"({t})(0 - ({u}){e()})", f"({t})~({u}){e()}", f"({t}){self.condition(d)}"])

    def float_expr(self, t, d):
        e = lambda: self.expr(t, d)  # noqa: E731
        f = "f" if t == "f32" else ""
        kind = self.r.randrange(14)
        if kind < 7:
            return f"({e()} {self.r.choice('+-*+-*/')} {e()})"
        if kind == 7:
            return f"fma{f}({e()}, {e()}, {e()})"
        if kind == 8:
            return f"sqrt{f}(fabs{f}({e()}))"
        if kind == 9:
            return f"{self.r.choice(['floor', 'ceil', 'trunc', 'rint', 'fabs'])}{f}({e()})"
        if kind == 10:
            return f"{self.r.choice(['min', 'max'])}_{t}({e()}, {e()})"
        if kind == 11:
            return f"(-{e()})"
        if kind == 12 and t == "f32":
            return f"half_to_f32({self.expr('u16', d)})"
        i = self.r.choice(INTS)
        return f"({t}){self.expr(i, d)}"

    def call(self, f, depth):
        args = []
        for kind, t in f.params:
            if kind == "struct":
                args.append(self.struct_value or f"{self.name}_make({self.expr('u32', 0)}, {self.expr('f32', 0)})")
            elif kind == "depth":
                args.append(str(self.r.randint(1, 5)))
            else:
                args.append(self.expr(t, depth))
        return f"{f.name}({', '.join(['in', 't', 'b'] + args)})"

    # ---- statements

    def block(self, indent, budget, loops):
        keep = len(self.scope)
        out = []
        for _ in range(self.r.randint(1, 2)):
            out += self.statement(indent + 1, budget - 1, loops)
        del self.scope[keep:]
        return out

    def assign(self, pad):
        vars = [v for v in self.scope if not v.is_fixed]
        if not vars:
            return self.declare(pad)
        v = self.r.choice(vars)
        where = f"{v.text}[{self.expr('u32', 1)} % {v.n}]" if v.n else v.text
        return [f"{pad}{where} = {self.expr(v.type, self.r.choice([1, 2, 3]))};"]

    def declare(self, pad):
        t, name = self.r.choice(TYPES), self.fresh("v")
        if self.chance(0.15):
            n = self.r.choice([2, 3, 4, 8])
            init = ", ".join(self.expr(t, 1) for _ in range(n))
            self.scope.append(Var(name, t, n=n))
            return [f"{pad}{t} {name}[{n}] = {{{init}}};"]
        text = f"{pad}{t} {name} = {self.expr(t, self.r.choice([1, 2, 3]))};"
        self.scope.append(Var(name, t))
        return [text]

    def statement(self, indent, budget, loops):
        r, pad = self.r, "    " * indent
        kind = r.randrange(16)
        if budget <= 0 or kind < 4:
            return self.assign(pad)
        if kind < 7:
            return self.declare(pad)
        if kind < 10:
            out = [f"{pad}if ({self.condition(2)}) {{"] + self.block(indent, budget, loops)
            if self.chance(0.5):
                out += [f"{pad}}} else {{"] + self.block(indent, budget, loops)
            return out + [pad + "}"]
        if kind < 13 and self.times <= 12:
            return self.loop(indent, budget)
        if kind == 13:
            out = [f"{pad}switch ({self.expr('u32', 2)} % {r.choice([3, 5, 8])}) {{"]
            for case in sorted(r.sample(range(8), r.randint(2, 5))):
                out += [f"{pad}case {case}: {{"] + self.block(indent, budget, False) + [pad + "}"]
                out += [pad + "    break;"] if self.chance(0.75) else []
            if self.chance(0.5):
                out += [f"{pad}default: {{"] + self.block(indent, budget, False) + [pad + "}"]
            return out + [pad + "}"]
        if kind == 14:
            if loops and self.chance(0.7):
                return [f"{pad}if ({self.condition(1)}) {{", f"{pad}    {r.choice(['break', 'continue'])};", pad + "}"]
            if self.result and self.chance(0.6):
                return [f"{pad}if ({self.condition(2)}) {{", f"{pad}    return{self.result()};", pad + "}"]
            label = self.fresh("L")
            return ([f"{pad}if ({self.condition(1)}) {{", f"{pad}    goto {label};", pad + "}", pad + "{"]
                    + self.block(indent, budget, False) + [pad + "}", f"{pad}{label}:;"])
        structs = [v.text for v in self.structs]
        if structs:
            v = r.choice(structs)
            name, t = r.choice(self.fields)
            return [f"{pad}{v}.{name} = {self.expr(t, 2)};"] if self.chance(0.7) else [
                f"{pad}{self.name}_change(&{v}, {self.expr('u32', 2)});"]
        return self.assign(pad)

    def loop(self, indent, budget):
        r, pad = self.r, "    " * indent
        n, i = r.randint(2, 5), self.fresh("i")
        keep = len(self.scope)
        times = self.times
        self.times *= n
        kind = r.randrange(4)
        if kind < 3:
            t = r.choice(["u32", "s32", "u64", "s64", "u8"])
            self.scope.append(Var(i, t, is_fixed=True))
            bound = str(n) if self.chance(0.5) else f"({t})({self.expr('u32', 1)} % {n + 1})"
            head = f"for ({t} {i} = 0; {i} < {bound}; {i}++)" if kind < 2 or t[0] == "u" else \
                f"for ({t} {i} = {n - 1}; {i} >= 0; {i}--)"
            out = [f"{pad}{head} {{"] + self.block(indent, budget, True) + [pad + "}"]
        else:
            out = [f"{pad}u32 {i} = 0;"]
            out += [f"{pad}while (++{i} < {n} && {self.condition(2)}) {{"] + self.block(indent, budget, True) + [pad + "}"]
        self.times = times
        del self.scope[keep:]
        return out

    def function_body(self, statements, result):
        """Locals of a struct first, so that statements may change them; then the statements."""
        self.result, self.structs, out = result, [], []
        if self.chance(0.5):
            v = Var(self.fresh("z"), "struct")
            out.append(f"    struct {self.name}_pair {v.text} = {self.name}_make({self.expr('u32', 1)}, {self.expr('f32', 1)});")
            self.structs.append(v)
            self.scope += [Var(f"{v.text}.{n}", t) for n, t in self.fields]
            self.struct_value = v.text
        for _ in range(statements):
            out += self.statement(1, 3, False)
        return out

    # ---- functions

    def begin(self, params=(), reads=()):
        self.scope = [Var(f"x{i}", t) for i, (kind, t) in enumerate(params) if kind == "value"]
        for i, (kind, t) in enumerate(params):
            if kind == "struct":
                self.scope += [Var(f"x{i}.{n}", t) for n, t in self.fields]
        self.reads, self.times, self.struct_value, self.structs, self.result = list(reads), 1, None, [], None

    def add_helper(self):
        r = self.r
        name, result = f"{self.name}_{self.fresh('f')}", r.choice(TYPES)
        params = [("value", r.choice(TYPES)) for _ in range(r.randint(1, 4))]
        if self.chance(0.3):
            params.append(("struct", ""))
        is_recursive = self.chance(0.25)
        if is_recursive:
            params.append(("depth", "u32"))
        texts = [f"struct {self.name}_pair x{i}" if kind == "struct" else f"{t} x{i}" for i, (kind, t) in enumerate(params)]
        head = f"{'CALL' if is_recursive or self.chance(0.5) else 'FN'} {result} {name}("
        head += ", ".join(["const u32 *in", "u32 t", "u32 b"] + texts) + ")"
        self.begin(params)
        body = self.function_body(r.randint(1, 3), lambda: " " + self.expr(result, 2))
        if is_recursive:
            depth = f"x{len(params) - 1}"
            args = ", ".join(["in", "t", "b"] + [f"x{i}" if kind == "struct" else self.expr(t, 1) if kind == "value" else
                                                 f"{depth} - 1" for i, (kind, t) in enumerate(params)])
            again = self.fresh("v")
            body += [f"    if ({depth} == 0) {{", f"        return {self.expr(result, 2)};", "    }",
                     f"    {result} {again} = {name}({args});"]
            self.scope.append(Var(again, result))
        body.append(f"    return {self.expr(result, 3)};")
        self.text += [head, "{"] + body + ["}", ""]
        self.functions.append(Function(name, result, params, 300 if is_recursive else 40))

    def add_pointers(self):
        for _ in range(3):
            name = f"{self.name}_{self.fresh('g')}"
            self.begin([("value", "u32"), ("value", "u32")])
            self.scope = [v for v in self.scope]
            keep, self.functions = self.functions, []  # they have no `in`
            body = [f"    return {self.plain(3)};"]
            self.functions = keep
            self.text += [f"CALL u32 {name}(u32 x0, u32 x1)", "{"] + body + ["}", ""]
            self.pointers.append(name)
        a, b, c = self.pointers
        self.text += [f"typedef u32 (*{self.name}_pointer)(u32, u32);", f"FN {self.name}_pointer {self.name}_pick(u32 x)", "{",
                      f"    return x % 3 == 0 ? {a} : x % 3 == 1 ? {b} : {c};", "}", ""]

    def plain(self, depth):
        """Of x0 and x1 alone."""
        if depth == 0:
            return self.r.choice(["x0", "x1", self.literal("u32")])
        a, b = self.plain(depth - 1), self.plain(depth - 1)
        return self.r.choice([f"({a} + {b})", f"({a} * {b})", f"({a} ^ {b})", f"({a} < {b} ? {a} : {b})", f"mulhi_u32({a}, {b})",
                              f"div_u32({a}, {b})", f"funnel_l({a}, {b}, {a})"])

    def add_struct(self):
        n = self.name
        self.text += [f"struct {n}_pair {{"] + [f"    {t} {f};" for f, t in self.fields] + ["};", ""]
        self.text.append(f"{self.r.choice(['CALL', 'FN'])} struct {n}_pair {n}_make(u32 x0, f32 x1)")
        self.text += ["{", f"    struct {n}_pair r;"]
        for f, t in self.fields:
            value = self.r.choice(["x0", "x0 * 3u", "x0 >> 7", "x0 ^ 0x80000000u"])
            self.text.append(f"    r.{f} = " + ("x1;" if t == "f32" else f"({t})({value});"))
        self.text += ["    return r;", "}", "", f"CALL void {n}_change(struct {n}_pair *p, u32 x)", "{"]
        for f, t in self.fields:
            self.text.append(f"    p->{f} = " + (f"p->{f} * ({t})3 + ({t})x;" if t in FLOATS else
                                                 f"({t})(({wide(t)})p->{f} * 5u + x);"))
        self.text += ["}", ""]

    # ---- the kernel

    def phase(self, write):
        """A function of one thread, that writes a cell of its own of one shared array and reads the others."""
        name = f"{self.name}_{self.fresh('phase')}"
        n = self.threads
        self.begin(reads=[a for a in self.shared if a != write])
        self.scope = [Var(f"s->{f}", t) for f, t in self.state]
        body = self.function_body(self.r.randint(1, 4), lambda: "")
        if write:
            step = self.r.choice([k for k in range(1, 32) if n % 2 == 0 and k % 2 and (n % 3 or k % 3)])
            body.append(f"    sh->{write[0]}[(t * {step} + {self.r.randrange(n)}) % {n}] = {self.expr(write[1], 3)};")
        for f, t in self.state:
            if self.chance(0.3):
                body.append(f"    s->{f} = {self.expr(t, 2)};")
        self.text += [f"{self.r.choice(['CALL', 'FN', 'FN'])} void {name}(struct {self.name}_state *s, "
                      f"struct {self.name}_shared *sh, const u32 *in, u32 t, u32 b)", "{"] + body + ["}", ""]
        return [f"EACH({name}(s, sh, in, t, b);)"]

    def warp_step(self):
        r = self.r
        mask = r.choice([0xFFFFFFFF] * 3 + [0x55555555, 0xCCCCCCCC, 0x0000FFFF, 0xF0F0F0F0])
        m = f"0x{mask:08X}u"
        self.begin()
        self.scope = [Var(f"s->{f}", t) for f, t in self.state]
        of = lambda types: r.choice([f for f, t in self.state if t in types])  # noqa: E731
        kind = r.randrange(5)
        if kind < 2:
            width = r.choice([32, 32, 16, 8])
            t = r.choice(["u32", "s32", "u64"] + [t for _, t in self.state if t in FLOATS])
            way, arg = r.choice([("", f"{self.leaf('u32')} & 31"), ("_up", r.randrange(32)), ("_down", r.randrange(32)),
                                 ("_xor", r.randrange(32))])
            if mask != 0xFFFFFFFF:  # partners within the mask
                way, arg, width = "_xor", {0x55555555: 6, 0xCCCCCCCC: 20, 0x0000FFFF: 11, 0xF0F0F0F0: 24}[mask], 32
            field = of([t])
            return [f"SHFL({m}, {way}, {of([t])}, {field}, {arg}, {width})"]
        if kind == 2:
            return [f"VOTE({m}, {r.choice(['ballot', 'any', 'all'])}, {of(['u32'])}, {self.condition(2)})"]
        if kind == 3:
            return [f"MATCH({m}, {of(['u32'])}, {of(['u32', 's32', 'u64'])})"]
        t = r.choice(["u32", "s32"])
        way = r.choice(["add", "min", "max"] + (["and", "or", "xor"] if t == "u32" else []))
        return [f"REDUCE({m}, {way}, {of([t])}, {of([t])})"]

    def atomic_step(self):
        """Totals of the block, with one operation that commutes; then some threads look at them."""
        r = self.r
        t, way = r.choice(["u32", "s32", "u64"]), r.choice(["Add", "Min", "Max", "And", "Or", "Xor"])
        self.begin()
        self.scope = [Var(f"s->{f}", ft) for f, ft in self.state]
        cell = f"sh->total_{t}"
        out = [f"EACH(if (t < 4) {{ {cell}[t] = {self.literal(t)}; }})", "BARRIER"]
        add = f"ATOMIC({way}, {t}, &{cell}[{self.expr('u32', 1)} % 4], {self.expr(t, 2)});"
        out.append(f"EACH({add})" if self.chance(0.5) else f"EACH(if ({self.condition(1)}) {{ {add} }})")
        field = r.choice([f for f, ft in self.state if ft == t])
        return out + ["BARRIER", f"EACH(s->{field} = ({t})(({wide(t)})s->{field} + ({wide(t)}){cell}[t % 4]);)", "BARRIER"]

    def global_step(self):
        """Totals of all blocks in out[]: the cell's number decides the operation. Nobody reads them."""
        cell = self.r.randrange(N_TOTALS)
        way = ["Add", "Max", "Xor", "Or"][cell % 4]
        self.begin()
        self.scope = [Var(f"s->{f}", t) for f, t in self.state]
        return [f"EACH(ATOMIC({way}, u64, &out[{cell}], {self.expr('u64', 2)});)"]

    def steps(self, n, indent):
        out, pad = [], "    " * indent
        for _ in range(n):
            kind = self.r.randrange(10)
            if kind < 4:
                write = self.r.choice(self.shared + [None])
                out += [pad + line for line in self.phase(write)] + [pad + "BARRIER"]
            elif kind < 7:
                out += [pad + line for line in self.warp_step()]
            elif kind == 7:
                out += [pad + line for line in self.atomic_step()]
            elif kind == 8:
                out += [pad + line for line in self.global_step()]
            elif indent < 3:
                i = self.fresh("n")
                head = self.r.choice([f"for (u32 {i} = 0; {i} < {self.r.randint(2, 3)}; {i}++)",
                                      f"if (in[{self.r.randrange(256)}] & {1 << self.r.randrange(32)}u)"])
                out += [f"{pad}{head} {{"] + self.steps(2, indent + 1) + [pad + "}"]
        return out

    def make(self):
        n = self.name
        table = ", ".join(str(self.r.randrange(1 << 32)) + "u" for _ in range(8))
        self.text += [f"/* ---- {n} ---- */", f"TABLE u32 {n}_table[8] = {{{table}}};"]
        self.begin()
        self.add_struct()
        if self.chance(0.4):
            self.add_pointers()
        for _ in range(self.r.randint(1, 3)):
            self.add_helper()
        self.text += [f"struct {n}_state {{"] + [f"    {t} {f};" for f, t in self.state] + ["};"]
        self.text += [f"struct {n}_shared {{"] + [f"    {t} {f}[{self.threads}];" for f, t in self.shared]
        self.text += [f"    {t} total_{t}[4];" for t in ("u32", "s32", "u64")] + ["};", ""]
        steps = self.steps(self.r.randint(2, 6), 1)
        self.begin()
        init = " ".join(f"s->{f} = {self.expr(t, 2)};" for f, t in self.state)
        init += " " + " ".join(f"sh->{f}[t] = {self.expr(t, 2)};" for f, t in self.shared)
        n_fields = len(self.state)
        last = " ".join(f"out[at + {k}] = (u64){SHOW.get(t, '%s') % ('s->' + f)};" for k, (f, t) in enumerate(self.state))
        at = f"u32 at = N_TOTALS + (b * {self.threads} + t) * {n_fields};"
        self.text += [f"KERNEL({n}, {self.threads}, {n}_state, {n}_shared)", f"    EACH({init})", "    BARRIER"] + steps
        self.text += [f"    EACH({at} {last})", "END", ""]
        self.row = f'    {{"{n}", {n}, {self.threads}, {self.blocks}, N_TOTALS + {self.blocks * self.threads * n_fields}}},'


N_TOTALS = 12


def main(argv):
    if len(argv) != 3:
        sys.stderr.write(__doc__)
        return 2
    seed, count = int(argv[1]), int(argv[2])
    programs = [Program(k, f"{seed}.{k}") for k in range(count)]
    print('#include "random.h"')
    for p in programs:
        print("\n".join(p.text))
    print("#ifndef __CUDACC__\n#include \"run.h\"\nconst random_program programs[] = {")
    print("\n".join(p.row for p in programs))
    print("    {0},\n};\n#endif")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
