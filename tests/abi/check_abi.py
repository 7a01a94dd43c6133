#!/usr/bin/env python3
"""check_abi.py LIBPTXGEN.so [--write]: what users of the library compile and link against.

- Each public header compiles alone, as C99, C11, C++11 and C++17, without a warning.
- The shared library exports the symbols of symbols.txt and no other, all of them under the version
  that ptxgen.map gives, and the headers declare exactly these.
- Each public function stands behind a comment, or in a group of lines that begins with one.
- Sizes of structs, places of their fields and numbers of enumerators are those of layout.txt.

`--write` writes both lists again. New lines may come; one that goes away or changes breaks
programs that are out there.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LIBRARY_HEADERS = ("ptxgen/include/ptxgen.h", "ptxgen/include/ptxgen_build.h",
                   "kernels/kernels.h")
HEADERS = LIBRARY_HEADERS + ("tools/exec/ptxexec.h",)
INCLUDE = ["-I", str(ROOT / "ptxgen/include")]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]
VERSION = "PTXGEN_0"


def languages():
    yield "C99", ["gcc", "-x", "c", "-std=c99", "-Wstrict-prototypes"]
    yield "C11", ["gcc", "-x", "c", "-std=c11", "-Wstrict-prototypes"]
    cxx = "g++" if shutil.which("g++") else "clang"
    yield "C++11", [cxx, "-x", "c++", "-std=c++11"]
    yield "C++17", [cxx, "-x", "c++", "-std=c++17"]


def code(header):
    """A header's text without comments, preprocessor lines and what is for C++."""
    text = re.sub(r"/\*.*?\*/", " ", (ROOT / header).read_text(encoding="utf-8"), flags=re.S)
    text = re.sub(r"^#ifdef __cplusplus\n.*?^#endif\n", "", text, flags=re.S | re.M)
    return re.sub(r"^#(?:\\\n|.)*\n", "", text, flags=re.M)


def declared(header):
    return set(re.findall(r"\b(ptx(?:gen|exec)_\w+)\s*\(",
                          " ".join(re.findall(r"PTX(?:GEN|EXEC)_API\b[^;]*;", code(header)))))


def exported(library):
    """{name: version}"""
    out = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True,
                         check=True).stdout
    found = re.findall(r"^\w+ [TBDRVW] ([^@\s]+)(?:@@?(\S+))?", out, re.M)
    return {name: version for name, version in found}


def fields(body):
    """Names of a struct's fields."""
    for declaration in body.split(";"):
        pointer = re.search(r"\(\*(\w+)\)\s*\(", declaration)
        if pointer:
            yield pointer.group(1)
        elif declaration.strip():
            for part in declaration.split(","):
                yield re.search(r"(\w+)\s*(?:\[[^\]]*\]\s*)*$", part.strip()).group(1)


def layout():
    """Lines `what number` of the types that the headers define, as the compiler has them."""
    program = "".join(f'#include "{ROOT / h}"\n' for h in HEADERS) + "#include <stdio.h>\n"
    program += "int main(void) {\n"
    show = '    printf("%s %ld\\n", "{0}", (long){1});\n'
    for header in HEADERS:
        text = code(header)
        for name, body in re.findall(r"\bstruct (\w+) \{(.*?)\n\} \w+;", text, re.S):
            program += show.format(name, f"sizeof({name})")
            for field in fields(body):
                program += show.format(f"{name}.{field}", f"offsetof({name}, {field})")
        for body in re.findall(r"\benum (?:\w+ )?\{(.*?)\}", text, re.S):
            for name in re.findall(r"\b(PTX\w+)\b(?=\s*(?:=|,|$))", body):
                program += show.format(name, name)
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "layout.c"
        source.write_text(program + "    return 0;\n}\n")
        subprocess.run(["gcc", "-std=c11", *INCLUDE, source, "-o", source.with_suffix("")],
                       check=True)
        return subprocess.run([source.with_suffix("")], capture_output=True, text=True,
                              check=True).stdout.splitlines()


def check_languages():
    for header in HEADERS:
        for language, command in languages():
            done = subprocess.run(
                command + WARNINGS + INCLUDE + ["-fsyntax-only", "-include", str(ROOT / header),
                                                "-"],
                input="typedef int pg_not_empty;\n", capture_output=True, text=True, check=False)
            yield [f"{header} as {language}:\n{done.stderr}"] if done.returncode else []


def check_comments():
    for header in HEADERS:
        problems = []
        for group in re.split(r"\n\s*\n", (ROOT / header).read_text(encoding="utf-8")):
            group = re.sub(r"^/\* -+[^*]*\*/\s*", "", group)  # the title of a part
            for found in re.finditer(r"^PTX(?:GEN|EXEC)_API\b[^;]*?(ptx(?:gen|exec)_\w+)\s*\([^;]*;(.*)", group, re.M):
                if "/*" not in group[:found.start()] and "/*" not in found.group(2):
                    problems.append(f"{header}: {found.group(1)} has no comment")
        yield problems


def check_symbols(have, want):
    in_headers = set().union(*map(declared, LIBRARY_HEADERS))
    yield ([f"{s}: exported, but not in tests/abi/symbols.txt; `ninja -C build symbols`"
            for s in sorted(have) if s not in want]
           + [f"{s}: in tests/abi/symbols.txt, but not exported" for s in want if s not in have])
    yield [f"{s}: version {v or 'none'}, not {VERSION}" for s, v in have.items() if v != VERSION]
    yield ([f"{s}: exported, but no public header declares it" for s in have
            if s not in in_headers]
           + [f"{s}: declared, but not exported" for s in in_headers if s not in have])


def check_layout(have, want):
    yield ([f"tests/abi/layout.txt has `{line}`, the headers have not" for line in want
            if line not in have]
           + [f"{line}: not in tests/abi/layout.txt; `ninja -C build symbols`" for line in have
              if line not in want])


def main():
    lists = {"symbols.txt": exported(sys.argv[1]), "layout.txt": layout()}
    for name, lines in lists.items():
        if "--write" in sys.argv:
            text = "\n".join(sorted(lines) if name == "symbols.txt" else lines) + "\n"
            if not (HERE / name).exists() or (HERE / name).read_text() != text:
                (HERE / name).write_text(text)
    listed = {name: (HERE / name).read_text().splitlines() if (HERE / name).exists() else []
              for name in lists}
    passed = failed = 0
    for checks in (check_languages(), check_comments(), check_symbols(lists["symbols.txt"], listed["symbols.txt"]),
                   check_layout(lists["layout.txt"], listed["layout.txt"])):
        for problems in checks:
            failed += bool(problems)
            passed += not problems
            print("\n".join(problems), end="\n" if problems else "")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
