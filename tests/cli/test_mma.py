#!/usr/bin/env python3
"""mma on fragments: each type and transposition, through shared memory by ldmatrix, its
transposing form or plain loads, on the executor beside the interpreter."""
import subprocess
import sys
import tempfile

PTXGEN = sys.argv[1]
M, N, K = 64, 32, 64  # over 2 x 2 warps


def powers(first, end):
    out = []
    while first < end:
        out.append(first)
        first *= 2
    return out


def linear(reg, lane, warp):
    text = [", ".join(f"({a}, {b})" for a, b in part) for part in (reg, lane, warp)]
    return f"linear [reg=({text[0]}), lane=({text[1]}), warp=({text[2]})]"


def swap(basis):
    return [(b, a) for a, b in basis]


def encodings(bits, transa, transb):
    """C, A and B of mma.sync: warp tiles of M/2 x N/2."""
    per = 32 // bits
    acc = ([(0, 1), (8, 0)] + [(0, n) for n in powers(8, N // 2)] + [(m, 0) for m in powers(16, M // 2)],
           [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)], [(0, N // 2), (M // 2, 0)])
    word = [(0, k) for k in powers(1, per)]
    steps = [(0, k) for k in powers(8 * per, K)]
    lanes = [(0, per), (0, 2 * per), (1, 0), (2, 0), (4, 0)]
    a = (word + [(8, 0), (0, 4 * per)] + steps + [(m, 0) for m in powers(16, M // 2)], lanes,
         [(0, 0), (M // 2, 0)])
    b = (word + [(0, 4 * per)] + steps + [(n, 0) for n in powers(8, N // 2)], lanes,
         [(N // 2, 0), (0, 0)])
    a = [swap(p) for p in a] if transa else a
    b = b if transb else [swap(p) for p in b]
    return linear(*acc), linear(*a), linear(*b)


def kernel(op, elem, out, bits, transa, transb, smem, depth=K):
    rows = {"a": (depth, M) if transa else (M, depth), "b": (N, depth) if transb else (depth, N), "c": (M, N)}
    attrs = [w for w, is_on in (("transa", transa), ("transb", transb)) if is_on]
    attrs = f" [{', '.join(attrs)}]" if attrs else ""
    acc, a, b = encodings(bits, transa, transb)
    lines = [f"enc #acc = {acc}", f"enc #ea = {a}", f"enc #eb = {b}",
             "enc #in = blocked [order=(1, 0), regs=(1, 8), lanes=(8, 4), warps=(4, 1)]"]
    for x in "ab":
        row = rows[x][1] * bits // 8
        plain = "order=(1, 0)"
        how = {"plain": plain, "pad": f"{plain}, pad={128 // bits}",
               "swizzle": f"{plain}, swizzle={row}" if row in (32, 64, 128) else plain}[smem]
        lines.append(f"enc #s{x} = smem [{how}]")
    lines.append(f"kernel @k(%a: ptr<{elem}> [in, shape={rows['a']}], %b: ptr<{elem}> [in, shape={rows['b']}], "
                 f"%c: ptr<{out}> [out, shape={rows['c']}]) [warps=4] {{")
    lines.append("  launch {\n    grid 1\n  }")
    for x in "ab":
        lines.append(f"  %s{x} = buf.new : buf<smem, {rows[x][0]}x{rows[x][1]}x{elem}, #s{x}>")
    for x, e in (("a", "in"), ("b", "in"), ("c", "acc")):
        r, c = rows[x]
        t = f"tile<{r}x{c}x%s, #{e}>"
        lines += [f"  %i{x} = iota [dim=0] : {t % 'i32'}", f"  %j{x} = iota [dim=1] : {t % 'i32'}",
                  f"  %w{x} = const {c} : {t % 'i32'}",
                  f"  %r{x} = imul %i{x}, %w{x} [nw] : {t % 'i32'}",
                  f"  %o{x} = iadd %r{x}, %j{x} [nw] : {t % 'i32'}"]
        kind = elem if x != "c" else out
        lines.append(f"  %p{x} = addptr %{x}, %o{x} : {t % f'ptr<{kind}>'}")
        if x != "c":
            lines += [f"  %v{x} = load %p{x} : {t % kind}", f"  buf.store %s{x}, %v{x}"]
    lines.append("  cta.sync")
    for x in "ab":
        r, c = rows[x]
        lines.append(f"  %f{x} = buf.load %s{x} : tile<{r}x{c}x{elem}, #e{x}>")
    zero = "0" if out == "i32" else "0.0"
    lines += [f"  %d = {op} %fa, %fb, {zero}{attrs} : tile<{M}x{N}x{out}, #acc>",
              f"  %e = {op} %fa, %fb, %d{attrs} : tile<{M}x{N}x{out}, #acc>",
              "  store %pc, %e", "  return", "}"]
    return "ptir 1\nmodule sm_80\n" + "\n".join(lines) + "\n"


def by_fma(transa, transb):
    """f32 has no fragments: layouts without an author's encoding. A thread holds whole rows of a for both
    products: 64 deep they are 512 registers, which are refused."""
    text = kernel("mma", "f32", "f32", 32, transa, transb, "pad", depth=16).split("\n")
    text = [line for line in text if not line.startswith(("enc #acc", "enc #ea", "enc #eb"))]
    text = "\n".join(text).replace(", #acc>", ">").replace(", #ea>", ">").replace(", #eb>", ">")
    return text


def by_stmatrix(order):
    """f16 sums to a buffer by stmatrix, whose rows are C's or (order 0, 1) C's columns."""
    text = kernel("mma", "f16", "f16", 16, False, False, "pad").replace("sm_80", "sm_90")
    out = f"enc #out = blocked [order={order}, regs={'(1, 8)' if order == '(1, 0)' else '(8, 1)'}, " \
          f"lanes=(8, 4), warps=(4, 1)]\n" \
          f"enc #sc = smem [order={order}]\nkernel"
    c = f"{M}x{N}xf16"
    text = text.replace("kernel", out, 1)
    text = text.replace("  cta.sync", f"  %sc = buf.new : buf<smem, {c}, #sc>\n  cta.sync")
    for op in ("iota", "const", "imul", "iadd", "addptr"):
        lines = text.split("\n")
        text = "\n".join(x.replace("#acc", "#out") if f"= {op} " in x and "#acc" in x else x for x in lines)
    return text.replace("  store %pc, %e", f"  buf.store %sc, %e\n  cta.sync\n"
                        f"  %o = buf.load %sc : tile<{c}, #out>\n  store %pc, %o")


def main():
    failed = 0
    n_loads = 0
    types = [("mma", "f16", "f32", 16), ("mma", "f16", "f16", 16), ("mma", "bf16", "f32", 16),
             ("mma", "tf32", "f32", 32), ("mma", "i8", "i32", 8), ("umma", "i8", "i32", 8)]
    with tempfile.TemporaryDirectory() as folder:
        for op, elem, out, bits in types:
            for flags in range(4):
                for smem in ("plain", "pad", "swizzle"):
                    transa, transb = flags & 1 != 0, flags & 2 != 0
                    path = f"{folder}/k.ptir"
                    with open(path, "w", encoding="ascii") as f:
                        f.write(kernel(op, elem, out, bits, transa, transb, smem))
                    run = subprocess.run([PTXGEN, "run", path, "--device=cpu", "--verify", "--races"],
                                         capture_output=True, text=True, check=False)
                    ptx = subprocess.run([PTXGEN, "compile", path], capture_output=True, text=True,
                                         check=False).stdout
                    has = "ldmatrix" in ptx, ".trans" in ptx
                    n_loads += has[0]
                    # A is read along k unless transposed, B only then; others are turned, if of 16 bits.
                    along = not transa or transb
                    want = (along or bits == 16, bits == 16 and (transa or not transb))
                    if run.returncode != 0 or has != want:
                        failed += 1
                        print(op, elem, out, attrs_text(transa, transb), smem, "ldmatrix, trans:", has,
                              "wanted:", want, run.stdout, run.stderr.split("\n")[:4])
        for flags in range(4):
            path = f"{folder}/f.ptir"
            with open(path, "w", encoding="ascii") as f:
                f.write(by_fma(flags & 1 != 0, flags & 2 != 0))
            run = subprocess.run([PTXGEN, "run", path, "--device=cpu", "--verify", "--races"],
                                 capture_output=True, text=True, check=False)
            if run.returncode != 0:
                failed += 1
                print("f32", flags, run.stdout, run.stderr.split("\n")[:4])
        for order, opcode in (("(1, 0)", "stmatrix.sync.aligned.m8n8.x4.shared"),
                              ("(0, 1)", "stmatrix.sync.aligned.m8n8.x4.trans.shared")):
            path = f"{folder}/s.ptir"
            with open(path, "w", encoding="ascii") as f:
                f.write(by_stmatrix(order))
            run = subprocess.run([PTXGEN, "run", path, "--device=cpu", "--verify", "--races"],
                                 capture_output=True, text=True, check=False)
            ptx = subprocess.run([PTXGEN, "compile", path], capture_output=True, text=True,
                                 check=False).stdout
            if run.returncode != 0 or opcode not in ptx:
                failed += 1
                print("stmatrix", order, opcode in ptx, run.stdout, run.stderr.split("\n")[:4])
    print(f"{failed} failed, {n_loads} by ldmatrix")
    return 1 if failed else 0


def attrs_text(transa, transb):
    return ("transa " if transa else "") + ("transb" if transb else "")


sys.exit(main())
