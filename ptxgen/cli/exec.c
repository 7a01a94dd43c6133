/* `ptxgen exec`: any PTX text on the CPU. */
#include <string.h>

#include "tools/run/report_json.h"
#include "tools/run/spec.h"

#include "cli.h"

static run_exit check_usage(const cli *c)
{
    if (c->values[CLI_OPT_GRID] == NULL || c->values[CLI_OPT_BLOCK] == NULL) {
        return run_fail(&c->msgs, RUN_USAGE, RUN_MSG_USAGE_NEEDS, NULL, "`ptxgen exec`",
                        "--grid and --block");
    }
    if (c->values[CLI_OPT_SEEDS] != NULL && c->numbers[CLI_OPT_SEEDS] == 0) {
        return run_fail(&c->msgs, RUN_USAGE, RUN_MSG_USAGE_VALUE, NULL, c->values[CLI_OPT_SEEDS],
                        "--seeds", "at least 1", "");
    }
    if (c->values[CLI_OPT_SEED] != NULL && c->values[CLI_OPT_SEEDS] != NULL) {
        return run_fail(&c->msgs, RUN_USAGE, RUN_MSG_USAGE_TOGETHER, NULL, "--seed", "--seeds");
    }
    if (c->numbers[CLI_OPT_SMEM] > INT32_MAX) {
        return run_fail(&c->msgs, RUN_USAGE, RUN_MSG_USAGE_VALUE, NULL, c->values[CLI_OPT_SMEM],
                        "--smem", "at most 2147483647", "");
    }
    return RUN_OK;
}

static run_exit parse_specs(cli *c, run_specs *out)
{
    const char **texts = PG_NEWS(&c->arena, const char *, c->n_given);
    uint32_t n = 0;
    if (texts == NULL) {
        return run_fail(&c->msgs, RUN_TOOL, RUN_MSG_NO_MEMORY, NULL);
    }
    for (size_t i = 0; i < c->n_given; i++) {
        if (c->given[i].option == CLI_OPT_SPEC) {
            texts[n++] = c->given[i].pair.value;
        }
    }
    return run_specs_parse(&c->msgs, &c->arena, texts, n, out);
}

/* Runs it, and says as JSON what it did where that was asked for, also of PTX that is refused. */
static run_exit launch(cli *c, run_launch *l)
{
    run_json json;
    if (c->values[CLI_OPT_JSON] == NULL) {
        return run_launch_all(&c->msgs, &c->arena, l);
    }
    run_json_init(&json);
    l->json = &json;
    run_exit status = run_launch_all(&c->msgs, &c->arena, l);
    status = run_json_write(&c->msgs, &json, l->file, status);
    run_json_fini(&json);
    return status;
}

run_exit cli_exec(cli *c)
{
    run_specs specs = {.params = NULL};
    run_step step = {.entry = c->values[CLI_OPT_ENTRY]};
    run_launch l = {.steps = &step, .n_steps = 1, .device = RUN_ON_CPU};
    const char *races = c->values[CLI_OPT_RACES];
    run_exit status = check_usage(c);
    if (status == RUN_OK) {
        status = run_read_file(&c->msgs, &c->arena, c->operand, &l.ptx);
    }
    l.file = strcmp(c->operand, "-") == 0 ? "<stdin>" : c->operand;
    if (status == RUN_OK && cli_ptir_line(l.ptx) != 0) {
        status = run_fail_at(&c->msgs, RUN_INPUT, RUN_MSG_IS_PTIR, l.file, cli_ptir_line(l.ptx));
    }
    if (status == RUN_OK) {
        status = parse_specs(c, &specs);
    }
    for (uint32_t i = 0; i < specs.n_buffers && status == RUN_OK; i++) {
        const char *path = specs.out_files[i];
        status = path == NULL ? RUN_OK : cli_check_array_output(c, "--arg", path);
    }
    if (status != RUN_OK) {
        return status;
    }
    memcpy(step.grid, c->dims[CLI_OPT_GRID], sizeof step.grid);
    memcpy(step.block, c->dims[CLI_OPT_BLOCK], sizeof step.block);
    memcpy(step.cluster, c->dims[CLI_OPT_CLUSTER], sizeof step.cluster);
    step.smem = (uint32_t)c->numbers[CLI_OPT_SMEM];
    l.buffers = specs.buffers;
    l.n_buffers = specs.n_buffers;
    step.params = specs.params;
    step.n_params = specs.n_params;
    l.first_seed = c->numbers[CLI_OPT_SEED];
    l.n_seeds = c->numbers[CLI_OPT_SEEDS];
    l.races = races == NULL               ? RUN_RACES_OFF
              : strcmp(races, "isa") == 0 ? RUN_RACES_ISA
                                          : RUN_RACES_PRACTICE;
    l.has_stats = c->values[CLI_OPT_STATS] != NULL;
    l.trace = c->values[CLI_OPT_TRACE];
    l.max_steps = c->numbers[CLI_OPT_MAX_STEPS];
    status = launch(c, &l);
    return status == RUN_OK ? run_specs_write(&c->msgs, &c->arena, &specs) : status;
}
