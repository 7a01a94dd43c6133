/* draw.h: the tests' random numbers, the same on every machine. */
#ifndef PG_TESTS_DRAW_H
#define PG_TESTS_DRAW_H

#include <stdint.h>

/* 64 random bits. Any state will do, and states that are neighbours draw unlike numbers: splitmix64
 * (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). */
static inline uint64_t draw(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* One of 0..n-1; n > 0. */
static inline uint32_t draw_below(uint64_t *state, uint32_t n)
{
    return (uint32_t)(draw(state) % n);
}

#endif
