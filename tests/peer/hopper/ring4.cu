#include "peer.h"
#include "hopper/codes.cuh"
#include "hopper/hopper.cuh"
#include "hopper/async.cuh"
/* A ring of 4 stages, 1 arrival a stage. */
#define R_M 64
#define R_N 33
#define R_K 257
#define R_KP 264
#define R_S 4
#define R_EMPTY 1
#define R_LAG 0
PEER_MAPS({.type = 6, .rank = 2, .dims = {R_K, R_M}, .strides = {R_KP * 2}, .box = {64, 64}, .swizzle = 3},
          {.offset = R_M * R_KP * 2, .type = 6, .rank = 2, .dims = {R_K, R_N}, .strides = {R_KP * 2}, .box = {64, 64},
           .swizzle = 3})
PEER_SM90A_MAPS(1, 160, (R_M + R_N) * R_KP / 2, R_M * R_N, PEER_SMALL_HALVES, 65536)
#include "hopper/ring.cuh"
