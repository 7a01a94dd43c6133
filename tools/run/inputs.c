#include "tools/run/inputs.h"

#include <stdio.h>
#include <string.h>

#include "tools/run/memory.h"

typedef struct maker {
    const run_msgs *msgs;
    pg_arena *arena;
    const run_request *request;
    run_inputs *in;
} maker;

static run_exit no_memory(const maker *k)
{
    return run_fail(k->msgs, RUN_TOOL, RUN_MSG_NO_MEMORY, k->request->file);
}

static run_value *find_value(const run_inputs *in, const char *name, bool is_scalar)
{
    for (uint32_t i = 0; i < in->manifest->n_args; i++) {
        run_value *v = &in->values[i];
        bool is_kind =
            is_scalar ? v->spec->kind == RUN_ARG_SCALAR : v->spec->kind == RUN_ARG_POINTER;
        if (is_kind && strcmp(v->spec->name, name) == 0) {
            return v;
        }
    }
    return NULL;
}

static const run_name *find_name(const run_inputs *in, pg_str name)
{
    for (size_t i = 0; i < in->n_names; i++) {
        if (pg_str_eq(in->names[i].name, name)) {
            return &in->names[i];
        }
    }
    return NULL;
}

/* Sets a scalar of the kernel, or a size that only defaults and shapes speak of. */
static void set_name(const maker *k, const char *name, int64_t value)
{
    run_value *v = find_value(k->in, name, true);
    if (v != NULL) {
        v->has_value = true;
        v->bits = (uint64_t)value;
    }
    k->in->names[k->in->n_names++] = (run_name){pg_str_of(name), value};
}

static bool is_default(const run_request *r, const char *name)
{
    for (size_t i = 0; i < r->defaults.n; i++) {
        if (strcmp(r->defaults.at[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* "; did you mean `x`?" of what the kernel has of a kind, or "". */
static const char *suggest(const maker *k, const char *name, bool is_scalar)
{
    const run_request *r = k->request;
    pg_nearest near = pg_nearest_of(pg_str_of(name));
    for (uint32_t i = 0; i < k->in->manifest->n_args; i++) {
        const run_arg_spec *spec = k->in->values[i].spec;
        if (spec->kind == (is_scalar ? RUN_ARG_SCALAR : RUN_ARG_POINTER)) {
            pg_nearest_try(&near, pg_str_of(spec->name));
        }
    }
    for (size_t i = 0; is_scalar && i < r->defaults.n; i++) {
        pg_nearest_try(&near, pg_str_of(r->defaults.at[i].name));
    }
    return run_suggestion(k->arena, &near);
}

static const char *ir_name(run_dtype type)
{
    const run_dtype_info *info = &run_dtypes[type];
    return info->ir_name[0] != '\0' ? info->ir_name : info->name;
}

/* A value that follows from a shape or a default must fit its argument as one that is given. */
static run_exit set_fitting(const maker *k, const char *name, int64_t value)
{
    const run_value *v = find_value(k->in, name, true);
    char text[24];
    uint64_t bits;
    (void)snprintf(text, sizeof text, "%lld", (long long)value);
    if (v != NULL && run_dtypes[v->spec->type].kind != 'f' &&
        !run_elem_parse(v->spec->type, pg_str_of(text), &bits)) {
        return run_fail(k->msgs, RUN_INPUT, RUN_MSG_ARG_VALUE, k->request->file, text,
                        ir_name(v->spec->type), name);
    }
    set_name(k, name, value);
    return RUN_OK;
}

static run_exit take_args(const maker *k)
{
    const run_request *r = k->request;
    for (size_t i = 0; i < r->args.n; i++) {
        const run_pair *p = &r->args.at[i];
        run_value *v = find_value(k->in, p->name, true);
        run_dtype type = v == NULL ? RUN_D_S64 : v->spec->type;
        uint64_t bits;
        if (v == NULL && !is_default(r, p->name)) {
            return run_fail(k->msgs, RUN_USAGE, RUN_MSG_ARG_UNKNOWN, r->file, "scalar", p->name,
                            suggest(k, p->name, true));
        }
        if (!run_elem_parse(type, pg_str_of(p->value), &bits)) {
            return run_fail(k->msgs, RUN_USAGE, RUN_MSG_ARG_VALUE, r->file, p->value, ir_name(type),
                            p->name);
        }
        if (run_dtypes[type].kind == 'f') {
            v->has_value = true;
            v->bits = bits;
        } else if (find_name(k->in, pg_str_of(p->name)) == NULL) {
            set_name(k, p->name, (int64_t)bits);
        }
    }
    return RUN_OK;
}

/* Integers of one width are one type to the IR; bf16 and 8-bit floats travel as unsigned. */
static bool adopt_type(run_array *a, run_dtype want)
{
    const run_dtype_info *w = &run_dtypes[want];
    const run_dtype_info *have = &run_dtypes[a->type];
    bool are_integers = w->kind != 'f' && have->kind != 'f';
    bool is_storage = run_dtype_of_npy(pg_str_of(w->npy)) == a->type;
    return (are_integers || is_storage) && run_array_retype(a, want);
}

static run_exit take_arrays(const maker *k)
{
    const run_request *r = k->request;
    for (size_t i = 0; i < r->ins.n; i++) {
        const run_pair *p = &r->ins.at[i];
        run_value *v = find_value(k->in, p->name, false);
        if (v == NULL) {
            return run_fail(k->msgs, RUN_USAGE, RUN_MSG_ARG_UNKNOWN, r->file, "array", p->name,
                            suggest(k, p->name, false));
        }
        run_exit status = run_npy_read(k->msgs, k->arena, p->value, &v->array);
        if (status != RUN_OK) {
            return status;
        }
        const char *have = run_dtypes[v->array.type].name;
        if (!adopt_type(&v->array, v->spec->type)) {
            return run_fail(k->msgs, RUN_INPUT, RUN_MSG_ARG_DTYPE, p->value, p->name, have,
                            run_dtypes[v->spec->type].name);
        }
        v->has_value = true;
    }
    for (size_t i = 0; i < r->outs.n; i++) {
        run_value *v = find_value(k->in, r->outs.at[i].name, false);
        if (v == NULL) {
            return run_fail(k->msgs, RUN_USAGE, RUN_MSG_ARG_UNKNOWN, r->file, "array",
                            r->outs.at[i].name, suggest(k, r->outs.at[i].name, false));
        }
        v->out_file = r->outs.at[i].value;
    }
    return RUN_OK;
}

static bool is_identifier(pg_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!is_letter && (i == 0 || c < '0' || c > '9')) {
            return false;
        }
    }
    return s.len != 0;
}

static void put_shape(pg_strbuf *out, uint32_t rank, const uint64_t *shape)
{
    pg_put(out, "(");
    for (uint32_t i = 0; i < rank; i++) {
        pg_put(out, i == 0 ? "" : ", ");
        pg_put_u64(out, shape[i]);
    }
    pg_put(out, rank == 1 ? ",)" : ")");
}

/* Said before sizes are asked for that only this array's shape could have told. */
static run_exit wrong_rank(const maker *k, const run_value *v)
{
    pg_strbuf have;
    pg_strbuf want;
    pg_strbuf_init(&have, pg_alloc_default());
    pg_strbuf_init(&want, pg_alloc_default());
    put_shape(&have, v->array.rank, v->array.shape);
    for (uint32_t d = 0; d < v->spec->rank; d++) {
        pg_putf(&want, "%s%.*s", d == 0 ? "(" : ", ", PG_STR_ARG(v->spec->shape[d]));
    }
    pg_put(&want, v->spec->rank == 1 ? ",)" : ")");
    run_exit status = run_fail(k->msgs, RUN_INPUT, RUN_MSG_ARG_SHAPE, k->request->file,
                               v->spec->name, pg_strbuf_str(&have).ptr, pg_strbuf_str(&want).ptr);
    pg_strbuf_fini(&have);
    pg_strbuf_fini(&want);
    return status;
}

/* An extent that is just a name, of an array that is there, tells the name's value. */
static run_exit infer_from_shapes(const maker *k)
{
    for (uint32_t i = 0; i < k->in->manifest->n_args; i++) {
        const run_value *v = &k->in->values[i];
        if (v->spec->kind != RUN_ARG_POINTER || !v->has_value || !v->spec->has_shape) {
            continue;
        }
        if (v->spec->rank != v->array.rank) {
            return wrong_rank(k, v);
        }
        for (uint32_t d = 0; d < v->spec->rank; d++) {
            pg_str extent = v->spec->shape[d];
            if (is_identifier(extent) && find_name(k->in, extent) == NULL) {
                pg_str name = pg_arena_str(k->arena, extent);
                run_exit status = set_fitting(k, name.ptr, (int64_t)v->array.shape[d]);
                if (status != RUN_OK) {
                    return status;
                }
            }
        }
    }
    return RUN_OK;
}

/* Defaults may speak of each other: as many rounds as there are of them. */
static run_exit fill_defaults(const maker *k)
{
    const run_pairs *defaults = &k->request->defaults;
    for (size_t round = 0; round < defaults->n; round++) {
        for (size_t i = 0; i < defaults->n; i++) {
            const run_pair *p = &defaults->at[i];
            int64_t number;
            if (p->value == NULL || find_name(k->in, pg_str_of(p->name)) != NULL) {
                continue;
            }
            run_exit status = RUN_OK;
            const run_name *other = find_name(k->in, pg_str_of(p->value));
            if (other != NULL) {
                status = set_fitting(k, p->name, other->value);
            } else if (pg_parse_i64(pg_str_of(p->value), &number)) {
                status = set_fitting(k, p->name, number);
            }
            if (status != RUN_OK) {
                return status;
            }
        }
    }
    return RUN_OK;
}

static run_exit wrong_shape(const maker *k, const run_value *v, const run_array *want)
{
    pg_strbuf have_text;
    pg_strbuf want_text;
    pg_strbuf_init(&have_text, pg_alloc_default());
    pg_strbuf_init(&want_text, pg_alloc_default());
    put_shape(&have_text, v->array.rank, v->array.shape);
    put_shape(&want_text, want->rank, want->shape);
    run_exit status =
        run_fail(k->msgs, RUN_INPUT, RUN_MSG_ARG_SHAPE, k->request->file, v->spec->name,
                 pg_strbuf_str(&have_text).ptr, pg_strbuf_str(&want_text).ptr);
    pg_strbuf_fini(&have_text);
    pg_strbuf_fini(&want_text);
    return status;
}

static uint64_t mix(uint64_t x)
{
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

/* Every element from seed, argument and index alone: the same on every machine. */
static run_exit fill_random(const maker *k, run_value *v, uint32_t index)
{
    const run_request *r = k->request;
    size_t size = run_dtypes[v->spec->type].size;
    unsigned char *data = pg_arena_get(k->arena, (size_t)v->array.n_bytes, 1);
    if (data == NULL) {
        return no_memory(k);
    }
    bool is_float = run_dtypes[v->spec->type].kind == 'f';
    double low = is_float ? r->low : v->spec->type == RUN_D_BOOL ? 0 : -100;
    double high = is_float ? r->high : v->spec->type == RUN_D_BOOL ? 1 : 100;
    uint64_t base = mix(r->seed * 64 + index);
    for (uint64_t i = 0; i < v->array.n_elems; i++) {
        double unit = (double)(mix(base + i) >> 11) * 0x1p-53;
        run_elem_set(v->spec->type, data + i * size, low + unit * (high - low));
    }
    v->array.data = data;
    return RUN_OK;
}

static run_exit eval_extent(const maker *k, const run_value *v, uint32_t d, uint64_t *out)
{
    int64_t extent;
    if (pg_str_is(v->spec->shape[d], "?")) {
        if (!v->has_value || v->array.rank != v->spec->rank) {
            return run_fail(k->msgs, RUN_USAGE, RUN_MSG_ARG_NO_SIZE, k->request->file,
                            v->spec->name);
        }
        *out = v->array.shape[d];
        return RUN_OK;
    }
    run_exit status = run_inputs_eval(k->msgs, k->in, k->request->file, v->spec->name,
                                      v->spec->shape[d], &extent);
    if (status == RUN_OK && extent < 0) {
        return run_fail(k->msgs, RUN_INPUT, RUN_MSG_ARG_EXTENT, k->request->file, (long long)extent,
                        v->spec->name);
    }
    *out = (uint64_t)extent;
    return status;
}

/* Arrays travel without gaps between their rows; another layout in memory is refused. */
static run_exit check_strides(const maker *k, const run_value *v, const run_array *a)
{
    uint64_t dense = 1;
    for (uint32_t d = v->spec->has_strides ? a->rank : 0; d-- > 0;) {
        int64_t stride;
        run_exit status = run_inputs_eval(k->msgs, k->in, k->request->file, v->spec->name,
                                          v->spec->strides[d], &stride);
        if (status != RUN_OK) {
            return status;
        }
        if ((uint64_t)stride != dense && a->shape[d] > 1) {
            return run_fail(k->msgs, RUN_TOOL, RUN_MSG_NOT_ON_CPU, k->request->file,
                            "an array whose strides leave gaps");
        }
        dense *= a->shape[d];
    }
    return RUN_OK;
}

/* The shape of an array; one that was given must have it. */
static run_exit make_array(const maker *k, run_value *v)
{
    run_array want = {.type = v->spec->type, .rank = v->spec->rank};
    if (!v->spec->has_shape) {
        return v->has_value ? RUN_OK
                            : run_fail(k->msgs, RUN_USAGE, RUN_MSG_ARG_NO_SIZE, k->request->file,
                                       v->spec->name);
    }
    for (uint32_t d = 0; d < want.rank; d++) {
        run_exit status = eval_extent(k, v, d, &want.shape[d]);
        if (status != RUN_OK) {
            return status;
        }
    }
    if (!run_array_sizes(&want)) {
        return run_fail(k->msgs, RUN_INPUT, RUN_MSG_ARG_EXTENT, k->request->file,
                        (long long)want.shape[0], v->spec->name);
    }
    run_exit status = check_strides(k, v, &want);
    if (status != RUN_OK) {
        return status;
    }
    if (v->has_value) {
        bool is_same = v->array.rank == want.rank &&
                       memcmp(v->array.shape, want.shape, sizeof want.shape[0] * want.rank) == 0;
        return is_same ? RUN_OK : wrong_shape(k, v, &want);
    }
    v->array = want;
    return RUN_OK;
}

static bool is_read(const run_value *v)
{
    return v->has_value || v->spec->is_in || !v->spec->is_out;
}

static bool is_filled(const run_value *v)
{
    return is_read(v) && !v->has_value;
}

/* What is still to be had: random elements and what comes back from the run, and at one time either
 * the executor's copy, with a byte that says whether each of its bytes was written, or what the
 * results are compared with. */
static run_exit check_room(const maker *k)
{
    const run_request *r = k->request;
    const bool is_library = r->verifies == RUN_VERIFIES_KERNEL;
    uint64_t arrays = 0;
    uint64_t kept = 0;
    uint64_t run = 0;
    uint64_t compared = 0;
    for (uint32_t i = 0; i < k->in->manifest->n_args; i++) {
        const run_value *v = &k->in->values[i];
        if (v->spec->kind != RUN_ARG_POINTER) {
            continue;
        }
        const uint64_t n = v->array.n_bytes;
        const uint64_t reals = v->array.n_elems;
        run_memory_add(&arrays, n, 1);
        run_memory_add(&kept, n, is_filled(v) ? 2 : 1);
        run_memory_add(&run, n, r->is_on_cpu ? 2 : 0);
        if (r->verifies != RUN_VERIFIES_NOTHING) {
            run_memory_add(&compared, n, is_library ? 0 : 2);
            run_memory_add(&compared, reals, is_library && is_read(v) ? sizeof(double) : 0);
            run_memory_add(&compared, reals, v->spec->is_out ? 2 * sizeof(double) : 0);
        }
    }
    run_memory_add(&kept, run > compared ? run : compared, 1);
    return run_memory_check(k->msgs, r->file, arrays, kept);
}

static run_exit make_arrays(const maker *k)
{
    const uint32_t n = k->in->manifest->n_args;
    run_exit status = RUN_OK;
    for (uint32_t i = 0; i < n && status == RUN_OK; i++) {
        run_value *v = &k->in->values[i];
        status = v->spec->kind == RUN_ARG_POINTER ? make_array(k, v) : RUN_OK;
    }
    status = status == RUN_OK ? check_room(k) : status;
    for (uint32_t i = 0; i < n && status == RUN_OK; i++) {
        run_value *v = &k->in->values[i];
        if (v->spec->kind == RUN_ARG_POINTER) {
            status = is_filled(v) ? fill_random(k, v, i) : RUN_OK;
            v->has_value = true;
        }
    }
    return status;
}

run_exit run_inputs_eval(const run_msgs *m, const run_inputs *in, const char *file,
                         const char *what, pg_str expression, int64_t *out)
{
    const run_names names = {in->names, in->n_names};
    const char *reason;
    pg_str culprit;
    if (!run_expr_eval(expression, &names, out, &reason, &culprit)) {
        return run_fail(m, RUN_INPUT, RUN_MSG_EXPRESSION, file, what, PG_STR_ARG(expression),
                        PG_STR_ARG(culprit), reason);
    }
    return RUN_OK;
}

/* A kernel relies on div: of another value it would make misaligned accesses, or wrong masks. */
static run_exit check_div(const maker *k, const run_value *v)
{
    int64_t value = (int64_t)v->bits;
    bool is_kept = v->spec->div == 0 || value % (int64_t)v->spec->div == 0;
    return is_kept ? RUN_OK
                   : run_fail(k->msgs, RUN_INPUT, RUN_MSG_ARG_DIV, k->request->file, v->spec->name,
                              (long long)value, (unsigned)v->spec->div);
}

static run_exit make_all(const maker *k)
{
    run_exit status = take_args(k);
    if (status == RUN_OK) {
        status = take_arrays(k);
    }
    if (status != RUN_OK) {
        return status;
    }
    status = infer_from_shapes(k);
    if (status != RUN_OK) {
        return status;
    }
    status = fill_defaults(k);
    if (status != RUN_OK) {
        return status;
    }
    for (uint32_t i = 0; i < k->in->manifest->n_args; i++) {
        run_value *v = &k->in->values[i];
        if (v->spec->kind == RUN_ARG_SCALAR && !v->has_value) {
            return run_fail(k->msgs, RUN_USAGE, RUN_MSG_ARG_MISSING, k->request->file,
                            v->spec->name);
        }
    }
    for (uint32_t i = 0; i < k->in->manifest->n_args && status == RUN_OK; i++) {
        run_value *v = &k->in->values[i];
        status = v->spec->kind == RUN_ARG_SCALAR ? check_div(k, v) : RUN_OK;
    }
    return status == RUN_OK ? make_arrays(k) : status;
}

run_exit run_inputs_make(const run_msgs *m, pg_arena *a, const run_request *request,
                         const run_manifest *manifest, run_inputs *out)
{
    maker k = {m, a, request, out};
    *out = (run_inputs){.manifest = manifest};
    size_t n_names = request->args.n + request->defaults.n;
    for (uint32_t i = 0; i < manifest->n_args; i++) {
        n_names += 1 + manifest->args[i].rank;
    }
    out->values = PG_NEWS(a, run_value, manifest->n_args);
    out->names = PG_NEWS(a, run_name, n_names);
    if (out->values == NULL || out->names == NULL) {
        return no_memory(&k);
    }
    for (uint32_t i = 0; i < manifest->n_args; i++) {
        out->values[i].spec = &manifest->args[i];
    }
    return make_all(&k);
}
