/* explain.c: what --explain says of a pass's choices, a line each. */
#include "sched/pass.h"

void pg_pass_explain(const pg_pass_env *env, const char *pass, const pg_kernel *k,
                     const pg_inst *at, const char *format, ...)
{
    if (!pg_pass_explains(env, pass)) {
        return;
    }
    pg_strbuf line;
    va_list args;
    pg_strbuf_init(&line, k->module->ctx->alloc);
    pg_putf(&line, "%s: @%s: line %u: %s: ", pass, pg_sym_text(&k->module->ctx->syms, k->name).ptr,
            at->loc.line, pg_op_infos[at->op].text);
    va_start(args, format);
    pg_putv(&line, format, args);
    va_end(args);
    pg_put_char(&line, '\n');
    pg_sink_put(&env->options->sink, pg_strbuf_str(&line));
    pg_strbuf_fini(&line);
}
