/* snippets.c: small good and bad pieces of PTX. The checker must say of each what the file says,
 * and, where there is a ptxas, ptxas must say it too. Usage: snippets FILE.  Prints `N passed, N
 * failed`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit/ptx.h"
#include "tools/asm/ptxasm.h"

enum { MAX_LINE = 2048, MAX_TEXT = 4096, ASK_EVERY = 4 };

static const char frame[] = ".version %s\n.target sm_%s\n.address_size 64\n"
                            ".extern .shared .align 1024 .b8 sm[];\n.global .align 4 .b8 gv[64];\n"
                            ".visible .entry k(.param .u64 x)\n.maxntid 128\n.minnctapersm 1\n{\n"
                            ".reg .pred %%p<20>;\n.reg .b16 %%h<20>;\n.reg .u16 %%uh<9>;\n"
                            ".reg .f16 %%hf<9>;\n.reg .b32 %%r<30>;\n.reg .u32 %%u<9>;\n"
                            ".reg .s32 %%s<9>;\n.reg .f32 %%f<30>;\n.reg .b64 %%rd<20>;\n"
                            ".reg .f64 %%fd<20>;\n%s\nret;\n}\n";

static bool checker_accepts(const char *text, char why[200])
{
    pg_arena arena;
    pg_diags diags;
    pg_ptx_module *m = NULL;
    pg_arena_init(&arena, pg_alloc_default());
    pg_diags_init(&diags, &arena, pg_alloc_default());
    bool ok = pg_ptx_read(&arena, pg_str_of(text), &diags, &m) == PG_OK &&
              pg_ptx_check(m, &diags) == PG_OK;
    (void)snprintf(why, 200, "%s", diags.n != 0 ? diags.at[0].message.ptr : "no diagnostic");
    pg_arena_fini(&arena);
    return ok;
}

/* -1: there is no ptxas */
static int ptxas_accepts(const char *text, const char *sm)
{
    char arch[16];
    (void)snprintf(arch, sizeof arch, "sm_%s", sm);
    ptxasm_options opt = ptxasm_options_default(arch);
    ptxasm_result r;
    opt.path = getenv("PTXGEN_PTXAS");
    opt.opt_level = 0;
    opt.timeout_ms = 60000;
    ptxasm_status s = ptxasm_run(&opt, text, strlen(text), &r);
    ptxasm_result_free(&r);
    return s == PTXASM_NO_TOOL ? -1 : s == PTXASM_OK;
}

int main(int argc, char **argv)
{
    char line[MAX_LINE];
    char text[MAX_TEXT];
    char why[200];
    unsigned n = 0;
    unsigned n_failed = 0;
    unsigned n_asked = 0;
    FILE *f = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (f == NULL) {
        printf("usage: snippets FILE\n");
        return 2;
    }
    bool ask_all = getenv("PTX_SNIPPETS_ALL") != NULL; /* each costs a process */
    while (fgets(line, sizeof line, f) != NULL) {
        char verdict[8];
        char sm[8];
        char version[8];
        char *body = strchr(line, '|');
        if (line[0] == '#' || body == NULL) {
            continue;
        }
        *body++ = 0;
        body[strcspn(body, "\n")] = 0;
        if (sscanf(line, "%7s %7s %7s", verdict, sm, version) != 3) {
            continue;
        }
        bool is_good = strcmp(verdict, "ok") == 0;
        (void)snprintf(text, sizeof text, frame, version, sm, body);
        n++;
        bool failed = false;
        if (checker_accepts(text, why) != is_good) {
            printf("checker: %s should be %s: %s\n", body, verdict, why);
            failed = true;
        }
        int asked = ask_all || n % ASK_EVERY == 0 ? ptxas_accepts(text, sm) : -1;
        n_asked += asked >= 0;
        if (asked >= 0 && (asked == 1) != is_good) {
            printf("ptxas: %s should be %s\n", body, verdict);
            failed = true;
        }
        n_failed += failed;
    }
    (void)fclose(f);
    printf("%u of them also asked of ptxas\n%u passed, %u failed\n", n_asked, n - n_failed,
           n_failed);
    return n_failed != 0;
}
