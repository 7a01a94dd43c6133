#!/usr/bin/env python3
"""Files that go in and out, whatever they are: nothing is lost, nothing is left half written, and each message says why."""
import os
import stat
import struct
import threading

import harness

KERNEL = """ptir 1
module sm_80
kernel @double(%x: ptr<f32> [in, shape=(%m, %n)], %y: ptr<f32> [out, shape=(%m, %n)], %m: i32, %n: i32) [warps=1] {
  launch {
    %t = imul %m, %n : i32
    %g = icdiv %t, 32 : i32
    grid %g
  }
  %t = imul %m, %n : i32
  %p = program_id [axis=x] : i32
  %b = imul %p, 32 : i32
  %l = iota : tile<32xi32>
  %bs = splat %b : tile<32xi32>
  %i = iadd %bs, %l : tile<32xi32>
  %ts = splat %t : tile<32xi32>
  %ok = icmp %i, %ts [is=lt] : tile<32xi1>
  %px = addptr %x, %i : tile<32xptr<f32>>
  %py = addptr %y, %i : tile<32xptr<f32>>
  %v = load %px, %ok : tile<32xf32>
  %w = fadd %v, %v : tile<32xf32>
  store %py, %w, %ok
  return
}
"""
VALUES = [float(i) for i in range(15)]
DOUBLE = ("<f4", (3, 5), [2.0 * v for v in VALUES])


def setup(c):
    c.write("k.ptir", KERNEL)
    c.write("x.npy", harness.npy("<f4", (3, 5), VALUES))


def run(c, *args, want=0, **more):
    return c.run("run", "k.ptir", "--device=cpu", *args, want=want, **more)


def no_leftovers(c):
    left = [str(p) for p in c.dir.rglob("*.tmp*")]
    assert not left, left


def headers_of_every_kind(c):
    """What NumPy writes is read; what is cut off, too long, or says something else is refused by name."""
    setup(c)
    body = struct.pack("<15f", *VALUES)
    columns = [VALUES[5 * i + j] for j in range(5) for i in range(3)]

    def raw(head, data=body, version=b"\1\0", length=None):
        form = "<H" if version[0] == 1 else "<I"
        return b"\x93NUMPY" + version + struct.pack(form, len(head) if length is None else length) + head.encode() + data

    def head(descr="<f4", order="False", shape="(3, 5)"):
        return f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n"

    whole = harness.npy("<f4", (3, 5), VALUES)
    for name, data in [
        ("plain", whole), ("version 2", raw(head(), version=b"\2\0")), ("version 3", raw(head(), version=b"\3\0")),
        ("columns first", raw(head(order="True"), struct.pack("<15f", *columns))),
        ("big endian", raw(head(">f4"), struct.pack(">15f", *VALUES))),
        ("both", raw(head(">f4", "True"), struct.pack(">15f", *columns))), ("padded", raw(head() + " " * 60000 + "\n")),
    ]:
        c.write("in.npy", data)
        run(c, "--in=x=in.npy", "--out=y=y.npy")
        assert harness.read_npy(c.read("y.npy")) == DOUBLE, name
    c.write("y.npy", "old")
    for name, data, number in [
        *((f"cut at {n}", whole[:n], "6114") for n in (0, 5, 6, 9, 10, 60, 127, 128, 129, len(whole) - 1)),
        ("longer", whole + b"1234", "6114"), ("version 4", raw(head(), version=b"\4\0"), "6114"),
        ("a header beyond the end", raw(head(), version=b"\2\0", length=0xFFFFFFFF), "6114"),
        ("no header", raw(""), "6114"), ("no shape", raw("{'descr': '<f4', 'fortran_order': False, }"), "6114"),
        ("negative", raw(head(shape="(-3, -5)")), "6114"), ("beyond 64 bits", raw(head(shape="(18446744073709551616, 5)")), "6114"),
        ("a product beyond 64 bits", raw(head(shape="(4611686018427387904, 4)"), b""), "6114"),
        ("complex", raw(head("<c8")), "6114"), ("objects", raw(head("|O")), "6114"), ("half a type", raw(head("<f2")), "6114"),
        ("nested", raw(head(shape="((((3, 5")), "6114"), ("f64", raw(head("<f8"), struct.pack("<15d", *VALUES)), "6127"),
        ("integers", raw(head("<i4")), "6127"), ("one dimension", raw(head(shape="(15,)")), "6126"),
        ("three", raw(head(shape="(1, 3, 5)")), "6126"), ("no elements", raw(head(shape="(0, 5)"), b""), "6130"),
        # An extent that is no i32 does not become another one.
        ("beyond i32", raw(head(shape="(4294967299, 0)"), b""), "6124"),
    ]:
        c.write("in.npy", data)
        r = run(c, "--in=x=in.npy", "--out=y=y.npy", want=1)
        assert r.numbers() == [number] and r.out == "", (name, r.err)
        assert c.read("y.npy") == b"old", name
    no_leftovers(c)


def outputs_keep_what_is_there(c):
    setup(c)
    # Modes stay; a file that may not be written is not replaced by the back door of its folder.
    for mode in (0o600, 0o640):
        c.write("y.npy", "old")
        os.chmod(c.path("y.npy"), mode)
        run(c, "--in=x=x.npy", "--out=y=y.npy")
        assert stat.S_IMODE(os.stat(c.path("y.npy")).st_mode) == mode
        assert harness.read_npy(c.read("y.npy")) == DOUBLE
    if os.geteuid() != 0:
        c.write("kept.npy", "old")
        os.chmod(c.path("kept.npy"), 0o444)
        assert run(c, "--in=x=x.npy", "--out=y=kept.npy", want=3).numbers() == ["6111"]
        assert c.read("kept.npy") == b"old"
    # A source is not overwritten; an array may be, and IR by the IR made of it.
    for args in (["run", "k.ptir", "--device=cpu", "--in=x=x.npy", "--out=y=k.ptir"], ["compile", "k.ptir", "-o", "k.ptir"],
                 ["compile", "k.ptir", "-o", "./k.ptir", "--emit=manifest"], ["compile", "k.ptir", "-olink"]):
        if not (c.dir / "link").exists():
            (c.dir / "link").symlink_to("k.ptir")
        r = c.run(*args, want=2)
        assert r.numbers() == ["6119"] and c.read("k.ptir").decode() == KERNEL, (args, r.err)
    c.write("k.ptx", c.run("compile", "k.ptir", want=0).out)
    ptx = c.read("k.ptx")
    launch = ["exec", "k.ptx", "--grid=1", "--block=32", "--arg=in:x.npy"]
    sizes = ["--arg=s32:3", "--arg=s32:5"]
    for args in ([*launch, "--arg=out:k.ptx:f32:15", *sizes], [*launch, "--arg=zero:60", *sizes, "--trace=k.ptx"]):
        assert c.run(*args, want=2).numbers() == ["6119"] and c.read("k.ptx") == ptx
    run(c, "--in=x=x.npy", "--out=y=x.npy")
    assert harness.read_npy(c.read("x.npy")) == DOUBLE
    c.write("i.ptir", KERNEL)
    c.run("opt", "i.ptir", "--passes=simplify", "-o", "i.ptir", want=0)
    c.run("compile", "i.ptir", "--emit=ir", "-o", "i.ptir", want=0)
    assert c.read("i.ptir").startswith(b"ptir 1\n") and c.read("i.ptir") != KERNEL.encode()
    no_leftovers(c)


def streams_hold_one_thing(c):
    """Standard output has an array or text, standard input one file."""
    setup(c)
    x = c.read("x.npy")
    whole = c.run("run", "k.ptir", "--device=cpu", "--in=x=x.npy", "--out=y=y.npy", want=0)
    want = c.read("y.npy")
    done = harness.subprocess.run([c.program, "run", "k.ptir", "--device=cpu", "--in=x=-", "--out=y=-"], cwd=c.dir, input=x,
                                  capture_output=True, check=True)
    assert done.stdout == want and whole.out == ""
    for args in (["--in=x=x.npy", "--out=y=-", "--json"], ["--in=x=x.npy", "--out=y=-", "--verify"]):
        r = run(c, *args, want=2)
        assert r.numbers() == ["6109"] and r.out == "", (args, r.err)
    c.write("k.ptx", c.run("compile", "k.ptir", want=0).out)
    r = c.run("exec", "k.ptx", "--grid=1", "--block=32", "--arg=in:x.npy", "--arg=out:-:f32:15", "--arg=s32:3", "--arg=s32:5",
              "--json", want=2)
    assert r.numbers() == ["6109"] and r.out == "", r.err
    assert c.run("run", "-", "--in=x=-", stdin=KERNEL.encode(), want=2).numbers() == ["6116"]
    r = c.run("compile", "k.ptir", "-o", "-", "--stats=json", want=0)
    assert r.out == c.read("k.ptx").decode() and '"schema"' in r.err
    # A pipe is written in place, and is still one.
    os.mkfifo(c.path("pipe"))
    got = []
    reader = threading.Thread(target=lambda: got.append(c.read("pipe")))
    reader.start()
    run(c, "--in=x=x.npy", "--out=y=pipe")
    reader.join(timeout=60)
    assert got == [want] and stat.S_ISFIFO(os.stat(c.path("pipe")).st_mode)
    for name, status in (("folder", 3), ("no/such.npy", 3)):
        (c.dir / "folder").mkdir(exist_ok=True)
        assert run(c, "--in=x=x.npy", f"--out=y={name}", want=status).numbers() == ["6111"]
    no_leftovers(c)


def names_of_every_kind(c):
    setup(c)
    odd = c.dir / "a b\nc"
    odd.mkdir()
    for name in ("k 1.ptir", "x=1.npy"):
        (odd / name).write_bytes(c.read("k.ptir" if "k" in name else "x.npy"))
    place = "a b\nc"
    c.run("run", f"{place}/k 1.ptir", "--device=cpu", "--in", f"x={place}/x=1.npy", "--out", f"y={place}/y\t.npy", want=0)
    assert harness.read_npy((odd / "y\t.npy").read_bytes()) == DOUBLE
    # A message is one line and its help, whatever the file is called.
    for name in (f"{place}/none.ptir", "a\033[31m.ptir", "b\r.ptir"):
        r = c.run("compile", name, want=1)
        assert len(r.err.splitlines()) == 2 and "\033" not in r.err and "\r" not in r.err, r.err
    c.write("-k.ptir", KERNEL)
    c.run("compile", "--emit=ir", "--", "-k.ptir", want=0)


if __name__ == "__main__":
    harness.main([headers_of_every_kind, outputs_keep_what_is_there, streams_hold_one_thing, names_of_every_kind])
