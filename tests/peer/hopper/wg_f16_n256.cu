#include "peer.h"
#include "hopper/codes.cuh"
#include "hopper/hopper.cuh"
/* Tiles of 64 x 256. */
PEER_SM90A(2, 128, 4096, 19200, PEER_BITS, 40960)
#define T_M 64
#define T_N 300
#define T_K 100
#define T_TN 256
#define T_STEPS 4
#define T_BITS 16
#define T_CODE code_f16
#define T_OP (wg_f16_n256<1, 1, 0, 0>)
#define T_SWA 128
#define T_SWB 128
#define T_TA 0
#define T_TB 0
#define T_ACC float
#define T_N_ACC 128
#define T_OUT(c, i) float_bits(c[i])
#define T_WANT want_float
#include "hopper/tile.cuh"
