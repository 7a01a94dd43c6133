#!/usr/bin/env python3
"""Several kernels in one module: test_many.py PTXGEN

A compile takes one kernel after the other through all passes; where somebody looks at the IR between
passes, all kernels go through one pass after the other. Both give the same, and each kernel is what it
is in a module of its own."""
import json
import pathlib
import re

import harness

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEAD = re.compile(r"^ptir 1\nmodule \S+\n")


def kernels(c):
    """{name: IR text} of the library's kernels with default settings, and a second product."""
    names = re.findall(r"^(\w+)  ", c.run("kernel", "--list", want=0).out, re.M)
    assert "gemm" in names and "softmax" in names, names
    texts = {name: c.run("kernel", name, "--passes=none", "--emit=ir", want=0).out for name in names}
    texts["gemm_other"] = c.run("kernel", "gemm", "--set", "align=8", "--set", "act=relu", "--passes=none",
                                "--emit=ir", want=0).out.replace("@gemm(", "@gemm_other(")
    return texts


def body(ptx, name):
    """The kernel's text, its comment line aside: the PTX version in it is the module's."""
    at = ptx.index(f".visible .entry {name}(")
    return ptx[at:ptx.index("\n}\n", at)]


def all_in_one(c, target):
    texts = kernels(c)
    c.write("all.ptir", f"ptir 1\nmodule {target}\n" + "".join(HEAD.sub("", t) for t in texts.values()))
    by_kernel = c.run("compile", "all.ptir", "--stats=json", "-o", "all.ptx", want=0)
    ptx = c.read("all.ptx").decode()
    for looked in (["--print-after=all"], ["--emit=ptx", "--explain=layouts"]):
        by_pass = c.run("compile", "all.ptir", "--stats=json", "-o", "looked.ptx", *looked, want=0)
        assert c.read("looked.ptx").decode() == ptx, looked
        a, b = (json.loads(run.out)["passes"] for run in (by_kernel, by_pass))
        assert [{**p, "ns": 0} for p in a] == [{**p, "ns": 0} for p in b], (looked, a, b)
    for last in ("pipeline", "sync"):  # names of encodings are numbered pass by pass in all that is printed
        a, b = (c.run("compile", "all.ptir", f"--stop-after={last}", *emit, want=0).out
                for emit in ([], ["--emit=ir"]))
        assert a == b and "\nenc #" in a, last
    for name, text in texts.items():
        c.write("one.ptir", HEAD.sub(f"ptir 1\nmodule {target}\n", text))
        c.run("compile", "one.ptir", "-o", "one.ptx", want=0)
        assert body(c.read("one.ptx").decode(), name) == body(ptx, name), name


def the_same_on_sm_80(c):
    all_in_one(c, "sm_80")


def the_same_on_sm_90a(c):
    all_in_one(c, "sm_90a")


def an_error_is_of_its_kernel(c):
    """Wherever the kernel stands that a pass refuses, the message is the same."""
    good = "kernel @good%d(%%y: ptr<i32> [out, shape=(1)]) [warps=1] {\n  store %%y, 0\n  return\n}\n"
    source = (ROOT / "tests/filetests/layouts/mma-no-fragment.ptir").read_text()
    at = source.index("kernel @k")
    said = set()
    for n_before in range(3):
        parts = [good % i for i in range(2)]
        parts.insert(n_before, source[at:])
        c.write("bad.ptir", source[:at] + "".join(parts))
        for looked in ([], ["--verify=each"]):
            run = c.run("compile", "bad.ptir", "-o", "bad.ptx", *looked, want=1)
            said.add(re.sub(r"bad\.ptir:\d+", "bad.ptir", run.err.split("\n")[0]))
            assert not (c.dir / "bad.ptx").exists()
    assert len(said) == 1 and "PG2022" in said.pop(), said


if __name__ == "__main__":
    harness.main([the_same_on_sm_80, the_same_on_sm_90a, an_error_is_of_its_kernel])
