/* `ptxgen layout`: what an encoding means, as a table, a picture or JSON. */
#include <string.h>

#include "tools/run/file.h"

#include "cli.h"

/* 128x64 into extents; false if it is something else. */
static bool parse_shape(const char *text, ptxgen_layout_query *q)
{
    while (q->rank < PG_COUNT_OF(q->shape)) {
        size_t n = strcspn(text, "x");
        uint64_t extent = 0;
        if (!pg_parse_u64((pg_str){text, n}, &extent) || extent == 0 || extent > INT32_MAX) {
            return false;
        }
        q->shape[q->rank++] = (int32_t)extent;
        if (text[n] == '\0') {
            return true;
        }
        text += n + 1;
    }
    return false;
}

static run_exit read_query(const cli *c, ptxgen_layout_query *q)
{
    const char *elem = c->values[CLI_OPT_ELEM], *shape = c->values[CLI_OPT_SHAPE];
    *q = (ptxgen_layout_query){.struct_size = sizeof *q};
    if (elem != NULL) {
        q->elem = (ptxgen_str){elem, strlen(elem)};
    }
    if (shape != NULL && !parse_shape(shape, q)) {
        return run_fail(&c->msgs, RUN_USAGE, RUN_MSG_USAGE_VALUE, NULL, shape, "--shape", "128x64",
                        "");
    }
    uint64_t n_warps = c->numbers[CLI_OPT_WARPS];
    q->n_warps = n_warps > UINT32_MAX ? UINT32_MAX : (uint32_t)n_warps;
    return RUN_OK;
}

static run_exit put(const cli *c, const char *path, const ptxgen_result *r, ptxgen_layout_form form)
{
    const ptxgen_str text = ptxgen_result_layout(r, form);
    return run_write_file(&c->msgs, path, (pg_str){text.ptr, text.len}, PG_STR(""));
}

run_exit cli_layout(cli *c)
{
    const char *svg = c->values[CLI_OPT_OUTPUT];
    ptxgen_layout_query query;
    ptxgen_ctx *ctx = NULL;
    ptxgen_result *r = NULL;
    run_exit status = read_query(c, &query);
    if (status == RUN_OK && ptxgen_ctx_create(NULL, &ctx) != PTXGEN_OK) {
        status = run_fail(&c->msgs, RUN_TOOL, RUN_MSG_NO_MEMORY, NULL);
    }
    if (status == RUN_OK) {
        const ptxgen_str text = {c->operand, strlen(c->operand)};
        status = cli_exit_of(ptxgen_describe_layout(ctx, text, &query, &r));
        cli_print_diags(c, "<encoding>", c->operand, r);
    }
    if (status == RUN_OK) {
        bool is_json = c->values[CLI_OPT_JSON] != NULL;
        status = put(c, "-", r, is_json ? PTXGEN_LAYOUT_JSON : PTXGEN_LAYOUT_TABLE);
    }
    if (status == RUN_OK && svg != NULL) {
        status = put(c, svg, r, PTXGEN_LAYOUT_SVG);
    }
    ptxgen_result_destroy(r);
    ptxgen_ctx_destroy(ctx);
    return status;
}
