/* `ptxgen run`: compile, launch on arrays, verify. */
#include <string.h>
#include <time.h>

#include "kernels/kernels.h"
#include "tools/run/report_json.h"

#include "cli.h"

/* Random elements of a file's arrays, of which nothing is known. */
#define DEFAULT_LOW  (-2.0)
#define DEFAULT_HIGH 2.0

typedef struct runner {
    cli *c;
    const char *file; /* for messages */
    bool is_kernel;
    ptxgen_options options;
    ptxgen_ctx *ctx;
    ptxgen_result *r;
    pg_str text;            /* of a file */
    run_manifest *launches; /* one after the other */
    uint32_t n_launches;
    run_manifest manifest; /* the arguments of all */
    run_inputs inputs;
    run_cost cost; /* of the launch */
} runner;

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static run_exit no_memory(const runner *x)
{
    return run_fail(&x->c->msgs, RUN_TOOL, RUN_MSG_NO_MEMORY, NULL);
}

/* The manifest of --entry, of the only kernel, or of all that a library kernel consists of. */
static run_exit choose_entries(runner *x)
{
    const char *entry = x->c->values[CLI_OPT_ENTRY];
    size_t n = ptxgen_result_entry_count(x->r);
    x->launches = PG_NEWS(&x->c->arena, run_manifest, n);
    if (x->launches == NULL) {
        return no_memory(x);
    }
    for (size_t i = 0; i < n; i++) {
        if (entry == NULL ? n == 1 || x->is_kernel
                          : strcmp(ptxgen_result_entry_name(x->r, i).ptr, entry) == 0) {
            const ptxgen_str json = ptxgen_result_manifest(x->r, i);
            run_exit status =
                run_manifest_read(&x->c->msgs, &x->c->arena, x->file, (pg_str){json.ptr, json.len},
                                  &x->launches[x->n_launches++]);
            if (status != RUN_OK) {
                return status;
            }
        }
    }
    if (x->n_launches == 0) {
        const char **names = PG_NEWS(&x->c->arena, const char *, n);
        for (size_t i = 0; names != NULL && i < n; i++) {
            names[i] = ptxgen_result_entry_name(x->r, i).ptr;
        }
        return names == NULL ? no_memory(x)
                             : run_fail_entry(&x->c->msgs, &x->c->arena, x->file, entry, names, n);
    }
    return run_manifest_join(&x->c->msgs, &x->c->arena, x->file, x->launches, x->n_launches,
                             &x->manifest);
}

static run_exit compile(runner *x)
{
    if (ptxgen_ctx_create(NULL, &x->ctx) != PTXGEN_OK) {
        return no_memory(x);
    }
    run_exit status = x->is_kernel ? cli_compile_kernel(x->c, x->ctx, &x->options, &x->r)
                                   : cli_compile_file(x->c, x->ctx, &x->options, &x->text, &x->r);
    return status == RUN_OK ? choose_entries(x) : status;
}

static run_on device_of(const cli *c)
{
    const char *name = c->values[CLI_OPT_DEVICE];
    return name == NULL                ? RUN_ON_ANY
           : strcmp(name, "cpu") == 0  ? RUN_ON_CPU
           : strcmp(name, "cuda") == 0 ? RUN_ON_CUDA
                                       : RUN_ON_AUTO;
}

static const struct {
    cli_option option;
    const char *text;
} of_executor[] = {/* options that a GPU has nothing for */
                   {CLI_OPT_RACES, "--races"},
                   {CLI_OPT_STATS, "--stats"},
                   {CLI_OPT_MAX_STEPS, "--max-steps"}};

static bool wants_executor(const cli *c)
{
    for (size_t i = 0; i < PG_COUNT_OF(of_executor); i++) {
        if (c->values[of_executor[i].option] != NULL) {
            return true;
        }
    }
    return false;
}

static run_exit make_inputs(runner *x)
{
    cli *c = x->c;
    run_request request = {
        .file = x->file,
        .args = cli_pairs(c, CLI_OPT_ARG),
        .ins = cli_pairs(c, CLI_OPT_IN),
        .outs = cli_pairs(c, CLI_OPT_OUT),
        .low = DEFAULT_LOW,
        .high = DEFAULT_HIGH,
        .seed = c->numbers[CLI_OPT_SEED],
        .is_on_cpu = run_is_on_cpu(device_of(c), wants_executor(c)),
        .verifies = c->values[CLI_OPT_COMPARE] == NULL ? RUN_VERIFIES_NOTHING
                    : x->is_kernel                     ? RUN_VERIFIES_KERNEL
                                                       : RUN_VERIFIES_TEXT,
    };
    if (x->is_kernel) {
        const ptxgen_kernel_info *info =
            ptxgen_kernel_find((ptxgen_str){c->operand, strlen(c->operand)});
        run_pair *defaults = PG_NEWS(&c->arena, run_pair, info->n_scalars);
        if (defaults == NULL) {
            return no_memory(x);
        }
        for (size_t i = 0; i < info->n_scalars; i++) {
            defaults[i] = (run_pair){info->scalars[i].name, info->scalars[i].value};
        }
        request.defaults = (run_pairs){defaults, info->n_scalars};
        request.low = info->input_low;
        request.high = info->input_high;
    }
    return run_inputs_make(&c->msgs, &c->arena, &request, &x->manifest, &x->inputs);
}

static run_exit launch(runner *x)
{
    const cli *c = x->c;
    const char *races = c->values[CLI_OPT_RACES];
    const run_how how = {
        .file = x->file,
        .compiled = x->r,
        .ir = x->is_kernel ? NULL : x->text.ptr,
        .launches = x->launches,
        .n_launches = x->n_launches,
        .device = device_of(c),
        .first_seed = c->numbers[CLI_OPT_SEED],
        .n_seeds = c->numbers[CLI_OPT_SEEDS],
        .races = races == NULL               ? RUN_RACES_OFF
                 : strcmp(races, "isa") == 0 ? RUN_RACES_ISA
                                             : RUN_RACES_PRACTICE,
        .has_stats = c->values[CLI_OPT_STATS] != NULL,
        .max_steps = c->numbers[CLI_OPT_MAX_STEPS],
    };
    return run_job(&c->msgs, &x->c->arena, &how, &x->inputs, &x->cost);
}

static run_exit verify(runner *x)
{
    cli *c = x->c;
    if (c->values[CLI_OPT_COMPARE] == NULL) {
        return RUN_OK;
    }
    if (x->is_kernel) {
        return run_verify_kernel(&c->msgs, &c->arena, c->operand, x->options.settings,
                                 x->options.n_settings, &x->inputs);
    }
    return run_verify_text(&c->msgs, &c->arena, x->file, (ptxgen_str){x->text.ptr, x->text.len},
                           x->options.target, &x->inputs);
}

static run_exit check_usage(const cli *c)
{
    if (c->values[CLI_OPT_SEEDS] != NULL && c->numbers[CLI_OPT_SEEDS] == 0) {
        return run_fail(&c->msgs, RUN_USAGE, RUN_MSG_USAGE_VALUE, NULL, c->values[CLI_OPT_SEEDS],
                        "--seeds", "at least 1", "");
    }
    if (c->values[CLI_OPT_SEED] != NULL && c->values[CLI_OPT_SEEDS] != NULL) {
        return run_fail(&c->msgs, RUN_USAGE, RUN_MSG_USAGE_TOGETHER, NULL, "--seed", "--seeds");
    }
    for (size_t i = 0; i < PG_COUNT_OF(of_executor) && device_of(c) == RUN_ON_CUDA; i++) {
        if (c->values[of_executor[i].option] != NULL) {
            return run_fail(&c->msgs, RUN_USAGE, RUN_MSG_USAGE_TOGETHER, NULL, of_executor[i].text,
                            "--device=cuda");
        }
    }
    return RUN_OK;
}

run_exit cli_run(cli *c)
{
    static run_exit (*const steps[])(runner * x) = {compile, make_inputs, launch, verify};
    static const char *const names[] = {"compile", "inputs", "run", "verify"};
    double seconds[PG_COUNT_OF(steps)] = {0};
    run_json json;
    run_json_init(&json);
    json.is_job = true;
    runner x = {.c = c, .file = strcmp(c->operand, "-") == 0 ? "<stdin>" : c->operand};
    x.is_kernel = cli_is_kernel(c->operand);
    run_exit status = check_usage(c);
    if (status == RUN_OK) {
        status = cli_options(c, &x.options);
    }
    if (status == RUN_OK && c->values[CLI_OPT_JSON] != NULL) {
        c->msgs.json = &json;
    }
    for (size_t i = 0; i < PG_COUNT_OF(steps) && status == RUN_OK; i++) {
        double start = now();
        status = steps[i](&x);
        seconds[i] = now() - start;
    }
    if (c->values[CLI_OPT_TIME] != NULL && x.r != NULL) {
        cli_print_stats(c, x.file, x.r);
        for (size_t i = 0; i < PG_COUNT_OF(steps); i++) {
            (void)fprintf(stderr, "  %-12s %9.3f ms\n", names[i], seconds[i] * 1e3);
        }
    }
    if (c->msgs.json != NULL) {
        c->msgs.json = NULL;
        status = run_json_write(&c->msgs, &json, x.file, status);
    }
    run_json_fini(&json);
    ptxgen_result_destroy(x.r);
    ptxgen_ctx_destroy(x.ctx);
    return status;
}
