/* expr.h: integer expressions of the launch manifest: names, integers, + - * / %, unary minus,
 * ceildiv(a, b), min(a, b), max(a, b), parentheses. Division truncates, ceildiv rounds up. */
#ifndef PG_RUN_EXPR_H
#define PG_RUN_EXPR_H

#include "base/base.h"

typedef struct run_name {
    pg_str name;
    int64_t value;
} run_name;

typedef struct run_names {
    const run_name *at;
    size_t n;
} run_names;

/* False with a reason (static text; *culprit is what it speaks of, a part of `text`) on bad syntax,
 * an unknown name, overflow, division by zero. */
PG_CHECKED bool run_expr_eval(pg_str text, const run_names *names, int64_t *out,
                              const char **reason, pg_str *culprit);

#endif
