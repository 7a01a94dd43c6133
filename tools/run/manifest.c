#include "tools/run/manifest.h"

#include <cjson/cJSON.h>
#include <string.h>

typedef struct reader {
    pg_arena *arena;
    const char *reason; /* first failure */
} reader;

static bool fail(reader *r, const char *reason)
{
    if (r->reason == NULL) {
        r->reason = reason;
    }
    return false;
}

/* An expression may stand as text or as a plain number. */
static bool read_expr(reader *r, const cJSON *item, pg_str *out)
{
    if (cJSON_IsString(item)) {
        *out = pg_arena_str(r->arena, pg_str_of(item->valuestring));
        return true;
    }
    if (!cJSON_IsNumber(item)) {
        return fail(r, "an expression is missing");
    }
    pg_strbuf text;
    pg_strbuf_init(&text, pg_alloc_default());
    pg_put_i64(&text, (int64_t)item->valuedouble);
    *out = pg_arena_str(r->arena, pg_strbuf_str(&text));
    pg_strbuf_fini(&text);
    return true;
}

static bool read_text(reader *r, const cJSON *object, const char *key, pg_str *out)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    if (!cJSON_IsString(item)) {
        return fail(r, key);
    }
    *out = pg_arena_str(r->arena, pg_str_of(item->valuestring));
    return true;
}

/* Three extents; what is missing is 1. */
static bool read_extents(reader *r, const cJSON *root, const char *key, uint32_t out[3])
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, key);
    for (int i = 0; i < 3; i++) {
        const cJSON *item = cJSON_GetArrayItem(list, i);
        out[i] = 1;
        if (item != NULL) {
            if (!cJSON_IsNumber(item) || item->valuedouble < 1 || item->valuedouble > 65536) {
                return fail(r, key);
            }
            out[i] = (uint32_t)item->valuedouble;
        }
    }
    return true;
}

static bool read_list(reader *r, const cJSON *list, pg_str out[RUN_MAX_DIMS], uint32_t *n_out)
{
    int n = cJSON_GetArraySize(list);
    if (!cJSON_IsArray(list) || n > RUN_MAX_DIMS) {
        return fail(r, "a shape is no list of up to 8 extents");
    }
    for (int i = 0; i < n; i++) {
        if (!read_expr(r, cJSON_GetArrayItem(list, i), &out[i])) {
            return false;
        }
    }
    *n_out = (uint32_t)n;
    return true;
}

static bool read_shape(reader *r, const cJSON *object, run_arg_spec *arg)
{
    const cJSON *shape = cJSON_GetObjectItemCaseSensitive(object, "shape");
    const cJSON *strides = cJSON_GetObjectItemCaseSensitive(object, "strides");
    uint32_t n_strides = 0;
    arg->has_shape = shape != NULL;
    arg->has_strides = shape != NULL && strides != NULL;
    if (arg->has_shape && !read_list(r, shape, arg->shape, &arg->rank)) {
        return false;
    }
    if (arg->has_strides && !read_list(r, strides, arg->strides, &n_strides)) {
        return false;
    }
    return !arg->has_strides || n_strides == arg->rank || fail(r, "a stride is missing");
}

static bool read_number(const cJSON *item, uint32_t *out)
{
    bool is_fit = cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble <= INT32_MAX;
    *out = is_fit ? (uint32_t)item->valuedouble : 0;
    return is_fit;
}

/* Which array, its extents and strides, and what one copy takes of it. */
static bool read_map(reader *r, const cJSON *object, run_arg_spec *arg)
{
    const cJSON *box = cJSON_GetObjectItemCaseSensitive(object, "box");
    const cJSON *strides = cJSON_GetObjectItemCaseSensitive(object, "strides");
    uint32_t n_strides = 0;
    arg->has_shape = arg->has_strides = true;
    if (!read_text(r, object, "of", &arg->of) ||
        !read_list(r, cJSON_GetObjectItemCaseSensitive(object, "dims"), arg->shape, &arg->rank) ||
        !read_list(r, strides, arg->strides, &n_strides)) {
        return false;
    }
    if (n_strides + 1 != arg->rank || (uint32_t)cJSON_GetArraySize(box) != arg->rank) {
        return fail(r, "a tensor map's lists disagree about its rank");
    }
    for (uint32_t d = 0; d < arg->rank; d++) {
        if (!read_number(cJSON_GetArrayItem(box, (int)d), &arg->box[d])) {
            return fail(r, "box");
        }
    }
    return read_number(cJSON_GetObjectItemCaseSensitive(object, "swizzle"), &arg->swizzle) ||
           fail(r, "swizzle");
}

static bool read_arg(reader *r, const cJSON *object, run_arg_spec *arg)
{
    pg_str name;
    pg_str kind;
    pg_str role = PG_STR("");
    pg_str type;
    if (!read_text(r, object, "name", &name) || !read_text(r, object, "kind", &kind)) {
        return false;
    }
    arg->name = name.ptr;
    arg->kind = pg_str_is(kind, "pointer")     ? RUN_ARG_POINTER
                : pg_str_is(kind, "tensormap") ? RUN_ARG_TENSORMAP
                                               : RUN_ARG_SCALAR;
    type = kind;
    if (arg->kind != RUN_ARG_SCALAR && !read_text(r, object, "dtype", &type)) {
        return false;
    }
    arg->type = run_dtype_find(type);
    if (arg->type == RUN_D_NONE) {
        return fail(r, "an argument's type is unknown");
    }
    if (arg->kind == RUN_ARG_TENSORMAP) {
        return read_map(r, object, arg);
    }
    const cJSON *div = cJSON_GetObjectItemCaseSensitive(object, "div");
    if (div != NULL && !read_number(div, &arg->div)) {
        return fail(r, "div");
    }
    const cJSON *align = cJSON_GetObjectItemCaseSensitive(object, "align");
    if (align != NULL && !read_number(align, &arg->align)) {
        return fail(r, "align");
    }
    if (cJSON_HasObjectItem(object, "role") != 0 && !read_text(r, object, "role", &role)) {
        return false;
    }
    arg->is_in = pg_str_is(role, "in") || pg_str_is(role, "inout");
    arg->is_out = pg_str_is(role, "out") || pg_str_is(role, "inout");
    return read_shape(r, object, arg);
}

static bool read_root(reader *r, const cJSON *root, run_manifest *out)
{
    pg_str entry;
    const cJSON *schema = cJSON_GetObjectItemCaseSensitive(root, "schema");
    if (!cJSON_IsNumber(schema) || schema->valuedouble != 1) {
        return fail(r, "its schema is not 1");
    }
    if (!read_text(r, root, "entry", &entry) || !read_text(r, root, "target", &out->target) ||
        !read_extents(r, root, "block", out->block) ||
        !read_extents(r, root, "cluster", out->cluster)) {
        return false;
    }
    out->entry = entry.ptr;
    const cJSON *grid = cJSON_GetObjectItemCaseSensitive(root, "grid");
    for (int i = 0; i < 3; i++) {
        const cJSON *item = cJSON_GetArrayItem(grid, i);
        out->grid[i] = PG_STR("1");
        if (item != NULL && !read_expr(r, item, &out->grid[i])) {
            return false;
        }
    }
    const cJSON *smem = cJSON_GetObjectItemCaseSensitive(root, "smem");
    out->smem = PG_STR("0");
    if (smem != NULL && !read_expr(r, smem, &out->smem)) {
        return false;
    }
    const cJSON *args = cJSON_GetObjectItemCaseSensitive(root, "args");
    int n = cJSON_GetArraySize(args);
    out->args = PG_NEWS(r->arena, run_arg_spec, (size_t)n);
    if (out->args == NULL) {
        return fail(r, "memory ran out");
    }
    for (int i = 0; i < n; i++) {
        if (!read_arg(r, cJSON_GetArrayItem(args, i), &out->args[i])) {
            return false;
        }
    }
    out->n_args = (uint32_t)n;
    return true;
}

run_exit run_manifest_read(const run_msgs *m, pg_arena *a, const char *file, pg_str json,
                           run_manifest *out)
{
    reader r = {.arena = a};
    cJSON *root = cJSON_ParseWithLength(json.ptr, json.len);
    memset(out, 0, sizeof *out);
    if (root == NULL) {
        (void)fail(&r, "it is no JSON");
    } else {
        (void)read_root(&r, root, out);
    }
    cJSON_Delete(root);
    if (a->is_oom) {
        return run_fail(m, RUN_TOOL, RUN_MSG_NO_MEMORY, file);
    }
    return r.reason == NULL ? RUN_OK : run_fail(m, RUN_DEFECT, RUN_MSG_MANIFEST, file, r.reason);
}

/* ---- several launches ------------------------------------------------------------------------ */

static run_arg_spec *find_arg(const run_manifest *m, const char *name)
{
    for (uint32_t i = 0; i < m->n_args; i++) {
        if (strcmp(m->args[i].name, name) == 0) {
            return &m->args[i];
        }
    }
    return NULL;
}

run_exit run_manifest_join(const run_msgs *m, pg_arena *a, const char *file,
                           const run_manifest *launches, uint32_t n, run_manifest *out)
{
    uint32_t most = 0;
    for (uint32_t l = 0; l < n; l++) {
        most += launches[l].n_args;
    }
    *out = launches[0];
    out->n_args = 0;
    out->args = PG_NEWS(a, run_arg_spec, most);
    if (out->args == NULL) {
        return run_fail(m, RUN_TOOL, RUN_MSG_NO_MEMORY, file);
    }
    for (uint32_t l = 0; l < n; l++) {
        for (uint32_t i = 0; i < launches[l].n_args; i++) {
            const run_arg_spec *arg = &launches[l].args[i];
            run_arg_spec *known = find_arg(out, arg->name);
            if (known == NULL) {
                out->args[out->n_args++] = *arg;
                continue;
            }
            if (known->kind != arg->kind || known->type != arg->type) {
                return run_fail(m, RUN_INPUT, RUN_MSG_ARG_DTYPE, file, arg->name,
                                run_dtypes[known->type].name, run_dtypes[arg->type].name);
            }
            known->div = arg->div > known->div ? arg->div : known->div; /* powers of two */
            known->align = arg->align > known->align ? arg->align : known->align;
            known->is_scratch = known->is_scratch || (known->is_out && !known->is_in && arg->is_in);
            known->is_out = known->is_out || arg->is_out;
        }
    }
    return RUN_OK;
}
