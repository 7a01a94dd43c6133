#!/usr/bin/env python3
"""check_abi.py LIBPTXGEN.so [--write]: what users of the library compile and link against.

Each public header compiles alone, as C99, C11 and C++11, without a warning; the shared library
exports the symbols of tests/abi/symbols.txt and no other.  `--write` writes that list again: a
symbol that goes away, or changes its meaning, breaks programs that are out there.
"""
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
HEADERS = ("ptxgen/include/ptxgen.h", "ptxgen/include/ptxgen_build.h", "tools/exec/ptxexec.h")
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]


def languages():
    yield "C99", ["gcc", "-x", "c", "-std=c99", "-Wstrict-prototypes"]
    yield "C11", ["gcc", "-x", "c", "-std=c11", "-Wstrict-prototypes"]
    cxx = "g++" if shutil.which("g++") else "clang"
    yield "C++11", [cxx, "-x", "c++", "-std=c++11"]


def exported(library):
    out = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True,
                         check=True).stdout
    return sorted(m.group(1) for m in re.finditer(r"^\w+ [TBDRVW] ([^@\s]+)", out, re.M))


def main():
    passed = failed = 0
    for header in HEADERS:
        path = ROOT / header
        if not path.exists():
            print(f"{header}: not there")
            failed += 1
            continue
        for language, command in languages():
            r = subprocess.run(
                command + WARNINGS + ["-fsyntax-only", "-I", str(ROOT / "ptxgen/include"),
                                      "-include", str(path), "-"],
                input="typedef int pg_not_empty;\n", capture_output=True, text=True, check=False)
            if r.returncode:
                print(f"{header} as {language}:\n{r.stderr}")
                failed += 1
            else:
                passed += 1

    listed = HERE / "symbols.txt"
    have = exported(sys.argv[1])
    if "--write" in sys.argv:
        listed.write_text("\n".join(have) + "\n")
    want = listed.read_text().split() if listed.exists() else []
    problems = [f"{s}: exported, but not in tests/abi/symbols.txt" for s in have if s not in want]
    problems += [f"{s}: in tests/abi/symbols.txt, but not exported" for s in want if s not in have]
    problems += [f"{s}: a public name starts with ptxgen_" for s in have
                 if not s.startswith("ptxgen_")]
    if problems:
        print("\n".join(problems))
        failed += 1
    else:
        passed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
