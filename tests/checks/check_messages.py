#!/usr/bin/env python3
"""Messages get the arguments that their rows of diags.def ask for.

The compiler sees to it, since PG_CHECK_TEXT (base/diag.h) shows it the text of the row that a call
names. Here: that it does so, for each function that fills a row, and that nobody goes around it.

  check_messages.py COMPILER...
"""
import re
import subprocess
import sys

import repo

# Behind the macros; calls of them are not checked. None is called in a .c file, but by its macro.
BEHIND = re.compile(r"^[ \t]+.*\b((?:pg_diag_add|pg_verify_error|pg_rt_fault|run_fail)_row(?:_at)?)\(", re.M)

HEAD = """
#include "ir/interp_int.h"
#include "ir/verify.h"
#include "ptxgen/build.h"
#include "tools/run/message.h"
void f(pg_diags *d, pg_verifier *v, pg_machine *m, ptxgen_builder *b, const run_msgs *msgs,
       const pg_inst *i, pg_loc at, uint64_t x, uint32_t n, const char *s, pg_str str);
void f(pg_diags *d, pg_verifier *v, pg_machine *m, ptxgen_builder *b, const run_msgs *msgs,
       const pg_inst *i, pg_loc at, uint64_t x, uint32_t n, const char *s, pg_str str)
{
"""
GOOD = """
    (void)pg_diag_add(d, PG_D_AFTER_TERM, at, s);
    (void)pg_diag_add(d, PG_D_MMA_TYPES, at, s, s, s, s);
    (void)pg_diag_add(d, PG_D_BAD_INT, at, PG_STR_ARG(str));
    (void)pg_diag_add(d, PG_D_PART_PLACE, at);
    pg_verify_error(v, PG_D_PART_COUNT, at, n, n);
    (void)pg_rt_fault(m, PG_D_RUN_TOKEN, i);
    (void)pg_rt_fault(m, PG_D_RUN_STEP_LIMIT, i, (unsigned long long)x);
    pg_build_fail(b, PG_D_BUILD_TYPE, n, s);
    (void)run_fail(msgs, RUN_INPUT, RUN_MSG_NO_KERNEL, NULL, s, s);
    (void)run_fail_at(msgs, RUN_INPUT, RUN_MSG_ENTRY_NONE, s, n);
"""
# One a line, each wrong: a missing argument, one too many, one of another type, no row.
BAD = """
    (void)pg_diag_add(d, PG_D_AFTER_TERM, at);
    (void)pg_diag_add(d, PG_D_MMA_TYPES, at, s, s, s);
    (void)pg_diag_add(d, PG_D_BAD_INT, at, s);
    (void)pg_diag_add(d, PG_D_PART_PLACE, at, s);
    (void)pg_diag_add(d, n ? PG_D_PART_PLACE : PG_D_IN_ELECT, at);
    pg_verify_error(v, PG_D_PART_COUNT, at, n, s);
    (void)pg_rt_fault(m, PG_D_RUN_TOKEN, i, n);
    (void)pg_rt_fault(m, PG_D_RUN_STEP_LIMIT, i, n);
    pg_build_fail(b, PG_D_BUILD_TYPE, s);
    (void)run_fail(msgs, RUN_INPUT, RUN_MSG_NO_KERNEL, NULL, s);
    (void)run_fail_at(msgs, RUN_INPUT, RUN_MSG_NO_KERNEL, s, n);
"""


def refused(compiler, body):
    """Lines of the body, from 1, that the compiler does not take."""
    where = [f"-I{repo.ROOT / d}" for d in (".", "ptxgen", "ptxgen/include")]
    done = subprocess.run([*compiler, "-std=c11", "-fsyntax-only", "-Wall", "-Wformat=2", "-Werror",
                           *where, "-x", "c", "-"],
                          input=HEAD + "#line 1 \"body\"" + body + "}\n", capture_output=True,
                          text=True, check=False)
    if done.returncode != 0 and "body:" not in done.stderr:
        sys.exit(done.stderr)
    return {int(n) for n in re.findall(r"^body:(\d+):\d+: error", done.stderr, re.M)}


def main():
    results = repo.Results()
    for body, wanted in ((GOOD, set()), (BAD, set(range(1, BAD.count("\n"))))):
        got = refused(sys.argv[1:], body)
        lines = body.splitlines()
        results.case([f"the compiler {'refuses' if n in got else 'takes'}: {lines[n].strip()}"
                      for n in sorted(got ^ wanted)])
    for name in repo.files():
        if name.endswith(".c"):
            text = repo.text(name)
            results.case([f"{name}:{text.count(chr(10), 0, m.start()) + 1}: {m.group(1)} is called by "
                          "its macro, which checks the arguments" for m in BEHIND.finditer(text)])
    results.finish()


if __name__ == "__main__":
    main()
