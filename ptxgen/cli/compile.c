/* `ptxgen compile`, and what the other commands share with it. */
#include <string.h>
#include <time.h>

#include "kernels/kernels.h"

#include "cli.h"

#define DEFAULT_KERNEL_TARGET "sm_80"

static ptxgen_str text_of(const char *s)
{
    return (ptxgen_str){s, s == NULL ? 0 : strlen(s)};
}

static uint64_t now_ns(void *user)
{
    struct timespec t;
    (void)user;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void write_to_stderr(void *user, const char *bytes, size_t size)
{
    (void)user;
    (void)fwrite(bytes, 1, size, stderr);
}

static bool has_word(const char *list, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = list; at != NULL && *at != '\0'; at += *at == ',') {
        size_t n = strcspn(at, ",");
        if (n == len && memcmp(at, word, n) == 0) {
            return true;
        }
        at += n;
    }
    return false;
}

static run_exit check_arch(cli *c)
{
    const char *arch = c->values[CLI_OPT_ARCH];
    if (arch == NULL) {
        return RUN_OK;
    }
    pg_strbuf known;
    pg_strbuf_init(&known, pg_alloc_default());
    bool is_known = false;
    pg_nearest near = pg_nearest_of(pg_str_of(arch));
    for (size_t i = 0; ptxgen_target_name(i) != NULL; i++) {
        pg_nearest_try(&near, pg_str_of(ptxgen_target_name(i)));
        is_known = is_known || strcmp(ptxgen_target_name(i), arch) == 0;
        pg_putf(&known, "%s%s", i == 0 ? "" : " ", ptxgen_target_name(i));
    }
    run_exit status = RUN_OK;
    if (!is_known) {
        status = run_fail(&c->msgs, RUN_USAGE, RUN_MSG_USAGE_VALUE, NULL, arch, "--arch",
                          pg_strbuf_str(&known).ptr, run_suggestion(&c->arena, &near));
    }
    pg_strbuf_fini(&known);
    return status;
}

run_exit cli_options(cli *c, ptxgen_options *out)
{
    const char *const *v = c->values;
    const run_pairs sets = cli_pairs(c, CLI_OPT_SET);
    ptxgen_setting *settings = PG_NEWS(&c->arena, ptxgen_setting, sets.n);
    if (settings == NULL) {
        return run_fail(&c->msgs, RUN_TOOL, RUN_MSG_NO_MEMORY, NULL);
    }
    for (size_t i = 0; i < sets.n; i++) {
        settings[i] = (ptxgen_setting){text_of(sets.at[i].name), text_of(sets.at[i].value)};
    }
    const char *checks = v[CLI_OPT_CHECKS];
    *out = (ptxgen_options){
        .struct_size = sizeof *out,
        .target = text_of(v[CLI_OPT_ARCH]),
        .passes = text_of(v[CLI_OPT_PASSES]),
        .stop_after = text_of(v[CLI_OPT_STOP_AFTER]),
        .print_after = text_of(v[CLI_OPT_PRINT_AFTER]),
        .explain = text_of(v[CLI_OPT_EXPLAIN]),
        .emit = v[CLI_OPT_EMIT] != NULL && strcmp(v[CLI_OPT_EMIT], "ir") == 0 ? PTXGEN_EMIT_IR
                                                                              : PTXGEN_EMIT_PTX,
        .verify = v[CLI_OPT_VERIFY] != NULL && strcmp(v[CLI_OPT_VERIFY], "each") == 0
                      ? PTXGEN_VERIFY_EACH
                      : PTXGEN_VERIFY_END,
        .checks = (has_word(checks, "roundtrip") ? (uint32_t)PTXGEN_CHECK_ROUNDTRIP : 0) |
                  (has_word(checks, "clone") ? (uint32_t)PTXGEN_CHECK_CLONE : 0) |
                  (has_word(checks, "twice") ? (uint32_t)PTXGEN_CHECK_TWICE : 0),
        .flags = v[CLI_OPT_PASS_LIMIT] != NULL ? (uint32_t)PTXGEN_LIMIT_PASSES : 0,
        .pass_limit = c->numbers[CLI_OPT_PASS_LIMIT] > UINT32_MAX
                          ? UINT32_MAX
                          : (uint32_t)c->numbers[CLI_OPT_PASS_LIMIT],
        .shuffle = c->numbers[CLI_OPT_SHUFFLE],
        .settings = settings,
        .n_settings = sets.n,
        .sink = {NULL, write_to_stderr},
        .clock_ns = now_ns,
        .line_info = text_of(v[CLI_OPT_LINE_INFO] != NULL ? c->operands[0] : NULL),
    };
    return check_arch(c);
}

void cli_print_diags(const cli *c, const char *file, const char *source, const ptxgen_result *r)
{
    run_print_result(&c->msgs, file, source, r);
    size_t dropped = ptxgen_result_diag_dropped(r);
    if (dropped != 0) {
        (void)fprintf(stderr, "%s: %llu more messages not shown\n", file,
                      (unsigned long long)dropped);
    }
}

run_exit cli_exit_of(ptxgen_status status)
{
    switch (status) {
    case PTXGEN_OK: return RUN_OK;
    case PTXGEN_E_NOMEM: return RUN_TOOL;
    case PTXGEN_E_MISUSE: return RUN_USAGE;
    case PTXGEN_E_PARSE:
    case PTXGEN_E_INVALID:
    case PTXGEN_E_UNSUPPORTED:
    case PTXGEN_E_RESOURCE: return RUN_INPUT;
    case PTXGEN_E_INTERNAL:
    default: return RUN_DEFECT;
    }
}

static double ms(uint64_t ns)
{
    return (double)ns / 1e6;
}

static void print_times(const char *what, const ptxgen_result *r, const ptxgen_stats *s)
{
    (void)fprintf(stderr, "%s: %llu operations, %llu bytes of PTX, %.3f ms\n", what,
                  (unsigned long long)s->n_ops, (unsigned long long)s->ptx_bytes, ms(s->total_ns));
    (void)fprintf(stderr, "  %-12s %9.3f ms\n  %-12s %9.3f ms\n  %-12s %9.3f ms\n", "parse",
                  ms(s->parse_ns), "verify", ms(s->verify_ns), "passes", ms(s->passes_ns));
    for (size_t i = 0; i < ptxgen_result_pass_count(r); i++) {
        const ptxgen_pass_stat p = ptxgen_result_pass(r, i);
        (void)fprintf(stderr, "    %-10s %9.3f ms, %u -> %u operations%s\n", p.name.ptr, ms(p.ns),
                      (unsigned)p.n_ops_before, (unsigned)p.n_ops_after,
                      p.has_changed != 0 ? "" : ", nothing to do");
    }
    (void)fprintf(stderr, "  %-12s %9.3f ms\n", "emit", ms(s->emit_ns));
}

static void print_json(const cli *c, const ptxgen_result *r, const ptxgen_stats *s)
{
    const char *output = c->values[CLI_OPT_OUTPUT];
    FILE *to = output != NULL && strcmp(output, "-") != 0 ? stdout : stderr;
    (void)fprintf(
        to,
        "{\"schema\": 1, \"n_ops\": %llu, \"ptx_bytes\": %llu, \"arena_bytes\": %llu, "
        "\"parse_ns\": %llu, \"verify_ns\": %llu, \"passes_ns\": %llu, \"emit_ns\": %llu, "
        "\"total_ns\": %llu, \"passes\": [",
        (unsigned long long)s->n_ops, (unsigned long long)s->ptx_bytes,
        (unsigned long long)s->arena_bytes, (unsigned long long)s->parse_ns,
        (unsigned long long)s->verify_ns, (unsigned long long)s->passes_ns,
        (unsigned long long)s->emit_ns, (unsigned long long)s->total_ns);
    for (size_t i = 0; i < ptxgen_result_pass_count(r); i++) {
        const ptxgen_pass_stat p = ptxgen_result_pass(r, i);
        (void)fprintf(to,
                      "%s{\"name\": \"%s\", \"changed\": %s, \"ns\": %llu, \"n_ops_before\": %u, "
                      "\"n_ops_after\": %u}",
                      i == 0 ? "" : ", ", p.name.ptr, p.has_changed != 0 ? "true" : "false",
                      (unsigned long long)p.ns, (unsigned)p.n_ops_before, (unsigned)p.n_ops_after);
    }
    (void)fprintf(to, "]}\n");
}

void cli_print_stats(const cli *c, const char *what, const ptxgen_result *r)
{
    ptxgen_stats s = {.struct_size = sizeof s};
    if (ptxgen_result_stats(r, &s) != PTXGEN_OK) {
        return;
    }
    if (c->values[CLI_OPT_TIME] != NULL) {
        print_times(what, r, &s);
    }
    if (c->values[CLI_OPT_JSON_STATS] != NULL) {
        print_json(c, r, &s);
    }
}

static run_exit emit_manifests(cli *c, const char *path, const ptxgen_result *r)
{
    pg_strbuf text;
    pg_strbuf_init(&text, pg_alloc_default());
    for (size_t i = 0; i < ptxgen_result_entry_count(r); i++) {
        pg_put(&text, ptxgen_result_manifest(r, i).ptr);
        pg_put(&text, "\n");
    }
    run_exit status = text.is_oom
                          ? run_fail(&c->msgs, RUN_TOOL, RUN_MSG_NO_MEMORY, NULL)
                          : run_write_file(&c->msgs, path, pg_strbuf_str(&text), PG_STR(""));
    pg_strbuf_fini(&text);
    return status;
}

run_exit cli_emit(cli *c, const char *file, const ptxgen_result *r)
{
    const char *emit = c->values[CLI_OPT_EMIT];
    const char *path = c->values[CLI_OPT_OUTPUT] == NULL ? "-" : c->values[CLI_OPT_OUTPUT];
    ptxgen_str text = ptxgen_result_ptx(r);
    if (text.len == 0) { /* IR was asked for, or the passes ended early */
        if (emit != NULL && strcmp(emit, "ir") != 0 && strcmp(emit, "ptx") != 0) {
            return run_fail(&c->msgs, RUN_USAGE, RUN_MSG_USAGE_TOGETHER, NULL,
                            "--emit of more than IR", "passes that end early");
        }
        text = ptxgen_result_ir(r);
    } else if (emit != NULL && strcmp(emit, "manifest") == 0) {
        return emit_manifests(c, path, r);
    } else if (emit != NULL && strcmp(emit, "cubin") == 0) {
        return cli_assemble(c, file, r);
    }
    return run_write_file(&c->msgs, path, (pg_str){text.ptr, text.len}, PG_STR(""));
}

bool cli_is_kernel(const char *operand)
{
    return strpbrk(operand, "/.") == NULL && strcmp(operand, "-") != 0;
}

/* Names are checked here, where they can be named. */
static run_exit check_settings(cli *c, const ptxgen_kernel_info *info,
                               const ptxgen_options *options)
{
    for (size_t i = 0; i < options->n_settings; i++) {
        const char *name = options->settings[i].name.ptr;
        pg_nearest near = pg_nearest_of(pg_str_of(name));
        for (size_t j = 0; j < info->n_settings; j++) {
            pg_nearest_try(&near, pg_str_of(info->settings[j].name));
        }
        if (near.word.len == 0 || near.distance != 0) {
            return run_fail(&c->msgs, RUN_USAGE, RUN_MSG_ARG_UNKNOWN, info->name, "setting", name,
                            run_suggestion(&c->arena, &near));
        }
    }
    return RUN_OK;
}

static run_exit no_kernel(cli *c)
{
    const ptxgen_kernel_info *k;
    pg_nearest near = pg_nearest_of(pg_str_of(c->operand));
    for (size_t i = 0; (k = ptxgen_kernel_at(i)) != NULL; i++) {
        pg_nearest_try(&near, pg_str_of(k->name));
    }
    return run_fail(&c->msgs, RUN_INPUT, RUN_MSG_NO_KERNEL, NULL, c->operand,
                    run_suggestion(&c->arena, &near));
}

/* The library's message about a value alone is the setting's description: the value goes before. */
static run_exit wrong_setting(const cli *c, const ptxgen_kernel_info *info,
                              const ptxgen_options *options, run_exit exit, const char *message)
{
    for (size_t i = 0; i < options->n_settings; i++) {
        const char *name = options->settings[i].name.ptr;
        for (size_t j = 0; j < info->n_settings; j++) {
            if (info->settings[j].doc == message && strcmp(info->settings[j].name, name) == 0) {
                return run_fail(&c->msgs, exit, RUN_MSG_KERNEL_SETTING, c->operand, name, "=",
                                options->settings[i].value.ptr, " is not possible: ", message);
            }
        }
    }
    return run_fail(&c->msgs, exit, RUN_MSG_KERNEL_SETTING, c->operand, "", "", "", "", message);
}

run_exit cli_compile_kernel(cli *c, ptxgen_ctx *ctx, const ptxgen_options *options,
                            ptxgen_result **out)
{
    const ptxgen_str name = text_of(c->operand);
    const ptxgen_kernel_info *info = ptxgen_kernel_find(name);
    if (info == NULL) {
        return no_kernel(c);
    }
    run_exit checked = check_settings(c, info, options);
    if (checked != RUN_OK) {
        return checked;
    }
    ptxgen_module *module = NULL;
    const char *message = NULL;
    const ptxgen_str target =
        options->target.len == 0 ? text_of(DEFAULT_KERNEL_TARGET) : options->target;
    ptxgen_status status = ptxgen_kernel_build(ctx, name, target, options->settings,
                                               options->n_settings, &module, &message);
    if (status != PTXGEN_OK) {
        return wrong_setting(c, info, options, cli_exit_of(status),
                             message == NULL ? ptxgen_status_name(status) : message);
    }
    ptxgen_options rest = *options; /* settings and target are used up */
    rest.n_settings = 0;
    rest.target = (ptxgen_str){NULL, 0};
    status = ptxgen_module_compile(module, &rest, out);
    ptxgen_module_destroy(module);
    cli_print_diags(c, c->operand, NULL, *out);
    /* The library's own IR is at fault, not the user's; but settings may ask for more than a target
     * has. */
    run_exit exit = cli_exit_of(status);
    const bool is_ours = c->values[CLI_OPT_PASSES] == NULL && status != PTXGEN_E_RESOURCE;
    return exit == RUN_INPUT && is_ours ? RUN_DEFECT : exit;
}

run_exit cli_compile_file(cli *c, ptxgen_ctx *ctx, const ptxgen_options *options, pg_str *text,
                          ptxgen_result **out)
{
    run_exit read = run_read_file(&c->msgs, &c->arena, c->operand, text);
    if (read != RUN_OK) {
        return read;
    }
    const char *file = strcmp(c->operand, "-") == 0 ? "<stdin>" : c->operand;
    uint32_t ptx_line = cli_ptx_line(*text);
    if (ptx_line != 0) {
        return run_fail_at(&c->msgs, RUN_INPUT, RUN_MSG_IS_PTX, file, ptx_line);
    }
    ptxgen_status status = ptxgen_compile(ctx, (ptxgen_str){text->ptr, text->len}, options, out);
    cli_print_diags(c, file, text->ptr, *out);
    return cli_exit_of(status);
}

run_exit cli_make(cli *c, const ptxgen_options *options, bool is_kernel)
{
    ptxgen_ctx *ctx = NULL;
    ptxgen_result *r = NULL;
    pg_str text;
    if (ptxgen_ctx_create(NULL, &ctx) != PTXGEN_OK) {
        return run_fail(&c->msgs, RUN_TOOL, RUN_MSG_NO_MEMORY, NULL);
    }
    run_exit status = is_kernel ? cli_compile_kernel(c, ctx, options, &r)
                                : cli_compile_file(c, ctx, options, &text, &r);
    if (status == RUN_OK) {
        status = cli_emit(c, c->operand, r);
    }
    if (status == RUN_OK) {
        cli_print_stats(c, c->operand, r);
    }
    ptxgen_result_destroy(r);
    ptxgen_ctx_destroy(ctx);
    return status;
}

run_exit cli_check_emit(const cli *c)
{
    const char *emit = c->values[CLI_OPT_EMIT];
    bool lacks_file =
        emit != NULL && strcmp(emit, "cubin") == 0 && c->values[CLI_OPT_OUTPUT] == NULL;
    return lacks_file
               ? run_fail(&c->msgs, RUN_USAGE, RUN_MSG_USAGE_NEEDS, NULL, "--emit=cubin", "-o")
               : RUN_OK;
}

run_exit cli_compile(cli *c)
{
    const char *from = c->values[CLI_OPT_FROM];
    ptxgen_options options;
    if (from != NULL && strcmp(from, "ttir") == 0) {
        return run_fail(&c->msgs, RUN_USAGE, RUN_MSG_USAGE_LATER, NULL, "compile --from=ttir");
    }
    run_exit status = cli_check_emit(c);
    if (status == RUN_OK) {
        status = cli_options(c, &options);
    }
    return status == RUN_OK ? cli_make(c, &options, false) : status;
}
