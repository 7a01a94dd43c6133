#include "peer.h"
#include "hopper/codes.cuh"
#include "hopper/hopper.cuh"
#include "hopper/async.cuh"
/* A ring of 3 stages, 4 arrivals a stage, freed one k-block later. */
#define R_M 65
#define R_N 130
#define R_K 500
#define R_KP 504
#define R_S 3
#define R_EMPTY 4
#define R_LAG 1
PEER_MAPS({.type = 6, .rank = 2, .dims = {R_K, R_M}, .strides = {R_KP * 2}, .box = {64, 64}, .swizzle = 3},
          {.offset = R_M * R_KP * 2, .type = 6, .rank = 2, .dims = {R_K, R_N}, .strides = {R_KP * 2}, .box = {64, 64},
           .swizzle = 3})
PEER_SM90A_MAPS(6, 160, (R_M + R_N) * R_KP / 2, R_M * R_N, PEER_SMALL_HALVES, 49152)
#include "hopper/ring.cuh"
