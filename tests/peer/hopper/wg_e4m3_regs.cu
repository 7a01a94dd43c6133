#include "peer.h"
#include "hopper/codes.cuh"
#include "hopper/hopper.cuh"
/* e4m3, A from registers. */
PEER_SM90A(1, 128, 4096, 4096, PEER_BITS, 16384)
#define T_M 64
#define T_N 64
#define T_K 90
#define T_TN 64
#define T_STEPS 4
#define T_BITS 8
#define T_CODE code_e4m3
#define T_OP (wg_e4m3_regs<1, 1>)
#define T_SWA 128
#define T_SWB 128
#define T_TA 0
#define T_TB 0
#define T_A_REGS 1
#define T_ACC float
#define T_N_ACC 32
#define T_OUT(c, i) float_bits(c[i])
#define T_WANT want_float
#include "hopper/tile.cuh"
