#include "peer.h"
#include "hopper/codes.cuh"
#include "hopper/hopper.cuh"
/* tf32 in rows of 32 and 64 bytes. */
PEER_SM90A(1, 128, 4096, 2112, PEER_BITS, 8192)
#define T_M 64
#define T_N 33
#define T_K 31
#define T_TN 64
#define T_STEPS 2
#define T_BITS 32
#define T_CODE code_tf32
#define T_OP (wg_tf32<1, 1>)
#define T_SWA 32
#define T_SWB 64
#define T_TA 0
#define T_TB 0
#define T_ACC float
#define T_N_ACC 32
#define T_OUT(c, i) float_bits(c[i])
#define T_WANT want_float
#include "hopper/tile.cuh"
