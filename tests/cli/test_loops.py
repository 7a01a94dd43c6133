#!/usr/bin/env python3
"""Several pipelined loops in a kernel, and other buffers beside them: each gets the slots that fit,
shared memory is used again where it can be, and the sums are right, without races."""
import re

import harness

TILE, DEPTH = 64, 64  # a slot has 16 KiB


def loop(n, start, stages, ind):
    return "".join(f"{ind}{line}\n" for line in f"""\
%s{n} = for %i{n} in 0 to %nk step 1 carry (%x{n} = {start}) [stages={stages}] : tile<{TILE}x{TILE}xf32> {{
  %k{n} = imul %i{n}, {DEPTH} [nw] : i32
  %ai{n} = addptr %a, %k{n} : ptr<f16>
  %bk{n} = imul %k{n}, {TILE} [nw] : i32
  %bi{n} = addptr %b, %bk{n} : ptr<f16>
  %ap{n} = addptr %ai{n}, %ao : tile<{TILE}x{DEPTH}xptr<f16>>
  %bp{n} = addptr %bi{n}, %bo : tile<{DEPTH}x{TILE}xptr<f16>>
  %at{n} = load %ap{n} : tile<{TILE}x{DEPTH}xf16>
  %bt{n} = load %bp{n} : tile<{DEPTH}x{TILE}xf16>
  %y{n} = mma %at{n}, %bt{n}, %x{n} : tile<{TILE}x{TILE}xf32>
  yield %y{n}
}}""".splitlines())


def program(stages, is_nest=False, kept=0):
    """Two loops; is_nest: in a third; kept: KiB of a buffer that is alive meanwhile."""
    shape = f"tile<{TILE}x{TILE}xf32"
    text = f"""ptir 1
module sm_80
kernel @two(%a: ptr<f16> [in, shape=({TILE}, %k), align=16, noalias], %b: ptr<f16> [in, shape=(%k, {TILE}), align=16, noalias], %c: ptr<f32> [out, shape=({TILE}, {TILE}), noalias], %k: i32 [div={DEPTH}]) [warps=4] {{
  launch {{
    grid 1
  }}
"""
    if kept:
        rows = kept * 1024 // 512
        text += f"""  %kept = buf.new : buf<smem, {rows}x128xf32>
  %ones = splat 1.0 : tile<4x128xf32>
  %part = buf.view %kept, 0 : buf<smem, 4x128xf32>
  buf.store %part, %ones
""".replace(f"{rows}x128xf32", f"{rows // 4}x4x128xf32")
    text += f"""  %nk = idiv %k, {DEPTH} : i32
  %ka = cast %k : i64
  %ri = iota : tile<{TILE}x1xi32>
  %rl = cast %ri : tile<{TILE}x1xi64>
  %rs = splat %ka : tile<{TILE}x1xi64>
  %ro = imul %rl, %rs : tile<{TILE}x1xi64>
  %rb = broadcast %ro : tile<{TILE}x{DEPTH}xi64>
  %cj = iota [dim=1] : tile<{TILE}x{DEPTH}xi32>
  %cl = cast %cj : tile<{TILE}x{DEPTH}xi64>
  %ao = iadd %rb, %cl : tile<{TILE}x{DEPTH}xi64>
  %b0 = iota : tile<{DEPTH}x{TILE}xi32>
  %b1 = imul %b0, {TILE} [nw] : tile<{DEPTH}x{TILE}xi32>
  %b2 = iota [dim=1] : tile<{DEPTH}x{TILE}xi32>
  %bo = iadd %b1, %b2 [nw] : tile<{DEPTH}x{TILE}xi32>
  %z = splat 0.0 : {shape}>
"""
    if is_nest:
        text += f"  %sum = for %o in 0 to 2 step 1 carry (%acc = %z) : {shape}> {{\n"
        text += loop(1, "%acc", stages, "    ") + loop(2, "%s1", stages, "    ")
        text += "    yield %s2\n  }\n"
    else:
        text += loop(1, "%z", stages, "  ") + loop(2, "%s1", stages, "  ")
    total = "%sum" if is_nest else "%s2"
    if kept:
        text += f"""  %again = buf.load %part : tile<4x128xf32>
  %most = reduce %again [dim=0, op=max] : tile<128xf32>
  %one = reduce %most [dim=0, op=max] : f32
  %ot = splat %one : {shape}>
  %scaled = fmul {total}, %ot : {shape}>
"""
        total = "%scaled"
    return text + f"""  %co = iota : tile<{TILE}x{TILE}xi32>
  %c8 = imul %co, {TILE} : tile<{TILE}x{TILE}xi32>
  %ci = iota [dim=1] : tile<{TILE}x{TILE}xi32>
  %cc = iadd %c8, %ci : tile<{TILE}x{TILE}xi32>
  %cp = addptr %c, %cc : tile<{TILE}x{TILE}xptr<f32>>
  store %cp, {total}
  return
}}
"""


def check(c, text, slots):
    """Runs it; `slots` of each loop, 0 where it is refused. Bytes of shared memory."""
    c.write("two.ptir", text)
    r = c.run("compile", c.path("two.ptir"), "--explain=pipeline", want=0)
    got = [int(m.group(1) or 0) for m in
           re.finditer(r"ahead in (\d+) slots|not even two slots fit", r.err)]
    assert got == slots, (got, slots, r.err)
    for k in (0, DEPTH, 5 * DEPTH):
        run = c.run("run", c.path("two.ptir"), f"--arg=k={k}", "--device=cpu", "--verify", "--races",
                    "--seeds=3", want=0)
        assert " right" in run.out, run.out
    return int(re.search(r'"smem": "(\d+)"', r.out).group(1))


def loops_in_a_row_use_the_same_memory(c):
    assert check(c, program(3), [3, 3]) == 3 * 16384
    assert check(c, program(8), [8, 8]) == 8 * 16384


def loops_in_a_loop_too(c):
    assert check(c, program(4, is_nest=True), [4, 4]) == 4 * 16384
    assert check(c, program(8, is_nest=True), [8, 2]) == 8 * 16384


def what_is_alive_counts(c):
    assert check(c, program(8, kept=64), [6, 6]) <= 166912
    assert check(c, program(3, kept=128), [2, 2]) <= 166912
    assert check(c, program(3, kept=140), [0, 0]) <= 166912


def kernels_take_fewer_slots_where_memory_is_short(c):
    for arch in ("sm_80", "sm_86", "sm_120"):
        r = c.run("kernel", "gemm", "--set=stages=8", f"--arch={arch}", "--explain=pipeline", want=0)
        slots = [int(x) for x in re.findall(r"ahead in (\d+) slots", r.err)]
        assert slots and min(slots) >= 5, (arch, r.err)


if __name__ == "__main__":
    harness.main([loops_in_a_row_use_the_same_memory, loops_in_a_loop_too, what_is_alive_counts,
                  kernels_take_fewer_slots_where_memory_is_short])
