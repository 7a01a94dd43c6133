/* The list of kernels, settings and references. */
#include "kernels/kernel.h"

static const kernel_row *const rows[] = {&kernel_add,       &kernel_gelu,    &kernel_gemm,
                                         &kernel_layernorm, &kernel_reduce,  &kernel_rmsnorm,
                                         &kernel_silu_mul,  &kernel_softmax, &kernel_transpose};

static size_t text_size(const char *s)
{
    size_t n = 0;
    while (s[n] != '\0') {
        n++;
    }
    return n;
}

static int is_text(ptxgen_str s, const char *t)
{
    size_t n = text_size(t);
    if (s.len != n) {
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        if (s.ptr[i] != t[i]) {
            return 0;
        }
    }
    return 1;
}

static ptxgen_str text(const char *s)
{
    return (ptxgen_str){s, text_size(s)};
}

const ptxgen_kernel_info *ptxgen_kernel_at(size_t index)
{
    return index < sizeof rows / sizeof rows[0] ? rows[index]->info : NULL;
}

static const kernel_row *find_row(ptxgen_str name)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (is_text(name, rows[i]->info->name)) {
            return rows[i];
        }
    }
    return NULL;
}

const ptxgen_kernel_info *ptxgen_kernel_find(ptxgen_str name)
{
    const kernel_row *row = find_row(name);
    return row == NULL ? NULL : row->info;
}

/* Non-negative decimal below 2^31, or -1. */
static int64_t number_of(ptxgen_str s)
{
    int64_t x = 0;
    if (s.len == 0 || s.len > 10) {
        return -1;
    }
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] < '0' || s.ptr[i] > '9') {
            return -1;
        }
        x = x * 10 + (s.ptr[i] - '0');
    }
    return x > INT32_MAX ? -1 : x;
}

/* "1..64" or "2^5..2^12", up to a blank, against a number. */
static int is_in_range(const char *allowed, int64_t x)
{
    int64_t bound[2] = {0, 0};
    int is_pow2 = allowed[0] == '2' && allowed[1] == '^';
    size_t at = 0;
    for (int i = 0; i < 2; i++) {
        at += is_pow2 ? 2 : 0;
        while (allowed[at] >= '0' && allowed[at] <= '9') {
            bound[i] = bound[i] * 10 + (allowed[at++] - '0');
        }
        at += 2; /* the dots */
        bound[i] = is_pow2 ? (int64_t)1 << bound[i] : bound[i];
    }
    return x >= bound[0] && x <= bound[1] && (!is_pow2 || (x & (x - 1)) == 0);
}

/* Does the word from `from` to `to` of a list name a range? */
static int is_range(const char *list, size_t from, size_t to)
{
    for (size_t i = from; i + 1 < to; i++) {
        if (list[i] == '.' && list[i + 1] == '.') {
            return 1;
        }
    }
    return 0;
}

static int is_word(const char *list, size_t from, size_t to, ptxgen_str value)
{
    size_t i = 0;
    while (i < value.len && from + i < to && value.ptr[i] == list[from + i]) {
        i++;
    }
    return i == value.len && from + i == to;
}

static int is_allowed(const char *allowed, ptxgen_str value)
{
    for (size_t from = 0; allowed[from] != '\0';) {
        size_t to = from;
        while (allowed[to] != '\0' && allowed[to] != ' ') {
            to++;
        }
        const int64_t x = number_of(value);
        if (is_range(allowed, from, to) ? x >= 0 && is_in_range(allowed + from, x)
                                        : is_word(allowed, from, to, value)) {
            return 1;
        }
        from = allowed[to] == ' ' ? to + 1 : to;
    }
    return 0;
}

static const ptxgen_kernel_setting *find_setting(const ptxgen_kernel_info *info, ptxgen_str name)
{
    for (size_t i = 0; i < info->n_settings; i++) {
        if (is_text(name, info->settings[i].name)) {
            return &info->settings[i];
        }
    }
    return NULL;
}

static ptxgen_str setting_value(const kernel_settings *s, const char *name)
{
    for (size_t i = s->n_given; i-- > 0;) { /* the last one wins */
        if (is_text(s->given[i].name, name)) {
            return s->given[i].value;
        }
    }
    const ptxgen_kernel_setting *d = find_setting(s->info, text(name));
    return text(d == NULL ? "" : d->value);
}

int64_t kernel_setting_int(const kernel_settings *s, const char *name)
{
    return number_of(setting_value(s, name));
}

int kernel_setting_is(const kernel_settings *s, const char *name, const char *word)
{
    return is_text(setting_value(s, name), word);
}

int kernel_has_wide_masks(const kernel_settings *s)
{
    return kernel_setting_int(s, "div") * (kernel_setting_is(s, "dtype", "f32") ? 4 : 2) >= 16;
}

ptxgen_status kernel_refuse(const kernel_settings *s, const char *why)
{
    if (s->why != NULL) {
        *s->why = why;
    }
    return PTXGEN_E_MISUSE;
}

ptxgen_elem kernel_setting_elem(const kernel_settings *s, const char *name)
{
    static const struct {
        const char *text;
        ptxgen_elem elem;
    } elems[] = {{"f16", PTXGEN_F16}, {"bf16", PTXGEN_BF16}, {"f32", PTXGEN_F32},
                 {"f64", PTXGEN_F64}, {"i8", PTXGEN_I8},     {"i16", PTXGEN_I16},
                 {"i32", PTXGEN_I32}, {"i64", PTXGEN_I64}};
    ptxgen_str v = setting_value(s, name);
    for (size_t i = 0; i < sizeof elems / sizeof elems[0]; i++) {
        if (is_text(v, elems[i].text)) {
            return elems[i].elem;
        }
    }
    return PTXGEN_ELEM_NONE;
}

ptxgen_status ptxgen_kernel_build(ptxgen_ctx *ctx, ptxgen_str name, ptxgen_str target,
                                  const ptxgen_setting *settings, size_t n_settings,
                                  ptxgen_module **out, const char **message)
{
    const char *unused = NULL;
    const char **why = message == NULL ? &unused : message;
    if (out == NULL) {
        return PTXGEN_E_MISUSE;
    }
    *out = NULL;
    *why = "";
    const kernel_row *row = find_row(name);
    if (row == NULL) {
        *why = "the library has no kernel of this name";
        return PTXGEN_E_MISUSE;
    }
    for (size_t i = 0; i < n_settings; i++) {
        const ptxgen_kernel_setting *d = find_setting(row->info, settings[i].name);
        if (d == NULL) {
            *why = "the kernel has no setting of this name";
            return PTXGEN_E_MISUSE;
        }
        if (!is_allowed(d->allowed, settings[i].value)) {
            *why = d->doc;
            return PTXGEN_E_MISUSE;
        }
    }
    ptxgen_module *m = NULL;
    ptxgen_status s = ptxgen_module_create(ctx, target, &m);
    if (s != PTXGEN_OK) {
        *why = s == PTXGEN_E_UNSUPPORTED ? "the target is not known" : "";
        return s;
    }
    kernel_settings all = {row->info, row->flat, settings, n_settings, why};
    s = row->build(m, &all);
    if (s != PTXGEN_OK) {
        ptxgen_module_destroy(m);
        return s;
    }
    *out = m;
    return PTXGEN_OK;
}

const ptxgen_kernel_array *kernel_array(const ptxgen_kernel_run *run, const char *name)
{
    for (size_t i = 0; i < run->n_arrays; i++) {
        if (is_text(text(run->arrays[i].name), name)) {
            return &run->arrays[i];
        }
    }
    return NULL;
}

int64_t kernel_scalar(const ptxgen_kernel_run *run, const char *name, int64_t fallback)
{
    for (size_t i = 0; i < run->n_scalars; i++) {
        if (is_text(text(run->scalar_names[i]), name)) {
            return run->scalars[i];
        }
    }
    return fallback;
}

ptxgen_status ptxgen_kernel_reference(ptxgen_str name, const ptxgen_kernel_run *run)
{
    const kernel_row *row = find_row(name);
    if (row == NULL || run == NULL || run->struct_size < sizeof *run) {
        return PTXGEN_E_MISUSE;
    }
    kernel_settings all = {row->info, row->flat, run->settings, run->n_settings, NULL};
    return row->reference(run, &all);
}
