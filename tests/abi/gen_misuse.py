#!/usr/bin/env python3
"""gen_misuse.py OUT.c: a program that calls every public function wrongly, each call in a process of its own.

The calls are made from the prototypes of the headers, so that a new function is among them. Objects are missing or
live, pointers are null or lead to room that is zero, numbers are 0, 1 or as large as they can be. What the library
does with them is its own matter, so long as it returns.
"""
import re
import sys

import check_abi

# How a live object is made, in the order in which they need each other.
OBJECTS = {
    "ptxgen_ctx": "check(ptxgen_ctx_create(NULL, &live.ptxgen_ctx_));",
    "ptxgen_module": "check(ptxgen_module_create(live.ptxgen_ctx_, (ptxgen_str){\"sm_90a\", 6}, &live.ptxgen_module_));",
    "ptxgen_builder": "check(ptxgen_kernel_begin(live.ptxgen_module_, \"k\", &live.ptxgen_builder_));",
    "ptxgen_result": "check(ptxgen_compile(live.ptxgen_ctx_, (ptxgen_str){ir, sizeof ir - 1}, NULL, &live.ptxgen_result_));",
    "ptxexec_module": "check((int)ptxexec_module_load(NULL, ptx, sizeof ptx - 1, &live.ptxexec_module_));",
    "ptxexec_device": "check((int)ptxexec_device_create(NULL, &live.ptxexec_device_));",
    "ptxexec_report": "const ptxexec_launch_options o = {.struct_size = sizeof o, .grid = {1, 1, 1}, .block = {1, 1, 1}};\n"
                      "    check((int)ptxexec_launch(live.ptxexec_device_, live.ptxexec_module_, &o, &live.ptxexec_report_));",
}

HEAD = '''/* Made by gen_misuse.py from the public headers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

'''

BODY = '''
static const char ir[] = "ptir 1\\nmodule sm_80\\nkernel @k() [warps=1] {\\n  return\\n}\\n";
static const char ptx[] = ".version 8.0\\n.target sm_80\\n.address_size 64\\n.visible .entry k()\\n{\\n\\tret;\\n}\\n";

static struct {
%s} live;
static _Alignas(64) unsigned char room[65536];

static void check(int status)
{
    if (status != 0) {
        (void)printf("an object could not be made: %%d\\n", status);
        exit(3);
    }
}

static void make_objects(void)
{
    %s
}

'''

MAIN = '''
static const struct {
    const char *what;
    void (*call)(void);
} cases[] = {
%s};

int main(void)
{
    unsigned n_failed = 0;
    const unsigned n = (unsigned)(sizeof cases / sizeof *cases);
    make_objects();
    for (unsigned i = 0; i < n; i++) {
        int status = 0;
        const pid_t child = fork();
        if (child == 0) {
            (void)alarm(20);
            cases[i].call();
            _exit(0);
        }
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
            (void)printf("FAILED %%s: ended with %%#x\\n", cases[i].what, (unsigned)status);
            n_failed++;
        }
    }
    (void)printf("%%u passed, %%u failed\\n", n - n_failed, n_failed);
    ptxexec_report_destroy(live.ptxexec_report_);
    ptxexec_device_destroy(live.ptxexec_device_);
    ptxexec_module_destroy(live.ptxexec_module_);
    ptxgen_result_destroy(live.ptxgen_result_);
    ptxgen_module_destroy(live.ptxgen_module_);
    ptxgen_ctx_destroy(live.ptxgen_ctx_);
    return n_failed != 0;
}
'''

NUMBERS = {"uint32_t": "UINT32_MAX", "uint64_t": "UINT64_MAX", "size_t": "SIZE_MAX", "int64_t": "INT64_MIN", "int32_t": "INT32_MIN",
           "double": "1e300"}
IDS = {"ptxgen_value", "ptxgen_type", "ptxgen_encoding"}


def prototypes():
    """(name, [type of each parameter]) of each public function."""
    for header in check_abi.HEADERS:
        for text in re.findall(r"PTX(?:GEN|EXEC)_API\b([^;]*);", check_abi.code(header)):
            text = " ".join(text.split())
            name, rest = re.search(r"(ptx(?:gen|exec)_\w+) ?\((.*)\)$", text).groups()
            parts = [] if rest == "void" else [p.strip() for p in rest.split(",")]
            types = []
            for part in parts:
                array = re.match(r"(.*\w) \w+\[\w*\]$", part)
                types.append(array.group(1) + " *" if array else re.match(r"(.*?[ *])\w+$", part).group(1).strip())
            yield name, types


def argument(kind, how):
    """One argument: `how` is null, live, huge or room."""
    base = kind.replace("const", "").replace("*", "").strip()
    if kind.endswith("*"):
        if base in OBJECTS and kind.count("*") == 1:
            return "NULL" if how == "null" else f"live.{base}_"
        if how != "room":
            return "NULL"
        return '"x"' if kind == "const char *" else f"({kind})(void *)room"
    if base in NUMBERS:
        return {"huge": NUMBERS[base], "room": "1"}.get(how, "0")
    if base in IDS:
        return "(%s){%s}" % (base, "UINT32_MAX" if how == "huge" else "0" if how in ("null", "live") else "1")
    if base == "ptxgen_str":
        return "(ptxgen_str){%s}" % ('"x", 1' if how == "room" else "NULL, 0")
    return f"({base}){999 if how == 'huge' else 0}"  # an enumerator


def main():
    calls, cases = "", ""
    for name, types in prototypes():
        for how in ("null", "live", "huge", "room"):
            arguments = [argument(t, how) for t in types]
            text = f"{name}({', '.join(arguments)})"
            calls += f"static void {name}_{how}(void)\n{{\n    UNUSED({text});\n}}\n"
            cases += '    {"%s", %s_%s},\n' % (text.replace('"', "'"), name, how)
    void = set(re.findall(r"_API void (ptx\w+)", " ".join(" ".join(check_abi.code(h).split()) for h in check_abi.HEADERS)))
    for name in void:
        calls = re.sub(rf"UNUSED\(({name}\(.*\))\);", r"\1;", calls)
    calls = re.sub(r"UNUSED\((.*)\);", r"if (sizeof(\1) != 0) {\n        __typeof__(\1) got = \1;\n        (void)got;\n    }", calls)
    includes = "".join(f'#include "{check_abi.ROOT / h}"\n' for h in check_abi.HEADERS)
    fields = "".join(f"    {o} *{o}_;\n" for o in OBJECTS)
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        out.write(HEAD + includes + BODY % (fields, "\n    ".join(OBJECTS.values())) + calls + MAIN % cases)


if __name__ == "__main__":
    main()
