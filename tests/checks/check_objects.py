#!/usr/bin/env python3
"""check_objects.py LIBPTXGEN.a: no forbidden symbol, no writable static, and of modest size."""
import re
import subprocess
import sys

import repo

FORBIDDEN = re.compile(
    r"^(abort|exit|_exit|_Exit|quick_exit|atexit|assert|__assert_fail|(v|f|d|vf|vd)?printf"
    r"|__(v|f|vf)?printf_chk|puts|fputs|putchar|putc|fputc|perror|fwrite|fopen|open|read|write|stdout"
    r"|stderr|getenv|secure_getenv|setenv|setlocale|localeconv|strto(d|f|ld)|ato[fil]l?"
    r"|_?setjmp|__sigsetjmp|_?longjmp|__longjmp_chk|signal|sigaction|raise|kill|system|v?fork"
    r"|exec(v|l|ve|vp|lp|le|vpe)|posix_spawnp?|popen|time|clock|rand|srand)$")
MAX_TEXT = 2 << 20


def run(*args):
    return subprocess.run(args, capture_output=True, text=True, check=True).stdout


def undefined(archive):
    member = "?"
    for line in run("nm", "-A", "-u", archive).splitlines():
        m = re.search(r":([^:]+):\s+[Uwv] (\S+)$", line)
        if m:
            member, symbol = m.groups()
            yield member, symbol


def sections(archive):
    """(member, section, size) of every section that the program could write to."""
    member = "?"
    for line in run("readelf", "-SW", archive).splitlines():
        m = re.match(r"File: .*\((.*)\)$", line)
        if m:
            member = m.group(1)
            continue
        m = re.match(r"\s*\[\s*\d+\] (\S+)\s+(\S+)\s+\S+ \S+ (\S+) \S+\s+(\S*)", line)
        if m:
            yield member, m.group(1), int(m.group(3), 16), m.group(4)


def main():
    archive = sys.argv[1]
    results = repo.Results()
    names = list(undefined(archive))
    if any(s.startswith(("__asan_", "__ubsan_", "__tsan_")) for _, s in names):
        repo.skip("a sanitizer's build has symbols and data of its own")
    results.case([f"{m}: uses {s}" for m, s in names if FORBIDDEN.match(s.split("@")[0])])
    writable, text_size = [], 0
    for member, section, size, flags in sections(archive):
        if "X" in flags or section.startswith(".rodata"):
            text_size += size
        relro = section.startswith(".data.rel.ro")  # constant tables that hold pointers
        if "W" in flags and size and not relro and not section.startswith(
                (".init_array", ".fini_array")):
            writable.append(f"{member}: {size} bytes in {section}: the library has no writable state")
    results.case(writable)
    common = [line for line in run("nm", "-A", archive).splitlines()
              if re.search(r" [Cc] \S+$", line)]
    results.case([f"{c}: a common symbol" for c in common])
    results.case([f"{text_size} bytes of code and constants, limit {MAX_TEXT}"]
                 if text_size > MAX_TEXT else [])
    results.finish()


if __name__ == "__main__":
    main()
