/* base.h: what every file of the library may use: status codes, strings, checked sizes, numbers.
 * Nothing in base/ knows of compilers. */
#ifndef PG_BASE_BASE_H
#define PG_BASE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__)
#define PG_CHECKED      __attribute__((warn_unused_result))
#define PG_PRINTF(f, a) __attribute__((format(printf, f, a)))
#define PG_NONNULL(...) __attribute__((nonnull(__VA_ARGS__)))
#else
#define PG_CHECKED
#define PG_PRINTF(f, a)
#define PG_NONNULL(...)
#endif

/* Same numbers as ptxgen_status (ptxgen.h); api.c asserts it. */
typedef enum pg_status {
    PG_OK = 0,
    PG_E_NOMEM = 1,
    PG_E_PARSE = 2,
    PG_E_INVALID = 3,
    PG_E_UNSUPPORTED = 4,
    PG_E_RESOURCE = 5,
    PG_E_MISUSE = 6,
    PG_E_INTERNAL = 7
} pg_status;

/* Propagates the first failure. Everything lives in arenas, so an early return never leaks. */
#define PG_TRY(expr)               \
    do {                           \
        pg_status try_s_ = (expr); \
        if (try_s_ != PG_OK) {     \
            return try_s_;         \
        }                          \
    } while (0)

#define PG_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* A borrowed run of bytes; not NUL-terminated unless its owner says so. */
typedef struct pg_str {
    const char *ptr;
    size_t len;
} pg_str;

/* Text of a string literal. */
#define PG_STR(literal) ((pg_str){(literal), sizeof(literal) - 1})
/* The two arguments that "%.*s" wants. */
#define PG_STR_ARG(s) (int)(s).len, (s).ptr

pg_str pg_str_of(const char *nul_terminated); /* NULL gives the empty string */
static inline bool pg_str_eq(pg_str a, pg_str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}
static inline bool pg_str_is(pg_str a, const char *nul_terminated)
{
    const size_t n = nul_terminated == NULL ? 0 : strlen(nul_terminated);
    return a.len == n && (n == 0 || memcmp(a.ptr, nul_terminated, n) == 0);
}
int pg_str_cmp(pg_str a, pg_str b); /* bytewise order: <0, 0, >0 */
bool pg_str_starts(pg_str s, pg_str prefix);
pg_str pg_str_sub(pg_str s, size_t from, size_t to); /* clamped to s */

/* Checked sizes: false on overflow, *out untouched. */
PG_CHECKED static inline bool pg_size_mul(size_t a, size_t b, size_t *out)
{
    if (b != 0 && a > SIZE_MAX / b) {
        return false;
    }
    *out = a * b;
    return true;
}
PG_CHECKED static inline bool pg_size_add(size_t a, size_t b, size_t *out)
{
    if (a > SIZE_MAX - b) {
        return false;
    }
    *out = a + b;
    return true;
}

/* Bits. All are total: ctz and log2 of 0 give 64 and 0. */
uint32_t pg_popcount(uint64_t x);
static inline uint32_t pg_ctz(uint64_t x)
{
#if defined(__GNUC__)
    return x == 0 ? 64 : (uint32_t)__builtin_ctzll(x);
#else
    return x == 0 ? 64 : pg_popcount((x & (0 - x)) - 1);
#endif
}
static inline uint32_t pg_clz(uint64_t x) /* of 64 bits; 64 for 0 */
{
#if defined(__GNUC__)
    return x == 0 ? 64 : (uint32_t)__builtin_clzll(x);
#else
    for (uint32_t step = 1; step < 64; step *= 2) {
        x |= x >> step;
    }
    return 64 - pg_popcount(x);
#endif
}
static inline uint32_t pg_log2(uint64_t x) /* floor */
{
    return x == 0 ? 0 : 63 - pg_clz(x);
}
static inline bool pg_is_pow2(uint64_t x) /* false for 0 */
{
    return x != 0 && (x & (x - 1)) == 0;
}
/* For tables in memory: no figure of it may reach what is written. */
uint64_t pg_hash(const void *bytes, size_t n);
static inline uint64_t pg_hash_mix(uint64_t h, uint64_t x)
{
    h = (h + UINT64_C(0x9E3779B97F4A7C15)) ^ x;
    h *= UINT64_C(0xD6E8FEB86659FD93);
    return h ^ h >> 32;
}

/* Small-float conversions on bit patterns, round to nearest even, NaN stays NaN (quiet), used by
 * the constant folder, the interpreter and tools. Exact, independent of the host's rounding mode
 * for the pattern work itself. */
uint16_t pg_f32_to_f16(float x);
float pg_f16_to_f32(uint16_t bits);
uint16_t pg_f64_to_f16(double x); /* one rounding */
uint16_t pg_f32_to_bf16(float x);
uint16_t pg_f64_to_bf16(double x); /* one rounding */
float pg_bf16_to_f32(uint16_t bits);
uint32_t pg_f32_bits(float x);
float pg_f32_of_bits(uint32_t bits);
uint64_t pg_f64_bits(double x);
double pg_f64_of_bits(uint64_t bits);

/* Text to number, without locale. The whole of `s` must be the number. */
PG_CHECKED bool pg_parse_u64(pg_str s, uint64_t *out); /* decimal or 0x; false on overflow */
PG_CHECKED bool pg_parse_i64(pg_str s, int64_t *out);  /* optional sign; accepts -2^63..2^63-1 */
PG_CHECKED bool
pg_parse_f64(pg_str s, double *out); /* decimal, exactly rounded; inf, nan; 0f/0d bit patterns */

#endif
