#!/usr/bin/env python3
"""`ptxgen sass`: what it says of cubins is what ptxas said when it made them, and what another reader counts in
the listing; differences and --fail-on; files that are broken; tools that are missing.

A cubin made by hand and a disassembler that prints a prepared text need neither ptxas nor nvdisasm."""
import json
import os
import pathlib
import random
import re
import struct
import subprocess
import sys

import harness

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "sass"))
import sass  # noqa: E402

KERNELS = [("gemm", "sm_80", ["align=8", "split_k=2"]), ("softmax", "sm_90", ["div=8"]), ("gelu", "sm_100", []),
           ("transpose", "sm_80", ["div=8"])]


def tool(name, variable):
    return sass.find(name, variable)


# ---- a file made by hand ---------------------------------------------------------------------------

def elf(kernels, abi=8, flags=80 << 8, machine=190):
    """A cubin with these: (name, registers, frame, barriers, shared, code)."""
    sections = [("", 0, b"", 0)]
    strtab, symtab, info = b"\0", b"\0" * 24, b""
    for i, (name, registers, frame, barriers, shared, code) in enumerate(kernels):
        at = len(strtab)
        strtab += name.encode() + b"\0"
        sections.append((".text." + name, 1, code, len(code)))
        symtab += struct.pack("<IBBHQQ", at, 0x12, 0, len(sections) - 1, 0, len(code))
        info += struct.pack("<BBHII", 4, 0x2F, 8, i + 1, registers)
        info += struct.pack("<BBHII", 4, 0x11, 8, i + 1, frame)
        own = struct.pack("<BBH", 3, 0x1B, 255) + struct.pack("<BBHI", 4, 0x37, 4, 130)
        own += struct.pack("<BBH", 2, 0x4C, barriers)
        sections.append((".nv.info." + name, 0x70000000, own, len(own)))
        if shared:
            sections.append((".nv.shared." + name, 8, b"", shared))
    sections += [(".nv.info", 0x70000000, info, len(info)), (".strtab", 3, strtab, len(strtab)),
                 (".symtab", 2, symtab, len(symtab))]
    names = b"".join(n.encode() + b"\0" for n, _, _, _ in sections) + b".shstrtab\0"
    sections.append((".shstrtab", 3, names, len(names)))
    body, table, at_name = b"", b"", 0
    for name, kind, data, size in sections:
        table += struct.pack("<IIQQQQIIQQ", at_name, kind, 0, 0, 64 + len(body), size, 0, 0, 1, 0)
        body += data
        at_name += len(name) + 1
    head = b"\x7fELF\x02\x01\x01\x41" + bytes([abi]) + bytes(7)
    head += struct.pack("<HHIQQQIHHHHHH", 2, machine, 1, 0, 0, 64 + len(body), flags, 64, 0, 0, 64, len(sections),
                        len(sections) - 1)
    return head + body + table


LISTING = """
.section .text.k,"ax",@progbits
.text.k:
        /*0000*/                   MOV R1, c[0x0][0x28] ;   /* 0x00000a0000017a02 */
                                                            /* 0x000fc40000000f00 */
.L_x_0:
        /*0010*/              @!P0 LDG.E.128 R4, [R2.64] ;
        /*0020*/                   STL.64 [R1], R4 ;
.L_x_1:
        /*0030*/                   HMMA.16816.F32 R4, R4, R8, R4 ;
        /*0040*/               @P1 BRA `(.L_x_1) ;
        /*0050*/                   LDL R4, [R1] ;
        /*0060*/               @P0 BRA `(.L_x_0) ;
        /*0070*/                   EXIT ;
.L_x_2:
        /*0080*/                   BRA `(.L_x_2);
        /*0090*/                   NOP;
.text.other:
        /*0000*/                   EXIT ;
"""
DUMP = """
\tcode for sm_80
\t\tFunction : k
        /*0000*/                   HMMA.16816.F32 R4, R4, R8, R4 ;  /* 0x000000 */
                                                                   /* 0x000fc4 */
        /*0010*/               @P1 BRA 0x0 ;                       /* 0x000001 */
        /*0020*/                   EXIT ;                          /* 0x000002 */
        /*0030*/                   BRA 0x30;                       /* 0x000003 */
"""


def disassembler(c, name, text, status=0):
    c.write(name + ".txt", text)
    path = c.write(name, f'#!/bin/sh\ncat "{c.path(name + ".txt")}"\nexit {status}\n')
    os.chmod(path, 0o755)
    return "--nvdisasm=" + path


def made_by_hand(c):
    c.write("a.cubin", elf([("k", 77, 16, 3, 4096, bytes(160)), ("other", 9, 0, 0, 0, bytes(16))]))
    j = json.loads(c.run("sass", "stat", "a.cubin", "--json", disassembler(c, "list", LISTING), want=0).out)
    assert (j["schema"], j["target"], len(j["kernels"])) == (1, "sm_80", 2)
    k, other = j["kernels"]
    want = {"name": "k", "registers": 77, "stack": 16, "barriers": 3, "shared": 4096, "code_bytes": 160, "instructions": 8,
            "loop": 2, "spills": 12, "spill_stores": 8, "spill_loads": 4}
    assert {x: k[x] for x in want} == want, k
    assert k["classes"] == {"HMMA": 1, "LDG": 1, "local": 2, "move": 1, "branch": 3}, k["classes"]
    assert k["loop_classes"] == {"HMMA": 1, "branch": 1}, k
    assert (other["instructions"], other["loop"], other["registers"]) == (1, 0, 9), other
    text = c.run("sass", "stat", "a.cubin", disassembler(c, "list", LISTING), want=0).out
    assert re.search(r"^k, sm_80\n  registers +77\n  spilled bytes +12\n", text), text
    assert "  instructions of the main loop 2\n    HMMA 1, branch 1\n" in text, text


def listed_by_cuobjdump(c):
    c.write("a.cubin", elf([("k", 8, 0, 0, 0, bytes(64))], abi=7, flags=86))
    j = json.loads(c.run("sass", "stat", "a.cubin", "--json", disassembler(c, "cuobjdump", DUMP), want=0).out)
    k = j["kernels"][0]
    assert (j["target"], k["instructions"], k["loop"]) == ("sm_86", 3, 2), j


def differences(c):
    a = [("k", 77, 16, 3, 4096, bytes(160)), ("gone", 8, 0, 0, 0, b"")]
    b = [("k", 78, 8, 3, 4096, bytes(160)), ("new", 8, 0, 0, 0, b"")]
    c.write("a.cubin", elf(a))
    c.write("b.cubin", elf(b))
    tool_a = disassembler(c, "list", LISTING)
    text = c.run("sass", "diff", "a.cubin", "b.cubin", tool_a, want=0).out
    assert "k\n  registers                     77 -> 78 (+1)\n  stack bytes                   16 -> 8 (-8)\n" in text, text
    assert "gone: only in the first file\n" in text and "new: only in the second file\n" in text, text
    assert c.run("sass", "diff", "a.cubin", "a.cubin", tool_a, want=0).out == "k: the same figures\ngone: the same figures\n"
    j = json.loads(c.run("sass", "diff", "a.cubin", "b.cubin", "--json", tool_a, want=0).out)
    assert [(k["name"], k["changed"], k["a"] is None, k["b"] is None) for k in j["kernels"]] == [
        ("k", ["registers", "stack"], False, False), ("gone", [], False, True), ("new", [], True, False)], j


def fail_on(c):
    c.write("a.cubin", elf([("k", 77, 16, 3, 4096, bytes(160))]))
    c.write("b.cubin", elf([("k", 78, 8, 3, 4096, bytes(160))]))
    both = ("sass", "diff", "a.cubin", "b.cubin", disassembler(c, "list", LISTING))
    r = c.run(*both, "--fail-on=stack,registers", want=4)
    assert r.numbers() == ["6164"] and "k: registers: 77 before, 78 now" in r.err, r.err
    c.run(*both, "--fail-on=stack,spills,shared,barriers,instructions,loop", want=0)
    c.run("sass", "diff", "b.cubin", "a.cubin", both[4], "--fail-on=registers", want=0)
    assert c.run("sass", "diff", "b.cubin", "a.cubin", both[4], "--fail-on=stack", want=4).numbers() == ["6164"]
    assert c.run(*both, "--fail-on=registers,colour", want=2).numbers() == ["6104"]
    c.write("none.cubin", elf([("other", 1, 0, 0, 0, b"")]))
    assert c.run("sass", "diff", "a.cubin", "none.cubin", both[4], "--fail-on=registers", want=4).numbers() == ["6165"]


def wrong_use(c):
    c.write("a.cubin", elf([("k", 1, 0, 0, 0, b"")]))
    for args in (["stat"], ["diff", "a.cubin"], ["stat", "a.cubin", "a.cubin"], ["show", "a.cubin"], ["stat", "a", "b", "c"]):
        assert c.run("sass", *args, want=2).numbers() == ["6106"], args
    assert c.run("sass", "stat", "a.cubin", "--fail-on=registers", want=2).numbers() == ["6108"]
    assert c.run("sass", "stat", "nowhere.cubin", want=1).numbers() == ["6110"]
    assert c.run("sass", "stat", "a.cubin", "--nvdisasm=/nowhere/tool", want=3).numbers() == ["6161"]
    r = c.run("sass", "stat", "a.cubin", disassembler(c, "bad", "no such machine\n", 1), want=3)
    assert r.numbers() == ["6162"] and "no such machine" in r.err, r.err


def broken_files(c):
    """Cut, and with bytes changed: an answer or PG6160, nothing else."""
    good = elf([("k", 77, 16, 3, 4096, bytes(160)), ("other", 9, 0, 0, 0, bytes(16))])
    rng = random.Random(5)
    quiet = disassembler(c, "quiet", "")
    for text in (b"", b"\x7fELF", good[:63], elf([], machine=62), elf([])):
        c.write("x.cubin", text)
        assert c.run("sass", "stat", "x.cubin", quiet, want=1).numbers() == ["6160"]
    for n in range(80):
        data = bytearray(good)
        for _ in range(1 + n % 4):
            data[rng.randrange(64) if n % 3 == 0 else rng.randrange(len(data))] = rng.choice((0, 1, 0x7F, 0xFF, rng.randrange(256)))
        c.write("x.cubin", bytes(data[:rng.randrange(len(data))] if n % 5 == 0 else data))
        r = c.run("sass", "stat", "x.cubin", "--json", quiet)
        assert (r.status == 0 and json.loads(r.out)) or (r.status, r.numbers()) == (1, ["6160"]), (n, r.status, r.err)


# ---- files that ptxas makes ------------------------------------------------------------------------

def check_entry(k, entry, code, listed):
    want = {"registers": entry.registers, "spills": entry.spill, "stack": entry.stack, "barriers": entry.barriers,
            "instructions": len(entry.code)}
    assert {x: k[x] for x in want} == want, (want, k)
    counted = {}
    for _, _, text in entry.code:
        w = sass.word(text)
        name = w if w in sass.BY_NAME else sass.KIND_OF.get(w, "other")
        counted[name] = counted.get(name, 0) + 1
    assert k["classes"] == counted, (counted, k["classes"])
    assert listed in code.listing and sum(k["loop_classes"].values()) == k["loop"]
    loop = next((x for x in (sass.innermost(entry.code, n) for n in ("HGMMA", "HMMA", "IMMA", "DMMA", "FFMA", "LDG")) if x), [])
    assert k["loop"] == len(loop), (k["loop"], len(loop))


def as_ptxas_says(c):
    ptxas, nvdisasm = tool("ptxas", "PTXGEN_PTXAS"), tool("nvdisasm", "PTXGEN_NVDISASM")
    cuobjdump = tool("cuobjdump", "PTXGEN_CUOBJDUMP")
    if not ptxas or not nvdisasm:
        raise harness.Skip("no ptxas or no nvdisasm")
    for name, arch, sets in KERNELS:
        flags = [f"--set={s}" for s in sets]
        c.run("kernel", name, f"--arch={arch}", *flags, "-o", f"{name}.ptx", want=0)
        code = sass.Code(c.path(f"{name}.ptx"), arch, (ptxas, nvdisasm), str(c.dir))
        assert not code.failed, code.failed
        out = c.run("sass", "stat", f"{name}.cubin", "--json", f"--nvdisasm={nvdisasm}", want=0).out
        found = {k["name"]: k for k in json.loads(out)["kernels"]}
        assert json.loads(out)["target"] == arch and found.keys() == {e.name for e in code.entries}, out
        for entry in code.entries:
            check_entry(found[entry.name], entry, code, f".text.{entry.name}:")
        if cuobjdump:
            again = c.run("sass", "stat", f"{name}.cubin", "--json", f"--nvdisasm={cuobjdump}", want=0).out
            assert again == out, (again, out)


def spills_as_ptxas_says(c):
    ptxas, nvdisasm = tool("ptxas", "PTXGEN_PTXAS"), tool("nvdisasm", "PTXGEN_NVDISASM")
    if not ptxas or not nvdisasm:
        raise harness.Skip("no ptxas or no nvdisasm")
    loads = "".join(f"\tld.global.f32 %f{i}, [%rd0+{4 * i}];\n" for i in range(80))
    sums = "".join(f"\tfma.rn.f32 %f{i + 1}, %f{i}, %f{i + 1}, %f{i * 7 % 80};\n" for i in range(79))
    stores = "".join(f"\tst.global.f32 [%rd0+{4 * i + 1000}], %f{i};\n" for i in range(80))
    c.write("spill.ptx", ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n.maxntid 1024\n{\n"
            f"\t.reg .b64 %rd<2>;\n\t.reg .f32 %f<80>;\n\tld.param.u64 %rd0, [p];\n{loads}\tbar.sync 3;\n{sums}{stores}\tret;\n}}\n")
    done = subprocess.run([ptxas, "-arch=sm_80", "-v", c.path("spill.ptx"), "-o", c.path("spill.cubin")], capture_output=True,
                          text=True, check=True)
    stack, stored, loaded = map(int, re.search(
        r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", done.stderr).groups())
    k = json.loads(c.run("sass", "stat", "spill.cubin", "--json", f"--nvdisasm={nvdisasm}", want=0).out)["kernels"][0]
    assert stored > 0 and (k["stack"], k["spill_stores"], k["spill_loads"], k["barriers"]) == (stack, stored, loaded, 4), k


if __name__ == "__main__":
    harness.main([made_by_hand, listed_by_cuobjdump, differences, fail_on, wrong_use, broken_files, as_ptxas_says,
                  spills_as_ptxas_says])
