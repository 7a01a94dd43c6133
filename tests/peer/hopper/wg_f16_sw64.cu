#include "peer.h"
#include "hopper/codes.cuh"
#include "hopper/hopper.cuh"
/* Halves, A K-major with 64-byte rows, B MN-major with 64-byte rows. */
PEER_SM90A(1, 128, 4096, 2112, PEER_BITS, 16384)
#define T_M 64
#define T_N 33
#define T_K 99
#define T_TN 64
#define T_STEPS 4
#define T_BITS 16
#define T_CODE code_f16
#define T_OP (wg_f16<1, 1, 0, 1>)
#define T_SWA 64
#define T_SWB 64
#define T_TA 0
#define T_TB 1
#define T_ACC float
#define T_N_ACC 32
#define T_OUT(c, i) float_bits(c[i])
#define T_WANT want_float
#include "hopper/tile.cuh"
