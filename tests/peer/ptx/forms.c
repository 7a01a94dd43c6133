/* forms.c: what the executor has: every form of the table of instructions (ptx_table --forms) is
 * loaded, each in a module of its own. Those that are refused are those that a list names, and each
 * line of the list names one.
 *
 *   ptx_forms PTX_TABLE LIST */
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tools/exec/ptxexec.h"

enum { MAX_PATTERNS = 64, MAX_LINE = 1024 };

typedef struct pattern {
    char text[128];
    uint32_t n_refused, n_had;
} pattern;

static pattern patterns[MAX_PATTERNS];
static uint32_t n_patterns;

static bool read_patterns(const char *path)
{
    char line[MAX_LINE];
    FILE *f = fopen(path, "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        size_t n = strcspn(line, "\n");
        if (n == 0 || line[0] == '#') {
            continue;
        }
        if (n >= sizeof patterns[0].text || n_patterns == MAX_PATTERNS) {
            (void)fclose(f);
            return false;
        }
        memcpy(patterns[n_patterns++].text, line, n);
    }
    return f != NULL && fclose(f) == 0 && n_patterns > 0;
}

/* Whether the executor takes the statement; `why` not. */
static bool is_taken(const char *version, const char *target, const char *body, char why[256])
{
    static const char head[] =
        ".version %s\n.target %s\n.address_size 64\n.visible .entry k(.param .u64 x)\n{\n"
        ".reg .pred %%p<300>;\n.reg .b16 %%h<300>;\n.reg .b32 %%r<300>;\n.reg .b8 %%c<300>;\n"
        ".reg .f32 %%f<300>;\n.reg .b64 %%rd<300>;\n.reg .f64 %%fd<300>;\n%s%s\nL:\nret;\n}\n";
    static char text[4096];
    ptxexec_module *m = NULL;
    bool has_words = strcmp(version, "8.3") >= 0;
    (void)snprintf(text, sizeof text, head, version, target,
                   has_words ? ".reg .b128 %rq<300>;\n" : "", body);
    ptxexec_status status = ptxexec_module_load(NULL, text, strlen(text), &m);
    (void)snprintf(why, 256, "%s",
                   m != NULL && ptxexec_module_diag_count(m) > 0 ? ptxexec_module_diag(m, 0).message
                                                                 : "");
    ptxexec_module_destroy(m);
    return status == PTXEXEC_OK;
}

/* Notes it at the patterns that name the spelling; false: none does. */
static bool note(const char *spelling, bool is_refused)
{
    bool is_named = false;
    for (uint32_t k = 0; k < n_patterns; k++) {
        if (fnmatch(patterns[k].text, spelling, 0) == 0) {
            patterns[k].n_refused += is_refused ? 1 : 0;
            patterns[k].n_had += is_refused ? 0 : 1;
            is_named = true;
        }
    }
    return is_named;
}

int main(int argc, char **argv)
{
    char line[MAX_LINE];
    char why[256];
    uint32_t n = 0;
    uint32_t n_bad = 0;
    if (argc != 3 || !read_patterns(argv[2])) {
        printf("usage: ptx_forms PTX_TABLE LIST\n");
        return 2;
    }
    (void)snprintf(line, sizeof line, "'%s' --forms", argv[1]);
    FILE *forms = popen(line, "r");
    while (forms != NULL && fgets(line, sizeof line, forms) != NULL) {
        char version[16];
        char target[16];
        char spelling[256];
        int at = 0;
        line[strcspn(line, "\n")] = 0;
        if (sscanf(line, "%15s %15s %n%255[^ ;]", version, target, &at, spelling) != 3) {
            continue;
        }
        n++;
        bool is_refused = !is_taken(version, target, line + at, why);
        if (!note(spelling, is_refused) && is_refused) {
            printf("%s: %s: refused, and no line of the list says so\n", target, why);
            n_bad++;
        }
    }
    bool is_read = forms != NULL && pclose(forms) == 0 && n > 1000;
    for (uint32_t k = 0; k < n_patterns; k++) {
        if (patterns[k].n_refused == 0 || patterns[k].n_had != 0) {
            printf("%s: %u forms refused, %u taken\n", patterns[k].text, patterns[k].n_refused,
                   patterns[k].n_had);
            n_bad++;
        }
    }
    printf("%u passed, %u failed\n", n - n_bad, n_bad);
    return is_read && n_bad == 0 ? 0 : 1;
}
