"""What is done to an instruction that orders something: a table of operators over the statements of any PTX text.

A statement is text between `;`, braces and labels; comments and lines of debuggers are blanked first, so that places stay."""
import re

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*|\.(?:loc|file)\b[^\n]*", re.S)
STATEMENT = re.compile(r"(?P<guard>@!?[\w%$]+\s+)?(?P<op>[a-z_][\w]*(?:(?:\.|::)[\w]+)+)(?P<args>[^;]*);")
ORDERS = re.compile(r"bar\.|barrier\.|fence\b|membar\.|mbarrier\.(?!pending|inval)|wgmma\.(?!mma)|griddepcontrol\.wait"
                    r"|cp\.async\.(?:commit|wait|mbarrier|bulk)|cp\.reduce\.async|(?:ld|st|atom|red)\.\S*\.?(?:acquire|release|acq_rel)\b"
                    r"|(?:ld|st)\.(?:acquire|release|volatile)|multimem")


class Statement:
    """One that orders something: where it stands, guard, opcode and operands."""

    def __init__(self, text, found):
        self.start, self.end = found.start(), found.end()
        self.guard = found.group("guard") or ""
        self.op = found.group("op")
        self.args = split_args(found.group("args"))
        self.line = text.count("\n", 0, found.start()) + 1
        self.text = " ".join(text[self.start:self.end].split())

    def put(self, op=None, args=None):
        """The same with another opcode or other operands."""
        return f"{self.guard}{op or self.op} {', '.join(self.args if args is None else args)};"

    def changed(self, k, how, is_of=32):
        """The same with operand k replaced by `how` of it: "add 16", "xor 1"."""
        old = self.args[k]
        verb, by = how.split()
        if re.fullmatch(r"-?(0[xX][0-9a-fA-F]+|\d+)", old):
            n = int(old, 0)
            n = n + int(by) if verb == "add" else n ^ int(by)
            return None if n < 0 else self.put(args=[*self.args[:k], str(n), *self.args[k + 1:]])
        verb = "add.s" if verb == "add" else "xor.b"
        inner = self.put(args=[*self.args[:k], "mutated", *self.args[k + 1:]])
        return f"{{ .reg .b{is_of} mutated; {verb}{is_of} mutated, {old}, {by}; {inner} }}"


def split_args(text):
    """Operands at commas outside of brackets."""
    out, depth = [""], 0
    for c in text.strip():
        depth += (c in "[{(") - (c in "]})")
        if c == "," and depth == 0:
            out.append("")
        else:
            out[-1] += c
    return [x.strip() for x in out if x.strip()]


def statements(text):
    """Those of the text that order something."""
    blank = COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)
    for found in STATEMENT.finditer(blank):
        before = blank[:found.start()].rstrip()
        if ORDERS.match(found.group("op")) and before[-1:] in ("", ";", "{", "}", ":", '"') or before.endswith("*/"):
            yield Statement(blank, found)


# ---- operators: each yields (what was done, the text instead) for a statement of its opcodes ----

def delete(s):
    yield "deleted", ""


def wait_for_nothing(s):
    yield "waits for nothing", f"setp.eq.u32 {s.args[0].split('|')[0]}, 0, 0;" if not s.guard else \
        f"{s.guard}setp.eq.u32 {s.args[0]}, 0, 0;"


def parity(s):
    if ".parity" in s.op:
        yield "parity flipped", s.changed(2, "xor 1")


def to_relaxed(s):
    """Without `.acquire`, `.release`, said or by default."""
    if re.search(r"\.(acquire|release)\b", s.op):
        yield "relaxed", s.put(op=re.sub(r"\.(acquire|release)\b", ".relaxed", s.op))
    elif ".acq_rel" in s.op and s.op.startswith(("atom", "red")):
        for less in ("acquire", "release"):
            yield "only " + less, s.put(op=s.op.replace("acq_rel", less))
    elif re.match(r"mbarrier\.(try_wait|test_wait|arrive)\.", s.op) and "noComplete" not in s.op:
        head = re.match(r"mbarrier\.(?:try_wait|test_wait)(?:\.parity)?|mbarrier\.arrive(?:_drop)?(?:\.expect_tx)?", s.op)
        yield "relaxed", s.put(op=head.group() + ".relaxed.cta" + s.op[head.end():])
    elif re.match(r"barrier\.cluster\.arrive", s.op):
        yield "relaxed", s.put(op=s.op.replace(".arrive", ".arrive.relaxed"))


def to_weak(s):
    yield "not volatile", s.put(op=s.op.replace(".volatile", ""))


SCOPES = ["cta", "cluster", "gpu", "sys"]


def scope(s):
    """The scope of the CTA instead of a larger one."""
    if s.op.startswith("membar.") and s.op != "membar.cta":
        yield "scope of the CTA", s.put(op="membar.cta")
    for large in SCOPES[1:]:
        if re.search(rf"\.{large}\b", s.op) and "proxy" not in s.op and "init" not in s.op:
            yield "scope of the CTA", s.put(op=re.sub(rf"\.{large}\b", ".cta", s.op, count=1))


def count(s):
    """Of a named barrier, with a count: another number, a warp more or less, no wait."""
    at = 1 if len(s.args) == 2 else None
    if s.op.startswith(("bar.red", "barrier.red")) or at is None or "warp" in s.op:
        return
    yield "another barrier", s.put(args=["15", *s.args[1:]]) if s.args[0].isdigit() else s.changed(0, "xor 8")
    yield "a warp more", s.changed(1, "add 32")
    yield "a warp less", s.changed(1, "add -32")
    if ".sync" in s.op:
        yield "does not wait", s.put(op=s.op.replace(".sync", ".arrive", 1))


def group(s):
    yield "one group more in flight", s.changed(0, "add 1")


def read_only(s):
    if ".read" not in s.op:
        yield "waits for the reads only", s.put(op=s.op + ".read")


def tx(s):
    if "expect_tx" in s.op:
        k = len(s.args) - 1
        yield "16 bytes more", s.changed(k, "add 16")
        yield "16 bytes less", s.changed(k, "add -16")


def init(s):
    yield "one arrival more", s.changed(1, "add 1")
    yield "one arrival less", s.changed(1, "add -1")


def arrivals(s):
    """mbarrier.arrive with or without a count."""
    if "expect_tx" not in s.op and s.op.startswith("mbarrier.arrive"):
        if len(s.args) == 3:
            yield "one arrival more", s.changed(2, "add 1")
        else:
            yield "one arrival more", s.put(args=[*s.args, "2"])


def copy_bytes(s):
    if ".tensor" in s.op or "prefetch" in s.op or "_group" in s.op:
        return
    k = 2
    if len(s.args) > k and not s.args[k].startswith("["):
        yield "16 bytes less copied", s.changed(k, "add -16")
        yield "16 bytes more copied", s.changed(k, "add 16")


def multicast(s):
    if ".multicast::cluster" in s.op:
        k = 3 if ".tensor" in s.op else 4
        old = s.args[k]
        yield "one CTA less in the mask", (
            f"{{ .reg .b16 mutated, less; cvt.u16.u32 mutated, {int(old, 0)}; " if re.fullmatch(r"\d+", old) else
            f"{{ .reg .b16 mutated, less; mov.b16 mutated, {old}; ") + (
            "sub.u16 less, mutated, 1; and.b16 mutated, mutated, less; "
            + s.put(args=[*s.args[:k], "mutated", *s.args[k + 1:]]) + " }")


# (pattern of opcodes, operators)
OPERATORS = [
    (r"fence\b", [delete, scope]),
    (r"membar\.", [delete, scope]),
    (r"bar\.warp\.sync", [delete]),
    (r"(bar|barrier)(\.cta)?\.(sync|arrive)", [delete, count]),
    (r"barrier\.cluster\.arrive", [delete, to_relaxed]),
    (r"barrier\.cluster\.wait", [delete]),
    (r"mbarrier\.init", [delete, init]),
    (r"mbarrier\.(arrive|arrive_drop|expect_tx|complete_tx)\b", [delete, tx, arrivals, to_relaxed]),
    (r"mbarrier\.(try_wait|test_wait)", [wait_for_nothing, parity, to_relaxed]),
    (r"cp\.async\.mbarrier\.arrive", [delete]),
    (r"cp\.async\.(commit_group|wait_all)|cp\.async\.bulk\.commit_group|wgmma\.(fence|commit_group)", [delete]),
    (r"cp\.async\.wait_group|wgmma\.wait_group", [delete, group]),
    (r"cp\.async\.bulk\.wait_group", [delete, group, read_only]),
    (r"cp\.(reduce\.)?async\.bulk\.(tensor|shared|global)", [delete, copy_bytes, multicast]),
    (r"(ld|st|atom|red)\.", [to_relaxed, scope]),
    (r"(ld|st)\.volatile", [to_weak]),
]


def newer(text):
    """`.relaxed` barriers want PTX 8.6, and sm_90."""
    version = re.search(r"\.version\s+(\d+)\.(\d+)", text)
    return text if (int(version.group(1)), int(version.group(2))) >= (8, 6) else \
        text[:version.start()] + ".version 8.6" + text[version.end():]


def mutants(text):
    """(statement, operator's name, what was done, the whole text) of each mutant."""
    has_relaxed = re.search(r"\.target\s+sm_(9|1\d)\d", text) is not None
    for s in statements(text):
        for pattern, operators in OPERATORS:
            if not re.match(pattern, s.op):
                continue
            for operator in operators:
                for what, instead in operator(s):
                    if instead is None or (operator is to_relaxed and s.op.startswith("mbarrier") and not has_relaxed):
                        continue
                    mutant = text[:s.start] + instead + text[s.end:]
                    yield s, operator.__name__, what, newer(mutant) if "relaxed" in instead else mutant
