"""What a PTX text does in which order, as far as rules.py asks: statements with their successors, and walks along them that
stop at barriers.

Calls, indirect branches and barriers that a part of the CTA takes part in end a walk with the answer "anything may happen"."""
import copy
import math
import re

from operators import COMMENT, split_args

HEAD = re.compile(r"\.(entry|func)\s+(?:\([^)]*\)\s*)?([\w$]+)")
PIECE = re.compile(r"(?P<label>[\w$%]+)\s*:(?!:)|(?P<open>[{}])|(?P<guard>@!?[\w%$]+\s+)?(?P<op>[a-z_][\w.:]*)(?P<args>[^;]*);")
# Names of what a statement touches.
SPACES = ("shared", "global", "generic")
OTHER_CTA = re.compile(r"%\w*cluster|\b(mapa|getctarank|barrier\.cluster)\b|\.(reqnctapercluster|explicitcluster)\b"
                       r"|multicast::cluster")


def kernel_at(text, place):
    """The kernel whose body holds the place; None in a function that kernels call."""
    name = None
    for head in HEAD.finditer(text, 0, place):
        name = head.group(2) if head.group(1) == "entry" else None
    return name


class Statement:
    def __init__(self, number, found, scopes):
        self.number, self.start, self.scopes = number, found.start(), tuple(scopes)
        self.guard = (found.group("guard") or "").strip()
        self.op, self.args = found.group("op"), split_args(found.group("args"))
        self.next = []

    def touches(self):
        """(space, is read, is written, through the async proxy) of memory, mbarrier objects apart."""
        op = self.op
        copy = re.match(r"cp\.(reduce\.)?async\.(bulk\.)?(tensor\.\w+\.)?(shared\S*?|global)\.(shared|global)", op)
        if op.startswith("cp.async.bulk.prefetch"):
            return []
        if copy:
            is_bulk = copy.group(2) is not None
            to = "shared" if copy.group(4).startswith("shared") else "global"
            return [(to, False, True, is_bulk), ("shared" if to == "global" else "global", True, False, is_bulk)]
        if op.startswith("wgmma.mma_async"):
            return [("shared", True, False, True)]
        if op.startswith(("ldmatrix", "stmatrix")):
            return [("shared", op[0] == "l", op[0] == "s", False)]
        kind = re.match(r"(ld|ldu|st|atom|red|wmma\.load|wmma\.store|tensormap\.replace|tensormap\.cp_fenceproxy)\b", op)
        if not kind or re.search(r"\.(param|const|local)\b", op):
            return []
        space = next((s for s in SPACES[:2] if re.search(rf"\.{s}\b", op)), "generic")
        reads = not kind.group(1).startswith(("st", "red", "wmma.store", "tensormap"))
        writes = not kind.group(1).startswith(("ld", "wmma.load"))
        return [(space, reads, writes, False)]


def of(subject, place):
    """The flow of the function in the subject's text that holds the place; what was found out about it stays."""
    known = subject.__dict__.setdefault("flows", {})
    for f in known.values():
        if f.start <= place < f.end:
            return f.seen_from(place)
    made = Flow(subject.text, place)
    known[made.start] = made
    return made.seen_from(place)


class Flow:
    """The statements of the function that holds a place."""

    def __init__(self, text, place):
        blank = COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)
        heads = [h.start() for h in HEAD.finditer(blank) if blank.find("{", h.end()) < min(
            x if x >= 0 else len(blank) for x in [blank.find(";", h.end())])]
        start = max((h for h in heads if h < place), default=0)
        head, start = start, blank.index("{", start)
        sizes = re.search(r"\.(?:req|max)ntid\s+([\d\s,]+)", blank[head:start])
        self.n_threads = math.prod(int(n) for n in sizes.group(1).split(",")) if sizes else None  # at most; None: not said
        end = min((h for h in heads if h > place), default=len(blank))
        self.at, labels, self.is_known = [], {}, True
        scopes, n_scopes = [], 0
        for found in PIECE.finditer(blank, start, end):
            if found.group("label"):
                labels[tuple(scopes), found.group("label")] = len(self.at)
            elif found.group("op") and blank[found.start() - 1] == ".":
                continue  # a declaration
            elif found.group("op"):
                self.at.append(Statement(len(self.at), found, scopes))
            elif found.group("open") == "{":
                scopes.append(n_scopes)
                n_scopes += 1
            elif scopes:
                scopes.pop()
        for s in self.at:
            follows = s.number + 1 < len(self.at)
            if s.op.startswith(("ret", "exit", "trap")):
                s.next = [s.number + 1] if s.guard and follows else []
            elif s.op.startswith("bra"):
                s.next = [s.number + 1] if s.guard and follows else []
                known = [labels[s.scopes[:n], s.args[0]] for n in range(len(s.scopes), -1, -1)
                         if s.args and (s.scopes[:n], s.args[0]) in labels]
                s.next += [k for k in known[:1] if k < len(self.at)]
                self.is_known = self.is_known and bool(known)
            else:
                self.is_known = self.is_known and not s.op.startswith(("call", "brx"))
                s.next = [s.number + 1] if follows else []
        self.previous = [[] for _ in self.at]
        for s in self.at:
            for n in s.next:
                self.previous[n].append(s.number)
        self.start, self.end, self.here, self.notes = head, end, None, {}

    def seen_from(self, place):
        """The same, with the statement at a place as `here`."""
        out = copy.copy(self)
        out.here = next(s.number for s in self.at if s.start + len(s.guard) >= place)
        return out

    def walk(self, is_end, is_back=False, begin=None):
        """Statements on ways from `here` to those where is_end holds, or the function's end; without the ends."""
        step = (lambda k: self.previous[k]) if is_back else (lambda k: self.at[k].next)
        todo, seen = list(step(self.here if begin is None else begin)), set()
        while todo:
            k = todo.pop()
            if k in seen or is_end(self.at[k]):
                continue
            seen.add(k)
            todo += step(k)
        return [self.at[k] for k in sorted(seen)]


def is_cta_barrier(s):
    """bar.sync and its like without a count: all of the CTA."""
    return not s.guard and re.match(r"(bar|barrier)(\.cta)?\.(sync|red)", s.op) is not None and len(s.args) == (
        1 if ".red" not in s.op else 3)


def is_of_all_lanes(s):
    """The mask of members, which is the last operand, names each lane."""
    return s.args[-1].lower() in ("-1", "0xffffffff")
