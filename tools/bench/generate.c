#include "generate.h"

const char *const bench_shape_names[BENCH_SHAPE_COUNT] = {"straight", "loops", "kernels"};

static void open_kernel(pg_strbuf *out, uint32_t number)
{
    pg_putf(out,
            "kernel @k%u(%%p: ptr<i32> [inout, shape=(%%n)], %%n: i32) [warps=4] {\n"
            "  launch {\n    grid 1\n  }\n"
            "  %%v0 = program_id [axis=x] : i32\n"
            "  %%v1 = iadd %%v0, %%n : i32\n"
            "  %%v2 = xor %%v1, 7 : i32\n"
            "  %%v3 = imul %%v2, %%n : i32\n"
            "  %%i = iota : tile<128xi32>\n"
            "  %%q = addptr %%p, %%i : tile<128xptr<i32>>\n"
            "  %%t0 = load %%q : tile<128xi32>\n",
            number);
}

/* The values so far reach memory through the last ones. */
static void close_kernel(pg_strbuf *out, uint32_t last, uint32_t last_tile)
{
    pg_putf(out,
            "  %%s = splat %%v%u : tile<128xi32>\n"
            "  %%u = xor %%t%u, %%s : tile<128xi32>\n"
            "  store %%q, %%u\n"
            "  return\n}\n",
            (unsigned)last, (unsigned)last_tile);
}

enum { OPEN_OPS = 7, CLOSE_OPS = 4 };

static void put_arithmetic(pg_strbuf *out, uint32_t first, uint32_t n)
{
    static const char *const ops[] = {"iadd", "xor", "imul", "isub", "or", "iadd", "and", "imax"};
    for (uint32_t i = first; i < first + n; i++) {
        pg_putf(out, "  %%v%u = %s %%v%u, %%v%u : i32\n", (unsigned)i,
                ops[(i * 5 + i / 8) % PG_COUNT_OF(ops)], (unsigned)(i - 1),
                (unsigned)(i - 3 - i % 2 * (i > 4)));
    }
}

/* One loop, one branch. %v<at>, %v<at + 1> and the tile t<tile> are new. */
enum { LOOP_OPS = 17 };
static void put_loop(pg_strbuf *out, uint32_t at, uint32_t tile)
{
    pg_putf(
        out,
        "  %%a%u, %%b%u, %%t%u = for %%j in 0 to %%n step 1 carry (%%x = %%v%u, %%y = %%v%u, %%t = "
        "%%t%u) : i32, i32, tile<128xi32> {\n",
        (unsigned)at, (unsigned)at, (unsigned)tile + 1, (unsigned)at - 1, (unsigned)at - 2,
        (unsigned)tile);
    pg_putf(out,
            "    %%g = iadd %%x, %%j : i32\n"
            "    %%h = xor %%g, %%y : i32\n"
            "    %%gs = splat %%g : tile<128xi32>\n"
            "    %%k = iadd %%t, %%gs : tile<128xi32>\n"
            "    %%l = imul %%k, %%t : tile<128xi32>\n"
            "    yield %%h, %%x, %%l\n"
            "  }\n"
            "  %%c%u = icmp %%a%u, %%b%u [is=lt] : i1\n",
            (unsigned)at, (unsigned)at, (unsigned)at);
    pg_putf(out,
            "  %%v%u, %%v%u = if %%c%u : i32, i32 {\n"
            "    %%g = imul %%a%u, %%b%u : i32\n"
            "    store %%p, %%g\n"
            "    yield %%g, %%a%u\n"
            "  } else {\n"
            "    %%g = isub %%a%u, %%n : i32\n"
            "    %%h = or %%g, %%b%u : i32\n"
            "    yield %%h, %%g\n"
            "  }\n"
            "  %%w%u = iadd %%v%u, %%v%u : i32\n"
            "  %%pw%u = addptr %%p, %%w%u : ptr<i32>\n"
            "  store %%pw%u, %%v%u\n",
            (unsigned)at, (unsigned)at + 1, (unsigned)at, (unsigned)at, (unsigned)at, (unsigned)at,
            (unsigned)at, (unsigned)at, (unsigned)at, (unsigned)at, (unsigned)at + 1, (unsigned)at,
            (unsigned)at, (unsigned)at, (unsigned)at);
}

void bench_generate(pg_strbuf *out, bench_shape shape, uint32_t n)
{
    const uint32_t per_kernel = shape == BENCH_KERNELS ? 50 : n;
    pg_put(out, "ptir 1\nmodule sm_80\n\n");
    for (uint32_t number = 0, done = 0; done == 0 || done < n; number++) {
        open_kernel(out, number);
        uint32_t here = OPEN_OPS + CLOSE_OPS, v = 4, tile = 0;
        while (here < per_kernel) {
            if (shape == BENCH_STRAIGHT) {
                put_arithmetic(out, v++, 1);
                here++;
            } else {
                put_loop(out, v, tile++);
                v += 2;
                here += LOOP_OPS;
            }
        }
        close_kernel(out, v - 1, tile);
        done += here;
    }
}
