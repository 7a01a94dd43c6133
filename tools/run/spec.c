#include "tools/run/spec.h"

#include <string.h>

#include "tools/run/tmap.h"

typedef struct parser {
    const run_msgs *msgs;
    pg_arena *arena;
    run_specs *out;
    const char *text; /* the whole argument */
} parser;

static run_exit wrong(const parser *p, const char *reason)
{
    return run_fail(p->msgs, RUN_USAGE, RUN_MSG_SPEC, NULL, p->text, reason);
}

static run_exit no_memory(const parser *p)
{
    return run_fail(p->msgs, RUN_TOOL, RUN_MSG_NO_MEMORY, NULL);
}

/* Cuts off what follows the last ':'; false if there is none. */
static bool split_last(pg_str *s, pg_str *last)
{
    size_t at = s->len;
    while (at > 0 && s->ptr[at - 1] != ':') {
        at--;
    }
    if (at == 0) {
        return false;
    }
    *last = pg_str_sub(*s, at, s->len);
    *s = pg_str_sub(*s, 0, at - 1);
    return true;
}

static run_exit add_bytes(parser *p, const void *bytes, size_t n)
{
    run_param *param = &p->out->params[p->out->n_params++];
    *param = (run_param){.spec = p->text, .buffer = -1, .n_bytes = n};
    param->bytes = pg_arena_copy(p->arena, bytes, n);
    return param->bytes == NULL ? no_memory(p) : RUN_OK;
}

/* A parameter that points to a new buffer. */
static run_buffer *add_buffer(parser *p, const run_array *array, const char *out_file)
{
    run_specs *s = p->out;
    s->params[s->n_params++] = (run_param){.spec = p->text, .buffer = (int32_t)s->n_buffers};
    s->arrays[s->n_buffers] = *array;
    s->out_files[s->n_buffers] = out_file;
    run_buffer *b = &s->buffers[s->n_buffers++];
    *b = (run_buffer){
        .label = p->text,
        .init = array->data,
        .n_bytes = array->n_bytes,
        .is_output = out_file != NULL,
        .type = array->type,
    };
    return b;
}

static run_exit parse_value(parser *p, pg_str kind, pg_str value)
{
    run_dtype type = run_dtype_find(kind);
    uint64_t bits;
    if (!run_elem_parse(type, value, &bits)) {
        return wrong(p, "the value does not fit the type");
    }
    unsigned char bytes[8];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (unsigned char)(bits >> (8 * i));
    }
    return add_bytes(p, bytes, run_dtypes[type].size);
}

static run_exit read_array(const parser *p, pg_str path, run_dtype type, run_array *out)
{
    pg_str name = pg_arena_str(p->arena, path);
    run_exit status = run_npy_read(p->msgs, p->arena, name.ptr, out);
    const char *have = run_dtypes[out->type].name;
    if (status == RUN_OK && type != RUN_D_NONE && !run_array_retype(out, type)) {
        return run_fail(p->msgs, RUN_INPUT, RUN_MSG_NPY_DTYPE, name.ptr, have,
                        run_dtypes[type].name);
    }
    return status;
}

/* FILE[:DTYPE]: what follows the last ':' is a type if it is the name of one. */
static pg_str split_dtype(pg_str rest, run_dtype *type)
{
    pg_str path = rest;
    pg_str last;
    *type = RUN_D_NONE;
    if (split_last(&path, &last) && run_dtype_find(last) != RUN_D_NONE) {
        *type = run_dtype_find(last);
        return path;
    }
    return rest;
}

static run_exit parse_in(parser *p, pg_str rest)
{
    run_dtype type;
    run_array array;
    pg_str path = split_dtype(rest, &type);
    if (path.len == 0) {
        return wrong(p, "write in:FILE.npy[:DTYPE]");
    }
    run_exit status = read_array(p, path, type, &array);
    if (status == RUN_OK) {
        (void)add_buffer(p, &array, NULL);
    }
    return status;
}

static run_exit parse_inout(parser *p, pg_str rest)
{
    run_dtype type;
    run_array array;
    pg_str out_path;
    pg_str in_path = split_dtype(rest, &type);
    if (!split_last(&in_path, &out_path) || in_path.len == 0 || out_path.len == 0) {
        return wrong(p, "write inout:IN.npy:OUT.npy[:DTYPE]");
    }
    run_exit status = read_array(p, in_path, type, &array);
    if (status == RUN_OK) {
        (void)add_buffer(p, &array, pg_arena_str(p->arena, out_path).ptr);
    }
    return status;
}

static bool parse_dims(pg_str text, run_array *out)
{
    while (out->rank < RUN_MAX_RANK) {
        size_t end = 0;
        while (end < text.len && text.ptr[end] != 'x') {
            end++;
        }
        if (!pg_parse_u64(pg_str_sub(text, 0, end), &out->shape[out->rank++])) {
            return false;
        }
        if (end == text.len) {
            return run_array_sizes(out);
        }
        text = pg_str_sub(text, end + 1, text.len);
    }
    return false;
}

static run_exit parse_out(parser *p, pg_str rest)
{
    pg_str dims;
    pg_str type;
    run_array array = {.rank = 0};
    if (!split_last(&rest, &dims) || !split_last(&rest, &type) || rest.len == 0) {
        return wrong(p, "write out:FILE.npy:DTYPE:DIMxDIM");
    }
    array.type = run_dtype_find(type);
    if (array.type == RUN_D_NONE) {
        return wrong(p, "the type is unknown");
    }
    if (!parse_dims(dims, &array)) {
        return wrong(p, "the extents make no array");
    }
    (void)add_buffer(p, &array, pg_arena_str(p->arena, rest).ptr);
    return RUN_OK;
}

static run_exit parse_zero(parser *p, pg_str rest)
{
    run_array array = {.type = RUN_D_U8, .rank = 1};
    if (!pg_parse_u64(rest, &array.shape[0]) || !run_array_sizes(&array)) {
        return wrong(p, "write zero:BYTES");
    }
    add_buffer(p, &array, NULL)->is_zero = true;
    return RUN_OK;
}

static run_exit parse_bytes(parser *p, pg_str rest)
{
    pg_str bytes;
    run_exit status = run_read_file(p->msgs, p->arena, pg_arena_str(p->arena, rest).ptr, &bytes);
    return status == RUN_OK ? add_bytes(p, bytes.ptr, bytes.len) : status;
}

/* @N[+BYTES]; argument N must come before. */
static run_exit parse_reference(parser *p, pg_str rest)
{
    size_t plus = 0;
    uint64_t index;
    uint64_t offset = 0;
    while (plus < rest.len && rest.ptr[plus] != '+') {
        plus++;
    }
    if (!pg_parse_u64(pg_str_sub(rest, 0, plus), &index) ||
        (plus < rest.len && !pg_parse_u64(pg_str_sub(rest, plus + 1, rest.len), &offset))) {
        return wrong(p, "write @N or @N+BYTES");
    }
    if (index >= p->out->n_params || p->out->params[index].buffer < 0) {
        return wrong(p, "that argument is no array, or comes later");
    }
    run_param param = p->out->params[index];
    param.spec = p->text;
    param.map = NULL; /* the array, also of a tensor map */
    param.offset += offset;
    if (param.offset > p->out->buffers[param.buffer].n_bytes) {
        return wrong(p, "the offset lies outside of the array");
    }
    p->out->params[p->out->n_params++] = param;
    return RUN_OK;
}

static run_exit parse_array(parser *p, pg_str text)
{
    static const struct {
        const char *prefix;
        run_exit (*parse)(parser *p, pg_str rest);
    } forms[] = {
        {"@", parse_reference}, {"in:", parse_in}, {"out:", parse_out}, {"inout:", parse_inout}};
    for (size_t i = 0; i < PG_COUNT_OF(forms); i++) {
        pg_str prefix = pg_str_of(forms[i].prefix);
        if (pg_str_starts(text, prefix)) {
            return forms[i].parse(p, pg_str_sub(text, prefix.len, text.len));
        }
    }
    return wrong(p, "the array of a map is @N, or begins with in:, out: or inout:");
}

/* ARRAY:box=..., ARRAY:im2col=...: a pointer to the array, which the launch turns into a map of it.
 */
static run_exit parse_tmap(parser *p, pg_str rest)
{
    size_t at = 0;
    for (bool is_found = false; at < rest.len && !is_found; at += is_found ? 0 : 1) {
        const pg_str tail = pg_str_sub(rest, at, rest.len);
        is_found = pg_str_starts(tail, PG_STR(":box=")) || pg_str_starts(tail, PG_STR(":im2col="));
    }
    if (at == rest.len) {
        return wrong(p,
                     "write tmap:ARRAY:box=AxB or tmap:ARRAY:im2col=PIXELSxCHANNELS, and further "
                     "options behind it");
    }
    run_exit status = parse_array(p, pg_str_sub(rest, 0, at));
    if (status != RUN_OK) {
        return status;
    }
    run_param *param = &p->out->params[p->out->n_params - 1];
    ptxexec_tensormap *map = PG_NEW(p->arena, ptxexec_tensormap);
    if (map == NULL) {
        return no_memory(p);
    }
    const char *why =
        run_tmap_parse(pg_str_sub(rest, at + 1, rest.len), &p->out->arrays[param->buffer], map);
    param->map = map;
    return why != NULL ? wrong(p, why) : RUN_OK;
}

static run_exit parse_one(parser *p)
{
    static const struct {
        const char *kind;
        run_exit (*parse)(parser *p, pg_str rest);
    } forms[] = {
        {"bytes", parse_bytes}, {"in", parse_in},     {"inout", parse_inout},
        {"out", parse_out},     {"tmap", parse_tmap}, {"zero", parse_zero},
    };
    pg_str text = pg_str_of(p->text);
    const uint64_t null = 0;
    if (pg_str_is(text, "null")) {
        return add_bytes(p, &null, sizeof null);
    }
    if (text.len != 0 && text.ptr[0] == '@') {
        return parse_reference(p, pg_str_sub(text, 1, text.len));
    }
    size_t colon = 0;
    while (colon < text.len && text.ptr[colon] != ':') {
        colon++;
    }
    pg_str kind = pg_str_sub(text, 0, colon);
    pg_str rest = pg_str_sub(text, colon + 1, text.len);
    for (size_t i = 0; i < PG_COUNT_OF(forms); i++) {
        if (pg_str_is(kind, forms[i].kind)) {
            return colon == text.len ? wrong(p, "there is nothing after the kind")
                                     : forms[i].parse(p, rest);
        }
    }
    if (colon < text.len && run_dtype_find(kind) != RUN_D_NONE) {
        return parse_value(p, kind, rest);
    }
    return wrong(p, "it is none of the known forms");
}

run_exit run_specs_parse(const run_msgs *m, pg_arena *a, const char *const *texts, uint32_t n,
                         run_specs *out)
{
    *out = (run_specs){
        .params = PG_NEWS(a, run_param, n),
        .buffers = PG_NEWS(a, run_buffer, n),
        .arrays = PG_NEWS(a, run_array, n),
        .out_files = PG_NEWS(a, const char *, n),
    };
    parser p = {m, a, out, ""};
    if (a->is_oom) {
        return no_memory(&p);
    }
    for (uint32_t i = 0; i < n; i++) {
        p.text = texts[i];
        run_exit status = parse_one(&p);
        if (status != RUN_OK) {
            return status;
        }
    }
    return a->is_oom ? no_memory(&p) : RUN_OK;
}

run_exit run_specs_write(const run_msgs *m, pg_arena *a, const run_specs *s)
{
    size_t n_files = 0;
    run_file *files = PG_NEWS(a, run_file, s->n_buffers);
    if (files == NULL) {
        return run_fail(m, RUN_TOOL, RUN_MSG_NO_MEMORY, NULL);
    }
    for (uint32_t i = 0; i < s->n_buffers; i++) {
        if (s->out_files[i] == NULL) {
            continue;
        }
        const run_buffer *b = &s->buffers[i];
        run_array array = s->arrays[i];
        array.data = b->result;
        if (b->n_poison != 0) {
            (void)run_fail(m, RUN_OK, RUN_MSG_PARTLY_WRITTEN, s->out_files[i],
                           (unsigned long long)b->n_poison,
                           (unsigned long long)(b->first_poison / run_dtypes[b->type].size));
        }
        run_exit status = run_npy_file(m, a, s->out_files[i], &array, &files[n_files++]);
        if (status != RUN_OK) {
            return status;
        }
    }
    return run_write_files(m, files, n_files);
}
