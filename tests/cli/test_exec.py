#!/usr/bin/env python3
"""`ptxgen exec`: argument forms, arrays, faults and their exit statuses."""
import json
import re
import struct

import harness

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"

# out[i] = in[i] * scale + bias, i < n
SCALE = HEAD + """
.visible .entry scale(.param .u64 p_in, .param .u64 p_out, .param .u32 p_n, .param .f32 p_scale)
{
    .reg .pred %p<2>;
    .reg .b32 %r<6>;
    .reg .f32 %f<4>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [p_in];
    ld.param.u64 %rd2, [p_out];
    ld.param.u32 %r1, [p_n];
    ld.param.f32 %f1, [p_scale];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra $L_done;
    cvta.to.global.u64 %rd3, %rd1;
    cvta.to.global.u64 %rd4, %rd2;
    mul.wide.u32 %rd5, %r5, 4;
    add.s64 %rd6, %rd3, %rd5;
    add.s64 %rd7, %rd4, %rd5;
    ld.global.f32 %f2, [%rd6];
    mul.rn.f32 %f3, %f2, %f1;
    st.global.f32 [%rd7], %f3;
$L_done:
    ret;
}
"""

# *p = x for every width
STORE = HEAD + """
.visible .entry store(.param .u64 p, .param .{type} x)
{{
    .reg .b{bits} %v;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [p];
    cvta.to.global.u64 %rd2, %rd1;
    ld.param.b{bits} %v, [x];
    st.global.b{bits} [%rd2], %v;
    ret;
}}
"""

# Copies the box at (8, 1) of one tensor to (8, 1) of another.
BOX = """.version 8.0
.target sm_90a
.address_size 64
.shared .align 1024 .b8 sm[4096];
.shared .align 8 .b64 bar;
.visible .entry k(.param .align 64 .b8 a[128], .param .align 64 .b8 b[128])
{
    .reg .pred %p<2>;
    .reg .b64 %rd<4>;
    mov.b64 %rd1, a;
    cvta.param.u64 %rd1, %rd1;
    mov.b64 %rd2, b;
    cvta.param.u64 %rd2, %rd2;
    mbarrier.init.shared.b64 [bar], 1;
    fence.mbarrier_init.release.cluster;
    mbarrier.arrive.expect_tx.shared.b64 _, [bar], 192;
    cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [sm], [%rd1, {8, 1}], [bar];
$W: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;
    @!%p1 bra $W;
    cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd2, {8, 1}], [sm];
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
    ret;
}
"""

DEADLOCK = HEAD + """
.visible .entry k(.param .u64 p)
{
    .reg .pred %p<2>;
    .reg .b32 %r<3>;
    mov.u32 %r1, %tid.x;
    setp.lt.u32 %p1, %r1, 32;
    @%p1 bra $L_one;
    bar.sync 1, 96;
    bra $L_end;
$L_one:
    bar.sync 2, 64;
$L_end:
    ret;
}
"""

FOREVER = HEAD + """
.visible .entry k()
{
$L_top:
    bra $L_top;
}
"""

RACE = HEAD + """
.visible .entry k(.param .u64 p)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [p];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r1, %tid.x;
    shr.u32 %r2, %r1, 5;
    st.global.u32 [%rd2], %r2;
    ret;
}
"""


def f32s(*values):
    return harness.npy("<f4", (len(values),), values)


def scaled(c):
    c.write("scale.ptx", SCALE)
    c.write("in.npy", f32s(*range(100)))
    c.run("exec", "scale.ptx", "--grid=4", "--block=32", "--arg=in:in.npy",
          "--arg=out:out.npy:f32:100", "--arg=u32:100", "--arg=f32:0.5", want=0)
    assert harness.read_npy(c.read("out.npy")) == ("<f4", (100,), [i / 2 for i in range(100)])
    c.run("exec", "-", "--grid=4,1,1", "--block", "32", "--arg", "in:in.npy:f32",
          "--arg", "out:out2.npy:f32:10x10", "--arg=s32:100", "--arg=f32:0.5", "--entry=scale",
          "--seeds=3", stdin=SCALE.encode(), want=0)
    assert harness.read_npy(c.read("out2.npy"))[1] == (10, 10)


def array_forms(c):
    c.write("scale.ptx", SCALE)
    c.write("in.npy", f32s(*range(64)))
    common = ["exec", "scale.ptx", "--grid=2", "--block=32"]
    c.run(*common, "--arg=inout:in.npy:both.npy", "--arg=@0", "--arg=u32:64", "--arg=f32:2",
          want=0)
    assert harness.read_npy(c.read("both.npy"))[2] == [2.0 * i for i in range(64)]
    c.run(*common, "--arg=in:in.npy", "--arg=out:out.npy:f32:64", "--arg=u32:32",
          "--arg=f32:1", want=0)  # half of it: a warning, and the rest is as it was
    c.run(*common, "--arg=zero:256", "--arg=out:zero.npy:f32:64", "--arg=u32:64", "--arg=f32:2",
          want=0)
    assert harness.read_npy(c.read("zero.npy"))[2] == [0.0] * 64
    c.run(*common, "--arg=in:in.npy", "--arg=@0+128", "--arg=u32:32", "--arg=f32:2", want=0)
    c.write("raw.bin", struct.pack("<f", 3.0))
    c.run(*common, "--arg=in:in.npy", "--arg=out:raw.npy:f32:64", "--arg=u32:64",
          "--arg=bytes:raw.bin", want=0)
    assert harness.read_npy(c.read("raw.npy"))[2] == [3.0 * i for i in range(64)]


def values_of_every_type(c):
    for kind, ptx, bits, want in [
        ("u8:255", "u8", 8, b"\xff"), ("s8:-2", "s8", 8, b"\xfe"), ("u16:513", "u16", 16, b"\x01\x02"),
        ("s16:-1", "s16", 16, b"\xff\xff"), ("u32:4294967295", "u32", 32, b"\xff" * 4),
        ("s32:-1", "s32", 32, b"\xff" * 4), ("u64:18446744073709551615", "u64", 64, b"\xff" * 8),
        ("s64:-9", "s64", 64, struct.pack("<q", -9)), ("f16:1.5", "b16", 16, b"\x00\x3e"),
        ("f32:0.1", "f32", 32, struct.pack("<f", 0.1)), ("f64:2.5", "f64", 64, struct.pack("<d", 2.5)),
        ("null", "u64", 64, bytes(8)),
    ]:
        c.write("store.ptx", STORE.format(type=ptx, bits=bits))
        c.run("exec", "store.ptx", "--grid=1", "--block=1", f"--arg=out:v.npy:u8:{bits // 8}",
              f"--arg={kind}", want=0)
        assert bytes(harness.read_npy(c.read("v.npy"))[2]) == want, kind


def wrong_arguments(c):
    c.write("scale.ptx", SCALE)
    c.write("in.npy", f32s(*range(64)))
    c.write("junk.npy", b"\x93NUMPY\x01\x00junk")
    common = ["exec", "scale.ptx", "--grid=1", "--block=32"]
    for specs, status, number in [
        (["u32"], 2, "6131"), (["q:1"], 2, "6131"), (["u8:256"], 2, "6131"), (["@0"], 2, "6131"),
        (["out:x.npy:f32"], 2, "6131"), (["zero:x"], 2, "6131"), (["in:"], 2, "6131"),
        (["in:missing.npy"], 1, "6110"), (["in:junk.npy"], 1, "6114"),
        (["in:in.npy:f64"], 1, "6115"), (["bytes:missing"], 1, "6110"),
        (["null"], 1, "6132"), (["null"] * 5, 1, "6132"),
        (["null", "null", "u64:1", "f32:1"], 1, "6133"),
        (["null", "null", "u32:1", "f64:1"], 1, "6133"),
        (["tmap:in:in.npy"], 2, "6131"), (["tmap:zero:64:box=8"], 2, "6131"),
        (["tmap:in:in.npy:box=8x8"], 2, "6131"), (["tmap:in:in.npy:box=8:swizzle=16"], 2, "6131"),
        (["tmap:in:in.npy:box=8:colour=red"], 2, "6131"), (["tmap:@0:box=8"], 2, "6131"),
        (["tmap:in:in.npy:box=8:strides=16"], 2, "6131"), (["tmap:in:in.npy:box="], 2, "6131"),
        (["zero:99999999999999", "null", "u32:1", "f32:1"], 3, "6167"),
        (["null", "out:x.npy:f32:99999999999999", "u32:1", "f32:1"], 3, "6167"),
    ]:
        r = c.run(*common, *[f"--arg={s}" for s in specs], want=status)
        assert number in r.numbers(), (specs, r.err)
        assert number != "6132" or "kernel 'scale' has 4 parameters" in r.err, r.err


def promised_alignment_is_checked(c):
    """`.ptr .align` of a parameter is what ptxas may build on: no launch at another address."""
    c.write("in.npy", f32s(*range(64)))
    for declared, offset, status in [
        (".ptr .global .align 16 ", 8, 1), (".ptr .global .align 16 ", 16, 0), (".ptr .align 32 ", 16, 1),
        (".ptr .global .align 1 ", 4, 0), (".ptr ", 4, 0), ("", 4, 0),
    ]:
        text = SCALE.replace("p_in, .param .u64 p_out", f"p_out, .param .u64 {declared}p_in")
        c.write("turned.ptx", text)
        r = c.run("exec", "turned.ptx", "--grid=1", "--block=32", "--arg=in:in.npy", f"--arg=@0+{offset}",
                  "--arg=u32:8", "--arg=f32:2", want=status)
        assert r.numbers() == (["5006"] if status else []), (declared, r.err)
        assert not status or re.search(r"^turned\.ptx:5:\d+: error: PG5006 parameter p_in points to 0x", r.err), r.err
    c.write("scale.ptx", SCALE.replace(".param .u64 p_in", ".param .u64 .ptr .global .align 16 p_in"))
    c.run("exec", "scale.ptx", "--grid=1", "--block=32", "--arg=null", "--arg=null", "--arg=u32:0", "--arg=f32:2", want=0)
    # Our own PTX declares what its text says of pointers, and nothing else.
    for attr, declared, status in [(", align=16", ".ptr .global .align 16 ", 1), (", align=1", "", 0), ("", "", 0)]:
        c.write("own.ptir", "ptir 1\nmodule sm_80\nkernel @k(%x: ptr<f32> [in, shape=(%n)" + attr + "], %n: i32) [warps=1] {\n  return\n}\n")
        c.write("own.ptx", c.run("compile", "own.ptir", want=0).out)
        assert f".param .u64 {declared}x,\n" in c.read("own.ptx").decode()
        c.write("two.ptir", c.read("own.ptir").decode().replace("%x:", "%w: ptr<f32>, %x:"))
        c.write("two.ptx", c.run("compile", "two.ptir", want=0).out)
        r = c.run("exec", "two.ptx", "--grid=1", "--block=32", "--arg=in:in.npy", "--arg=@0+8", "--arg=s32:8", want=status)
        assert r.numbers() == (["5006"] if status else []), r.err


def dynamic_shared_memory_is_asked_for(c):
    """PTX that is run without its manifest: the help names the option that is missing."""
    text = """.version 7.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 mem[];
.visible .entry k()
{
	.reg .b32 %r<2>;
	mov.u32 %r0, mem;
	mov.u32 %r1, 7;
	st.shared.u32 [%r0+60], %r1;
	ret;
}
"""
    c.write("shared.ptx", text)
    launch = ["exec", "shared.ptx", "--grid=1", "--block=32"]
    r = c.run(*launch, want=4)
    assert r.numbers() == ["6150"] and "\nhelp: the PTX has dynamic shared memory: give its size with --smem=" in r.err, r.err
    assert "\nhelp: docs/executor.md " in c.run(*launch, "--smem=32", want=4).err
    c.run(*launch, "--smem=64", want=0)


def tensor_maps(c):
    c.write("box.ptx", BOX)
    rows, columns = 5, 20
    c.write("in.npy", harness.npy("<f4", (rows, columns), list(range(rows * columns))))
    common = ["exec", "box.ptx", "--grid=1", "--block=1", "--races=isa", "--seeds=3"]
    for swizzle in ("", ":swizzle=64", ":swizzle=128"):
        c.run(*common, f"--arg=tmap:in:in.npy:box=3x16{swizzle}",
              f"--arg=tmap:out:out.npy:f32:5x20:box=3x16{swizzle}", want=0)
        got = harness.read_npy(c.read("out.npy"))[2]
        for r in range(rows):
            for x in range(columns):
                is_in = 1 <= r < 4 and 8 <= x < 20
                assert not is_in or got[r * columns + x] == r * columns + x, (swizzle, r, x)
    # Another view of the same bytes: 10 rows of 10 would have strides of 40 bytes, which no map takes.
    r = c.run(*common, "--arg=tmap:in:in.npy:box=3x16:dims=10x10", "--arg=tmap:@0:box=3x16", want=1)
    assert "PG51" in r.err, r.err
    c.run(*common, "--arg=tmap:in:in.npy:box=3x16:dims=9x16:strides=48",
          "--arg=tmap:out:out.npy:f32:5x20:box=3x16:oob=nan:estride=1x1:interleave=none", want=0)


def maps_of_pixels(c):
    """A filter of 3 x 3 with a border of 1 over images of 4 x 5 pixels: its middle tap is the image itself."""
    load = ("4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [sm], [%rd1, {0, -1, -1, 0}], [bar], {1, 1}")
    store = "4d.global.shared::cta.im2col_no_offs.bulk_group [%rd2, {0, 0, 0, 0}], [sm]"
    ptx = BOX.replace("bar], 192", "bar], 640")
    for old, new in (("2d.shared", load), ("2d.global", store)):
        ptx = re.sub(rf"tensor\.{re.escape(old)}.*;", lambda _, new=new: f"tensor.{new};", ptx)
    c.write("pixels.ptx", ptx)
    values = [float(k) for k in range(2 * 4 * 5 * 4)]
    c.write("in.npy", harness.npy("<f4", (2, 4, 5, 4), values))
    common = ["exec", "pixels.ptx", "--grid=1", "--block=1", "--races=isa", "--seeds=3"]
    out = "--arg=tmap:out:out.npy:f32:2x4x5x4:im2col=40x4"
    c.run(*common, "--arg=tmap:in:in.npy:im2col=40x4:lower=-1x-1:upper=-1x-1", out, want=0)
    assert harness.read_npy(c.read("out.npy"))[2] == values
    r = c.run(*common, "--arg=tmap:in:in.npy:im2col=40x4:lower=-1x0", out, want=4)
    assert "coordinate 1 is -1" in r.err, r.err
    for wrong in ("im2col=40x4:lower=-1", "im2col=40", "im2col=40x4:box=1x1x1x4", "box=1x1x1x4:lower=0x0"):
        assert c.run(*common, f"--arg=tmap:in:in.npy:{wrong}", out, want=2).numbers(), wrong
    assert "PG5132" in c.run(*common, "--arg=tmap:in:in.npy:im2col=40x4:upper=-4x-9", out, want=1).err


def wrong_ptx_is_1(c):
    c.write("bad.ptx", HEAD + ".visible .entry k()\n{\n    .reg .b32 %r<3>;\n    frobnicate.u32 %r1, %r2;\n"
            "    ret;\n}\n")
    r = c.run("exec", "bad.ptx", "--grid=1", "--block=1", want=1)
    assert re.search(r"^bad\.ptx:7:\d+: error: PG\d{4} .*frobnicate", r.err, re.M), r.err
    c.write("junk.ptx", "this is no PTX at all {")
    c.run("exec", "junk.ptx", "--grid=1", "--block=1", want=1)
    c.write("two.ptx", HEAD + ".visible .entry a()\n{\n    ret;\n}\n.visible .entry b()\n{\n    ret;\n}\n")
    c.run("exec", "two.ptx", "--grid=1", "--block=1", want=1)
    c.run("exec", "two.ptx", "--entry=c", "--grid=1", "--block=1", want=1)
    c.run("exec", "two.ptx", "--entry=b", "--grid=1", "--block=1", want=0)
    c.run("exec", "two.ptx", "--entry=b", "--grid=1", "--block=1025", want=1)


def faults_are_4(c):
    c.write("scale.ptx", SCALE)
    c.write("in.npy", f32s(*range(64)))
    r = c.run("exec", "scale.ptx", "--grid=3", "--block=32", "--arg=in:in.npy",
              "--arg=out:o.npy:f32:96", "--arg=u32:96", "--arg=f32:1", want=4)
    assert re.search(r"^scale\.ptx:26:\d+: error: PG6150 out of bounds: ", r.err, re.M), r.err
    assert not (c.dir / "o.npy").exists()
    r = c.run("exec", "scale.ptx", "--grid=1", "--block=32", "--arg=null",
              "--arg=out:o.npy:f32:96", "--arg=u32:32", "--arg=f32:1", want=4)
    c.write("dead.ptx", DEADLOCK)
    r = c.run("exec", "dead.ptx", "--grid=1", "--block=64", "--arg=null", want=4)
    assert "deadlock" in r.err
    c.write("forever.ptx", FOREVER)
    r = c.run("exec", "forever.ptx", "--grid=1", "--block=32", "--max-steps=1000", want=4)
    assert "step" in r.err
    # A kernel takes as many steps as it takes: that many are enough, one less is not.
    common = ["exec", "scale.ptx", "--grid=1", "--block=32", "--arg=in:in.npy", "--arg=zero:128", "--arg=u32:32", "--arg=f32:1"]
    ran = c.run(*common, "--stats", want=0)
    steps = int(re.search(r"warp instructions (\d+)", ran.err).group(1))
    c.run(*common, f"--max-steps={steps}", want=0)
    r = c.run(*common, f"--max-steps={steps - 1}", want=4)
    assert f"the CTA ran {steps - 1} warp instructions, the limit" in r.err, r.err
    c.run(*common, "--max-steps=1", want=4)


def seeds_must_agree(c):
    c.write("race.ptx", RACE)
    r = c.run("exec", "race.ptx", "--grid=1", "--block=128", "--arg=out:w.npy:u32:1", "--seeds=64",
              want=4)
    assert "6151" in r.numbers()
    a = [c.run("exec", "race.ptx", "--grid=1", "--block=128", "--arg=out:w.npy:u32:1",
               f"--seed={s}", want=0) and c.read("w.npy") for s in (3, 3)]
    assert a[0] == a[1]


def traces_are_json(c):
    c.write("scale.ptx", SCALE)
    specs = ["--arg=zero:256", "--arg=out:o.npy:f32:64", "--arg=u32:64", "--arg=f32:1"]
    common = ["exec", "scale.ptx", "--grid=2", "--block=64", *specs]
    c.run(*common, "--trace=t.json", "--seeds=2", want=0)
    events = json.loads(c.read("t.json"))["traceEvents"]
    runs = [e for e in events if e["ph"] == "X"]
    # two CTAs of two warps; none waits
    assert sorted((e["pid"], e["tid"]) for e in runs) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert all(e["name"] == "run" and e["ts"] == 0 and e["dur"] > 0 for e in runs)
    names = {e["args"]["name"] for e in events if e["ph"] == "M" and "name" in e["args"]}
    assert {"CTA 0", "CTA 1", "warp 0 (warp group 0)", "warp 1 (warp group 0)"} <= names
    c.run(*common, "--trace=no/such/folder/t.json", want=3)


def races_are_4(c):
    c.write("race.ptx", RACE)
    c.write("scale.ptx", SCALE)
    common = ["--grid=2", "--block=32", "--arg=zero:256", "--arg=out:o.npy:f32:64", "--arg=u32:64",
              "--arg=f32:1"]
    for races in ("--races", "--races=isa", "--races=practice"):
        c.run("exec", "scale.ptx", *common, races, want=0)
        r = c.run("exec", "race.ptx", "--grid=1", "--block=128", "--arg=out:w.npy:u32:1", races,
                  "--seeds=2", want=4)
        assert "6150" in r.numbers() and "race:" in r.err and "seed 0]" in r.err
        assert "note: the other access: CTA 0,0,0" in r.err and r.err.count("^") == 2


def statistics(c):
    c.write("scale.ptx", SCALE)
    r = c.run("exec", "scale.ptx", "--grid=2", "--block=32", "--arg=zero:256",
              "--arg=out:o.npy:f32:64", "--arg=u32:64", "--arg=f32:1", "--stats", want=0)
    assert re.search(r"line +shared +wavefronts +extra +global +sectors", r.err)
    assert re.search(r" 0 +0 +0 +2 +8  st.global.f32", r.err)
    assert "CTAs 2" in r.err and "ld.global.f32" in r.err and r.out == ""


# Each thread writes its word and reads that of a thread of the other warp; PRINT says hello.
UNORDERED = """.version 7.0
.target sm_80
.address_size 64
.shared .align 4 .b8 sm[1024];
.visible .entry k(.param .u64 out)
{
\t.reg .b32 %r<8>;
\t.reg .b64 %rd<4>;
\tld.param.u64 %rd1, [out];
\tmov.u32 %r1, %tid.x;
\tshl.b32 %r2, %r1, 2;
\tmov.u32 %r3, sm;
\tadd.u32 %r4, %r3, %r2;
\tst.shared.u32 [%r4], %r1;
\tBARRIER
\txor.b32 %r5, %r4, 128;
\tld.shared.u32 %r6, [%r5];
\tmul.wide.u32 %rd2, %r1, 4;
\tadd.u64 %rd3, %rd1, %rd2;
\tst.global.u32 [%rd3], %r6;
\tret;
}
"""


def a_race_shows_both_windows(c):
    """Two lines of PTX on both sides of each access, and what is missing."""
    c.write("k.ptx", UNORDERED.replace("BARRIER", "bar.warp.sync -1;"))
    r = c.run("exec", "k.ptx", "--grid=1", "--block=64", "--arg=out:w.npy:u32:64", "--races", want=4)
    windows = re.findall(r"(?m)^([> ]) +(\d+) \| \t?(.*)$", r.err)
    marked = sorted((int(n), text) for mark, n, text in windows if mark == ">")
    assert marked == [(14, "st.shared.u32 [%r4], %r1;"), (17, "ld.shared.u32 %r6, [%r5];")], r.err
    assert sorted(int(n) for _, n, _ in windows) == [12, 13, 14, 15, 15, 16, 16, 17, 18, 19], r.err
    assert "a bar.sync of both warps between them would order them" in r.err, r.err


def reports_as_json(c):
    args = ["exec", "k.ptx", "--grid=1", "--block=64", "--arg=out:w.npy:u32:64", "--races", "--json"]
    c.write("k.ptx", UNORDERED.replace("BARRIER", ""))
    r = c.run(*args, want=4)
    report = json.loads(r.out)
    assert (report["schema"], report["exit"], report["messages"]) == (1, 4, [])
    launch = report["launches"][0]
    assert (launch["entry"], launch["seed"], launch["status"]) == ("k", 0, "fault")
    fault = launch["faults"][0]
    assert fault["kind"] == "race" and fault["message"].endswith(": " + fault["missing"]) and "bar.sync" in fault["missing"]
    sides = {fault[side]["line"]: fault[side] for side in ("at", "other")}
    assert {n: s["text"] for n, s in sides.items()} == {14: "st.shared.u32 [%r4], %r1;", 17: "ld.shared.u32 %r6, [%r5];"}
    assert {s["warp"] for s in sides.values()} == {0, 1} and all(s["thread"][0] == s["warp"] * 32 + s["lane"] for s in sides.values())
    assert fault["size"] == 4 and int(fault["address"], 16) > 0
    assert c.run(*args, want=4).out == r.out
    c.write("k.ptx", UNORDERED.replace("BARRIER", "bar.sync 0;"))
    report = json.loads(c.run(*args, "--seeds=2", "--stats", want=0).out)
    assert [launch["seed"] for launch in report["launches"]] == [0, 1] and report["exit"] == 0
    stats = report["launches"][0]["stats"]
    assert stats["warps"] == 2 and stats["lane_instructions"] == 32 * stats["warp_instructions"]
    assert sum(o["warp_instructions"] for o in stats["opcodes"]) == stats["warp_instructions"]
    assert [(x["line"], x["shared"]["accesses"], x["global"]["sectors"]) for x in stats["lines"]] == [(14, 2, 0), (17, 2, 0), (20, 0, 8)]


def refusals_as_json(c):
    """PTX that is not read, and a launch that does not fit."""
    common = ["exec", "k.ptx", "--grid=1", "--arg=out:w.npy:u32:64", "--json"]
    c.write("k.ptx", UNORDERED.replace("BARRIER", "frobnicate.u32 %r5;"))
    report = json.loads(c.run(*common, "--block=64", want=1).out)
    assert report["exit"] == 1 and report["launches"] == []
    message = report["messages"][0]
    assert (message["severity"], message["line"], message["column"]) == ("error", 15, 2) and message["number"] > 3000 and message["help"]
    c.write("k.ptx", UNORDERED.replace("BARRIER", "").replace("{", ".reqntid 32\n{", 1))
    report = json.loads(c.run(*common, "--block=64", want=1).out)
    assert report["launches"][0]["status"] == "refused" and report["launches"][0]["messages"][0]["number"] == 5003


if __name__ == "__main__":
    harness.main([
        scaled, array_forms, values_of_every_type, wrong_arguments, promised_alignment_is_checked, dynamic_shared_memory_is_asked_for, tensor_maps, maps_of_pixels,
        wrong_ptx_is_1, faults_are_4,
        seeds_must_agree, races_are_4, traces_are_json, statistics,
        a_race_shows_both_windows, reports_as_json, refusals_as_json,
    ])
