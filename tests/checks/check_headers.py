#!/usr/bin/env python3
"""Every public function, type and enumeration is documented: a comment stands before it, or before
the run of declarations that it belongs to (declarations without an empty line between them, of one
comment), or behind it on its line.

The rule for functions is stricter than for types: one comment serves at most three functions in a
row, or a comment that says of what it speaks ("All give ..."): a section's banner.
"""
import re

import repo

HEADERS = ("kernels/kernels.h", "ptxgen/include/ptxgen.h", "ptxgen/include/ptxgen_build.h",
           "tools/asm/ptxasm.h", "tools/exec/ptxexec.h")
MOST = 3


def items(text):
    """('comment' | 'blank' | 'code', line, text) of a header, declarations joined."""
    at, lines = 0, text.splitlines()
    while at < len(lines):
        start, line = at, lines[at]
        at += 1
        if line.startswith("/*"):
            while "*/" not in lines[at - 1]:
                at += 1
            yield "comment", start + 1, "\n".join(lines[start:at])
        elif not line.strip():
            yield "blank", start + 1, ""
        elif line in ("extern \"C\" {", "}"):
            yield "directive", start + 1, line
        elif line.startswith("#"):
            while lines[at - 1].endswith("\\"):
                at += 1
            yield "directive", start + 1, line
        else:
            depth = line.count("{") - line.count("}")
            while at < len(lines) and (depth > 0 or not re.search(r"[;}]\s*(/\*.*)?$", lines[at - 1])):
                depth += lines[at].count("{") - lines[at].count("}")
                at += 1
            while "/*" in lines[at - 1] and "*/" not in lines[at - 1]:
                at += 1
            yield "code", start + 1, "\n".join(lines[start:at])


def check(name):
    found = []
    has_comment, served = False, 0
    for kind, line, text in items(repo.text(name)):
        if kind == "comment":
            # A banner is a title; a title alone says nothing of a function.
            has_comment, served = not re.fullmatch(r"/\* -{3,}.*", text, re.S), 0
        elif kind in ("blank", "directive"):
            has_comment = False
        elif kind == "code" and re.search(r"_API\b", text):
            function = re.search(r"\b(\w+)\(", text.replace("__attribute__", ""))
            served += 1
            if "/*" in text:  # one of its own
                served -= 1
            elif not has_comment or served > MOST:
                found.append(f"{name}:{line}: {function.group(1)} is not documented")
        elif re.match(r"typedef (struct|enum) \w+ \{|enum \{", text):
            if not has_comment and "/*" not in text:
                found.append(f"{name}:{line}: {text.splitlines()[0]}: not documented")
            has_comment = False
    return found


if __name__ == "__main__":
    results = repo.Results()
    for header in HEADERS:
        results.case(check(header))
    results.finish()
