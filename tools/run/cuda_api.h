/* cuda_api.h: NVIDIA's driver, looked up at run time (cuda_api.def). Only what launching needs is
 * declared; names behind RUN_CU_ are those of NVIDIA's cuda.h behind CU_ or CUDA_, with its
 * numbers. */
#ifndef PG_RUN_CUDA_API_H
#define PG_RUN_CUDA_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct CUctx_st;
struct CUmod_st;
struct CUfunc_st;
struct CUstream_st;
struct CUtensorMap_st;
struct CUlaunchConfig_st;

enum { /* CUresult */
       RUN_CU_SUCCESS = 0,
       RUN_CU_ERROR_INVALID_VALUE = 1,
       RUN_CU_ERROR_STUB_LIBRARY = 34,
       RUN_CU_ERROR_NO_DEVICE = 100,
       RUN_CU_ERROR_NO_BINARY_FOR_GPU = 209,
       RUN_CU_ERROR_INVALID_PTX = 218,
       RUN_CU_ERROR_UNSUPPORTED_PTX_VERSION = 222,
       RUN_CU_ERROR_ILLEGAL_ADDRESS = 700,
       RUN_CU_ERROR_ASSERT = 710,
       RUN_CU_ERROR_HARDWARE_STACK_ERROR = 714,
       RUN_CU_ERROR_ILLEGAL_INSTRUCTION = 715,
       RUN_CU_ERROR_MISALIGNED_ADDRESS = 716,
       RUN_CU_ERROR_INVALID_ADDRESS_SPACE = 717,
       RUN_CU_ERROR_INVALID_PC = 718,
       RUN_CU_ERROR_LAUNCH_FAILED = 719
};

enum { /* CUdevice_attribute */
       RUN_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
       RUN_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
       RUN_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
       RUN_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97
};

enum { /* CUjit_option */
       RUN_CU_JIT_INFO_LOG_BUFFER = 3,
       RUN_CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4,
       RUN_CU_JIT_ERROR_LOG_BUFFER = 5,
       RUN_CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6
};

enum { /* CUfunction_attribute, CUlaunchAttributeID */
       RUN_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
       RUN_CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14,
       RUN_CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4
};

typedef struct run_cu_attribute { /* CUlaunchAttribute */
    unsigned int id;
    char pad[4];
    union {
        unsigned int cluster[3];
        char room[64];
    } value;
} run_cu_attribute;

typedef struct run_cu_config { /* CUlaunchConfig */
    unsigned int grid[3];
    unsigned int block[3];
    unsigned int shared_bytes;
    struct CUstream_st *stream;
    run_cu_attribute *attributes;
    unsigned int n_attributes;
} run_cu_config;

enum { RUN_CU_TENSOR_MAP_SIZE = 128, RUN_CU_TENSOR_MAP_ALIGN = 64 };

typedef struct run_cuda {
    void *library;
#define CU(name, symbol, need, parameters) unsigned int(*name) parameters;
#include "tools/run/cuda_api.def"
} run_cuda;

/* Opens libcuda.so.1 and looks up its functions. False, with the reason in `why`: there is none, or
 * it is too old for any launch. An opened library stays until the process ends: the driver has
 * threads of its own. */
bool run_cuda_open(run_cuda *out, char *why, size_t why_size);

#endif
