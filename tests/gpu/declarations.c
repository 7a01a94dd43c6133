/* declarations.c: compiles where tools/run/cuda_api.h and the rules of tensor maps agree with
 * NVIDIA's cuda.h: numbers, layouts of structs, and the type of every function. Never run. */
#include <assert.h>
#include <cuda.h>
#include <stdint.h>

#include "tools/exec/ptxexec.h"
#include "tools/run/cuda_api.h"

/* ---- numbers --------------------------------------------------------------------------------- */

#define SAME(ours, theirs) static_assert((int)(ours) == (int)(theirs), #theirs)

SAME(RUN_CU_SUCCESS, CUDA_SUCCESS);
SAME(RUN_CU_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE);
SAME(RUN_CU_ERROR_STUB_LIBRARY, CUDA_ERROR_STUB_LIBRARY);
SAME(RUN_CU_ERROR_NO_DEVICE, CUDA_ERROR_NO_DEVICE);
SAME(RUN_CU_ERROR_INVALID_PTX, CUDA_ERROR_INVALID_PTX);
SAME(RUN_CU_ERROR_UNSUPPORTED_PTX_VERSION, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
SAME(RUN_CU_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_ILLEGAL_ADDRESS);
SAME(RUN_CU_ERROR_ASSERT, CUDA_ERROR_ASSERT);
SAME(RUN_CU_ERROR_HARDWARE_STACK_ERROR, CUDA_ERROR_HARDWARE_STACK_ERROR);
SAME(RUN_CU_ERROR_ILLEGAL_INSTRUCTION, CUDA_ERROR_ILLEGAL_INSTRUCTION);
SAME(RUN_CU_ERROR_MISALIGNED_ADDRESS, CUDA_ERROR_MISALIGNED_ADDRESS);
SAME(RUN_CU_ERROR_INVALID_ADDRESS_SPACE, CUDA_ERROR_INVALID_ADDRESS_SPACE);
SAME(RUN_CU_ERROR_INVALID_PC, CUDA_ERROR_INVALID_PC);
SAME(RUN_CU_ERROR_LAUNCH_FAILED, CUDA_ERROR_LAUNCH_FAILED);
SAME(RUN_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK,
     CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
SAME(RUN_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
     CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(RUN_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
     CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(RUN_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
     CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
SAME(RUN_CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER);
SAME(RUN_CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES);
SAME(RUN_CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER);
SAME(RUN_CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
SAME(RUN_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
     CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME(RUN_CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
     CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
SAME(RUN_CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);

SAME(PTXEXEC_TM_U8, CU_TENSOR_MAP_DATA_TYPE_UINT8);
SAME(PTXEXEC_TM_U16, CU_TENSOR_MAP_DATA_TYPE_UINT16);
SAME(PTXEXEC_TM_U32, CU_TENSOR_MAP_DATA_TYPE_UINT32);
SAME(PTXEXEC_TM_S32, CU_TENSOR_MAP_DATA_TYPE_INT32);
SAME(PTXEXEC_TM_U64, CU_TENSOR_MAP_DATA_TYPE_UINT64);
SAME(PTXEXEC_TM_S64, CU_TENSOR_MAP_DATA_TYPE_INT64);
SAME(PTXEXEC_TM_F16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16);
SAME(PTXEXEC_TM_F32, CU_TENSOR_MAP_DATA_TYPE_FLOAT32);
SAME(PTXEXEC_TM_F64, CU_TENSOR_MAP_DATA_TYPE_FLOAT64);
SAME(PTXEXEC_TM_BF16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
SAME(PTXEXEC_TM_F32_FTZ, CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ);
SAME(PTXEXEC_TM_TF32, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32);
SAME(PTXEXEC_TM_TF32_FTZ, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ);
#if CUDA_VERSION >= 12080
SAME(PTXEXEC_TM_U4X16_A8, CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B);
SAME(PTXEXEC_TM_U4X16_A16, CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B);
SAME(PTXEXEC_TM_U6X16_A16, CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B);
SAME(4, CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B);
SAME(5, CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B_FLIP_8B);
SAME(6, CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B);
#endif
SAME(0, CU_TENSOR_MAP_SWIZZLE_NONE);
SAME(1, CU_TENSOR_MAP_SWIZZLE_32B);
SAME(2, CU_TENSOR_MAP_SWIZZLE_64B);
SAME(3, CU_TENSOR_MAP_SWIZZLE_128B);
SAME(0, CU_TENSOR_MAP_INTERLEAVE_NONE);
SAME(1, CU_TENSOR_MAP_INTERLEAVE_16B);
SAME(2, CU_TENSOR_MAP_INTERLEAVE_32B);
SAME(0, CU_TENSOR_MAP_L2_PROMOTION_NONE);
SAME(3, CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
SAME(0, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
SAME(1, CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA);

/* ---- structs --------------------------------------------------------------------------------- */

#define SIZE(ours, theirs) static_assert(sizeof(ours) == sizeof(theirs), #theirs)
#define PLACE(ours, a, theirs, b) \
    static_assert(offsetof(ours, a) == offsetof(theirs, b), #theirs "." #b)

SIZE(run_cu_config, CUlaunchConfig);
PLACE(run_cu_config, grid[0], CUlaunchConfig, gridDimX);
PLACE(run_cu_config, grid[1], CUlaunchConfig, gridDimY);
PLACE(run_cu_config, grid[2], CUlaunchConfig, gridDimZ);
PLACE(run_cu_config, block[0], CUlaunchConfig, blockDimX);
PLACE(run_cu_config, block[1], CUlaunchConfig, blockDimY);
PLACE(run_cu_config, block[2], CUlaunchConfig, blockDimZ);
PLACE(run_cu_config, shared_bytes, CUlaunchConfig, sharedMemBytes);
PLACE(run_cu_config, stream, CUlaunchConfig, hStream);
PLACE(run_cu_config, attributes, CUlaunchConfig, attrs);
PLACE(run_cu_config, n_attributes, CUlaunchConfig, numAttrs);
SIZE(run_cu_attribute, CUlaunchAttribute);
PLACE(run_cu_attribute, id, CUlaunchAttribute, id);
PLACE(run_cu_attribute, value.cluster[0], CUlaunchAttribute, value.clusterDim.x);
PLACE(run_cu_attribute, value.cluster[1], CUlaunchAttribute, value.clusterDim.y);
PLACE(run_cu_attribute, value.cluster[2], CUlaunchAttribute, value.clusterDim.z);
static_assert(sizeof(CUtensorMap) == RUN_CU_TENSOR_MAP_SIZE, "CUtensorMap");
static_assert(_Alignof(CUtensorMap) >= RUN_CU_TENSOR_MAP_ALIGN, "CUtensorMap");

/* ---- functions ------------------------------------------------------------------------------- */

/* cuda.h renames some functions to a later version; the name that the library exports is the
 * renamed one. */
#define TEXT_2(x) #x
#define TEXT(x)   TEXT_2(x)
#define EXPORTED(name, symbol) \
    static_assert(sizeof TEXT(name) == sizeof(symbol), symbol " is exported under another name")

void declarations_agree(run_cuda *c);
void declarations_agree(run_cuda *c)
{
    c->Init = cuInit;
    c->DriverGetVersion = cuDriverGetVersion;
    c->GetErrorName = cuGetErrorName;
    c->GetErrorString = cuGetErrorString;
    c->DeviceGetCount = cuDeviceGetCount;
    c->DeviceGet = cuDeviceGet;
    c->DeviceGetName = cuDeviceGetName;
    c->DeviceGetAttribute = cuDeviceGetAttribute;
    c->PrimaryCtxRetain = cuDevicePrimaryCtxRetain;
    c->PrimaryCtxRelease = cuDevicePrimaryCtxRelease;
    c->CtxSetCurrent = cuCtxSetCurrent;
    c->CtxSynchronize = cuCtxSynchronize;
    c->ModuleLoadDataEx = cuModuleLoadDataEx;
    c->ModuleUnload = cuModuleUnload;
    c->ModuleGetFunction = cuModuleGetFunction;
    c->FuncSetAttribute = cuFuncSetAttribute;
    c->FuncGetParamInfo = cuFuncGetParamInfo;
    c->MemAlloc = cuMemAlloc;
    c->MemFree = cuMemFree;
    c->MemcpyHtoD = cuMemcpyHtoD;
    c->MemcpyDtoH = cuMemcpyDtoH;
    c->MemsetD8 = cuMemsetD8;
    c->TensorMapEncodeTiled = cuTensorMapEncodeTiled;
    c->LaunchKernelEx = cuLaunchKernelEx;
}

EXPORTED(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2");
EXPORTED(cuMemAlloc, "cuMemAlloc_v2");
EXPORTED(cuMemFree, "cuMemFree_v2");
EXPORTED(cuMemcpyHtoD, "cuMemcpyHtoD_v2");
EXPORTED(cuMemcpyDtoH, "cuMemcpyDtoH_v2");
EXPORTED(cuMemsetD8, "cuMemsetD8_v2");
EXPORTED(cuModuleLoadDataEx, "cuModuleLoadDataEx");
EXPORTED(cuLaunchKernelEx, "cuLaunchKernelEx");
EXPORTED(cuTensorMapEncodeTiled, "cuTensorMapEncodeTiled");
EXPORTED(cuCtxSynchronize, "cuCtxSynchronize");
