#include "tools/run/npy.h"

#include <string.h>

bool run_array_sizes(run_array *a)
{
    size_t n = 1;
    for (uint32_t i = 0; i < a->rank; i++) {
        if (a->shape[i] > SIZE_MAX || !pg_size_mul(n, (size_t)a->shape[i], &n)) {
            return false;
        }
    }
    size_t bytes;
    if (!pg_size_mul(n, run_dtypes[a->type].size, &bytes) || bytes > SIZE_MAX / 4) {
        return false;
    }
    a->n_elems = n;
    a->n_bytes = bytes;
    return true;
}

bool run_array_retype(run_array *a, run_dtype type)
{
    if (run_dtypes[a->type].size != run_dtypes[type].size) {
        return false;
    }
    a->type = type;
    return true;
}

/* ---- the header: a Python dictionary ------------------------------------------------------- */

typedef struct cursor {
    pg_str text;
    size_t at;
} cursor;

static void skip_blanks(cursor *c)
{
    while (c->at < c->text.len && strchr(" \t\r\n", c->text.ptr[c->at]) != NULL) {
        c->at++;
    }
}

static bool take(cursor *c, const char *what)
{
    skip_blanks(c);
    if (!pg_str_starts(pg_str_sub(c->text, c->at, c->text.len), pg_str_of(what))) {
        return false;
    }
    c->at += strlen(what);
    return true;
}

static bool take_string(cursor *c, pg_str *out)
{
    const char *quote = take(c, "'") ? "'" : take(c, "\"") ? "\"" : NULL;
    size_t start = c->at;
    if (quote == NULL) {
        return false;
    }
    while (c->at < c->text.len && c->text.ptr[c->at] != *quote && c->text.ptr[c->at] != '\\') {
        c->at++;
    }
    *out = pg_str_sub(c->text, start, c->at);
    return take(c, quote);
}

static bool take_number(cursor *c, uint64_t *out)
{
    skip_blanks(c);
    size_t start = c->at;
    while (c->at < c->text.len && c->text.ptr[c->at] >= '0' && c->text.ptr[c->at] <= '9') {
        c->at++;
    }
    return pg_parse_u64(pg_str_sub(c->text, start, c->at), out);
}

static bool take_shape(cursor *c, run_array *out)
{
    out->rank = 0;
    if (!take(c, "(")) {
        return false;
    }
    while (!take(c, ")")) {
        if (out->rank == RUN_MAX_RANK || !take_number(c, &out->shape[out->rank++])) {
            return false;
        }
        if (!take(c, ",") && !take(c, ")")) {
            return false;
        }
        if (c->text.ptr[c->at - 1] == ')') {
            break;
        }
    }
    return true;
}

typedef struct header {
    pg_str descr;
    bool is_fortran;
    bool has_descr, has_order, has_shape;
} header;

static bool parse_header(pg_str text, header *h, run_array *out)
{
    cursor c = {text, 0};
    *h = (header){.descr = PG_STR("")};
    if (!take(&c, "{")) {
        return false;
    }
    while (!take(&c, "}")) {
        pg_str key;
        if (!take_string(&c, &key) || !take(&c, ":")) {
            return false;
        }
        if (pg_str_is(key, "descr") && take_string(&c, &h->descr)) {
            h->has_descr = true;
        } else if (pg_str_is(key, "fortran_order") &&
                   ((h->is_fortran = take(&c, "True")) || take(&c, "False"))) {
            h->has_order = true;
        } else if (pg_str_is(key, "shape") && take_shape(&c, out)) {
            h->has_shape = true;
        } else {
            return false;
        }
        if (!take(&c, ",") && !(c.at < text.len && text.ptr[c.at] == '}')) {
            return false;
        }
    }
    skip_blanks(&c);
    return c.at == text.len && h->has_descr && h->has_order && h->has_shape;
}

/* ---- the data ------------------------------------------------------------------------------ */

static void swap_bytes(run_array *a)
{
    size_t size = run_dtypes[a->type].size;
    unsigned char *p = a->data;
    for (uint64_t i = 0; i < a->n_elems; i++, p += size) {
        for (size_t j = 0; j < size / 2; j++) {
            unsigned char t = p[j];
            p[j] = p[size - 1 - j];
            p[size - 1 - j] = t;
        }
    }
}

/* Column-major to row-major: counts through the source with the first index fastest. */
static void transpose(const run_array *a, const unsigned char *from)
{
    size_t size = run_dtypes[a->type].size;
    uint64_t index[RUN_MAX_RANK] = {0};
    uint64_t stride[RUN_MAX_RANK];
    uint64_t step = 1;
    for (uint32_t d = a->rank; d-- > 0;) {
        stride[d] = step;
        step *= a->shape[d];
    }
    for (uint64_t i = 0; i < a->n_elems; i++) {
        uint64_t to = 0;
        for (uint32_t d = 0; d < a->rank; d++) {
            to += index[d] * stride[d];
        }
        memcpy((unsigned char *)a->data + to * size, from + i * size, size);
        for (uint32_t d = 0; d < a->rank && ++index[d] == a->shape[d]; d++) {
            index[d] = 0;
        }
    }
}

run_exit run_npy_parse(const run_msgs *m, pg_arena *arena, const char *path, pg_str bytes,
                       run_array *out)
{
    const unsigned char *b = (const unsigned char *)bytes.ptr;
    if (bytes.len < 12 || memcmp(b, "\x93NUMPY", 6) != 0 || b[6] < 1 || b[6] > 3) {
        return run_fail(m, RUN_INPUT, RUN_MSG_NPY, path, "it does not begin like one");
    }
    size_t start = b[6] == 1 ? 10 : 12;
    size_t len = (size_t)b[8] | (size_t)b[9] << 8;
    if (b[6] > 1) {
        len |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
    }
    header h;
    *out = (run_array){.rank = 0};
    if (len > bytes.len - start || !parse_header(pg_str_sub(bytes, start, start + len), &h, out)) {
        return run_fail(m, RUN_INPUT, RUN_MSG_NPY, path, "its header makes no sense");
    }
    out->type = run_dtype_of_npy(h.descr);
    if (out->type == RUN_D_NONE || strchr("<>|=", h.descr.ptr[0]) == NULL) {
        return run_fail(m, RUN_INPUT, RUN_MSG_NPY, path,
                        "its elements are no integers or floats of 1 to 8 bytes");
    }
    pg_str data = pg_str_sub(bytes, start + len, bytes.len);
    if (!run_array_sizes(out) || out->n_bytes != data.len) {
        return run_fail(m, RUN_INPUT, RUN_MSG_NPY, path, "its size does not fit its shape");
    }
    out->data = pg_arena_copy(arena, data.ptr, data.len);
    if (out->data == NULL) {
        return run_fail(m, RUN_TOOL, RUN_MSG_NO_MEMORY, path);
    }
    if (h.descr.ptr[0] == '>') {
        swap_bytes(out);
    }
    if (h.is_fortran && out->rank > 1) {
        const void *columns = out->data;
        out->data = pg_arena_get(arena, (size_t)out->n_bytes, 1);
        if (out->data == NULL) {
            return run_fail(m, RUN_TOOL, RUN_MSG_NO_MEMORY, path);
        }
        transpose(out, columns);
    }
    return RUN_OK;
}

run_exit run_npy_read(const run_msgs *m, pg_arena *arena, const char *path, run_array *out)
{
    pg_str bytes;
    run_exit status = run_read_file(m, arena, path, &bytes);
    return status == RUN_OK ? run_npy_parse(m, arena, path, bytes, out) : status;
}

void run_npy_header(pg_strbuf *out, const run_array *a)
{
    size_t start = out->len;
    pg_put_str(out, (pg_str){"\x93NUMPY\x01\0\0\0", 10});
    pg_putf(out, "{'descr': '%s', 'fortran_order': False, 'shape': (", run_dtypes[a->type].npy);
    for (uint32_t i = 0; i < a->rank; i++) {
        pg_put(out, i == 0 ? "" : ", ");
        pg_put_u64(out, a->shape[i]);
    }
    pg_put(out, a->rank == 1 ? ",), }" : "), }");
    size_t len = out->len - start + 1;
    pg_put_repeat(out, ' ', (64 - len % 64) % 64);
    pg_put_char(out, '\n');
    if (!out->is_oom) {
        len = out->len - start - 10;
        out->ptr[start + 8] = (char)(len & 0xFF);
        out->ptr[start + 9] = (char)(len >> 8);
    }
}

run_exit run_npy_file(const run_msgs *m, pg_arena *arena, const char *path, const run_array *a,
                      run_file *out)
{
    pg_strbuf head;
    pg_strbuf_init(&head, pg_alloc_default());
    run_npy_header(&head, a);
    out->path = path;
    out->head = pg_arena_str(arena, pg_strbuf_str(&head));
    out->body = (pg_str){a->data, (size_t)a->n_bytes};
    bool is_oom = head.is_oom || arena->is_oom;
    pg_strbuf_fini(&head);
    return is_oom ? run_fail(m, RUN_TOOL, RUN_MSG_NO_MEMORY, path) : RUN_OK;
}
