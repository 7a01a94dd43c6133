/* standin_ptx.c: just enough of PTX to know an entry's parameters, so that their block is not laid
 * out by the reader that is under test. */
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/standin.h"

long standin_version_of(const char *text)
{
    const char *at = strstr(text, ".version ");
    char *end = NULL;
    if (at == NULL) {
        return 0;
    }
    long major = strtol(at + 9, &end, 10);
    return major * 10 + (*end == '.' ? strtol(end + 1, NULL, 10) : 0);
}

static size_t size_of_type(const char *word)
{
    const char *digit = word + strcspn(word, "0123456789");
    return (size_t)strtol(digit, NULL, 10) / 8;
}

/* ".param .align 64 .b8 name[128]", ".param .u64 .ptr .global .align 16 name": one parameter. */
static void read_param(char *text, CUfunc_st *out, size_t *used)
{
    size_t align = 0;
    size_t size = 0;
    size_t count = 1;
    int is_pointer = 0;
    char *rest = NULL;
    for (char *word = strtok_r(text, " \t\n", &rest); word != NULL;
         word = strtok_r(NULL, " \t\n", &rest)) {
        if (strcmp(word, ".ptr") == 0) {
            is_pointer = 1;
        } else if (strcmp(word, ".align") == 0) {
            word = strtok_r(NULL, " \t\n", &rest);
            align = is_pointer || word == NULL ? align : (size_t)strtol(word, NULL, 10);
        } else if (word[0] == '.' && strcmp(word, ".param") != 0 && size == 0) {
            size = size_of_type(word);
        } else if (word[0] != '.') {
            const char *bracket = strchr(word, '[');
            count = bracket == NULL ? 1 : (size_t)strtol(bracket + 1, NULL, 10);
        }
    }
    align = align == 0 ? size : align;
    if (align == 0 || out->n_params == MAX_PARAMS) {
        return;
    }
    *used = (*used + align - 1) / align * align;
    out->offset[out->n_params] = *used;
    out->size[out->n_params++] = size * count;
    *used += size * count;
}

int standin_find_entry(const char *text, const char *name, CUfunc_st *out)
{
    size_t n = strlen(name);
    const char *at = text;
    while ((at = strstr(at, ".entry ")) != NULL) {
        at += strlen(".entry ");
        at += strspn(at, " \t\n");
        if (strncmp(at, name, n) == 0 && strchr("( \t\n{", at[n]) != NULL) {
            break;
        }
    }
    if (at == NULL) {
        return 0;
    }
    at += n + strspn(at + n, " \t\n");
    size_t used = 0;
    while (*at == '(' || *at == ',') {
        at++;
        size_t len = strcspn(at, ",)");
        char *copy = strndup(at, len);
        if (copy == NULL) {
            return 0;
        }
        read_param(copy, out, &used);
        free(copy);
        at += len;
    }
    return 1;
}
