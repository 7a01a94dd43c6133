#!/usr/bin/env python3
"""Machine code of the hand-written warp-specialised GEMM: compiles it, assembles it, disassembles
it, and holds what ptxas made of it to the numbers of the design.

usage: gemm_loop.py PTXGEN FILE.ptir

Exit status 77 with a reason where ptxas or nvdisasm is missing."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from sass import Code, Report, innermost, opcode, tools_or_skip

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


def check_ptx(r, ptx, ir):
    """Emission adds no synchronisation: each kind as often as the IR has it."""
    for op, pattern in SYNC.items():
        n_ir = len(re.findall(rf"^\s*(?:%[\w, %]+= )?{re.escape(op)}\b", ir, re.M))
        n_ptx = len(re.findall(pattern, ptx, re.M))
        r.check(n_ir == n_ptx, f"{op}: {n_ir} in the IR, {n_ptx} in the PTX")
    n_arrive = len(re.findall(r"mbarrier\.arrive\.shared", ptx))
    r.check(n_arrive == 3 + 1, f"{n_arrive} arrivals: three of ring.prime, one of bar.arrive")
    r.check(len(re.findall(r"mbarrier\.init", ptx)) == 8, "8 barriers are initialised")


def check_sass(r, built):
    code = built.code
    text = "\n".join(t for _, _, t in code)
    r.check(not re.search(r"\(C\d+\)", built.log), "ptxas has nothing to say (no C75xx)")
    r.check(built.spill == 0, "no spill")
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
    tools = tools_or_skip()
    r = Report()
    with tempfile.TemporaryDirectory() as tmp:
        ptx = os.path.join(tmp, "gemm.ptx")
        subprocess.run([sys.argv[1], "compile", sys.argv[2], "-o", ptx], check=True)
        built = Code(ptx, "sm_90a", tools, tmp)
        r.check(not built.failed, built.failed or "ptxas accepts it")
        check_ptx(r, pathlib.Path(ptx).read_text(), pathlib.Path(sys.argv[2]).read_text())
        if not built.failed:
            check_sass(r, built)
    r.end()


if __name__ == "__main__":
    main()
