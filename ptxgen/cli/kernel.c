/* `ptxgen kernel`: the kernel library. */
#include <string.h>

#include "kernels/kernels.h"

#include "cli.h"

enum { NAME_VALUE_WIDTH = 16 };

/* NAME=VALUE in a column of its own. */
static void list_pair(const char *option, const char *name, const char *value)
{
    int used = printf("    %s %s=%s", option, name, value);
    int width = (int)strlen("    --set ") + NAME_VALUE_WIDTH;
    (void)printf("%*s", used < width ? width - used : 1, "");
}

static void list_text(void)
{
    const ptxgen_kernel_info *k;
    for (size_t i = 0; (k = ptxgen_kernel_at(i)) != NULL; i++) {
        (void)printf("%s  %s (sm_%u and later)\n", k->name, k->doc, (unsigned)k->least_sm);
        for (size_t j = 0; j < k->n_settings; j++) {
            const ptxgen_kernel_setting *s = &k->settings[j];
            list_pair("--set", s->name, s->value);
            (void)printf("%s\n", s->doc);
        }
        for (size_t j = 0; j < k->n_scalars; j++) {
            const ptxgen_kernel_scalar *s = &k->scalars[j];
            list_pair("--arg", s->name, s->value == NULL ? "..." : s->value);
            (void)printf("%s\n", s->doc);
        }
    }
}

static void put_field(pg_strbuf *out, const char *name, const char *value)
{
    pg_put_json(out, pg_str_of(name));
    pg_put(out, ": ");
    if (value == NULL) {
        pg_put(out, "null");
    } else {
        pg_put_json(out, pg_str_of(value));
    }
}

static void put_kernel(pg_strbuf *out, const ptxgen_kernel_info *k)
{
    pg_put(out, "{");
    put_field(out, "name", k->name);
    pg_put(out, ", ");
    put_field(out, "doc", k->doc);
    pg_putf(out, ", \"least_sm\": %u, \"settings\": [", (unsigned)k->least_sm);
    for (size_t i = 0; i < k->n_settings; i++) {
        pg_put(out, i == 0 ? "{" : ", {");
        put_field(out, "name", k->settings[i].name);
        pg_put(out, ", ");
        put_field(out, "default", k->settings[i].value);
        pg_put(out, ", ");
        put_field(out, "allowed", k->settings[i].allowed);
        pg_put(out, ", ");
        put_field(out, "doc", k->settings[i].doc);
        pg_put(out, "}");
    }
    pg_put(out, "], \"scalars\": [");
    for (size_t i = 0; i < k->n_scalars; i++) {
        pg_put(out, i == 0 ? "{" : ", {");
        put_field(out, "name", k->scalars[i].name);
        pg_put(out, ", ");
        put_field(out, "default", k->scalars[i].value);
        pg_put(out, ", ");
        put_field(out, "doc", k->scalars[i].doc);
        pg_put(out, "}");
    }
    pg_put(out, "]}");
}

static run_exit list_json(const cli *c)
{
    pg_strbuf text;
    const ptxgen_kernel_info *k;
    pg_strbuf_init(&text, pg_alloc_default());
    pg_put(&text, "{\"schema\": 1, \"kernels\": [\n");
    for (size_t i = 0; (k = ptxgen_kernel_at(i)) != NULL; i++) {
        pg_put(&text, i == 0 ? "" : ",\n");
        put_kernel(&text, k);
    }
    pg_put(&text, "\n]}\n");
    run_exit status = text.is_oom ? run_fail(&c->msgs, RUN_TOOL, RUN_MSG_NO_MEMORY, NULL)
                                  : run_write_file(&c->msgs, "-", pg_strbuf_str(&text), PG_STR(""));
    pg_strbuf_fini(&text);
    return status;
}

static run_exit list(const cli *c)
{
    if (c->operand != NULL) {
        return run_fail(&c->msgs, RUN_USAGE, RUN_MSG_USAGE_TOGETHER, NULL, "--list", "a name");
    }
    if (c->values[CLI_OPT_JSON] != NULL) {
        return list_json(c);
    }
    list_text();
    return RUN_OK;
}

run_exit cli_kernel(cli *c)
{
    ptxgen_options options;
    if (c->values[CLI_OPT_LIST] != NULL) {
        return list(c);
    }
    if (c->operand == NULL) {
        return run_fail(&c->msgs, RUN_USAGE, RUN_MSG_USAGE_NEEDS, NULL, "`ptxgen kernel`",
                        "a kernel's name, or --list");
    }
    if (c->values[CLI_OPT_JSON] != NULL) {
        return run_fail(&c->msgs, RUN_USAGE, RUN_MSG_USAGE_NEEDS, NULL, "--json", "--list");
    }
    run_exit status = cli_check_emit(c);
    if (status == RUN_OK) {
        status = cli_options(c, &options);
    }
    return status == RUN_OK ? cli_make(c, &options, true) : status;
}
