/* builtin.c: functions that every device has: vprintf, __assertfail, malloc and free. */
#include <stdio.h>

#include "tools/exec/exec.h"

/* ---- arguments
 * -------------------------------------------------------------------------------------------- */

static uint64_t argument(const pe_warp *w, uint32_t lane, const pe_slot *a)
{
    uint64_t x = 0;
    if (!a->is_reg) {
        size_t at = (size_t)lane * w->local_cap + w->local_base[lane] + a->offset - PE_LOCAL_START;
        memcpy(&x, w->local + at, a->size < 8 ? a->size : 8);
        return x;
    }
    return a->bits == 64 ? pe_src64(w, a->row)[lane] : pe_src32(w, a->row)[lane];
}

static bool is_bad(const pe_warp *w, uint32_t lane, const pe_slot *a)
{
    if (!a->is_reg) {
        size_t at = (size_t)lane * w->local_cap + w->local_base[lane] + a->offset - PE_LOCAL_START;
        return memchr(w->local_poison + at, 1, a->size < 8 ? a->size : 8) != NULL;
    }
    return ((a->bits == 64 ? pe_poison64(w, a->row) : pe_poison32(w, a->row)) >> lane & 1u) != 0;
}

static void set_result(pe_warp *w, uint32_t lane, const pe_slot *r, uint64_t x)
{
    if (!r->is_reg) {
        size_t at = (size_t)lane * w->local_cap + w->local_base[lane] + r->offset - PE_LOCAL_START;
        memcpy(w->local + at, &x, r->size < 8 ? r->size : 8);
        memset(w->local_poison + at, 0, r->size < 8 ? r->size : 8);
        return;
    }
    uint32_t row[PE_LANES];
    uint64_t wide[PE_LANES];
    for (uint32_t l = 0; l < PE_LANES; l++) {
        row[l] = (uint32_t)x;
        wide[l] = x;
    }
    if (r->bits == 64) {
        pe_put64(w, r->row, wide, 1u << lane, 0);
    } else if (r->bits == 32) {
        pe_put32(w, r->row, row, 1u << lane, 0);
    }
}

/* The NUL-terminated text at a generic address, as far as it is mapped. */
static pg_str text_at(pe_warp *w, uint32_t lane, uint64_t generic)
{
    uint64_t left = 0;
    const uint8_t *p = pe_peek(w, lane, generic, &left);
    if (p == NULL) {
        return PG_STR("(bad address)");
    }
    const void *end = memchr(p, 0, (size_t)left);
    return (pg_str){(const char *)p,
                    end != NULL ? (size_t)((const uint8_t *)end - p) : (size_t)left};
}

/* ---- vprintf
 * ------------------------------------------------------------------------------------------------
 */

typedef struct spec {
    bool is_left, is_zero;
    int width, precision; /* -1: none */
    uint32_t n_long;
    char conversion;
} spec;

typedef struct reader {
    pe_warp *w;
    uint32_t lane;
    uint64_t at; /* next argument, generic */
} reader;

static uint64_t next_argument(reader *r, uint32_t size)
{
    uint64_t x = 0;
    uint64_t left = 0;
    r->at = (r->at + size - 1) & ~(uint64_t)(size - 1);
    const uint8_t *p = pe_peek(r->w, r->lane, r->at, &left);
    if (p != NULL && left >= size) {
        memcpy(&x, p, size);
    }
    r->at += size;
    return x;
}

static size_t parse_spec(pg_str f, size_t k, spec *s)
{
    *s = (spec){.width = 0, .precision = -1};
    for (; k < f.len && strchr("-0+ #", f.ptr[k]) != NULL; k++) {
        s->is_left = s->is_left || f.ptr[k] == '-';
        s->is_zero = s->is_zero || f.ptr[k] == '0';
    }
    for (; k < f.len && f.ptr[k] >= '0' && f.ptr[k] <= '9' && s->width < 1000; k++) {
        s->width = s->width * 10 + (f.ptr[k] - '0');
    }
    if (k < f.len && f.ptr[k] == '.') {
        s->precision = 0;
        for (k++; k < f.len && f.ptr[k] >= '0' && f.ptr[k] <= '9' && s->precision < 1000; k++) {
            s->precision = s->precision * 10 + (f.ptr[k] - '0');
        }
    }
    for (; k < f.len && strchr("lhzjt", f.ptr[k]) != NULL; k++) {
        s->n_long += f.ptr[k] != 'h';
    }
    s->conversion = k < f.len ? f.ptr[k] : 0;
    return k + 1;
}

static void put_padded(pg_strbuf *out, pg_str text, const spec *s)
{
    size_t width = (size_t)s->width;
    bool is_zero = s->is_zero && !s->is_left && strchr("di uxXofFeEgG", s->conversion) != NULL;
    size_t pad = text.len < width ? width - text.len : 0;
    if (is_zero && text.len > 0 && text.ptr[0] == '-') {
        pg_put_char(out, '-');
        text = pg_str_sub(text, 1, text.len);
    }
    if (!s->is_left) {
        pg_put_repeat(out, is_zero ? '0' : ' ', pad);
    }
    pg_put_str(out, text);
    if (s->is_left) {
        pg_put_repeat(out, ' ', pad);
    }
}

static int format_float(char *text, size_t size, const spec *s, double v)
{
    int p = s->precision < 0 ? 6 : s->precision;
    switch (s->conversion) {
    case 'e': return snprintf(text, size, "%.*e", p, v);
    case 'E': return snprintf(text, size, "%.*E", p, v);
    case 'g': return snprintf(text, size, "%.*g", p, v);
    case 'G': return snprintf(text, size, "%.*G", p, v);
    case 'a': return snprintf(text, size, "%a", v);
    default: return snprintf(text, size, "%.*f", p, v);
    }
}

static void put_value(pg_strbuf *out, reader *r, const spec *s)
{
    char text[1400];
    int n = 0;
    uint64_t x = 0;
    bool is_wide = s->n_long > 0;
    switch (s->conversion) {
    case 'd':
    case 'i':
        x = next_argument(r, is_wide ? 8 : 4);
        n = snprintf(text, sizeof text, "%lld",
                     is_wide ? (long long)x : (long long)(int32_t)(uint32_t)x);
        break;
    case 'u':
        n = snprintf(text, sizeof text, "%llu",
                     (unsigned long long)next_argument(r, is_wide ? 8 : 4));
        break;
    case 'x':
        n = snprintf(text, sizeof text, "%llx",
                     (unsigned long long)next_argument(r, is_wide ? 8 : 4));
        break;
    case 'X':
        n = snprintf(text, sizeof text, "%llX",
                     (unsigned long long)next_argument(r, is_wide ? 8 : 4));
        break;
    case 'o':
        n = snprintf(text, sizeof text, "%llo",
                     (unsigned long long)next_argument(r, is_wide ? 8 : 4));
        break;
    case 'p':
        n = snprintf(text, sizeof text, "0x%llx", (unsigned long long)next_argument(r, 8));
        break;
    case 'c':
        text[0] = (char)next_argument(r, 4);
        n = 1;
        break;
    case 's': {
        pg_str t = text_at(r->w, r->lane, next_argument(r, 8));
        put_padded(out, s->precision >= 0 ? pg_str_sub(t, 0, (size_t)s->precision) : t, s);
        return;
    }
    default: {
        double v;
        x = next_argument(r, 8);
        memcpy(&v, &x, sizeof v);
        n = format_float(text, sizeof text, s, v);
        break;
    }
    }
    size_t len = n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
    put_padded(out, (pg_str){text, len}, s);
}

static uint64_t print(pe_warp *w, uint32_t lane, uint64_t format, uint64_t args)
{
    pg_strbuf *out = &w->cta->output;
    pg_str f = text_at(w, lane, format);
    reader r = {.w = w, .lane = lane, .at = args};
    uint64_t n = 0;
    for (size_t k = 0; k < f.len;) {
        if (f.ptr[k] != '%') {
            pg_put_char(out, f.ptr[k++]);
            continue;
        }
        if (k + 1 < f.len && f.ptr[k + 1] == '%') {
            pg_put_char(out, '%');
            k += 2;
            continue;
        }
        spec s;
        k = parse_spec(f, k + 1, &s);
        if (s.conversion != 0 && strchr("diuxXopcsfFeEgGa", s.conversion) != NULL) {
            put_value(out, &r, &s);
            n++;
        }
    }
    return n;
}

/* ---- malloc and free
 * ------------------------------------------------------------------------------------------------
 */

static void allocate(pe_warp *w, const pe_inst *i, const pe_call *call, uint32_t mask)
{
    char label[48];
    (void)snprintf(label, sizeof label, "malloc of line %u",
                   w->cta->launch->m->srcs.at[i->src].loc.line);
    pg_foreach_lane(l, mask)
    {
        uint64_t at = 0;
        if (is_bad(w, l, &call->args[0])) {
            pe_fault_at(w, i, PTXEXEC_F_POISON_ADDRESS, (pe_place){.lanes = 1u << l},
                        "the size is uninitialised");
            return;
        }
        if (pe_heap_alloc(w->cta->launch->d, argument(w, l, &call->args[0]), label, &at) !=
            PTXEXEC_OK) {
            w->cta->worker->is_oom = true;
            w->is_stopped = true;
            return;
        }
        set_result(w, l, &call->rets[0], at);
    }
}

static void release(pe_warp *w, const pe_inst *i, const pe_call *call, uint32_t mask)
{
    pg_foreach_lane(l, mask)
    {
        const uint64_t at = argument(w, l, &call->args[0]);
        const pe_region *r = NULL;
        const pe_place where = {.lanes = 1u << l, .address = at, .size = 1};
        if (is_bad(w, l, &call->args[0])) {
            pe_fault_at(w, i, PTXEXEC_F_POISON_ADDRESS, where, "the pointer is uninitialised");
            return;
        }
        if (at == 0 || pe_heap_free(w->cta->launch->d, at, &r)) {
            continue;
        }
        if (r != NULL) {
            pe_fault_at(w, i, PTXEXEC_F_USE_AFTER_FREE, where,
                        "'%s' at 0x%llx is freed for the second time", r->label,
                        (unsigned long long)at);
        } else {
            pe_fault_at(w, i, PTXEXEC_F_BAD_CALL, where,
                        "free of 0x%llx, where no block of malloc begins", (unsigned long long)at);
        }
        return;
    }
}

/* ---- calls
 * -----------------------------------------------------------------------------------------------------
 */

void pe_builtin_call(pe_warp *w, const pe_inst *i, const pe_call *call, uint32_t builtin,
                     uint32_t mask)
{
    if (builtin == PE_BUILTIN_ASSERTFAIL && call->n_args >= 4) {
        uint32_t lane = pe_first(mask);
        pg_str what = text_at(w, lane, argument(w, lane, &call->args[0]));
        pg_str file = text_at(w, lane, argument(w, lane, &call->args[1]));
        pg_str function = text_at(w, lane, argument(w, lane, &call->args[3]));
        pe_fault_at(w, i, PTXEXEC_F_ASSERT, (pe_place){.lanes = mask},
                    "assertion '%.*s' failed at %.*s:%u in %.*s", PG_STR_ARG(what),
                    PG_STR_ARG(file), (uint32_t)argument(w, lane, &call->args[2]),
                    PG_STR_ARG(function));
        return;
    }
    bool is_heap = builtin == PE_BUILTIN_MALLOC || builtin == PE_BUILTIN_FREE;
    if (is_heap && call->n_args == 1 && call->n_rets == (builtin == PE_BUILTIN_MALLOC ? 1 : 0)) {
        (builtin == PE_BUILTIN_MALLOC ? allocate : release)(w, i, call, mask);
        return;
    }
    if (is_heap || builtin == PE_BUILTIN_ASSERTFAIL || call->n_args < 2) {
        pe_fault_at(w, i, PTXEXEC_F_BAD_CALL, (pe_place){.lanes = mask},
                    "the arguments are not those of the function");
        return;
    }
    pg_foreach_lane(l, mask)
    {
        uint64_t n = print(w, l, argument(w, l, &call->args[0]), argument(w, l, &call->args[1]));
        if (call->n_rets > 0) {
            set_result(w, l, &call->rets[0], n);
        }
    }
}
