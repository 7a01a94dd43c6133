#!/usr/bin/env python3
"""Unusual but legal programs (odd/*.ptir): right on the executor by the interpreter's word, for two
seeds, and through every check between passes.  The first line gives the options of `run`."""
import pathlib
import re

import harness

ODD = sorted((pathlib.Path(__file__).parent / "odd").glob("*.ptir"))


def case(path):
    def test(c):
        first = path.read_text().split("\n", 1)[0]
        options = re.fullmatch(r"// run:(.*)", first).group(1).split()
        c.run("run", str(path), *options, "--verify", "--seeds=2", want=0)
        checked = c.run("compile", str(path), "--check=roundtrip,clone,twice", "--verify=each", want=0)
        other = c.run("compile", str(path), "--shuffle=7", "--arch=sm_90a", want=0)
        c.write("odd.ptx", checked.out)
        c.run("check", "odd.ptx", want=0)
        c.write("odd.ptx", other.out)
        c.run("check", "odd.ptx", want=0)
    test.__name__ = path.stem
    return test


def promises(elem):
    """What one value promises (nw; icdiv: no negative number) is not known of another value that the
    same instruction computes, whether the promise stands first or last. Promises are broken here,
    and their values not used; the others wrap, and are used where a wrong range shows."""
    bits = int(elem[1:])
    most, factor = hex(2 ** (bits - 1) - 1), hex(0x123456789ABCDEF1 >> (64 - bits) | 1)
    t = f"tile<64x{elem}>"
    lines, n = [], 0

    def store(value):
        nonlocal n
        lines.extend([f"%i{n} = iadd %l, {64 * n} : tile<64xi32>",
                      f"%p{n} = addptr %o, %i{n} : tile<64xptr<{elem}>>", f"store %p{n}, {value}"])
        n += 1

    def pair(plain, promised, is_first):
        def promise():
            lines.extend([f"%q{n} = {promised} : {t}", f"%s{n} = select %never, %q{n}, 0 : {t}"])
            store(f"%s{n}")
        if is_first:
            promise()
        at = n
        for line in plain[:-1]:
            lines.append(line.format(at))
        lines.append(f"%r{at} = {plain[-1].format(at)} : {t}")
        if not is_first:
            promise()
        uses = [("idiv %r{0}, 3", t), ("ishr %r{0}, 1", t), ("imax %r{0}, -5", t)]
        for text, kind in uses:
            lines.append(f"%u{n} = {text.format(at)} : {kind}")
            store(f"%u{n}")
        if elem == "i32":  # its sign, in more bits
            wide = "tile<64xi64>"
            lines.extend([f"%c{n} = cast %r{at} : {wide}", f"%d{n} = ishr %c{n}, 31 : {wide}",
                          f"%u{n} = cast %d{n} : {t}"])
            store(f"%u{n}")

    for turn in (0, 1):  # operands of each turn's own
        lines.extend([f"%a{turn} = xor %a, {turn + 2} : {t}", f"%b{turn} = xor %b, {turn + 2} : {t}",
                      f"%n{turn} = isub {-2 - turn}, %b : {t}", f"%m{turn} = xor %w, {turn + 2} : {t}"])
        for op in ("imul %a, 64", "imul %a, -3", "imul %a, %b", "iadd %a, %b", "isub %n, %b"):
            op = op.replace("%a", f"%a{turn}").replace("%b", f"%b{turn}").replace("%n", f"%n{turn}")
            pair([op], op + " [nw]", turn == 1)
        pair([f"%h{{0}} = iadd %m{turn}, 63 : {t}", "ushr %h{0}, 6"], f"icdiv %m{turn}, 64", turn == 1)
    head = (f"ptir 1\nmodule sm_80\nkernel @k(%x: ptr<{elem}> [in, shape=(64)], "
            f"%o: ptr<{elem}> [out, shape=({n}, 64)]) [warps=1] {{\n"
            f"%l = iota : tile<64xi32>\n%p = addptr %x, %l : tile<64xptr<{elem}>>\n"
            f"%v = load %p : {t}\n%w = imul %v, {factor} : {t}\n%a = and %w, {most} : {t}\n"
            f"%w2 = imul %w, {factor} : {t}\n%b = and %w2, {most} : {t}\n"
            f"%never = icmp %a, 0 [is=lt] : tile<64xi1>\n")

    def test(c):
        path = c.write("promises.ptir", head + "\n".join(lines) + "\nreturn\n}\n")
        r = c.run("run", path, "--verify", "--seeds=2", want=0)
        assert f"o: {64 * n} elements right" in r.out, r.out
    test.__name__ = f"promises_{elem}"
    return test


def promised_rows_are_loaded_wide(c):
    """Rows of a tile that are some rows apart: `nw` on sums and products says that neighbours lie
    together in each row, not only in the first that a thread has."""
    text = """ptir 1
module sm_80
kernel @k(%x: ptr<f16> [in, shape=(%n, 64), align=16], %y: ptr<f16> [out, shape=(%n, 64), align=16], %n: i32) {
  launch {
    %g = icdiv %n, 64 : i32
    grid %g
  }
  %id = program_id [axis=x] : i32
  %j = imul %id, 64 [nw] : i32
  %js = splat %j : tile<64x64xi32>
  %i = iota : tile<64x64xi32>
  %c = iota [dim=1] : tile<64x64xi32>
  %r = iadd %js, %i [nw] : tile<64x64xi32>
  %ns = splat %n : tile<64x64xi32>
  %ok = icmp %r, %ns [is=lt] : tile<64x64xi1>
  %row = imul %r, 64 [nw] : tile<64x64xi32>
  %o = iadd %row, %c [nw] : tile<64x64xi32>
  %px = addptr %x, %o : tile<64x64xptr<f16>>
  %v = load %px, %ok : tile<64x64xf16>
  %py = addptr %y, %o : tile<64x64xptr<f16>>
  store %py, %v, %ok
  return
}
"""
    path = c.write("rows.ptir", text)
    c.run("run", path, "--arg", "n=83", "--verify", want=0)
    ptx = c.run("compile", path, want=0).out
    for op in ("ld", "st"):  # 64 * 64 * 2 bytes, 128 threads, 16 bytes each
        found = re.findall(rf"{op}\.global\.(\S+)", ptx)
        assert found == ["v4.b32"] * 4, found
    assert "v4.b32" not in c.run("compile", c.write("rows.ptir", text.replace("align=16", "align=2")),
                                 want=0).out


def indices_run_ahead_in_wide_copies(c):
    """The same of loads that a loop runs ahead, whose addresses come from the loop's variable."""
    text = (pathlib.Path(__file__).parent / "odd/index-stages.ptir").read_text()
    ptx = c.run("compile", c.write("index.ptir", text), want=0).out
    sizes = re.findall(r"cp\.async\.c[ag]\.shared\.global\s.*\], (\d+)", ptx)
    assert sizes == ["4", "16"] * 3, sizes
    r = c.run("compile", c.write("index.ptir", text.replace(" [nw]", "")), want=1)
    assert r.numbers() == ["3022", "3022"] and "known to lie together" in r.err, r.err
    r = c.run("compile", c.write("index.ptir", text.replace(", align=16", "")), want=1)
    assert r.numbers() == ["3022", "3022"] and "known to be a multiple" in r.err, r.err


if __name__ == "__main__":
    harness.main([case(path) for path in ODD] +
                 [promises("i32"), promises("i64"), promised_rows_are_loaded_wide,
                  indices_run_ahead_in_wide_copies])
