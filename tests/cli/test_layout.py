#!/usr/bin/env python3
"""`ptxgen layout`: tables, pictures, JSON, messages."""
import json
import re
import xml.dom.minidom

import harness

MMA = "mma [shape=(16, 8, 16), warps=(2, 2)]"
DOT = "enc #c = " + MMA + "\ndot [operand=0, of=#c]"


def table_of_registers(c):
    text = c.run("layout", MMA, want=0).out
    lines = text.splitlines()
    assert lines[0].startswith("32x16xf16 over 4 warps: 4 registers"), lines[0]
    assert "  lane   (0, 2) (0, 4) (1, 0) (2, 0) (4, 0)" in lines
    assert "  warp   (0, 8) (16, 0)" in lines
    row = [line for line in lines if line.startswith("lane 5 ")]
    assert re.findall(r"\(\d+, \d+\)", row[0]) == ["(1, 2)", "(1, 3)", "(9, 2)", "(9, 3)"], row


def an_encoding_may_name_others(c):
    a = c.run("layout", DOT, "--shape=64x32", want=0).out
    assert a.startswith("64x32xf16 over 4 warps: 32 registers"), a[:80]
    assert "each element held 2 times" in a
    last = c.run("layout", "enc #c = " + MMA + " enc #a = dot [operand=0, of=#c]", "--shape", "64x32",
                 want=0).out
    assert last == a


def table_of_memory(c):
    text = c.run("layout", "smem [order=(1, 0), swizzle=128]", want=0).out
    lines = text.splitlines()
    assert lines[0] == "8x64xf16: 1024 bytes"
    row = [line for line in lines if line.startswith("row 1 ")][0]
    cells = re.findall(r"(\d+) b(\d+)", row)
    for column, (offset, bank) in enumerate(cells):
        chunk = column // 4 ^ 1
        assert int(offset) == 64 + 8 * chunk + 2 * (column % 4), (column, offset)
        assert int(bank) == int(offset) // 2 % 32


def json_says_the_same(c):
    j = json.loads(c.run("layout", DOT, "--json", "--elem=bf16", want=0).out)
    assert (j["shape"], j["elem"], j["warps"], j["registers"]) == ([32, 16], "bf16", 4, 8)
    assert j["linear"]["lane"] == [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]]
    j = json.loads(c.run("layout", "wgmma [shape=(64, 96, 16), warps=(12, 1)]", "--json", want=0).out)
    assert [d["extent"] for d in j["digits"]] == [3, 3] and j["warps"] == 12


def picture(c):
    c.run("layout", MMA, "-o", "a.svg", "--shape=64x32", want=0)
    svg = xml.dom.minidom.parse(c.path("a.svg"))
    assert len(svg.getElementsByTagName("rect")) == 1 + 64 * 32
    colours = {r.getAttribute("fill") for r in svg.getElementsByTagName("rect")}
    assert len(colours) == 5, colours
    c.run("layout", "smem [order=(1, 0), pad=8]", "-o", "b.svg", "--shape=200x96", want=0)
    text = c.read("b.svg").decode()
    assert "the first 64x64" in text and "b31" in text


def errors_have_their_column(c):
    for text, place, number in [
        ("mma [shape=(16, 8, 16), warp=(2, 2)]", "1:25", "1031"), ("mmma [x=1]", "1:1", "1030"),
        ("mma [shape=(16, 8, 17), warps=(2, 2)]", "1:1", "1311"),
        ("enc #c = mma [shape=(16, 8, 17), warps=(2, 2)]\nenc #b = dot [operand=1, of=#c]", "2:5", "1311"),
        ("dot [operand=0, of=#c]", "1:20", "1013"), (MMA + " x", "1:39", "1005"), ("", "1:1", "1006"),
        ("smem [order=(1, 0), swizzle=64] smem", "1:33", "1005"),
    ]:
        r = c.run("layout", text, want=1)
        assert r.numbers() == [number] and f":{place}: error:" in r.err, (text, r.err)
        assert r.out == ""
    for args, number in [(["--shape=8x8"], "1310"), (["--warps=8"], "1310"),
                         (["--elem=f99"], "1312"), (["--shape=8"], "1312"), (["--warps=33"], "1312"),
                         (["--shape=8xx"], "6104"), (["--shape=0x8"], "6104"), (["--warps=x"], "6104")]:
        r = c.run("layout", MMA, *args, want=1 if number == "1310" else 2)
        assert r.numbers() == [number], (args, r.err)
    assert c.run("layout", want=2).numbers() == ["6106"]


if __name__ == "__main__":
    harness.main([table_of_registers, an_encoding_may_name_others, table_of_memory,
                  json_says_the_same, picture, errors_have_their_column])
