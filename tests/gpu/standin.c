#include "tests/gpu/standin.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum {
    OK = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    INVALID_DEVICE = 101,
    INVALID_CONTEXT = 201,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    PLAIN_SHARED = 49152
};

state standin;

/* ---- the log --------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 0))) static void write_line(const char *before, const char *format,
                                                             va_list args)
{
    const char *path = getenv("PTXGEN_STANDIN_LOG");
    FILE *log = path == NULL ? NULL : fopen(path, "a");
    if (log != NULL) {
        (void)fputs(before, log);
        (void)vfprintf(log, format, args);
        (void)fputc('\n', log);
        (void)fclose(log);
    }
}

void standin_log(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    write_line("", format, args);
    va_end(args);
}

void standin_misuse(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    write_line("MISUSE ", format, args);
    va_end(args);
}

long standin_number(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text == NULL ? otherwise : strtol(text, NULL, 10);
}

/* Counts the call. What it is to fail with, or 0. */
static unsigned enter(void)
{
    const char *text = getenv("PTXGEN_STANDIN_FAIL");
    char *colon = NULL;
    standin.n_calls++;
    unsigned long at = text == NULL ? 0 : strtoul(text, &colon, 10);
    return at == standin.n_calls && colon != NULL && *colon == ':'
               ? (unsigned)strtoul(colon + 1, NULL, 10)
               : 0;
}

/* ENTER logs the call and ends it where it is to fail or the driver is not up; ENTER_CTX also where
 * no context is current, or the last kernel broke it. */
#define ENTER(...)                       \
    unsigned failure = enter();          \
    standin_log(__VA_ARGS__);            \
    if (failure != 0) {                  \
        return failure;                  \
    }                                    \
    if (!standin.is_up) {                \
        standin_misuse("before cuInit"); \
        return NOT_INITIALIZED;          \
    }
#define ENTER_CTX(...)                           \
    ENTER(__VA_ARGS__)                           \
    if (standin.current == NULL) {               \
        standin_misuse("no context is current"); \
        return INVALID_CONTEXT;                  \
    }                                            \
    if (standin.sticky != 0) {                   \
        return standin.sticky;                   \
    }
#define WANT(condition, code)             \
    if (!(condition)) {                   \
        standin_misuse("%s", #condition); \
        return code;                      \
    }

__attribute__((destructor)) static void at_end(void)
{
    for (uint32_t i = 0; i < standin.n_blocks; i++) {
        standin_log("LEAK memory 0x%llx", (unsigned long long)standin.blocks[i].address);
    }
    if (standin.module != NULL) {
        standin_log("LEAK module");
    }
    if (standin.n_retained != 0) {
        standin_log("LEAK context");
    }
    if (standin.n_calls != 0) {
        standin_log("END after %lu calls", standin.n_calls);
    }
    ptxexec_device_destroy(standin.memory);
}

/* ---- the device ------------------------------------------------------------------------------ */

EXPORT unsigned cuInit(unsigned flags);
EXPORT unsigned cuInit(unsigned flags)
{
    const char *devices = getenv("PTXGEN_STANDIN_DEVICES");
    unsigned failure = enter();
    standin_log("cuInit flags=%u", flags);
    if (failure != 0) {
        return failure;
    }
    WANT(flags == 0, INVALID_VALUE)
    if (devices != NULL && strcmp(devices, "none") == 0) {
        return RUN_CU_ERROR_NO_DEVICE;
    }
    if (ptxexec_device_create(NULL, &standin.memory) != PTXEXEC_OK) {
        return OUT_OF_MEMORY;
    }
    standin.is_up = 1;
    return OK;
}

EXPORT unsigned cuDriverGetVersion(int *version);
EXPORT unsigned cuDriverGetVersion(int *version)
{
    ENTER("cuDriverGetVersion")
    *version = 13000;
    return OK;
}

static const struct {
    unsigned code;
    const char *name, *text;
} errors[] = {
    {INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {RUN_CU_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {RUN_CU_ERROR_INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {RUN_CU_ERROR_UNSUPPORTED_PTX_VERSION, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {RUN_CU_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS",
     "an illegal memory access was encountered"},
    {RUN_CU_ERROR_MISALIGNED_ADDRESS, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {RUN_CU_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

static unsigned error_text(unsigned error, const char **text, int is_name)
{
    *text = NULL;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        if (errors[i].code == error) {
            *text = is_name ? errors[i].name : errors[i].text;
        }
    }
    return *text == NULL ? INVALID_VALUE : OK;
}

/* These two may be asked at any time. */
EXPORT unsigned cuGetErrorName(unsigned error, const char **text);
EXPORT unsigned cuGetErrorName(unsigned error, const char **text)
{
    unsigned failure = enter();
    standin_log("cuGetErrorName error=%u", error);
    return failure != 0 ? failure : error_text(error, text, 1);
}

EXPORT unsigned cuGetErrorString(unsigned error, const char **text);
EXPORT unsigned cuGetErrorString(unsigned error, const char **text)
{
    unsigned failure = enter();
    standin_log("cuGetErrorString error=%u", error);
    return failure != 0 ? failure : error_text(error, text, 0);
}

EXPORT unsigned cuDeviceGetCount(int *count);
EXPORT unsigned cuDeviceGetCount(int *count)
{
    ENTER("cuDeviceGetCount")
    *count = (int)standin_number("PTXGEN_STANDIN_DEVICES", 1);
    return OK;
}

EXPORT unsigned cuDeviceGet(int *device, int ordinal);
EXPORT unsigned cuDeviceGet(int *device, int ordinal)
{
    ENTER("cuDeviceGet ordinal=%d", ordinal)
    WANT(ordinal == 0, INVALID_DEVICE)
    *device = 7; /* a handle, not the ordinal */
    return OK;
}

EXPORT unsigned cuDeviceGetName(char *name, int size, int device);
EXPORT unsigned cuDeviceGetName(char *name, int size, int device)
{
    ENTER("cuDeviceGetName size=%d device=%d", size, device)
    WANT(device == 7, INVALID_DEVICE)
    (void)snprintf(name, (size_t)size, "Stand-in");
    return OK;
}

static int most_shared(void)
{
    return (int)standin_number("PTXGEN_STANDIN_SHARED", 232448);
}

EXPORT unsigned cuDeviceGetAttribute(int *value, unsigned attribute, int device);
EXPORT unsigned cuDeviceGetAttribute(int *value, unsigned attribute, int device)
{
    ENTER("cuDeviceGetAttribute attribute=%u device=%d", attribute, device)
    WANT(device == 7, INVALID_DEVICE)
    int sm = (int)standin_number("PTXGEN_STANDIN_SM", 90);
    switch (attribute) {
    case 8: *value = PLAIN_SHARED; return OK;
    case 75: *value = sm / 10; return OK;
    case 76: *value = sm % 10; return OK;
    case 97: *value = most_shared(); return OK;
    default: standin_misuse("attribute %u is not known", attribute); return INVALID_VALUE;
    }
}

EXPORT unsigned cuDevicePrimaryCtxRetain(struct CUctx_st **context, int device);
EXPORT unsigned cuDevicePrimaryCtxRetain(struct CUctx_st **context, int device)
{
    ENTER("cuDevicePrimaryCtxRetain device=%d", device)
    WANT(device == 7, INVALID_DEVICE)
    standin.n_retained++;
    *context = (struct CUctx_st *)(void *)&standin;
    return OK;
}

EXPORT unsigned cuDevicePrimaryCtxRelease_v2(int device);
EXPORT unsigned cuDevicePrimaryCtxRelease_v2(int device)
{
    unsigned failure = enter();
    standin_log("cuDevicePrimaryCtxRelease_v2 device=%d", device);
    WANT(standin.n_retained > 0 && device == 7, INVALID_CONTEXT)
    standin.n_retained--; /* also where it fails: there is nothing more that the caller could do */
    standin.sticky = 0;
    return failure;
}

EXPORT unsigned cuCtxSetCurrent(struct CUctx_st *context);
EXPORT unsigned cuCtxSetCurrent(struct CUctx_st *context)
{
    ENTER("cuCtxSetCurrent %s", context == NULL ? "none" : "primary")
    WANT(context == NULL || ((void *)context == (void *)&standin && standin.n_retained > 0),
         INVALID_CONTEXT)
    standin.current = context;
    return OK;
}

/* ---- memory ---------------------------------------------------------------------------------- */

EXPORT unsigned cuMemAlloc_v2(unsigned long long *address, size_t size);
EXPORT unsigned cuMemAlloc_v2(unsigned long long *address, size_t size)
{
    ENTER_CTX("cuMemAlloc_v2 size=%zu", size)
    uint64_t at = 0;
    WANT(size != 0, INVALID_VALUE)
    if (standin.n_blocks == MAX_BLOCKS ||
        ptxexec_device_alloc(standin.memory, size, PTXEXEC_FILL_POISON, "block", &at) !=
            PTXEXEC_OK) {
        return OUT_OF_MEMORY;
    }
    standin.blocks[standin.n_blocks].address = at;
    standin.blocks[standin.n_blocks++].size = size;
    *address = at;
    return OK;
}

EXPORT unsigned cuMemFree_v2(unsigned long long address);
EXPORT unsigned cuMemFree_v2(unsigned long long address)
{
    unsigned failure = enter();
    standin_log("cuMemFree_v2");
    WANT(standin.current != NULL, INVALID_CONTEXT)
    for (uint32_t i = 0; i < standin.n_blocks; i++) {
        if (standin.blocks[i].address == address) {
            standin.blocks[i] = standin.blocks[--standin.n_blocks];
            if (ptxexec_device_free(standin.memory, address) != PTXEXEC_OK) {
                standin_misuse("freed twice");
            }
            return failure != 0 ? failure : standin.sticky;
        }
    }
    standin_misuse("freed what was not allocated: 0x%llx", address);
    return INVALID_VALUE;
}

/* The block that holds all of a range. */
static int is_inside(uint64_t address, size_t size)
{
    for (uint32_t i = 0; i < standin.n_blocks; i++) {
        if (address >= standin.blocks[i].address &&
            address + size <= standin.blocks[i].address + standin.blocks[i].size) {
            return 1;
        }
    }
    return 0;
}

EXPORT unsigned cuMemcpyHtoD_v2(unsigned long long to, const void *from, size_t size);
EXPORT unsigned cuMemcpyHtoD_v2(unsigned long long to, const void *from, size_t size)
{
    ENTER_CTX("cuMemcpyHtoD_v2 size=%zu", size)
    WANT(is_inside(to, size) && from != NULL, INVALID_VALUE)
    return ptxexec_device_write(standin.memory, to, from, size) == PTXEXEC_OK ? OK : INVALID_VALUE;
}

EXPORT unsigned cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t size);
EXPORT unsigned cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t size)
{
    ENTER_CTX("cuMemcpyDtoH_v2 size=%zu", size)
    WANT(is_inside(from, size) && to != NULL, INVALID_VALUE)
    uint64_t n_poison;
    uint64_t first;
    return ptxexec_device_read(standin.memory, from, to, size, &n_poison, &first) == PTXEXEC_OK
               ? OK
               : INVALID_VALUE;
}

EXPORT unsigned cuMemsetD8_v2(unsigned long long to, unsigned char value, size_t n);
EXPORT unsigned cuMemsetD8_v2(unsigned long long to, unsigned char value, size_t n)
{
    ENTER_CTX("cuMemsetD8_v2 value=%u n=%zu", value, n)
    WANT(is_inside(to, n) && n != 0, INVALID_VALUE)
    void *bytes = malloc(n);
    if (bytes == NULL) {
        return OUT_OF_MEMORY;
    }
    memset(bytes, value, n);
    ptxexec_status status = ptxexec_device_write(standin.memory, to, bytes, n);
    free(bytes);
    return status == PTXEXEC_OK ? OK : INVALID_VALUE;
}

/* ---- modules --------------------------------------------------------------------------------- */

typedef struct logs {
    char *text[2]; /* info, errors */
    size_t size[2];
} logs;

static int read_options(unsigned n, const unsigned *options, void **values, logs *out)
{
    for (unsigned i = 0; i < n; i++) {
        unsigned which = options[i] >= 5;
        if (options[i] < 3 || options[i] > 6) {
            standin_misuse("option %u is not known", options[i]);
            return 0;
        }
        if (options[i] % 2 == 1) {
            out->text[which] = values[i];
        } else {
            out->size[which] = (size_t)(uintptr_t)values[i];
        }
    }
    return (out->text[0] == NULL) == (out->size[0] == 0) &&
           (out->text[1] == NULL) == (out->size[1] == 0);
}

__attribute__((format(printf, 2, 3))) static void put_error(const logs *l, const char *format, ...)
{
    size_t used = l->text[1] == NULL ? 0 : strlen(l->text[1]);
    va_list args;
    va_start(args, format);
    if (l->text[1] != NULL) {
        (void)vsnprintf(l->text[1] + used, l->size[1] - used, format, args);
    }
    va_end(args);
}

static unsigned compile(CUmod_st *m, const char *text, const logs *l)
{
    long newest = standin_number("PTXGEN_STANDIN_PTX", 90);
    long version = standin_version_of(text);
    if (version > newest) {
        put_error(
            l,
            "ptxas application ptx input, line 1; fatal   : Unsupported .version %ld.%ld; current "
            "version is '%ld.%ld'\n",
            version / 10, version % 10, newest / 10, newest % 10);
        return RUN_CU_ERROR_UNSUPPORTED_PTX_VERSION;
    }
    const char *refused = getenv("PTXGEN_STANDIN_REFUSE");
    const char *at = refused == NULL ? NULL : strstr(text, refused);
    if (at != NULL) {
        unsigned line = 1;
        for (const char *p = text; p < at; p++) {
            line += *p == '\n';
        }
        put_error(l,
                  "ptxas application ptx input, line %u; error   : Not to my taste\n"
                  "ptxas fatal   : Ptx assembly aborted due to errors\n",
                  line);
        return RUN_CU_ERROR_INVALID_PTX;
    }
    ptxexec_status status = ptxexec_module_load(NULL, text, strlen(text), &m->code);
    if (status == PTXEXEC_OK) {
        return OK;
    }
    int is_run = standin_number("PTXGEN_STANDIN_RUN", 1) != 0;
    size_t n = m->code == NULL ? 0 : ptxexec_module_diag_count(m->code);
    for (size_t i = 0; i < n && (is_run || status != PTXEXEC_E_UNSUPPORTED); i++) {
        ptxexec_diag d = ptxexec_module_diag(m->code, i);
        put_error(l, "ptxas application ptx input, line %u; error   : %s\n", d.line, d.message);
    }
    put_error(l, "ptxas fatal   : Ptx assembly aborted due to errors\n");
    ptxexec_module_destroy(m->code);
    m->code = NULL;
    return !is_run && status == PTXEXEC_E_UNSUPPORTED ? OK : RUN_CU_ERROR_INVALID_PTX;
}

EXPORT unsigned cuModuleLoadDataEx(struct CUmod_st **module, const void *image, unsigned n_options,
                                   unsigned *options, void **values);
EXPORT unsigned cuModuleLoadDataEx(struct CUmod_st **module, const void *image, unsigned n_options,
                                   unsigned *options, void **values)
{
    ENTER_CTX("cuModuleLoadDataEx options=%u", n_options)
    logs l = {.size = {0, 0}};
    WANT(image != NULL && standin.module == NULL, INVALID_VALUE)
    WANT(read_options(n_options, options, values, &l), INVALID_VALUE)
    CUmod_st *m = calloc(1, sizeof *m);
    if (m == NULL || (m->text = strdup(image)) == NULL) {
        free(m);
        return OUT_OF_MEMORY;
    }
    unsigned result = compile(m, m->text, &l);
    if (result != OK) {
        free(m->text);
        free(m);
        return result;
    }
    *module = standin.module = m;
    return OK;
}

EXPORT unsigned cuModuleUnload(struct CUmod_st *module);
EXPORT unsigned cuModuleUnload(struct CUmod_st *module)
{
    unsigned failure = enter();
    standin_log("cuModuleUnload");
    WANT(standin.current != NULL, INVALID_CONTEXT)
    WANT(module != NULL && module == standin.module, INVALID_HANDLE)
    ptxexec_module_destroy(module->code);
    free(module->text);
    free(module);
    standin.module = NULL;
    return failure != 0 ? failure : standin.sticky;
}

EXPORT unsigned cuModuleGetFunction(struct CUfunc_st **function, struct CUmod_st *module,
                                    const char *name);
EXPORT unsigned cuModuleGetFunction(struct CUfunc_st **function, struct CUmod_st *module,
                                    const char *name)
{
    ENTER_CTX("cuModuleGetFunction %s", name)
    WANT(module != NULL && module == standin.module, INVALID_HANDLE)
    WANT(module->n_functions < MAX_FUNCTIONS, OUT_OF_MEMORY)
    CUfunc_st *f = &module->functions[module->n_functions];
    *f = (CUfunc_st){.module = module, .max_dynamic = PLAIN_SHARED};
    if (!standin_find_entry(module->text, name, f)) {
        return NOT_FOUND;
    }
    (void)snprintf(f->name, sizeof f->name, "%s", name);
    module->n_functions++;
    *function = f;
    return OK;
}

EXPORT unsigned cuFuncSetAttribute(struct CUfunc_st *function, unsigned attribute, int value);
EXPORT unsigned cuFuncSetAttribute(struct CUfunc_st *function, unsigned attribute, int value)
{
    ENTER_CTX("cuFuncSetAttribute attribute=%u value=%d", attribute, value)
    WANT(function != NULL && function->module == standin.module, INVALID_HANDLE)
    switch (attribute) {
    case 8:
        WANT(value >= 0 && value <= most_shared(), INVALID_VALUE)
        function->max_dynamic = (uint32_t)value;
        return OK;
    case 14: function->may_be_wide = value; return OK;
    default: standin_misuse("attribute %u is not known", attribute); return INVALID_VALUE;
    }
}

#ifndef STANDIN_OLD
EXPORT unsigned cuFuncGetParamInfo(struct CUfunc_st *function, size_t index, size_t *offset,
                                   size_t *size);
EXPORT unsigned cuFuncGetParamInfo(struct CUfunc_st *function, size_t index, size_t *offset,
                                   size_t *size)
{
    ENTER_CTX("cuFuncGetParamInfo index=%zu", index)
    WANT(function != NULL && function->module == standin.module, INVALID_HANDLE)
    if (index >= function->n_params) {
        return INVALID_VALUE; /* how a caller finds the end */
    }
    *offset = function->offset[index];
    *size = function->size[index];
    return OK;
}

/* ---- tensor maps ----------------------------------------------------------------------------- */

static void log_list(const char *name, const void *list, uint32_t n, size_t size)
{
    char text[160] = "";
    for (uint32_t i = 0; i < n && i < 5; i++) {
        uint64_t x = 0;
        memcpy(&x, (const char *)list + i * size, size);
        size_t used = strlen(text);
        (void)snprintf(text + used, sizeof text - used, " %llu", (unsigned long long)x);
    }
    standin_log("  %s%s", name, text);
}

EXPORT unsigned cuTensorMapEncodeTiled(struct CUtensorMap_st *map, unsigned type, uint32_t rank,
                                       void *address, const uint64_t *dims, const uint64_t *strides,
                                       const uint32_t *box, const uint32_t *elem_strides,
                                       unsigned interleave, unsigned swizzle, unsigned l2_promotion,
                                       unsigned oob_fill);
EXPORT unsigned cuTensorMapEncodeTiled(struct CUtensorMap_st *map, unsigned type, uint32_t rank,
                                       void *address, const uint64_t *dims, const uint64_t *strides,
                                       const uint32_t *box, const uint32_t *elem_strides,
                                       unsigned interleave, unsigned swizzle, unsigned l2_promotion,
                                       unsigned oob_fill)
{
    ENTER_CTX("cuTensorMapEncodeTiled type=%u rank=%u interleave=%u swizzle=%u l2=%u fill=%u", type,
              rank, interleave, swizzle, l2_promotion, oob_fill)
    ptxexec_tensormap m = {.struct_size = sizeof m,
                           .target = (uint32_t)standin_number("PTXGEN_STANDIN_SM", 90),
                           .type = type,
                           .rank = rank,
                           .interleave = interleave,
                           .swizzle = swizzle,
                           .l2_promotion = l2_promotion,
                           .oob_fill = oob_fill,
                           .address = (uintptr_t)address,
                           .place = (uintptr_t)map};
    ptxexec_tensormap_fault faults[4];
    size_t n_errors;
    WANT(rank >= 1 && rank <= 5, INVALID_VALUE)
    WANT(is_inside((uintptr_t)address, 1), INVALID_VALUE)
    memcpy(m.dims, dims, rank * sizeof *dims);
    memcpy(m.strides, strides, (rank - 1) * sizeof *strides);
    memcpy(m.box, box, rank * sizeof *box);
    memcpy(m.elem_strides, elem_strides, rank * sizeof *elem_strides);
    log_list("dims", dims, rank, sizeof *dims);
    log_list("strides", strides, rank - 1, sizeof *strides);
    log_list("box", box, rank, sizeof *box);
    log_list("steps", elem_strides, rank, sizeof *elem_strides);
    size_t n = ptxexec_tensormap_check(&m, faults, 4, &n_errors);
    for (size_t i = 0; i < n && i < 4; i++) {
        standin_misuse("PG%u %s", faults[i].number, faults[i].message);
    }
    if (n_errors != 0) {
        return INVALID_VALUE;
    }
    return ptxexec_tensormap_encode(&m, (unsigned char *)(void *)map) == PTXEXEC_OK ? OK
                                                                                    : INVALID_VALUE;
}
#endif

/* ---- launches -------------------------------------------------------------------------------- */

#ifndef STANDIN_ANCIENT
static int fits_grid(const run_cu_config *c)
{
    uint64_t threads = (uint64_t)c->block[0] * c->block[1] * c->block[2];
    return c->grid[0] >= 1 && c->grid[0] <= INT32_MAX && c->grid[1] >= 1 && c->grid[1] <= 65535 &&
           c->grid[2] >= 1 && c->grid[2] <= 65535 && threads >= 1 && threads <= 1024 &&
           c->block[2] <= 64;
}

static int read_cluster(const run_cu_config *c, const CUfunc_st *f, uint32_t cluster[3])
{
    for (unsigned i = 0; i < c->n_attributes; i++) {
        if (c->attributes[i].id != 4) {
            standin_misuse("launch attribute %u is not known", c->attributes[i].id);
            return 0;
        }
        memcpy(cluster, c->attributes[i].value.cluster, 3 * sizeof *cluster);
        uint32_t n = cluster[0] * cluster[1] * cluster[2];
        standin_log("  cluster %u %u %u", cluster[0], cluster[1], cluster[2]);
        if (n < 1 || n > 16 || (n > 8 && !f->may_be_wide) || c->grid[0] % cluster[0] != 0 ||
            c->grid[1] % cluster[1] != 0 || c->grid[2] % cluster[2] != 0) {
            standin_misuse("cluster %u %u %u", cluster[0], cluster[1], cluster[2]);
            return 0;
        }
    }
    return 1;
}

static unsigned code_of(const ptxexec_report *r)
{
    for (size_t i = 0; i < ptxexec_report_fault_count(r); i++) {
        ptxexec_fault f = ptxexec_report_fault(r, i);
        standin_log("  fault %s", f.message);
    }
    switch (ptxexec_report_fault_count(r) == 0 ? PTXEXEC_F_NONE : ptxexec_report_fault(r, 0).kind) {
    case PTXEXEC_F_OUT_OF_BOUNDS: return RUN_CU_ERROR_ILLEGAL_ADDRESS;
    case PTXEXEC_F_MISALIGNED: return RUN_CU_ERROR_MISALIGNED_ADDRESS;
    case PTXEXEC_F_ASSERT: return RUN_CU_ERROR_ASSERT;
    default: return RUN_CU_ERROR_LAUNCH_FAILED;
    }
}

static unsigned run(const CUfunc_st *f, const run_cu_config *c, const uint32_t cluster[3],
                    const unsigned char *block, size_t size)
{
    ptxexec_launch_options o = {.struct_size = sizeof o, .params = block, .params_size = size};
    ptxexec_report *r = NULL;
    if (ptxexec_module_find(f->module->code, f->name, &o.entry) != PTXEXEC_OK) {
        return NOT_FOUND;
    }
    memcpy(o.grid, c->grid, sizeof o.grid);
    memcpy(o.block, c->block, sizeof o.block);
    memcpy(o.cluster, cluster, sizeof o.cluster);
    o.dynamic_shared = c->shared_bytes;
    ptxexec_status status = ptxexec_launch(standin.memory, f->module->code, &o, &r);
    if (status == PTXEXEC_E_FAULT) {
        standin.sticky = code_of(r); /* seen by the next call that waits */
    } else if (status != PTXEXEC_OK) {
        standin_misuse("the executor refuses the launch: %s",
                       r != NULL && ptxexec_report_diag_count(r) > 0
                           ? ptxexec_report_diag(r, 0).message
                           : ptxexec_status_text(status));
    } else {
        (void)fputs(ptxexec_report_output(r), stdout);
    }
    ptxexec_report_destroy(r);
    return status == PTXEXEC_OK || status == PTXEXEC_E_FAULT ? OK : INVALID_VALUE;
}

EXPORT unsigned cuLaunchKernelEx(const struct CUlaunchConfig_st *config, struct CUfunc_st *function,
                                 void **params, void **extra);
EXPORT unsigned cuLaunchKernelEx(const struct CUlaunchConfig_st *config, struct CUfunc_st *function,
                                 void **params, void **extra)
{
    const run_cu_config *c = (const run_cu_config *)(const void *)config;
    ENTER_CTX("cuLaunchKernelEx grid=%u,%u,%u block=%u,%u,%u shared=%u", c->grid[0], c->grid[1],
              c->grid[2], c->block[0], c->block[1], c->block[2], c->shared_bytes)
    unsigned char block[4096] = {0};
    uint32_t cluster[3] = {1, 1, 1};
    size_t size = 0;
    WANT(function != NULL && function->module == standin.module, INVALID_HANDLE)
    WANT(extra == NULL && c->stream == NULL, INVALID_VALUE)
    WANT(fits_grid(c), INVALID_VALUE)
    WANT(c->shared_bytes <= function->max_dynamic, INVALID_VALUE)
    WANT(params != NULL || function->n_params == 0, INVALID_VALUE)
    if (!read_cluster(c, function, cluster)) {
        return INVALID_VALUE;
    }
    for (uint32_t i = 0; i < function->n_params; i++) {
        WANT(params[i] != NULL, INVALID_VALUE)
        memcpy(block + function->offset[i], params[i], function->size[i]);
        size = function->offset[i] + function->size[i];
    }
    return function->module->code == NULL ? OK : run(function, c, cluster, block, size);
}
#endif

EXPORT unsigned cuCtxSynchronize(void);
EXPORT unsigned cuCtxSynchronize(void)
{
    ENTER_CTX("cuCtxSynchronize")
    return OK;
}
