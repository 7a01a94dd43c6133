#include <math.h>
#include <string.h>

#include "tools/run/backend.h"

bool run_has_float_atomics(pg_str ptx)
{
    const char *line = ptx.ptr;
    while (line != NULL && *line != '\0') {
        size_t len = strcspn(line, "\n");
        size_t at = strspn(line, " \t");
        pg_str text = pg_str_sub((pg_str){line, len}, at, len);
        if (text.len != 0 && text.ptr[0] == '@') {
            size_t guard = strcspn(text.ptr, " \t\n");
            text = pg_str_sub(text, guard + strspn(text.ptr + guard, " \t"), text.len);
        }
        if (pg_str_starts(text, PG_STR("atom.")) || pg_str_starts(text, PG_STR("red."))) {
            for (size_t i = 0; i + 2 < text.len && text.ptr[i] != ' ' && text.ptr[i] != '\t'; i++) {
                if (text.ptr[i] == '.' && (text.ptr[i + 1] == 'f' || text.ptr[i + 1] == 'b') &&
                    (text.ptr[i + 2] == 'f' || text.ptr[i + 1] == 'f')) {
                    return true;
                }
            }
        }
        line = line[len] == '\n' ? line + len + 1 : NULL;
    }
    return false;
}

uint64_t run_first_difference(const run_buffer *b, const unsigned char *other, bool is_loose)
{
    size_t size = b->type == RUN_D_NONE ? 1 : run_dtypes[b->type].size;
    uint64_t n = b->n_bytes / size;
    bool is_float = b->type != RUN_D_NONE && run_dtypes[b->type].kind == 'f';
    double mean = 0;
    for (uint64_t i = 0; is_loose && is_float && i < n; i++) {
        mean += fabs(run_elem_get(b->type, b->result + i * size)) / (double)n;
    }
    for (uint64_t i = 0; i < n; i++) {
        const unsigned char *x = b->result + i * size;
        const unsigned char *y = other + i * size;
        if (memcmp(x, y, size) == 0) {
            continue;
        }
        if (is_loose && is_float) {
            double a = run_elem_get(b->type, x);
            double gap = fabs(a - run_elem_get(b->type, y));
            if (gap <= 64 * run_dtypes[b->type].unit * (fabs(a) + mean)) {
                continue;
            }
        }
        return i;
    }
    return n;
}
