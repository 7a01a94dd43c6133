#!/usr/bin/env python3
"""Calls that change something do not stand side by side where C does not order them.

Two arguments of a call, two operands, two initialisers of a list: compilers evaluate them in an
order of their own, and where both emit instructions, draw random numbers or use up a budget, the
same source gives other bytes with another compiler. Such calls stand in statements of their own.

A call changes something if the function it names, or one that that calls, writes through a pointer,
as far as names tell (calls by pointer are not followed). QUIET lists those whose order shows
nowhere; a function that is not the project's changes nothing.
"""
import re

import repo

# Functions that write, but where nobody can tell in which order.
QUIET = {
    "pg_verify_type_text", "pg_layouts_enc_text",  # fresh text
    "pg_ptx_taddr", "pg_ptx_vec",                  # fresh operands
    # What the caller gave:
    "cli_pairs", "pg_elem_range", "pg_layout_at", "place_values", "rows_for",
}

TOKEN = re.compile(r"""\s+|//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[A-Za-z_]\w*"""
                   r"""|\.?\d[\w.]*|->|\+\+|--|<<=|>>=|[-+*/%&|^=!<>]=|&&|\|\||<<|>>|.""", re.S)
WORD = re.compile(r"[A-Za-z_]\w*$")
KEYWORDS = {"if", "for", "while", "switch", "return", "sizeof", "do", "else", "case",
            "_Static_assert", "_Alignof", "alignof", "__attribute__"}
CONTROL = {"if", "for", "while", "switch", "do", "else"}
ASSIGNS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "++", "--"}
ORDERS = {"&&", "||", "?", ":"}
OPEN, CLOSE = set("([{"), set(")]}")


def tokens(source):
    """[(token, line)] without white space, comments and preprocessor lines."""
    source = re.sub(r"^[ \t]*#(?:[^\n\\]|\\.)*", lambda m: "\n" * m.group(0).count("\n"), source,
                    flags=re.M | re.S)
    out, line = [], 1
    for m in TOKEN.finditer(source):
        t = m.group(0)
        if not t.isspace() and not t.startswith(("//", "/*")):
            out.append((t, line))
        line += t.count("\n")
    return out


def pairs(tk):
    """Index of the bracket that belongs to each bracket."""
    other, stack = {}, []
    for n, (t, _) in enumerate(tk):
        if t in OPEN:
            stack.append(n)
        elif t in CLOSE and stack:
            other[n] = stack.pop()
            other[other[n]] = n
    return other


class Source:
    def __init__(self, name, source):
        self.name = name
        self.tk = tokens(source)
        self.other = pairs(self.tk)
        self.functions = []  # (name, `{`, `}`)
        n = 0
        while n < len(self.tk):
            if self.tk[n][0] == "{":
                end = self.other.get(n, len(self.tk))
                if n and self.tk[n - 1][0] == ")":
                    self.functions.append((self.tk[self.other[n - 1] - 1][0], n, end))
                n = end
            n += 1

    def is_call(self, n):
        t = self.tk[n][0]
        return n + 1 < len(self.tk) and self.tk[n + 1][0] == "(" and WORD.match(t) \
            and t not in KEYWORDS

    def is_block(self, n):
        """`{` of statements, not of initialisers or a compound literal."""
        prev = self.tk[n - 1][0]
        if prev == ")":
            head = self.tk[self.other[n - 1] - 1][0]
            return WORD.match(head) is not None and head not in {"return", "sizeof"}
        return prev in {";", "{", "}", "else", "do", ":"}

    def arrays(self, start, end):
        """Names declared in a body, not as pointers."""
        tk = self.tk
        return {tk[n][0] for n in range(start + 1, end)
                if WORD.match(tk[n][0]) and WORD.match(tk[n - 1][0])
                and tk[n - 1][0] not in KEYWORDS and tk[n + 1][0] in {"[", "=", ";", ","}}

    def lvalue(self, n):
        """Tokens, outside of brackets, of what the assignment at n writes."""
        tk, out = self.tk, []
        if tk[n][0] in {"++", "--"} and not (WORD.match(tk[n - 1][0]) or tk[n - 1][0] in CLOSE):
            n += 1
            while WORD.match(tk[n][0]) or tk[n][0] in {"->", ".", "["}:
                out.append(tk[n][0])
                n = self.other[n] + 1 if tk[n][0] == "[" else n + 1
            return out
        n -= 1
        while True:
            t = tk[n][0]
            if t in {")", "]"}:
                n = self.other[n]
                out.append(tk[n][0])
            elif t in OPEN or t in ORDERS or t in {";", "}", ",", "=", "return"}:
                return out[::-1]
            else:
                out.append(t)
            n -= 1

    def writes(self, start, end):
        """Whether a body writes through a pointer itself."""
        own = self.arrays(start, end)
        for n in range(start + 1, end):
            if self.tk[n][0] in ASSIGNS:
                to = self.lvalue(n)
                if to and (to[0] == "*" or "->" in to
                           or ("[" in to and to[to.index("[") - 1] not in own)):
                    return True
        return False


class Program:
    def __init__(self, sources):
        self.sources = sources
        self.where = {}  # name -> keys of the functions of that name
        calls = {}
        self.acting = set()
        for s in sources:
            for name, start, end in s.functions:
                key = (s.name, name)
                self.where.setdefault(name, []).append(key)
                calls[key] = {s.tk[n][0] for n in range(start, end) if s.is_call(n)} - QUIET
                if s.writes(start, end):
                    self.acting.add(key)
        grows = True
        while grows:
            more = {k for k, names in calls.items() if k not in self.acting
                    and any(self.acts(k[0], n) for n in names)}
            self.acting |= more
            grows = bool(more)

    def acts(self, file, name):
        if name in QUIET:
            return False
        keys = self.where.get(name, [])
        own = [k for k in keys if k[0] == file]  # a static function hides others of its name
        return any(k in self.acting for k in own or keys)


class Checker:
    def __init__(self, program, source):
        self.program, self.s, self.found = program, source, []

    def report(self, line, calls):
        self.found.append(f"{self.s.name}:{line}: {' and '.join(calls)} are called in no order: "
                          "give each a statement of its own")

    def walk(self, n, end, is_list):
        """The calls that change something in the tokens n..end; is_list: its items are unordered.
        """
        items, now, line = [], [], self.s.tk[n][1] if n < end else 0

        def close():  # what follows is evaluated later
            if len(now) > 1:
                self.report(line, [c for c in now])
            if items:
                items[-1] += now
            now.clear()

        items.append([])
        while n < end:
            t, line = self.s.tk[n]
            if t in OPEN:
                last, is_block = self.s.other[n], t == "{" and self.s.is_block(n)
                if is_block:
                    close()
                is_call = t == "(" and self.s.is_call(n - 1)
                inner = self.walk(n + 1, last, is_call or (t == "{" and not is_block))
                name = self.s.tk[n - 1][0]
                if is_call and self.program.acts(self.s.name, name):
                    now.append(name)
                elif inner and not is_block:
                    now.append(inner[0])
                if is_block:
                    items[:] = [[]]
                    now.clear()
                n = last
            elif t in ORDERS:
                close()
            elif t == ",":
                close()
                items.append([])
            elif t == ";":
                close()
                items[:] = [[]]
            n += 1
        close()
        busy = [x for x in items if x]
        if is_list and len(busy) > 1:
            self.report(line, [x[0] for x in busy])
        return [c for x in busy for c in x]


def problems(program, source):
    c = Checker(program, source)
    for _, start, end in source.functions:
        c.walk(start + 1, end, False)
    return c.found


# The check's own test: functions, how many of them are wrong.
SELF = """
static int emit(struct b *b, int x) { b->n++; return x; }
static int twice(const struct k *k, int x) { return emit(k->b, x) * 2; }
static int pure(int x, int y) { int z[2] = {x, y}; z[0] = 3; return z[0]; }
int %s(struct b *b, const struct k *k, int x) { %s }
"""
GOOD = ["return pure(emit(b, 1), x);", "int i = emit(b, 1); return pure(i, emit(b, 2));",
        "return emit(b, 1) && emit(b, 2);", "return x ? emit(b, 1) : twice(k, 2);",
        "int i = emit(b, 1), j = emit(b, 2); return i + j;", "return pure(pure(1, 2), pure(3, 4));",
        "for (int i = emit(b, 0); emit(b, i); emit(b, 1)) { emit(b, 2); } return emit(b, 3);",
        "if (emit(b, 1)) { emit(b, 2); } else { twice(k, 3); } return 0;",
        "return pure(x, /* emit(b, 1) */ emit(b, 2));"]
BAD = ["return pure(emit(b, 1), emit(b, 2));", "return pure(twice(k, 1), emit(b, 2));",
       "return emit(b, 1) + emit(b, 2);", "int i[2] = {emit(b, 1), twice(k, 2)}; return i[0];",
       "return pure(pure(emit(b, 1), 2), pure(3, emit(b, 2)));",
       "return pure(x ? emit(b, 1) : 2, emit(b, 3));", "b->n += emit(b, 1) * twice(k, 2); return 0;",
       "struct p p = {.x = emit(b, 1), .y = emit(b, 2)}; return p.x;",
       "return use((struct p){emit(b, 1), emit(b, 2)});"]


def check_itself(results):
    for wanted, bodies in ((0, GOOD), (1, BAD)):
        for body in bodies:
            s = Source("self.c", SELF % ("f", body))
            n = len(problems(Program([s]), s))
            results.case([] if min(n, 1) == wanted else
                         [f"check_order.py: {n} problems found in: {body}"])


def main():
    results = repo.Results()
    check_itself(results)
    sources = [Source(name, repo.text(name)) for name in repo.c_files()]
    program = Program(sources)
    for s in sources:
        results.case(problems(program, s))
    results.finish()


if __name__ == "__main__":
    main()
