#include "tools/run/cuda_api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static const char library_name[] = "libcuda.so.1";

/* Where each function goes. */
static const struct {
    const char *symbol;
    size_t offset;
    int need;
} functions[] = {
#define CU(name, symbol, need, parameters) {symbol, offsetof(run_cuda, name), need},
#include "tools/run/cuda_api.def"
};

bool run_cuda_open(run_cuda *out, char *why, size_t why_size)
{
    *out = (run_cuda){.library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL)};
    if (out->library == NULL) {
        const char *reason = dlerror();
        (void)snprintf(why, why_size, "%s", reason == NULL ? library_name : reason);
        return false;
    }
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        /* ISO C has no cast from dlsym's pointer to a function; POSIX promises the same bytes. */
        void *found = dlsym(out->library, functions[i].symbol);
        memcpy((char *)out + functions[i].offset, &found, sizeof found);
        if (found == NULL && functions[i].need != 0) {
            (void)snprintf(why, why_size, "%s has no %s: it is too old", library_name,
                           functions[i].symbol);
            (void)dlclose(out->library);
            out->library = NULL;
            return false;
        }
    }
    return true;
}
