#!/usr/bin/env python3
"""The estimate of registers against ptxas: library kernels at many settings, tiles that just fit
and just do not, and the register round of the warp-specialised GEMM.

usage: registers.py PTXGEN FILE.ptir [--all] [--list]

FILE.ptir is the GEMM with [regs=...] written by hand. --all takes every setting instead of a part,
--list prints a line for each. Exit status 77 with a reason where ptxas is missing."""
import os
import re
import subprocess
import sys
import tempfile

from sass import Report, find

DTYPES = ("f16", "bf16", "f32")
ARCHS = ("sm_80", "sm_90")
# What is reached, less a little; docs/registers.md has the numbers.
LEAST_WITHIN = {0.10: 0.75, 0.20: 0.91}
MOST_MEAN = 0.08


def cases():
    """(kernel, settings); every third of them is the part."""
    for d in DTYPES:
        for k in ("add", "gelu", "silu_mul"):
            for block, warps in ((1024, 4), (4096, 4), (256, 8), (2048, 2)):
                yield k, {"dtype": d, "block": block, "warps": warps}
        for rank in (2, 3, 4):
            yield "add", {"dtype": d, "rank": rank}
        for k in ("layernorm", "rmsnorm", "softmax"):
            for block, warps, div in ((1024, 4, 1), (1024, 4, 8), (4096, 4, 8), (2048, 8, 1),
                                      (512, 1, 4)):
                yield k, {"dtype": d, "block": block, "warps": warps, "div": div}
        for axis in ("inner", "outer", "full"):
            for op in ("sum", "max"):
                for block, div in ((1024, 1), (4096, 8)):
                    yield "reduce", {"axis": axis, "op": op, "dtype": d, "block": block, "div": div}
        for align in (1, 8):
            for m, n, k, stages, warps in (
                    (128, 128, 32, 3, 4), (64, 64, 32, 3, 4), (128, 128, 32, 3, 8),
                    (64, 128, 64, 2, 4), (128, 256, 32, 2, 8), (32, 32, 16, 1, 1),
                    (16, 64, 32, 4, 2)):
                yield "gemm", {"dtype": d, "align": align, "tile_m": m, "tile_n": n, "tile_k": k,
                               "stages": stages, "warps": warps}
        yield "gemm", {"dtype": d, "align": 8, "a": "col"}
        yield "gemm", {"dtype": d, "align": 8, "b": "col"}
        yield "gemm", {"dtype": d, "align": 8, "act": "gelu", "bias": 1, "beta": 1}
        yield "gemm", {"dtype": d, "align": 1, "act": "relu", "alpha": 2, "beta": 0.5}
        yield "gemm", {"dtype": d, "align": 8, "tile_m": 64, "tile_n": 64, "a": "col", "b": "col",
                       "act": "relu", "bias": 1}


class Tools:
    def __init__(self, ptxgen, ptxas, folder):
        self.ptxgen, self.ptxas = ptxgen, ptxas
        self.ptx = os.path.join(folder, "k.ptx")
        self.ir = os.path.join(folder, "k.ptir")

    def compile(self, *args):
        """(exit status, stderr)"""
        done = subprocess.run([self.ptxgen, *args, "--explain=registers", "-o", self.ptx],
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stderr

    def assemble(self, arch):
        """(registers, bytes of spill stores, what ptxas says), or None where it refuses"""
        done = subprocess.run([self.ptxas, "-v", f"-arch={arch}", self.ptx, "-o", os.devnull],
                              capture_output=True, text=True, check=False)
        regs = re.search(r"Used (\d+) registers", done.stderr)
        spill = re.search(r"(\d+) bytes spill stores", done.stderr)
        if done.returncode != 0 or not regs:
            return None
        return int(regs[1]), int(spill[1]) if spill else 0, done.stderr


def check_far(r, tools, arch, least, what):
    """With so few registers that the kernel would be refused (PG3032), ptxas does spill."""
    few = min(least * 10 // 17, least - 64) - 1
    if few < 64:
        return
    text = open(tools.ptx, encoding="ascii").read()
    with open(tools.ptx, "w", encoding="ascii") as f:
        f.write(text.replace(".reqntid", f".maxnreg {few}\n.reqntid", 1))
    real = tools.assemble(arch)
    r.check(real is not None and real[0] <= few and real[1] > 0,
            f"{what}: {least} live, {few} allowed: {real[:2] if real else real}")


def check_refused(r, tools):
    """Tiles that cannot fit: an error that names them. One step smaller they compile."""
    for kernel, settings, wrong, right in (
            ("gemm", "dtype=f32 tile_n=64 stages=2", "tile_k=128", "tile_k=32"),
            ("silu_mul", "dtype=f32 block=8192", "warps=1", "warps=8"),
            ("softmax", "dtype=f32 block=16384", "warps=1", "warps=8")):
        for one, fits in ((wrong, False), (right, True)):
            flags = [x for s in [*settings.split(), one] for x in ("--set", s)]
            status, said = tools.compile("kernel", kernel, "--arch=sm_80", *flags)
            what = f"{kernel} {settings} {one}"
            if fits:
                r.check(status == 0 and "PG303" not in said, f"{what} compiles {said[:200]}")
                continue
            r.check(status != 0 and re.search(r"PG303[02]", said) is not None, f"{what} is refused")
            r.check(re.search(r"[%\w.]+: (tile|buf)<[^>]*> \d+ \(line \d+\)", said.split("error:")[-1])
                    is not None and "smaller tile" in said, f"{what}: the error names tiles")


def check_asked(r, tools):
    """What needs more than there is gets all of it: ptxas gave this one 32 registers by itself."""
    status, said = tools.compile("kernel", "gemm", "--arch=sm_80", "--set", "dtype=f32", "--set", "tile_n=32", "--set",
                                 "stages=2", "--set", "tile_k=128")
    real = tools.assemble("sm_80") if status == 0 else None
    r.check(real is not None and "PG3031" in said and real[0] == 255, f"too much for 255 registers gets 255: {real and real[:2]}")


def check_library(r, tools, is_all, is_list):
    errors, n = [], 0
    for arch in ARCHS:
        for k, settings in cases():
            n += 1
            if not is_all and n % 3 != 0:
                continue
            flags = [x for name, value in settings.items() for x in ("--set", f"{name}={value}")]
            status, said = tools.compile("kernel", k, f"--arch={arch}", *flags)
            m = re.search(rf"registers: @{k}: about (\d+) of (\d+), at least (\d+)", said)
            real = tools.assemble(arch) if status == 0 and m else None
            if real is None:
                r.check(False, f"{arch} {k} {settings}: {said[:300]}")
                continue
            estimate = min(int(m[1]), int(m[2]))
            errors.append(abs(estimate - real[0]) / real[0])
            if is_list:
                print(f"{arch} {k:9} {real[0]:4} {estimate:4} {errors[-1]:6.1%} spill {real[1]:4}",
                      " ".join(f"{a}={b}" for a, b in settings.items()))
            if "PG3031" in said:
                r.check(real[1] > 0, f"{arch} {k} {settings}: warned of, and ptxas does not spill")
            if is_all or n % 2 != 0:
                check_far(r, tools, arch, int(m[3]), f"{arch} {k} {settings}")
    r.check(len(errors) > 100, f"{len(errors)} kernels")
    for bound, least in LEAST_WITHIN.items():
        share = sum(e <= bound + 1e-9 for e in errors) / max(len(errors), 1)
        r.check(share >= least, f"{share:.1%} within {bound:.0%} of ptxas, at least {least:.0%}")
    mean = sum(errors) / max(len(errors), 1)
    r.check(mean <= MOST_MEAN, f"{mean:.1%} off on average, at most {MOST_MEAN:.0%}")


def loop_of(n, warps, is_lean):
    """A loop that carries n floats in each thread. Lean: nothing but those is needed in it."""
    names = range(n)
    tile = f"tile<{32 * warps}xf32>"
    lines = [
        "ptir 1", "module sm_90",
        f"kernel @k(%x: ptr<f32> [in, shape=(%m)], %y: ptr<f32> [out, shape=(%m)], %m: i32) "
        f"[warps={warps}] {{", "  launch {", "    grid 1", "  }",
        f"  %i = iota [dim=0] : tile<{32 * warps}xi32>",
        f"  %p = addptr %x, %i : tile<{32 * warps}xptr<f32>>", f"  %v = load %p : {tile}"]
    for i in names:
        lines.append(f"  %a{i} = fmul %v, {i + 1}.5 : {tile}")
    outs = ", ".join(f"%r{i}" for i in names)
    carry = ", ".join(f"%c{i} = %a{i}" for i in names)
    lines.append(f"  {outs} = for %t in 0 to %m step 1 carry ({carry}) : {', '.join([tile] * n)} {{")
    for i in names:
        others = "1.5, 0.5" if is_lean else f"%c{(i + 1) % n}, %c{(i + 7) % n}"
        lines.append(f"    %n{i} = fma %c{i}, {others} : {tile}")
    lines.append("    yield " + ", ".join(f"%n{i}" for i in names))
    lines.append("  }")
    lines.append(f"  %s0 = fadd %r0, 0.0 : {tile}")
    for i in names[1:]:
        lines.append(f"  %s{i} = fadd %s{i - 1}, %r{i} : {tile}")
    lines.append(f"  %q = addptr %y, %i : tile<{32 * warps}xptr<f32>>")
    lines += [f"  store %q, %s{n - 1}", "  return", "}"]
    return "\n".join(lines) + "\n"


def try_loop(tools, n, warps, is_lean):
    """(exit status, messages, bytes of spill stores or None)"""
    with open(tools.ir, "w", encoding="ascii") as f:
        f.write(loop_of(n, warps, is_lean))
    status, said = tools.compile("compile", tools.ir)
    real = tools.assemble("sm_90") if status == 0 else None
    return status, said, real[1] if real else None


def check_borders(r, tools):
    """Refused from one register too many on; ptxas spills before that, so nothing good is lost."""
    for warps, limit in ((4, 255), (16, 128), (32, 64)):
        for is_lean in (False, True):
            what = f"{warps} warps, {'lean' if is_lean else 'full'} loop"
            for n in (limit // 2, limit - 14):
                status, said, spill = try_loop(tools, n, warps, is_lean)
                r.check(status == 0 and spill == 0, f"{what}: {n} floats fit{'' if status == 0 else ': ' + said[:200]}")
            status, _, spill = try_loop(tools, limit - 1, warps, is_lean)
            r.check(status == 0 and spill is not None and spill > 0,
                    f"{what}: {limit - 1} floats are not refused, and spill {spill} bytes")
            for n in (limit, limit + 1, limit + 20):
                status, said, _ = try_loop(tools, n, warps, is_lean)
                names = len(re.findall(r"%\w+: tile<", said.split("PG3030")[-1].split("\n")[0]))
                r.check(status != 0 and "PG3030" in said and f"which has {limit}" in said,
                        f"{what}: {n} floats are an error")
                r.check(names >= 1, f"{what}: it names {names} tiles")


def check_round(r, tools, path):
    text = open(path, encoding="ascii").read()
    by_hand = {m[1]: int(m[2]) for m in re.finditer(r"partition (@\w+) \[.*?regs=(\d+)", text)}
    with open(tools.ir, "w", encoding="ascii") as f:
        f.write(re.sub(r", regs=\d+", "", text))
    status, said = tools.compile("compile", tools.ir)
    r.check(status == 0, f"the GEMM without regs compiles {said[:200] if status else ''}")
    chosen = {m[1]: int(m[2]) for m in re.finditer(r"(@\w+) gets (\d+)", said)}
    r.check(chosen.keys() == by_hand.keys(), f"chosen {chosen}, by hand {by_hand}")
    warps = {m[1]: int(m[2]) for m in re.finditer(r"partition (@\w+) \[warps=(\d+)", text)}
    share = 65536 // (32 * sum(warps.values())) // 8 * 8
    total = sum(chosen[p] * warps[p] for p in chosen)
    r.check(total <= share * sum(warps.values()), "no more than the warp groups start with")
    most = max(by_hand, key=by_hand.get)
    r.check(chosen.get(most, 0) >= by_hand[most], f"{most} gets as many as by hand, or more")
    real = tools.assemble("sm_90a")
    r.check(real is not None and real[1] == 0, "no spill")
    r.check(real is not None and not re.search(r"\(C\d+\)", real[2]), "ptxas has nothing to say")
    again = tools.compile("compile", tools.ir, "--emit=ir")
    r.check(again[0] == 0, "the IR without emission is as it was")


def main():
    args = [a for a in sys.argv[1:] if not a.startswith("--")]
    if len(args) != 2:
        sys.exit(__doc__)
    ptxas = find("ptxas", "PTXGEN_PTXAS")
    if not ptxas:
        print("skipped: no ptxas")
        sys.exit(77)
    r = Report()
    with tempfile.TemporaryDirectory() as folder:
        tools = Tools(args[0], ptxas, folder)
        check_round(r, tools, args[1])
        check_borders(r, tools)
        check_refused(r, tools)
        check_asked(r, tools)
        check_library(r, tools, "--all" in sys.argv, "--list" in sys.argv)
    r.end()


if __name__ == "__main__":
    main()
