#!/usr/bin/env python3
"""Rules on the source text: who includes whom, sizes, table shape, guards, no machine's paths."""
import re

import repo

PUBLIC = {"ptxgen/include/ptxgen.h", "ptxgen/include/ptxgen_build.h"}
KERNEL_LIST = "kernels/kernels.h"  # the list of library kernels that programs may see

# Folder -> folders that its files may include from; downward only.  A folder always sees itself.
MAY_INCLUDE = {
    "ptxgen/include": set(),
    "ptxgen/base": set(),
    "ir": {"ptxgen/base"},
    "sched": {"ptxgen/base", "ir"},
    "emit": {"ptxgen/base", "ir"},
    "kernels": set(),
    "ptxgen": {"ptxgen/base", "ir", "sched", "emit"},
    "tools/asm": {"ptxgen/base"},
    "tools/exec": {"ptxgen/base"},
    "tools/run": {"ptxgen/base"},
    "tools/sass": {"ptxgen/base"},
    "tools/share": set(),
    "ptxgen/cli": set(),
}
# Folders that the public headers are not for.
NO_PUBLIC = {"ptxgen/base", "tools/exec"}
# Single headers that may be seen across a border, by pattern.
ALSO = {
    "ptxgen": [KERNEL_LIST],
    "tools/exec": [r"emit/ptx\w*\.(h|def)"],
    "tools/run": [KERNEL_LIST, r"tools/(asm|exec)/\w+\.h"],
    "tools/sass": [r"tools/asm/child\.h"],
    "ptxgen/cli": [KERNEL_LIST, r"tools/\w+/\w+\.h"],
    "tools/share": [KERNEL_LIST, r"ptxgen/cli/table\.h", r"ir/(attrs|ops|types)\.def"],
    "kernels": [],
}
# The library needs libc and libm only: no output, environment, locale, processes, or jumps.
LIBRARY_SYSTEM = {
    "float.h", "inttypes.h", "limits.h", "math.h", "stdalign.h", "stdarg.h", "stdatomic.h",
    "stdbool.h", "stddef.h", "stdint.h", "stdlib.h", "string.h",
}
MAX_LINES = 800
MAX_PUBLIC_LINES = 400
MAX_COLUMNS = 100


def check_layers(name):
    layer = repo.folder(name)
    if layer not in MAY_INCLUDE:
        return []
    found = []
    for line, is_system, spelled in repo.includes(name):
        where = f"{name}:{line}:"
        path = repo.resolve(name, spelled)
        if path is None and "ptxgen/include/" + spelled in PUBLIC:
            path = "ptxgen/include/" + spelled
        if path is None:
            if not is_system:
                found.append(f"{where} \"{spelled}\" is no file of the project")
            elif layer in repo.LIBRARY and spelled not in LIBRARY_SYSTEM:
                found.append(f"{where} the library does not use <{spelled}>")
            continue
        target = repo.folder(path)
        if path in PUBLIC:
            allowed = layer not in NO_PUBLIC
        else:
            allowed = (target == layer or target in MAY_INCLUDE[layer]
                       or any(re.fullmatch(p, path) for p in ALSO.get(layer, [])))
        if not allowed:
            found.append(f"{where} {layer} must not include {path}")
    return found


def check_size(name):
    lines = repo.text(name).count("\n")
    limit = MAX_PUBLIC_LINES if name in PUBLIC else MAX_LINES
    found = [f"{name}:{lines}: longer than {limit} lines; split it"] if lines > limit else []
    # clang-format leaves comments as they are written: it would run lists together. Tables that it
    # leaves alone too may be wider.
    body = re.sub(r"/\* clang-format off \*/.*?/\* clang-format on \*/",
                  lambda m: "\n" * m.group(0).count("\n"), repo.text(name), flags=re.S)
    return found + [f"{name}:{n}: a comment longer than {MAX_COLUMNS} columns"
                    for n, line in enumerate(body.splitlines(), 1)
                    if len(line) > MAX_COLUMNS and re.match(r"\s*(\*|/\*|//).*[A-Za-z]", line)]


def check_guard(name):
    m = re.search(r"^#ifndef (\w+)\n#define (\w+)\n", repo.text(name), re.M)
    if not m or m.group(1) != m.group(2):
        return [f"{name}:1: no include guard (#ifndef X / #define X)"]
    return []


def rows(body):
    """(line, macro, columns) for each NAME(...) that starts a line of a table."""
    code = re.sub(r'("(?:[^"\\\n]|\\.)*")|/\*.*?\*/|//[^\n]*',
                  lambda m: m.group(1) or re.sub(r"[^\n]", " ", m.group(0)), body, flags=re.S)
    for m in re.finditer(r"^([A-Z][A-Z0-9_]*)\(", code, re.M):
        depth, columns, i, in_string, empty = 1, 1, m.end(), False, True
        while i < len(code) and depth:
            c = code[i]
            if in_string:
                if c == "\\":
                    i += 1
                elif c == '"':
                    in_string = False
            elif c == '"':
                in_string, empty = True, False
            elif c in "([{":
                depth += 1
            elif c in ")]}":
                depth -= 1
            elif c == "," and depth == 1:
                columns += 1
            elif not c.isspace():
                empty = False
            i += 1
        yield code.count("\n", 0, m.start()) + 1, m.group(1), 0 if empty else columns, depth


def check_table(name):
    found, width, keys = [], {}, {}
    for line, macro, columns, depth in rows(repo.text(name)):
        if depth:
            found.append(f"{name}:{line}: {macro}( is not closed")
        elif columns != width.setdefault(macro, columns):
            found.append(f"{name}:{line}: {macro} has {columns} columns, before {width[macro]}")
    body = repo.text(name)
    for macro in width:
        if not re.search(rf"^#undef {macro}\b", body, re.M):
            found.append(f"{name}:1: no `#undef {macro}` at the end")
    # The first column names the row, once.
    for m in re.finditer(r"^([A-Z][A-Z0-9_]*)\(\s*(\w+)\s*,", body, re.M):
        line = body.count("\n", 0, m.start()) + 1
        key = (m.group(1), m.group(2))
        if name.endswith(("ops.def", "diags.def", "passes.def")) and key in keys:
            found.append(f"{name}:{line}: {m.group(2)} is already at line {keys[key]}")
        keys[key] = line
    return found


# Paths of the machine that a file was written on.  Built in parts, or this line would match.
MACHINE = re.compile(r"(?<![\w./~}*-])/(" + "|".join(["ro" "ot", "wo" "rk", "ho" "me", "Us" "ers"])
                     + r")/\w")


def check_paths(name):
    return [f"{name}:{n}: a path of one machine: {line.strip()[:80]}"
            for n, line in enumerate(repo.text(name).splitlines(), 1) if MACHINE.search(line)]


def main():
    results = repo.Results()
    for name in repo.files():
        if name.endswith((".c", ".h")):
            results.case(check_layers(name) + check_size(name))
        if name.endswith(".h"):
            results.case(check_guard(name))
        if name.endswith(".def"):
            results.case(check_table(name))
        if not name.endswith((".npy", ".png", ".cubin")):
            results.case(check_paths(name))
    results.finish()


if __name__ == "__main__":
    main()
