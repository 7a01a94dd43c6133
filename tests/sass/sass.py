"""Reads what ptxas made of a PTX file: registers, spills, and the instructions of its loops.

All tests of machine code use this module; none parses listings by itself."""
import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Kind of instruction by the first word of its name, and words that are counted by themselves, as
# `ptxgen sass` has them; what is not here is "other".
TABLE = (ROOT / "tools" / "sass" / "kinds.def").read_text(encoding="ascii")
KIND_OF = {word: kind for kind, words in reversed(re.findall(r'^KIND\("([^"]+)",\s*"([^"]+)"\)', TABLE, re.M))
           for word in words.split()}
BY_NAME = set(re.findall(r'^NAME\("(\w+)"\)', TABLE, re.M))


def tool_places(name, variable):
    """Where a tool may be: environment, the environment file of tools/deps, PATH."""
    known = ROOT / ".venv" / "ptxgen-tools.env"
    yield os.environ.get(variable, "")
    if known.is_file():
        m = re.search(rf"^export {variable}='([^']*)'", known.read_text(), re.M)
        yield m.group(1) if m else ""
    yield shutil.which(name) or ""
    yield f"/usr/local/cuda/bin/{name}"


def find(name, variable):
    return next((p for p in tool_places(name, variable) if p and os.access(p, os.X_OK)), None)


def tools_or_skip():
    """(ptxas, nvdisasm); ends the program with 77 and the reason where one is missing."""
    found = {"ptxas": find("ptxas", "PTXGEN_PTXAS"), "nvdisasm": find("nvdisasm", "PTXGEN_NVDISASM")}
    lacking = [name for name, path in found.items() if not path]
    if lacking:
        print("skipped: no " + " and no ".join(lacking))
        sys.exit(77)
    return found["ptxas"], found["nvdisasm"]


def ptxas_version(ptxas):
    out = subprocess.run([ptxas, "--version"], capture_output=True, text=True, check=True).stdout
    return re.search(r"V(\d+\.\d+\.\d+)", out).group(1)


class Report:
    """Counts checks and says what failed."""

    def __init__(self):
        self.n_pass = self.n_fail = 0

    def check(self, holds, text):
        self.n_pass += bool(holds)
        self.n_fail += not holds
        print(("ok    " if holds else "FAIL  ") + text)

    def end(self):
        print(f"{self.n_pass} passed, {self.n_fail} failed")
        sys.exit(1 if self.n_fail else 0)


# ---- listings -----------------------------------------------------------------------------

def instructions(sass):
    """[(labels, address, text)] of the listing, in order."""
    out, label = [], []
    for line in sass.splitlines():
        m = re.match(r"^(\.L_\w+):", line)
        if m:
            label.append(m.group(1))
        m = re.match(r"^\s+/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;", line)
        if m:
            out.append((tuple(label), int(m.group(1), 16), m.group(2)))
            label = []
    return out


def loops(code):
    """(first, last) of every backward branch."""
    at = {name: k for k, (labels, _, _) in enumerate(code) for name in labels}
    out = []
    for k, (_, _, text) in enumerate(code):
        m = re.search(r"\bBRA\S*.*`\((\.L_\w+)\)", text)
        if m and at.get(m.group(1), k + 1) <= k:
            out.append((at[m.group(1)], k))
    return out


def opcode(text):
    return re.sub(r"^@!?U?P\w+\s+", "", text).split()[0]


def word(text):
    return opcode(text).split(".")[0]


def innermost_span(code, wanted):
    """(first, last) of the shortest loop with an instruction of this kind, or None."""
    spans = [(first, last) for first, last in loops(code)
             if any(opcode(t).startswith(wanted) for _, _, t in code[first:last + 1])]
    return min(spans, key=lambda s: s[1] - s[0], default=None)


def innermost(code, wanted):
    span = innermost_span(code, wanted)
    return code[span[0]:span[1] + 1] if span else []


def without_padding(code):
    """The code up to its last EXIT or RET: what follows is the assembler's filling."""
    last = max((k for k, (_, _, t) in enumerate(code) if word(t) in ("EXIT", "RET", "BRX", "CALL")),
               default=len(code) - 1)
    after = code[last + 1:]
    real = [k for k, (_, _, t) in enumerate(after) if word(t) not in ("NOP", "BRA")]
    return code[:last + 1 + (real[-1] + 2 if real else 0)]


def words(code):
    return collections.Counter(word(t) for _, _, t in code)


def kinds(code):
    return collections.Counter(KIND_OF.get(word(t), "other") for _, _, t in code)


def widths(code, name):
    """Accesses of this name by bits: Counter {16: n, 128: m}."""
    out = collections.Counter()
    for _, _, text in code:
        if word(text) == name:
            parts = opcode(text).split(".")
            bits = [int(p.lstrip("US")) for p in parts[1:] if re.fullmatch(r"[US]?(8|16|64|128)", p)]
            out[bits[0] if bits else 32] += 1
    return out


# ---- assembling ---------------------------------------------------------------------------

class Entry:
    """One kernel of a PTX file: what ptxas says of it, and its instructions."""

    def __init__(self, name, says, code):
        self.name, self.code = name, without_padding(code)
        used = re.search(r"Used (\d+) registers(?:, used (\d+) barriers)?", says)
        self.registers, self.barriers = int(used.group(1)), int(used.group(2) or 0)
        m = re.search(r", (\d+) bytes smem", says)
        self.shared = int(m.group(1)) if m else 0
        m = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", says)
        self.stack, self.spill = int(m.group(1)), int(m.group(2)) + int(m.group(3))

    def parts(self, wanted):
        """(before, loop, after): around the innermost loop with an instruction of this kind."""
        first, last = innermost_span(self.code, wanted) or (0, -1)
        return self.code[:first], self.code[first:last + 1], self.code[last + 1:]


def entries(ptx, log, listing):
    """[Entry] in the order of the PTX file, from what `ptxas -v` said and what nvdisasm lists."""
    texts = {}
    for part in re.split(r"^\.text\.", listing, flags=re.M)[1:]:
        name, _, body = part.partition(":\n")
        texts[name] = instructions(body)
    says = re.split(r"Compiling entry function '([^']+)'", log)
    found = [Entry(name, said, texts[name]) for name, said in zip(says[1::2], says[2::2])]
    order = re.findall(r"\.entry\s+([\w$]+)", pathlib.Path(ptx).read_text(encoding="ascii"))
    return sorted(found, key=lambda e: order.index(e.name))


class Code:
    """A PTX file after ptxas. `failed` holds ptxas's words where it refused; else `entries` its
    kernels, and the first one's figures stand here."""

    def __init__(self, ptx, arch, tools, folder):
        ptxas, nvdisasm = tools
        cubin = os.path.join(folder, pathlib.Path(ptx).stem + ".cubin")
        asm = subprocess.run([ptxas, f"-arch={arch}", "-v", str(ptx), "-o", cubin],
                             capture_output=True, text=True, check=False)
        self.log = asm.stderr
        self.failed = asm.stderr or "ptxas failed" if asm.returncode else None
        self.listing, self.code, self.entries = "", [], []
        self.registers = self.spill = self.ptxas_ms = None
        if not self.failed:
            self.listing = subprocess.run([nvdisasm, "-c", cubin], capture_output=True, text=True,
                                          check=True).stdout
            self.entries = entries(ptx, self.log, self.listing)
            first = self.entries[0]
            self.code, self.registers, self.spill = first.code, first.registers, first.spill
            m = re.search(r"Compile time = ([\d.]+) ms", self.log)
            self.ptxas_ms = float(m.group(1)) if m else 0.0

    def parts(self, wanted):
        return self.entries[0].parts(wanted)
