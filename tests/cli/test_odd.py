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


if __name__ == "__main__":
    harness.main([case(path) for path in ODD])
