#include <string.h>

#include "api.h"

pg_status pg_options_read(const ptxgen_options *given_or_null, pg_diags *diags, ptxgen_options *out)
{
    const pg_loc nowhere = {0, 0};
    memset(out, 0, sizeof *out);
    out->struct_size = sizeof *out;
    if (given_or_null == NULL) {
        return PG_OK;
    }
    size_t size = given_or_null->struct_size;
    if (size < sizeof given_or_null->struct_size) {
        return pg_diag_add(diags, PG_D_API_STRUCT_SIZE, nowhere, "ptxgen_options", size);
    }
    memcpy(out, given_or_null, size < sizeof *out ? size : sizeof *out);
    out->struct_size = sizeof *out;

    const uint32_t all_checks = PTXGEN_CHECK_ROUNDTRIP | PTXGEN_CHECK_CLONE | PTXGEN_CHECK_TWICE;
    const uint32_t all_flags = PTXGEN_LIMIT_PASSES | PTXGEN_ANNOTATE | PTXGEN_KEEP_IR;
    const struct {
        const char *name;
        bool is_bad;
        uint32_t value;
    } fields[] = {
        {"emit", (uint32_t)out->emit > PTXGEN_EMIT_NONE, (uint32_t)out->emit},
        {"verify", (uint32_t)out->verify > PTXGEN_VERIFY_EACH, (uint32_t)out->verify},
        {"checks", (out->checks & ~all_checks) != 0, out->checks},
        {"flags", (out->flags & ~all_flags) != 0, out->flags},
    };
    for (size_t i = 0; i < PG_COUNT_OF(fields); i++) {
        if (fields[i].is_bad) {
            (void)pg_diag_add(diags, PG_D_API_OPTION, nowhere, fields[i].name,
                              (unsigned)fields[i].value);
        }
    }
    if (out->n_settings != 0 && out->settings == NULL) {
        (void)pg_diag_add(diags, PG_D_API_NO_ARRAY, nowhere, "ptxgen_options.settings",
                          out->n_settings);
    }
    return pg_diags_status(diags);
}

void pg_options_for_passes(const ptxgen_options *options, pg_pass_options *out)
{
    *out = (pg_pass_options){
        .passes = pg_str_in(options->passes),
        .stop_after = pg_str_in(options->stop_after),
        .print_after = pg_str_in(options->print_after),
        .explain = pg_str_in(options->explain),
        .verify = options->verify == PTXGEN_VERIFY_EACH ? PG_VERIFY_EACH : PG_VERIFY_END,
        .checks = options->checks, /* same bits; api.c asserts it */
        .shuffle = options->shuffle,
        .pass_limit =
            (options->flags & PTXGEN_LIMIT_PASSES) != 0 ? options->pass_limit : UINT32_MAX,
        .drops_ir = options->emit == PTXGEN_EMIT_PTX && (options->flags & PTXGEN_KEEP_IR) == 0,
        .sink = {options->sink.user, options->sink.write},
        .clock_ns = options->clock_ns,
        .clock_user = options->clock_user,
    };
}
