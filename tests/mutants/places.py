"""Which memory statements of a PTX text touch: addresses as a name (a variable or a parameter) and bounds of the offset from
it, found by following registers back to where they are set."""
import copy
import math
import re

from operators import split_args

REGISTER = re.compile(r"%[\w$]+")
ANY = (None, -math.inf, math.inf)
SIZES = {"8": 1, "16": 2, "32": 4, "64": 8, "128": 16}
N_DEEP = 40


def number(text):
    """An integer literal, else None."""
    m = re.fullmatch(r"(-?)(0[xX][0-9a-fA-F]+|\d+)U?", text)
    return (-1 if m.group(1) else 1) * int(m.group(2), 0) if m else None


def is_register(text):
    return REGISTER.fullmatch(text) is not None


TENSOR = ("(a tensor)", -math.inf, math.inf)  # what a map describes
ITSELF = ("@", -math.inf, math.inf)  # a register in what it is set to


def plus(a, b):
    return (a[0] or b[0], a[1] + b[1], a[2] + b[2]) if None in (a[0], b[0]) else ANY


def hull(a, b):
    if a is None:
        return b
    if "@" in (a[0], b[0]):
        return (b[0] if a[0] == "@" else a[0], -math.inf, math.inf)
    return (a[0], min(a[1], b[1]), max(a[2], b[2])) if a[0] == b[0] else ANY


def up_to(n):
    """The numbers with as many bits as n has."""
    return (None, 0, (1 << int(n).bit_length()) - 1) if math.isfinite(n) else (None, 0, math.inf)


class Places:
    """What registers of a function hold."""

    def __init__(self, at, n_threads):
        self.n_threads, self.known, self.doing = n_threads, {}, set()
        self.sets = {}
        for s in at:
            if s.args and not s.args[0].startswith("[") and not s.op.startswith(("st", "red", "bra", "bar", "ret", "mbarrier.init")):
                for r in REGISTER.findall(s.args[0]):
                    self.sets.setdefault(r, []).append(s)

    def of(self, text):
        """(name or None for a plain number, least offset, largest) of an operand."""
        n = number(text)
        if n is not None:
            return None, n, n
        if text.startswith("%tid."):
            return None, 0, (self.n_threads or 1024) - 1
        if text.startswith(("%laneid", "%warpid", "%cluster", "%ctaid", "%ntid", "%nctaid")):
            return None, 0, math.inf
        if not is_register(text):
            m = re.fullmatch(r"([\w$]+)\s*(?:\+\s*(\d+))?", text)
            return (m.group(1), int(m.group(2) or 0), int(m.group(2) or 0)) if m and not text[0].isdigit() else ANY
        if text not in self.known:
            if text in self.doing or len(self.doing) > N_DEEP:
                return ITSELF if text in self.doing else ANY
            self.doing.add(text)
            found = None
            for s in self.sets.get(text, []):
                found = hull(found, self.result(s))
            self.doing.discard(text)
            if self.doing:
                return found or ANY  # it may hang on what is not finished
            self.known[text] = ANY if found is None or found[0] == "@" else found
        return self.known[text]

    def result(self, s):
        args = s.args[1:]
        head = s.op.split(".")[0]
        if s.guard:
            return ANY
        if s.op.startswith("ld.param"):
            return args[0].strip("[]").split("+")[0].strip(), 0, 0
        if head in ("mov", "cvt", "cvta", "mapa"):  # of another CTA: the same variable there
            return self.of(args[0])
        x = [self.of(a) for a in args]
        if head in ("selp", "max", "min"):
            return hull(x[0], x[1])
        if head == "add":
            return plus(x[0], x[1])
        if head == "sub" and x[1][0] is None:
            return plus(x[0], (None, -x[1][2], -x[1][1]))
        if head in ("mul", "mad"):
            by = x[1][1] if x[1][0] is None and x[1][1] == x[1][2] and x[1][1] >= 0 else None
            product = ANY if by is None or x[0][0] is not None else (None, x[0][1] * by, x[0][2] * by)
            return plus(product, x[2]) if head == "mad" else product
        if head == "shl" and x[0][0] is None and x[1][1] == x[1][2]:
            return None, x[0][1] * 2 ** x[1][1], x[0][2] * 2 ** x[1][1]
        if head == "shr" and x[0][0] is None and x[0][1] >= 0 and x[1][1] == x[1][2]:
            return None, 0, x[0][2] if math.isinf(x[0][2]) else int(x[0][2]) >> int(x[1][1])
        masks = [y for y in x[:2] if y[0] is None and y[1] == y[2] and y[1] >= 0]
        if head == "and" and masks:
            return None, 0, min(y[1] for y in masks)
        if head in ("or", "xor") and all(y[0] is None and y[1] >= 0 for y in x[:2]):
            return up_to(max(x[0][2], x[1][2]))
        return ANY

    def label(self, bracket):
        """The constant that is added last to a place in an array: which array of a block of shared memory it is."""
        inside = split_args(bracket.strip().lstrip("[").rstrip("]"))
        text, total = (inside or ["?"])[0], 0
        for part in [p.strip() for p in text.split("+")[1:]]:
            total += number(part) or 0
        text = text.split("+")[0].strip()
        while is_register(text) and len(self.sets.get(text, [])) == 1:
            s = self.sets[text][0]
            by = number(s.args[2]) if s.op.startswith("add") and len(s.args) == 3 else None
            if s.op.startswith(("mov", "cvt", "cvta")) and not s.guard:
                text = s.args[1]
            elif by is not None and not s.guard:
                text, total = s.args[1], total + by
            else:
                break
        return total

    def of_descriptor(self, text):
        """The register with the address in bytes of a matrix whose descriptor this is, and the constant added to it since."""
        for _ in range(N_DEEP):
            if not is_register(text) or len(self.sets.get(text, [])) != 1:
                break
            s = self.sets[text][0]
            head, args = s.op.split(".")[0], s.args[1:]
            if head == "bfe" or (head == "shr" and args[1] == "4"):
                return args[0]
            text = next((a for a in args if is_register(a)), "") if head in ("or", "and", "add") else args[0] if (
                head in ("mov", "cvt")) else ""
        return ""

    def stride(self, text):
        """Bytes between what neighbouring threads hold in a register; 0: it is not known, or not the same for all."""
        if text == "%tid.x":
            return 1
        found = self.sets.get(text, [])
        if not is_register(text) or len(found) != 1 or found[0].guard:
            return 0
        s = found[0]
        head, args = s.op.split(".")[0], s.args[1:]
        if head in ("mov", "cvt", "cvta"):
            return self.stride(args[0])
        by = number(args[1]) if len(args) > 1 else None
        if head in ("shl", "mul") and by is not None:
            return self.stride(args[0]) * (2 ** by if head == "shl" else by)
        if head == "add":
            other = [a for a in args if self.of(a)[1] != self.of(a)[2]]
            return self.stride(other[0]) if len(other) == 1 else 0
        return 0

    def under(self, guard):
        """The same where a guard `register < constant` holds."""
        tests = self.sets.get(guard[1:], [])
        if not re.match(r"@%", guard) or len(tests) != 1 or not re.match(r"setp\.lt\.[us]", tests[0].op) or number(tests[0].args[2]) is None:
            return self
        out = copy.copy(self)
        low = self.of(tests[0].args[1])
        if low[0] is not None or low[1] < 0:
            return self
        out.known, out.doing = {tests[0].args[1]: (None, low[1], number(tests[0].args[2]) - 1)}, set()
        return out

    def address(self, bracket):
        """Of `[register + offset]` or `[name]`."""
        inside = split_args(bracket.strip().lstrip("[").rstrip("]"))
        parts = [p.strip() for p in inside[0].split("+")] if inside else [""]
        out = self.of(parts[0])
        for p in parts[1:]:
            out = plus(out, self.of(p))
        return out


class Place:
    """Bytes that a statement touches: in space shared, global or generic."""

    def __init__(self, space, at, size, is_read, is_write, is_async):
        self.space, self.at, self.size = space, at, size
        self.is_read, self.is_write, self.is_async = is_read, is_write, is_async
        self.by = None  # the number of the statement
        self.label = None  # of an mbarrier or a tensor map in an array of them
        self.is_map = False  # a tensor map: copies by it read it, and no tensor holds it

    def may_meet(self, other):
        """Conflicting: one location, one of the two a write."""
        if not (self.is_write or other.is_write):
            return False
        spaces = {self.space, other.space}
        if spaces == {"shared", "global"}:
            return False
        if self.is_map or other.is_map:
            return self.is_map and other.is_map and (self.at[0] != other.at[0] or self.label == other.label)
        a, b = self.last(), other.last()
        if a[0] is None or b[0] is None:
            return True
        if TENSOR[0] in (a[0], b[0]):  # some array of the host
            return all(x[0] == TENSOR[0] or "_param_" in x[0] for x in (a, b))
        if a[0] != b[0]:  # different variables; different parameters are arrays that do not overlap
            return False
        return a[1] < b[2] + other.size and b[1] < a[2] + self.size

    def last(self):
        """The place, up to the last offset that is aligned."""
        name, low, high = self.at
        return (name, low, high - (high - low) % self.size) if math.isfinite(high - low) and math.isfinite(self.size) else self.at


def width(op):
    """Bytes that a plain access of a lane touches."""
    n = int((re.search(r"\.v(\d)", op) or [0, 1])[1])
    found = re.findall(r"\.[busf](\d+)", op)
    return n * SIZES.get(found[-1], 16) if found else 16 * n
