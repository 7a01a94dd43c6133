#!/usr/bin/env python3
"""Machine code of the hand-written warp-specialised GEMM: compiles it, assembles it, disassembles
it, and holds what ptxas made of it to the numbers of the design.

usage: gemm_loop.py PTXGEN FILE.ptir

Exit status 77 with a reason where ptxas or nvdisasm is missing."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST_OTHERS = 9.0  # per matrix instruction in the main loop; loop_C of the probes has 8.0
SYNC = {  # operations of the IR: what each becomes, for one that is neither in a group nor a ring
    "cta.sync": r"\bbar\.sync\t0;",
    "fence": r"^\tfence\.",
    "bar.wait": r"mbarrier\.try_wait",
    "bar.expect": r"mbarrier\.arrive\.expect_tx",
    "mma.fence": r"wgmma\.fence",
    "mma.async": r"wgmma\.commit_group",
    "mma.wait": r"wgmma\.wait_group",
}


def find(name, variable):
    """A tool by environment, the environment file of tools/deps, or PATH."""
    known = ROOT / ".venv" / "ptxgen-tools.env"
    places = [os.environ.get(variable, "")]
    if known.is_file():
        m = re.search(rf"^export {variable}='([^']*)'", known.read_text(), re.M)
        places.append(m.group(1) if m else "")
    places += [shutil.which(name) or "", f"/usr/local/cuda/bin/{name}"]
    return next((p for p in places if p and os.access(p, os.X_OK)), None)


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


def instructions(sass):
    """[(label or None, address, text)] of the listing, in order."""
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


def innermost(code, wanted):
    """Shortest loop with an instruction of this kind."""
    best = None
    for first, last in loops(code):
        body = code[first:last + 1]
        if any(opcode(t).startswith(wanted) for _, _, t in body):
            if best is None or len(body) < len(best):
                best = body
    return best or []


def check_ptx(r, ptx, ir):
    """Emission adds no synchronisation: each kind as often as the IR has it."""
    for op, pattern in SYNC.items():
        n_ir = len(re.findall(rf"^\s*(?:%[\w, %]+= )?{re.escape(op)}\b", ir, re.M))
        n_ptx = len(re.findall(pattern, ptx, re.M))
        r.check(n_ir == n_ptx, f"{op}: {n_ir} in the IR, {n_ptx} in the PTX")
    n_arrive = len(re.findall(r"mbarrier\.arrive\.shared", ptx))
    r.check(n_arrive == 3 + 1, f"{n_arrive} arrivals: three of ring.prime, one of bar.arrive")
    r.check(len(re.findall(r"mbarrier\.init", ptx)) == 8, "8 barriers are initialised")


def check_sass(r, log, sass):
    code = instructions(sass)
    text = "\n".join(t for _, _, t in code)
    r.check(not re.search(r"\(C\d+\)", log), "ptxas has nothing to say (no C75xx)")
    m = re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", log)
    r.check(m and m.group(1) == m.group(2) == "0", "no spill")
    r.check("USETMAXREG.TRY_ALLOC" in text and "USETMAXREG.DEALLOC" in text,
            "both roles change their registers")
    copy = innermost(code, "UTMALDG")
    r.check(sum(opcode(t).startswith("UTMALDG") for _, _, t in code) == 2, "two tensor copies")
    bad = [t for _, _, t in copy if re.search(r"\bELECT\b|BRA\.U\.ANY", t)]
    r.check(copy and not bad, "no loop over lanes around a tensor copy")
    r.check("SYNCS.PHASECHK.TRANS64.TRYWAIT" in text, "waits are SYNCS try-waits")
    loop = innermost(code, "HGMMA")
    n_mma = sum(opcode(t).startswith("HGMMA") for _, _, t in loop)
    r.check(n_mma == 4, f"{n_mma} matrix instructions in the main loop")
    others = (len(loop) - n_mma) / max(n_mma, 1)
    r.check(others <= MOST_OTHERS, f"{others:.2f} others per matrix instruction, at most {MOST_OTHERS}")
    n_r2ur = sum(opcode(t).startswith("R2UR") for _, _, t in loop)
    r.check(n_r2ur == 0, f"{n_r2ur} R2UR in the main loop")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    ptxas, nvdisasm = find("ptxas", "PTXGEN_PTXAS"), find("nvdisasm", "PTXGEN_NVDISASM")
    if not ptxas or not nvdisasm:
        print("skipped: no " + " and no ".join(
            n for n, p in (("ptxas", ptxas), ("nvdisasm", nvdisasm)) if not p))
        sys.exit(77)
    r = Report()
    with tempfile.TemporaryDirectory() as tmp:
        ptx, cubin = os.path.join(tmp, "gemm.ptx"), os.path.join(tmp, "gemm.cubin")
        subprocess.run([sys.argv[1], "compile", sys.argv[2], "-o", ptx], check=True)
        asm = subprocess.run([ptxas, "-arch=sm_90a", "-v", ptx, "-o", cubin],
                             capture_output=True, text=True, check=False)
        r.check(asm.returncode == 0, "ptxas accepts it" if asm.returncode == 0 else asm.stderr)
        check_ptx(r, pathlib.Path(ptx).read_text(), pathlib.Path(sys.argv[2]).read_text())
        if asm.returncode == 0:
            sass = subprocess.run([nvdisasm, "-c", cubin], capture_output=True, text=True,
                                  check=True).stdout
            check_sass(r, asm.stderr, sass)
    r.end()


if __name__ == "__main__":
    main()
