#!/usr/bin/env python3
"""`ptxgen run`, `kernel` and `compile` end to end on the CPU."""
import json
import os
import pathlib
import re
import shutil
import subprocess

import harness

# y = 2 x + 1 over n elements, 128 a program
FILE = """ptir 1
module sm_80
kernel @double(%x: ptr<f32> [in, shape=(%n)], %y: ptr<f32> [out, shape=(%n)], %n: i32) [warps=4] {
  launch {
    %g = icdiv %n, 128 : i32
    grid %g
  }
  %b = program_id [axis=x] : i32
  %o = imul %b, 128 : i32
  %i = iota : tile<128xi32>
  %s = splat %o : tile<128xi32>
  %j = iadd %i, %s : tile<128xi32>
  %e = splat %n : tile<128xi32>
  %m = icmp %j, %e [is=lt] : tile<128xi1>
  %p = addptr %x, %j : tile<128xptr<f32>>
  %v = load %p, %m, 0.0 : tile<128xf32>
  %w = fma %v, 2.0, 1.0 : tile<128xf32>
  %q = addptr %y, %j : tile<128xptr<f32>>
  store %q, %w, %m
  return
}
"""


def library_kernels_are_right(c):
    for kernel in ("add", "gelu", "silu_mul"):
        for dtype in ("f16", "bf16", "f32"):
            for n in (1, 17, 333, 4099):
                r = c.run("run", kernel, "--arg", f"n={n}", f"--set=dtype={dtype}", "--verify",
                          "--device=cpu", want=0)
                assert re.search(rf"^\w+: {n} elements right; largest error \S+ beside a bound",
                                 r.out, re.M), r.out


ROW_KERNELS = [["softmax"], ["rmsnorm"], ["layernorm"]] + [
    ["reduce", f"--set=axis={axis}", f"--set=op={op}"]
    for axis in ("inner", "outer", "full") for op in ("sum", "max")]


def kernels_on_rows_are_right(c):
    for kernel in ROW_KERNELS:
        for dtype, rows, cols in (("f16", 3, 333), ("bf16", 17, 17), ("f32", 1, 1025),
                                  ("f16", 0, 5), ("f32", 2, 1)):
            c.run("run", *kernel, "--arg", f"rows={rows}", "--arg", f"cols={cols}",
                  f"--set=dtype={dtype}", "--verify", "--device=cpu", "--seeds=2", want=0)


def transpose_is_right(c):
    for dtype, div in (("f16", 1), ("f16", 8), ("bf16", 2), ("f32", 4), ("f64", 2), ("i8", 16),
                       ("i16", 8), ("i32", 1), ("i64", 2)):
        more = ((1, 1), (65, 129)) if div == 1 else ()
        for m, n in ((0, 16), (16, 16), (144, 80), (48, 208)) + more:
            r = c.run("run", "transpose", "--arg", f"m={m}", "--arg", f"n={n}",
                      f"--set=dtype={dtype}", f"--set=div={div}", "--verify", "--races",
                      "--device=cpu", want=0)
            assert m * n == 0 or f"y: {m * n} elements right; largest error 0" in r.out, r.out
    # Each sector once, both ways: nothing is read or written twice.
    r = c.run("run", "transpose", "--arg=m=144", "--arg=n=80", "--set=div=8", "--stats",
              "--device=cpu", want=0)
    assert f" {2 * 144 * 80 * 2 // 32} sectors" in r.err, r.err
    assert " 0 by bank conflicts" in r.err, r.err


def library_kernels_broadcast(c):
    c.run("run", "add", "--set=rank=4", "--arg", "n=5", "--arg", "m=3", "--arg=l=2", "--arg=k=4",
          "--arg=bm=1", "--arg=ak=1", "--verify", want=0)


def arrays_come_and_go(c):
    c.write("x.npy", harness.npy("<f4", (1000,), [i / 8 for i in range(1000)]))
    c.write("f.ptir", FILE)
    r = c.run("run", "f.ptir", "--in", "x=x.npy", "--out=y=y.npy", "--verify", want=0)
    assert "1000 elements right" in r.out
    assert harness.read_npy(c.read("y.npy"))[2] == [i / 4 + 1 for i in range(1000)]
    c.run("run", "f.ptir", "--arg=n=77", "--entry=double", "--seeds=4", "--verify", want=0)
    c.run("run", "-", "--arg=n=77", "--verify", stdin=FILE.encode(), want=0)
    a = []
    for seed in ("5", "5", "6"):
        c.run("run", "f.ptir", "--arg=n=50", "--out", f"x=x{seed}.npy", f"--seed={seed}", want=0)
        a.append(c.read(f"x{seed}.npy"))
    assert a[0] == a[1] != a[2]


def wrong_arrays(c):
    c.write("f.ptir", FILE)
    c.write("x.npy", harness.npy("<f4", (10,), [0] * 10))
    c.write("d.npy", harness.npy("<f8", (10,), [0] * 10))
    c.write("two.npy", harness.npy("<f4", (5, 2), [0] * 10))
    for args, status, number in [
        ([], 2, "6125"), (["--arg=n=x"], 2, "6124"), (["--arg=n=10", "--arg=q=1"], 2, "6123"),
        (["--in=z=x.npy"], 2, "6123"), (["--arg=n=10", "--out=z=x.npy"], 2, "6123"),
        (["--in=x=x.npy", "--arg=n=11"], 1, "6126"), (["--in=x=d.npy"], 1, "6127"),
        (["--in=x=two.npy", "--arg=n=10"], 1, "6126"), (["--in=x=none.npy"], 1, "6110"),
        (["--arg=n=-5"], 1, "6128"), (["--arg=n=0"], 1, "6130"),
        (["--arg=n=10", "--entry=nope"], 1, "6129"),
        # What only the shape could have told is not asked for: the array is at fault.
        (["--in=x=two.npy"], 1, "6126"), (["--in=x=none.npy", "--arg=n=3"], 1, "6110"), (["--in=x=zero.npy"], 1, "6126"),
    ]:
        c.write("zero.npy", harness.npy("<f4", (), [0]))
        r = c.run("run", "f.ptir", *args, want=status)
        assert r.numbers() == [number], (args, r.err)
    assert "array 'x' has the shape (), the kernel wants (n,)\n" in c.run("run", "f.ptir", "--in=x=zero.npy", want=1).err


def one_file_has_many_names(c):
    """Two outputs never go to one file, whatever it is called; and a link leads where it leads."""
    c.write("f.ptir", FILE)
    (c.dir / "sub").mkdir(exist_ok=True)
    for name, to in (("soft.npy", "q.npy"), ("sub/up.npy", "../q.npy"), ("chain.npy", "soft.npy"), ("ring.npy", "ring.npy")):
        if not (c.dir / name).is_symlink():
            (c.dir / name).symlink_to(to)
    run = ["run", "f.ptir", "--arg=n=5", "--device=cpu"]
    for old in (None, b"old"):
        for other in ("./q.npy", "sub/../q.npy", c.path("q.npy"), "soft.npy", "sub/up.npy", "chain.npy"):
            (c.dir / "q.npy").unlink(missing_ok=True)
            if old is not None:
                c.write("q.npy", old)
            r = c.run(*run, "--out=y=q.npy", f"--out=x={other}", want=2)
            assert r.numbers() == ["6116"] and "q.npy' twice" in r.err.replace(other, "q.npy"), (other, r.err)
            assert (c.read("q.npy") == old) if old is not None else not (c.dir / "q.npy").exists(), other
    assert c.run(*run, "--out=y=ring.npy", want=3).numbers() == ["6111"]
    assert c.run(*run, "--out=y=none/q.npy", "--out=x=x2.npy", want=3).numbers() == ["6111"]
    for name in ("soft.npy", "sub/up.npy", "chain.npy"):
        (c.dir / "q.npy").unlink(missing_ok=True)
        c.run(*run, f"--out=y={name}", want=0)
        assert (c.dir / name).is_symlink() and harness.read_npy(c.read("q.npy"))[1] == (5,), name
    assert not [f for f in c.dir.rglob("*.tmp*")] and not (c.dir / "x2.npy").exists()


def promised_divisors_are_checked(c):
    """A value that its div does not divide never reaches the kernel, wherever it comes from."""
    text = FILE.replace("%n: i32)", "%n: i32 [div=8])")
    assert text != FILE
    c.write("f.ptir", text)
    c.write("x.npy", harness.npy("<f4", (12,), [0] * 12))
    for args, name, value, div in [
        (["f.ptir", "--arg=n=13"], "n", 13, 8), (["f.ptir", "--in=x=x.npy"], "n", 12, 8),
        (["f.ptir", "--arg=n=-9"], "n", -9, 8), (["f.ptir", "--arg=n=4", "--verify"], "n", 4, 8),
        (["gelu", "--set=div=8", "--arg=n=13"], "n", 13, 8),
        (["transpose", "--set=div=4", "--arg=m=8", "--arg=n=10"], "n", 10, 4),
        (["softmax", "--set=div=8", "--arg=rows=3", "--arg=cols=7"], "cols", 7, 8),
    ]:
        r = c.run("run", *args, "--device=cpu", want=1)
        assert r.numbers() == ["6134"], (args, r.err)
        assert f"argument '{name}' is {value}, which is no multiple of its div = {div}\n" in r.err, r.err
    for n in (8, 1000):
        c.run("run", "f.ptir", f"--arg=n={n}", "--verify", "--device=cpu", want=0)


def all_outputs_or_none(c):
    c.write("f.ptir", FILE)
    c.write("old.npy", "old")
    (c.dir / "folder").mkdir()
    for bad in ("no/such/place.npy", "folder", "/dev/full"):
        for pairs in (["x=old.npy", f"y={bad}"], [f"x={bad}", "y=old.npy"],
                      ["x=new.npy", f"y={bad}"]):
            r = c.run("run", "f.ptir", "--arg=n=300", *(f"--out={p}" for p in pairs), want=3)
            assert "6111" in r.numbers(), r.err
            assert c.read("old.npy") == b"old" and not (c.dir / "new.npy").exists(), (bad, pairs)
    ptx = c.write("f.ptx", c.run("compile", "f.ptir", want=0).out)
    c.write("x.npy", harness.npy("<f4", (4,), [0] * 4))
    c.run("exec", ptx, "--grid=1", "--block=128", "--arg=inout:x.npy:old.npy",
          "--arg=out:/dev/full:f32:4", "--arg=s32:4", want=3)
    assert c.read("old.npy") == b"old"
    left = [p.name for p in c.dir.iterdir() if ".tmp" in p.name]
    assert not left, left
    (c.dir / "link.npy").symlink_to("old.npy")
    c.run("run", "f.ptir", "--arg=n=300", "--out=x=link.npy", "--out=y=y2.npy", want=0)
    assert (c.dir / "link.npy").is_symlink() and c.read("old.npy") != b"old"
    assert c.read("y2.npy")


def a_wrong_kernel_is_4(c):
    # Writes past the array; leaves elements out.
    c.write("over.ptir", FILE.replace("store %q, %w, %m", "store %q, %w"))
    r = c.run("run", "over.ptir", "--arg=n=130", want=4)
    assert "6150" in r.numbers()
    # At the author's line, then at the PTX line that it became.
    assert r.err.startswith("over.ptir:19:3: error: PG6150 out of bounds: write"), r.err
    assert "    store %q, %w\n    ^" in r.err, r.err
    assert re.search(r"^PTX of over\.ptir:\d+:\d+: note: .*\n  \t@?.*st\.global", r.err, re.M), r.err
    c.write("less.ptir", FILE.replace("icdiv %n, 128", "idiv %n, 128"))
    assert "6152" in c.run("run", "less.ptir", "--arg=n=130", want=4).numbers()


def arrays_of_unknown_size(c):
    for text in (FILE.replace(", shape=(%n)]", "]"), FILE.replace("shape=(%n)", "shape=(?)")):
        c.write("size.ptir", text)
        c.write("x.npy", harness.npy("<f4", (3,), [1, 2, 3]))
        for more, name in (([], "x"), (["--in=x=x.npy"], "y")):
            r = c.run("run", "size.ptir", "--arg=n=3", *more, want=2)
            assert r.numbers() == ["6139"] and f"how large array '{name}' is" in r.err, r.err


def no_room_is_3(c):
    """Arrays beyond any machine are refused before they are made, with what the run would take.
    gelu reads n halves and writes n. Each comes back (2 n each), the input is made (2 n), and the
    executor has both, with a byte for each of theirs (8 n): 14 n bytes. To verify, the executor's
    are gone, and there are 8 n bytes of input and 16 n of expected values and bounds: 30 n."""
    n = f"n={1 << 42}"
    for more, need in ([], "56.0 TiB"), (["--verify"], "120.0 TiB"), (["--seeds=3"], "56.0 TiB"):
        r = c.run("run", "gelu", "--device=cpu", "--arg", n, *more, want=3)
        assert f"arrays of 16.0 TiB: the run would take {need} of memory" in r.err, r.err
        assert r.numbers() == ["6167"], r.err
    # As text it is interpreted: no doubles of the input, and all arrays with a byte for each byte.
    text = c.run("kernel", "gelu", "--emit=ir", "--passes=none", want=0).out
    file = c.write("gelu.ptir", text)
    r = c.run("run", file, "--device=cpu", "--arg", n, "--verify", want=3)
    assert "would take 120.0 TiB of memory" in r.err, r.err  # 6 n + 8 n + 16 n
    assert r.numbers() == ["6167"] and "exit" in json.loads(
        c.run("run", file, "--device=cpu", "--arg", n, "--json", want=3).out)


def roles_are_kept(c):
    """What the text cannot show: a pointer that a run chooses leads into an array that is only read."""
    text = FILE.replace("  %q = addptr %y,", "  %big = icmp %n, 100 [is=gt] : i1\n  %where = select %big, %x, %y : ptr<f32>\n  %q = addptr %where,")
    assert text != FILE
    c.write("role.ptir", text)
    for n, status, numbers in ((100, 0, []), (101, 4, ["6166", "6152"])):
        for more in ([], ["--seeds=2"]):
            r = c.run("run", "role.ptir", f"--arg=n={n}", "--device=cpu", *more, want=status)
            assert r.numbers() == numbers, (n, r.err)
            assert not status or "array 'x', whose role is `in`, first in element 0" in r.err, r.err


def reports_as_json(c):
    """One object on standard output and nothing else: seeds, errors beside bounds, faults at lines of both texts."""
    def report(*args, want):
        r = c.run("run", *args, "--device=cpu", "--json", want=want)
        x = json.loads(r.out)
        assert (x["schema"], x["exit"]) == (1, want) and r.out == c.run("run", *args, "--device=cpu", "--json", want=want).out
        return x

    x = report("gelu", "--arg=n=1003", "--set=dtype=f16", "--verify", "--races", "--seeds=3", want=0)
    assert (x["file"], x["device"], x["messages"]) == ("gelu", "cpu", [])
    assert [(l["entry"], l["seed"], l["status"], l["faults"]) for l in x["launches"]] == [("gelu", k, "ok", []) for k in range(3)]
    assert "opcodes" not in x["launches"][0]["stats"]
    # The line that is printed without --json says the same.
    y, = x["outputs"]
    text = c.run("run", "gelu", "--arg=n=1003", "--set=dtype=f16", "--verify", "--device=cpu", want=0).out
    said = re.fullmatch(r"y: 1003 elements right; largest error (\S+) beside a bound of (\S+), at element (\d+)\n", text)
    assert (y["name"], y["type"], y["elements"], y["wrong"], y["at"]) == ("y", "f16", 1003, 0, int(said[3])), y
    assert (f"{y['error']:.3g}", f"{y['bound']:.3g}") == (said[1], said[2]) and 0 < y["error"] <= y["bound"]
    assert abs(abs(y["value"] - y["expected"]) - y["error"]) <= 1e-6 * abs(y["value"])
    # Not verified: nothing is compared.
    x = report("add", "--arg=n=77", "--stats", want=0)
    assert x["outputs"] == [] and x["launches"][0]["stats"]["opcodes"]
    # A fault, at the line of the file and at that of its PTX.
    c.write("over.ptir", FILE.replace("store %q, %w, %m", "store %q, %w"))
    x = report("over.ptir", "--arg=n=130", "--verify", want=4)
    assert x["outputs"] == [] and x["messages"] == []
    launch, = x["launches"]
    at = launch["faults"][0]["at"]
    assert launch["status"] == "fault" and launch["faults"][0]["kind"] == "out of bounds"
    assert at["source_line"] == 19 and at["text"].partition("st.global")[1] and at["line"] > 19
    # A race: the loads do not wait for the products that read their slot.
    text = (pathlib.Path(__file__).resolve().parents[1] / "filetests/whole/gemm_ws.ptir").read_text()
    c.write("race.ptir", text.replace("        bar.wait %r, %s, %p [side=full]\n", "", 1))
    x = report("race.ptir", "--arg=m=128", "--arg=n=256", "--arg=k=512", "--arg=ctas=1", "--races", want=4)
    fault = x["launches"][0]["faults"][0]
    assert fault["kind"] == "race" and "wgmma.wait_group" in fault["missing"]
    sides = [fault["at"], fault["other"]]
    assert sorted(s["text"].split(".")[0] for s in sides) == ["cp", "wgmma"] and sides[0]["warp"] != sides[1]["warp"]
    lines = (c.dir / "race.ptir").read_text().splitlines()
    assert sorted(lines[s["source_line"] - 1].split(" = ")[-1].split()[0] for s in sides) == ["mma.async", "tma.get"]
    # Wrong numbers: what cancels is more than the bound of a file allows.
    c.write("wrong.ptir", FILE.replace("%w = fma %v, 2.0, 1.0 :", "%f = exp %v [approx] : tile<128xf32>\n  %w = fadd %f, -148.4131591 :"))
    c.write("x.npy", harness.npy("<f4", (4,), [5.0, 5.0000005, 4.999, 5.001]))
    x = report("wrong.ptir", "--in", "x=x.npy", "--verify", want=4)
    y, = x["outputs"]
    assert y["wrong"] > 0 and y["error"] > y["bound"] and [m["number"] for m in x["messages"]] == [6153]
    # What does not get as far as a launch, and usage, which gives no report.
    x = report("gelu", "--arg=q=1", want=2)
    assert [m["number"] for m in x["messages"]] == [6123] and x["device"] is None and x["launches"] == []
    c.write("bad.ptir", FILE.replace("fma", "fmad"))
    x = report("bad.ptir", "--arg=n=4", want=1)
    assert [(m["file"], m["number"], m["severity"], m["line"]) for m in x["messages"]][0] == ("bad.ptir", 1008, "error", 17)
    assert c.run("run", "gelu", "--json", "--seeds=0", want=2).out == ""


def manifest_is_json(c):
    c.write("f.ptir", FILE)
    m = json.loads(c.run("compile", "f.ptir", "--emit=manifest", want=0).out)
    assert m["schema"] == 1 and m["entry"] == "double" and m["target"] == "sm_80"
    assert [a["name"] for a in m["args"]] == ["x", "y", "n"]
    assert m["args"][1]["role"] == "out" and m["args"][1]["shape"] == ["n"]
    m = json.loads(c.run("kernel", "gelu", "--emit=manifest", "--arch=sm_90a", want=0).out)
    assert m["target"] == "sm_90a"


def ptx_is_accepted_by_our_checker(c):
    for arch in ("sm_80", "sm_90a"):
        for kernel in ("add", "gelu", "silu_mul"):
            ptx = c.run("kernel", kernel, f"--arch={arch}", want=0).out
            assert f".target {arch}" in ptx
            c.run("check", "-", stdin=ptx.encode(), want=0)
            assert ptx == c.run("kernel", kernel, f"--arch={arch}", want=0).out


def arch_overrides_the_module(c):
    c.write("f.ptir", FILE)
    assert ".target sm_90" in c.run("compile", "f.ptir", "--arch=sm_90", want=0).out


def find_ptxas():
    path = os.environ.get("PTXGEN_PTXAS") or shutil.which("ptxas")
    return path if path and os.access(path, os.X_OK) else None


def cubins(c):
    ptxas = find_ptxas()
    if ptxas is None:
        raise harness.Skip("no ptxas")
    for arch in ("sm_80", "sm_90a"):
        c.run("kernel", "gelu", f"--arch={arch}", "--emit=cubin", "-o", "g.cubin",
              f"--ptxas={ptxas}", want=0)
        assert c.read("g.cubin")[:4] == b"\x7fELF"
    for arch in ("sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"):
        for kernel in ROW_KERNELS:
            ptx = c.run("kernel", *kernel, f"--arch={arch}", want=0).out
            c.write("k.ptx", ptx)
            said = subprocess.run([ptxas, "-v", f"-arch={arch}", c.path("k.ptx"), "-o", os.devnull],
                                  capture_output=True, text=True, check=True).stderr
            assert " 0 bytes spill stores, 0 bytes spill loads" in said, (kernel, arch, said)


def line_information(c):
    """The PTX says where it comes from, the executor and ptxas find it there, and nothing else changes."""
    c.write("over.ptir", FILE.replace("store %q, %w, %m", "store %q, %w"))
    plain = c.run("compile", "over.ptir", want=0).out
    said = c.run("compile", "over.ptir", "--line-info", want=0).out
    assert "".join(l for l in plain.splitlines(True)) == "".join(
        l for l in said.splitlines(True) if not l.startswith(("\t.loc\t", ".file\t"))).removesuffix("\n"), said
    source = FILE.replace("store %q, %w, %m", "store %q, %w").splitlines()
    places = re.findall(r"\.loc\t1 (\d+) (\d+)\n\t(?:@%\w+ )?([a-z]+)", said)
    assert len(places) > 8
    for line, column, opcode in places:
        text = source[int(line) - 1][int(column) - 1:]
        assert opcode not in ("st", "fma") or text.startswith(("store" if opcode == "st" else "fma", "%w")), (opcode, text)
    assert said.endswith('\n.file\t1 "over.ptir"\n')
    c.write("over.ptx", said)
    args = ["exec", "over.ptx", "--grid=2", "--block=128", "--arg=in:x.npy", "--arg=out:y.npy:f32:130", "--arg=s32:130"]
    c.write("x.npy", harness.npy("<f4", (256,), [1.0] * 256))
    r = c.run(*args, want=4)
    assert re.search(r"(?m)^over\.ptir:19:3: note: ", r.err), r.err
    at = json.loads(c.run(*args, "--json", want=4).out)["launches"][0]["faults"][0]["at"]
    assert at["source"] == {"file": "over.ptir", "line": 19, "column": 3}, at
    ptxas = find_ptxas()
    if ptxas is not None:
        c.run("compile", "over.ptir", "--emit=cubin", "-o", "a.cubin", f"--ptxas={ptxas}", want=0)
        c.run("compile", "over.ptir", "--line-info", "--emit=cubin", "-o", "b.cubin", f"--ptxas={ptxas}", want=0)
        assert b"over.ptir" in c.read("b.cubin") and b"over.ptir" not in c.read("a.cubin")
    c.run("kernel", "gelu", "--line-info", want=2)


def no_name_hides_shared_memory(c):
    """Kernels and parameters may be called as we would call ours; sums over warps go through shared memory."""
    text = """ptir 1
module sm_80
kernel @smem_1(%smem: ptr<f32> [in, shape=(512)], %smem_2: ptr<f32> [out, shape=(1)]) [warps=4] {
  launch {
    grid 1
  }
  %i = iota : tile<512xi32>
  %p = addptr %smem, %i : tile<512xptr<f32>>
  %x = load %p : tile<512xf32>
  %s = reduce %x [op=sum] : f32
  store %smem_2, %s
  return
}
"""
    c.write("s.ptir", text)
    ptx = c.run("compile", "s.ptir", want=0).out
    assert ".extern .shared .align 1024 .b8 smem_3[];" in ptx, ptx
    c.write("x.npy", harness.npy("<f4", (512,), [float(i % 7) for i in range(512)]))
    c.run("run", "s.ptir", "--in=smem=x.npy", "--out=smem_2=y.npy", "--races", "--verify", want=0)
    assert harness.read_npy(c.read("y.npy"))[2] == [float(sum(i % 7 for i in range(512)))]


def no_ptxas_is_3(c):
    c.write("f.ptir", FILE)
    c.run("compile", "f.ptir", "--emit=cubin", "-o", "f.cubin", "--ptxas=/no/such/ptxas", want=3)
    assert not (c.dir / "f.cubin").exists()


def starts_fast(c):
    times = sorted(timed(c) for _ in range(9))
    assert times[4] < 0.1, times  # the goal is 5 ms; the test allows for a busy machine


def timed(c):
    start = os.times().elapsed
    subprocess.run([c.program, "--version"], stdout=subprocess.DEVNULL, check=True)
    return os.times().elapsed - start


if __name__ == "__main__":
    harness.main([
        library_kernels_are_right, kernels_on_rows_are_right, transpose_is_right,
        library_kernels_broadcast, arrays_come_and_go, wrong_arrays, one_file_has_many_names, promised_divisors_are_checked,
        all_outputs_or_none,
        a_wrong_kernel_is_4, arrays_of_unknown_size, no_room_is_3, roles_are_kept, reports_as_json, manifest_is_json, ptx_is_accepted_by_our_checker,
        arch_overrides_the_module, cubins, line_information, no_name_hides_shared_memory, no_ptxas_is_3, starts_fast,
    ])
