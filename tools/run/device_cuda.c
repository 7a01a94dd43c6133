/* device_cuda.c: a GPU through NVIDIA's driver as a place to run.
 *
 * 1. Every call's result is looked at, and the first that fails ends the run with a message; what
 * is then closed fails silently, since a broken context refuses everything.
 * 2. What was taken is given back in any case: arrays in `end`, module and context in `close`.
 * 3. Arrays lie between guard zones, which are looked at after each kernel, and begin with NaNs
 *    where the kernel is to write them: a GPU tells neither of itself. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/asm/ptxasm.h"
#include "tools/run/backend.h"
#include "tools/run/cuda_api.h"

enum {
    GUARD = 256, /* bytes on both sides; keeps the array at a multiple of 256 */
    GUARD_FILL = 0xA7,
    UNWRITTEN_FILL = 0xFF,
    LOG_SIZE = 16384,
    NAME_SIZE = 128,
    REASON_SIZE = 256,
    PORTABLE_CLUSTER = 8 /* CTAs of a cluster that every device with clusters takes */
};

typedef struct cuda {
    run_target base;
    run_cuda cu;
    int device;
    uint32_t capability;                /* 90 for sm_90 */
    uint32_t plain_shared, most_shared; /* bytes of a CTA: as it is, and for who asks */
    char name[NAME_SIZE];
    bool has_context, is_broken;
    struct CUmod_st *module;
    struct CUfunc_st **functions; /* of the steps */
    unsigned long long *blocks;   /* of the buffers, with their guards; 0: none */
    unsigned long long *starts;   /* of the buffers themselves */
} cuda;

/* Results that tell of the kernel, not of the driver. */
static bool is_kernel_fault(unsigned result)
{
    static const unsigned faults[] = {
        RUN_CU_ERROR_ILLEGAL_ADDRESS,      RUN_CU_ERROR_ASSERT,
        RUN_CU_ERROR_HARDWARE_STACK_ERROR, RUN_CU_ERROR_ILLEGAL_INSTRUCTION,
        RUN_CU_ERROR_MISALIGNED_ADDRESS,   RUN_CU_ERROR_INVALID_ADDRESS_SPACE,
        RUN_CU_ERROR_INVALID_PC,           RUN_CU_ERROR_LAUNCH_FAILED,
    };
    for (size_t i = 0; i < PG_COUNT_OF(faults); i++) {
        if (faults[i] == result) {
            return true;
        }
    }
    return false;
}

static const char *text_of(const cuda *c, unsigned result)
{
    const char *text = NULL;
    return c->cu.GetErrorString(result, &text) == RUN_CU_SUCCESS && text != NULL ? text : "unknown";
}

static const char *name_of(const cuda *c, unsigned result)
{
    const char *name = NULL;
    return c->cu.GetErrorName(result, &name) == RUN_CU_SUCCESS && name != NULL ? name : "CUresult";
}

/* RUN_OK if the call went well; else says what it was, once. */
static run_exit check(cuda *c, unsigned result, const char *call)
{
    if (result == RUN_CU_SUCCESS) {
        return RUN_OK;
    }
    if (c->is_broken) {
        return RUN_TOOL;
    }
    c->is_broken = true;
    const char *file = c->base.launch->file;
    if (is_kernel_fault(result)) {
        return run_fail(c->base.msgs, RUN_CHECK, RUN_MSG_CUDA_FAULT, file, text_of(c, result),
                        name_of(c, result), result);
    }
    return run_fail(c->base.msgs, RUN_TOOL, RUN_MSG_CUDA_CALL, file, call, text_of(c, result),
                    name_of(c, result), result);
}

/* CALL(c, MemFree, (address)): the call, its name in the message. */
#define CALL(c, function, arguments) check((c), (c)->cu.function arguments, "cu" #function)

/* ---- the device ------------------------------------------------------------------------------ */

static run_exit attribute(cuda *c, unsigned which, uint32_t *out)
{
    int value = 0;
    run_exit status = CALL(c, DeviceGetAttribute, (&value, which, c->device));
    *out = value < 0 ? 0 : (uint32_t)value;
    return status;
}

static run_exit ask_device(cuda *c)
{
    uint32_t major = 0;
    uint32_t minor = 0;
    const struct {
        unsigned which;
        uint32_t *out;
    } wanted[] = {
        {RUN_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &major},
        {RUN_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &minor},
        {RUN_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, &c->plain_shared},
        {RUN_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &c->most_shared},
    };
    run_exit status = CALL(c, DeviceGet, (&c->device, 0));
    if (status == RUN_OK) {
        status = CALL(c, DeviceGetName, (c->name, NAME_SIZE, c->device));
    }
    for (size_t i = 0; i < PG_COUNT_OF(wanted) && status == RUN_OK; i++) {
        status = attribute(c, wanted[i].which, wanted[i].out);
    }
    c->capability = major * 10 + minor;
    return status;
}

/* sm_80 runs on what is later; sm_90a on sm_90 alone, sm_100f on its own family. */
static bool fits(const char *target, uint32_t capability)
{
    char *end = NULL;
    unsigned long number = strncmp(target, "sm_", 3) == 0 ? strtoul(target + 3, &end, 10) : 0;
    char suffix = end == NULL ? '\0' : *end;
    return suffix == 'a'   ? capability == number
           : suffix == 'f' ? capability >= number && capability / 10 == number / 10
                           : capability >= number;
}

static run_exit check_target(const cuda *c)
{
    const run_launch *l = c->base.launch;
    const char *target = l->compiled == NULL ? "sm_0" : ptxgen_result_target(l->compiled).ptr;
    return fits(target, c->capability)
               ? RUN_OK
               : run_fail(c->base.msgs, RUN_TOOL, RUN_MSG_CUDA_DEVICE, l->file, target, c->name,
                          (unsigned)c->capability);
}

static run_exit take_context(cuda *c)
{
    struct CUctx_st *context = NULL;
    run_exit status = CALL(c, PrimaryCtxRetain, (&context, c->device));
    c->has_context = status == RUN_OK;
    return status == RUN_OK ? CALL(c, CtxSetCurrent, (context)) : status;
}

/* ---- the module ------------------------------------------------------------------------------ */

/* What the driver's compiler said, line by line; returns how many of it were errors. */
static size_t print_log(const cuda *c, const char *log)
{
    const run_launch *l = c->base.launch;
    ptxasm_result said = {.status = PTXASM_OK};
    size_t n_errors = 0;
    (void)ptxasm_parse(log, &said);
    for (size_t i = 0; i < said.n_messages; i++) {
        const ptxasm_message *m = &said.messages[i];
        if (m->severity >= PTXASM_ERROR) {
            pg_strbuf text;
            pg_strbuf_init(&text, pg_alloc_default());
            pg_putf(&text, "the driver's compiler: %s", m->text);
            const run_note note = {
                .line = m->line,
                .column = m->line == 0 ? 0 : 1,
                .number = RUN_MSG_CUDA_JIT,
                .message = text.is_oom ? m->text : text.ptr,
                .help = l->is_ours ? "please report this with the input that caused it" : "",
            };
            run_print_at(c->base.msgs, l, &note);
            pg_strbuf_fini(&text);
            n_errors++;
        }
    }
    ptxasm_result_free(&said);
    return n_errors;
}

/* Numbers that the driver takes in the place of pointers: sizes, device addresses. */
static void *as_pointer(uint64_t number)
{
    uintptr_t bits = (uintptr_t)number;
    void *pointer = NULL;
    memcpy(&pointer, &bits, sizeof pointer);
    return pointer;
}

static run_exit load_module(cuda *c, char *info, char *errors)
{
    const run_launch *l = c->base.launch;
    unsigned options[] = {
        RUN_CU_JIT_INFO_LOG_BUFFER,
        RUN_CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
        RUN_CU_JIT_ERROR_LOG_BUFFER,
        RUN_CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
    };
    void *values[] = {info, as_pointer(LOG_SIZE), errors, as_pointer(LOG_SIZE)};
    unsigned result =
        c->cu.ModuleLoadDataEx(&c->module, l->ptx.ptr, PG_COUNT_OF(options), options, values);
    info[LOG_SIZE - 1] = '\0';
    errors[LOG_SIZE - 1] = '\0';
    if (result == RUN_CU_SUCCESS) {
        return RUN_OK;
    }
    c->module = NULL;
    if (print_log(c, errors) != 0 && result == RUN_CU_ERROR_INVALID_PTX) {
        c->is_broken = true;
        return l->is_ours ? RUN_DEFECT : RUN_INPUT;
    }
    return check(c, result, "cuModuleLoadDataEx");
}

static run_exit load(cuda *c)
{
    const run_launch *l = c->base.launch;
    char *info = pg_arena_get(c->base.arena, LOG_SIZE, 1);
    char *errors = pg_arena_get(c->base.arena, LOG_SIZE, 1);
    if (info == NULL || errors == NULL) {
        return run_fail(c->base.msgs, RUN_TOOL, RUN_MSG_NO_MEMORY, l->file);
    }
    run_exit status = load_module(c, info, errors);
    for (uint32_t i = 0; i < l->n_steps && status == RUN_OK; i++) {
        status = CALL(c, ModuleGetFunction, (&c->functions[i], c->module, l->steps[i].entry));
    }
    return status;
}

/* ---- open and close -------------------------------------------------------------------------- */

static run_exit cuda_close(run_target *t)
{
    cuda *c = (cuda *)t;
    run_exit status = RUN_OK;
    if (c->module != NULL) {
        status = CALL(c, ModuleUnload, (c->module));
        c->module = NULL;
    }
    if (c->has_context) {
        run_exit unset = CALL(c, CtxSetCurrent, (NULL));
        run_exit released = CALL(c, PrimaryCtxRelease, (c->device));
        c->has_context = false;
        status = status != RUN_OK ? status : unset != RUN_OK ? unset : released;
    }
    return status;
}

/* No driver, or none with a device, is no failure: whoever asked may run elsewhere. */
static run_exit find_device(cuda *c, const char **absent)
{
    int n = 0;
    char *why = pg_arena_get(c->base.arena, REASON_SIZE, 1);
    if (why == NULL) {
        return run_fail(c->base.msgs, RUN_TOOL, RUN_MSG_NO_MEMORY, c->base.launch->file);
    }
    if (!run_cuda_open(&c->cu, why, REASON_SIZE)) {
        *absent = why;
        return RUN_OK;
    }
    unsigned result = c->cu.Init(0);
    if (result == RUN_CU_ERROR_NO_DEVICE || result == RUN_CU_ERROR_STUB_LIBRARY) {
        *absent = text_of(c, result);
        return RUN_OK;
    }
    run_exit status = check(c, result, "cuInit");
    if (status == RUN_OK) {
        status = CALL(c, DeviceGetCount, (&n));
    }
    if (status == RUN_OK && n == 0) {
        *absent = "the driver has no device";
    }
    return status;
}

static run_exit cuda_open(const run_msgs *m, pg_arena *a, run_launch *l, run_target **out,
                          const char **absent)
{
    static run_exit (*const stages[])(cuda * c) = {ask_device, take_context, load};
    cuda *c = PG_NEW(a, cuda);
    *out = NULL;
    *absent = NULL;
    if (c != NULL) {
        c->base = (run_target){.backend = &run_backend_cuda, .msgs = m, .arena = a, .launch = l};
        c->functions = PG_NEWS(a, struct CUfunc_st *, l->n_steps);
        c->blocks = PG_NEWS(a, unsigned long long, l->n_buffers);
        c->starts = PG_NEWS(a, unsigned long long, l->n_buffers);
    }
    if (a->is_oom) {
        return run_fail(m, RUN_TOOL, RUN_MSG_NO_MEMORY, l->file);
    }
    run_exit status = find_device(c, absent);
    if (status != RUN_OK || *absent != NULL) {
        return status;
    }
    for (size_t i = 0; i < PG_COUNT_OF(stages) && status == RUN_OK; i++) {
        status = stages[i](c);
        if (i == 0 && status == RUN_OK) {
            status = check_target(c);
        }
    }
    if (status != RUN_OK) {
        (void)cuda_close(&c->base);
        return status;
    }
    *out = &c->base;
    return RUN_OK;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

static run_exit cuda_begin(run_target *t)
{
    (void)t; /* the context is there, memory is taken array by array */
    return RUN_OK;
}

static run_exit cuda_alloc(run_target *t, uint32_t buffer, uint64_t *address)
{
    cuda *c = (cuda *)t;
    const run_buffer *b = &t->launch->buffers[buffer];
    size_t n = (size_t)b->n_bytes;
    size_t spare = b->align > GUARD ? b->align : 0; /* the driver promises no more */
    unsigned long long block = 0;
    run_exit status = CALL(c, MemAlloc, (&block, n + 2 * (size_t)GUARD + spare));
    if (status != RUN_OK) {
        return status;
    }
    unsigned long long start = block + GUARD;
    start += spare == 0 ? 0 : (spare - start % spare) % spare;
    c->blocks[buffer] = block;
    c->starts[buffer] = start;
    *address = start;
    status = CALL(c, MemsetD8, (block, GUARD_FILL, n + 2 * (size_t)GUARD + spare));
    if (status != RUN_OK || n == 0) {
        return status;
    }
    return b->init != NULL ? CALL(c, MemcpyHtoD, (*address, b->init, n))
                           : CALL(c, MemsetD8, (*address, b->is_zero ? 0 : UNWRITTEN_FILL, n));
}

static run_exit cuda_end(run_target *t)
{
    cuda *c = (cuda *)t;
    run_exit result = RUN_OK;
    for (uint32_t i = 0; i < t->launch->n_buffers; i++) {
        if (c->blocks[i] != 0) {
            run_exit status = CALL(c, MemFree, (c->blocks[i]));
            result = result == RUN_OK ? status : result;
            c->blocks[i] = 0;
        }
    }
    return result;
}

static run_exit cuda_read(run_target *t, uint32_t buffer, void *bytes, uint64_t *n_poison,
                          uint64_t *first_poison)
{
    cuda *c = (cuda *)t;
    size_t n = (size_t)t->launch->buffers[buffer].n_bytes;
    *n_poison = 0; /* not known: unwritten elements are NaN or -1 */
    *first_poison = n;
    return n == 0 ? RUN_OK : CALL(c, MemcpyDtoH, (bytes, c->starts[buffer], n));
}

static bool is_intact(const unsigned char zone[GUARD], size_t *at)
{
    for (*at = 0; *at < GUARD; (*at)++) {
        if (zone[*at] != GUARD_FILL) {
            return false;
        }
    }
    return true;
}

static run_exit check_guards(cuda *c, uint32_t buffer)
{
    const run_buffer *b = &c->base.launch->buffers[buffer];
    unsigned char before[GUARD];
    unsigned char behind[GUARD];
    size_t at;
    run_exit status = CALL(c, MemcpyDtoH, (before, c->starts[buffer] - GUARD, GUARD));
    if (status == RUN_OK) {
        status = CALL(c, MemcpyDtoH, (behind, c->starts[buffer] + b->n_bytes, GUARD));
    }
    if (status != RUN_OK) {
        return status;
    }
    if (!is_intact(before, &at)) {
        return run_fail(c->base.msgs, RUN_CHECK, RUN_MSG_CUDA_GUARD, c->base.launch->file,
                        (unsigned)(GUARD - at), "before the start", b->label);
    }
    if (!is_intact(behind, &at)) {
        return run_fail(c->base.msgs, RUN_CHECK, RUN_MSG_CUDA_GUARD, c->base.launch->file,
                        (unsigned)at, "behind the end", b->label);
    }
    return RUN_OK;
}

/* ---- kernels --------------------------------------------------------------------------------- */

static run_exit cuda_encode(run_target *t, const ptxexec_tensormap *map, unsigned char out[128])
{
    cuda *c = (cuda *)t;
    const ptxexec_tensormap *m = map;
    if (c->cu.TensorMapEncodeTiled == NULL) {
        return run_fail(t->msgs, RUN_TOOL, RUN_MSG_CUDA_OLD, t->launch->file,
                        "cuTensorMapEncodeTiled");
    }
    return CALL(c, TensorMapEncodeTiled,
                ((struct CUtensorMap_st *)(void *)out, m->type, m->rank, as_pointer(m->address),
                 m->dims, m->strides, m->box, m->elem_strides, m->interleave, m->swizzle,
                 m->l2_promotion, m->oob_fill));
}

static run_exit cuda_param(run_target *t, uint32_t step, uint32_t index, run_param_info *out)
{
    cuda *c = (cuda *)t;
    size_t offset;
    size_t size = RUN_PARAM_UNKNOWN;
    run_exit status = c->cu.FuncGetParamInfo == NULL
                          ? RUN_OK
                          : CALL(c, FuncGetParamInfo, (c->functions[step], index, &offset, &size));
    *out = (run_param_info){"", size};
    return status;
}

/* The driver has no count: it refuses the index behind the last. */
static run_exit cuda_params(run_target *t, uint32_t step, uint32_t *n, const char **entry)
{
    cuda *c = (cuda *)t;
    unsigned result = RUN_CU_SUCCESS;
    size_t offset;
    size_t size;
    *n = RUN_PARAM_UNKNOWN;
    *entry = t->launch->steps[step].entry;
    if (c->cu.FuncGetParamInfo == NULL) {
        return RUN_OK;
    }
    for (uint32_t i = 0; result == RUN_CU_SUCCESS; i++) {
        result = c->cu.FuncGetParamInfo(c->functions[step], i, &offset, &size);
        *n = i;
    }
    return result == RUN_CU_ERROR_INVALID_VALUE ? RUN_OK : check(c, result, "cuFuncGetParamInfo");
}

/* More than a kernel has by itself must be asked for: shared memory, and CTAs of a cluster. */
static run_exit opt_in(cuda *c, uint32_t step, uint32_t n_cluster)
{
    const run_step *at = &c->base.launch->steps[step];
    struct CUfunc_st *function = c->functions[step];
    run_exit status = RUN_OK;
    if (at->smem > c->most_shared) {
        return run_fail(c->base.msgs, RUN_TOOL, RUN_MSG_CUDA_SHARED, c->base.launch->file,
                        (unsigned)at->smem, c->name, (unsigned)c->most_shared);
    }
    if (at->smem > c->plain_shared) {
        status =
            CALL(c, FuncSetAttribute,
                 (function, RUN_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)at->smem));
    }
    if (status == RUN_OK && n_cluster > PORTABLE_CLUSTER) {
        status = CALL(c, FuncSetAttribute,
                      (function, RUN_CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
    }
    return status;
}

static run_exit launch(cuda *c, uint32_t step, void **params)
{
    const run_step *at = &c->base.launch->steps[step];
    uint32_t n_cluster = at->cluster[0] * at->cluster[1] * at->cluster[2];
    run_cu_attribute cluster = {.id = RUN_CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
    run_cu_config config = {.shared_bytes = at->smem};
    memcpy(config.grid, at->grid, sizeof config.grid);
    memcpy(config.block, at->block, sizeof config.block);
    memcpy(cluster.value.cluster, at->cluster, sizeof cluster.value.cluster);
    if (n_cluster > 1) {
        config.attributes = &cluster;
        config.n_attributes = 1;
    }
    run_exit status = opt_in(c, step, n_cluster);
    if (status == RUN_OK) {
        status = CALL(c, LaunchKernelEx,
                      ((const struct CUlaunchConfig_st *)(const void *)&config, c->functions[step],
                       params, NULL));
    }
    return status == RUN_OK ? CALL(c, CtxSynchronize, ()) : status;
}

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static run_exit cuda_launch_step(run_target *t, uint32_t step, const run_bytes *params,
                                 uint64_t seed, bool is_first)
{
    cuda *c = (cuda *)t;
    uint32_t n = t->launch->steps[step].n_params;
    void **at = PG_NEWS(t->arena, void *, n + 1);
    (void)seed; /* a GPU draws for itself */
    for (uint32_t i = 0; i < n && at != NULL; i++) {
        at[i] = pg_arena_copy(t->arena, params[i].at, (size_t)params[i].n);
    }
    if (t->arena->is_oom) {
        return run_fail(t->msgs, RUN_TOOL, RUN_MSG_NO_MEMORY, t->launch->file);
    }
    double start = now();
    run_exit status = launch(c, step, at);
    t->launch->seconds += is_first ? now() - start : 0;
    for (uint32_t i = 0; i < t->launch->n_buffers && status == RUN_OK; i++) {
        status = check_guards(c, i);
    }
    return status;
}

const run_backend run_backend_cuda = {
    .open = cuda_open,
    .begin = cuda_begin,
    .alloc = cuda_alloc,
    .encode = cuda_encode,
    .params = cuda_params,
    .param = cuda_param,
    .launch_step = cuda_launch_step,
    .read = cuda_read,
    .end = cuda_end,
    .close = cuda_close,
};
