#include "peer.h"
#include "hopper/codes.cuh"
#include "hopper/hopper.cuh"
/* Signed bytes. */
PEER_SM90A(4, 128, 4096, 4225, PEER_BITS, 16384)
#define T_M 65
#define T_N 65
#define T_K 257
#define T_TN 64
#define T_STEPS 4
#define T_BITS 8
#define T_CODE code_s8
#define T_OP wg_s8
#define T_SWA 128
#define T_SWB 64
#define T_TA 0
#define T_TB 0
#define T_ACC u32
#define T_N_ACC 32
#define T_OUT(c, i) c[i]
#define T_WANT want_int
#include "hopper/tile.cuh"
