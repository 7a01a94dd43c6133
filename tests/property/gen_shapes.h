/* gen_shapes.h: the shapes of random programs, and the operations that lead from one to another. */
#ifndef PG_TESTS_PROPERTY_GEN_SHAPES_H
#define PG_TESTS_PROPERTY_GEN_SHAPES_H

#include <stdint.h>

enum { SCALAR, S64, S8, S16, S8X16, S16X8, S128, S8X1, S1X16, S4X8X4, S8X4, S4X4, S4X8, N_SHAPES };
static const struct {
    const char *dims;
    uint32_t n, rank, at[3];
} shapes[N_SHAPES] = {{"", 1, 0, {0}},
                      {"64x", 64, 1, {64}},
                      {"8x", 8, 1, {8}},
                      {"16x", 16, 1, {16}},
                      {"8x16x", 128, 2, {8, 16}},
                      {"16x8x", 128, 2, {16, 8}},
                      {"128x", 128, 1, {128}},
                      {"8x1x", 8, 2, {8, 1}},
                      {"1x16x", 16, 2, {1, 16}},
                      {"4x8x4x", 128, 3, {4, 8, 4}},
                      {"8x4x", 32, 2, {8, 4}},
                      {"4x4x", 16, 2, {4, 4}},
                      {"4x8x", 32, 2, {4, 8}}};

/* Shape operations: operand shape, result shape, text. */
static const struct {
    uint8_t from, to;
    const char *op, *attrs;
} shape_ops[] = {
    {S8, S8X1, "expand", " [dim=1]"},
    {S16, S1X16, "expand", ""},
    {S8X1, S8X16, "broadcast", ""},
    {S1X16, S8X16, "broadcast", ""},
    {S8X16, S16X8, "transpose", " [perm=(1, 0)]"},
    {S16X8, S8X16, "transpose", " [perm=(1, 0)]"},
    {S128, S8X16, "reshape", ""},
    {S8X16, S128, "reshape", ""},
    {S16X8, S128, "reshape", ""},
    {S8X1, S8, "reshape", ""},
    {S128, S4X8X4, "reshape", ""},
    {S4X8X4, S8X16, "reshape", ""},
    {S4X8X4, S4X8X4, "transpose", " [perm=(2, 1, 0)]"},
    {S4X8, S8X4, "transpose", " [perm=(1, 0)]"},
    {S16, S4X4, "reshape", ""},
};
#define N_SHAPE_OPS (sizeof shape_ops / sizeof shape_ops[0])

#endif
