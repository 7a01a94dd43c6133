/* tools/run: element types, .npy files, expressions. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/run/expr.h"
#include "tools/run/npy.h"

static FILE *quiet(void)
{
    return fopen("/dev/null", "w");
}

Test(run_dtype, all_8bit_floats_survive)
{
    const run_dtype types[] = {RUN_D_E4M3, RUN_D_E5M2};
    for (size_t t = 0; t < 2; t++) {
        for (unsigned b = 0; b < 256; b++) {
            uint8_t bits = (uint8_t)b;
            double x = run_elem_get(types[t], &bits);
            uint8_t back = 0;
            run_elem_set(types[t], &back, x);
            cr_assert(isnan(x) || back == bits, "%s %02x", run_dtypes[types[t]].name, b);
            double again = run_elem_get(types[t], &back);
            cr_assert(isnan(x) == isnan(again));
        }
    }
    uint8_t bits = 0x7E;
    cr_assert_eq(run_elem_get(RUN_D_E4M3, &bits), 448.0);
    bits = 0x7B;
    cr_assert_eq(run_elem_get(RUN_D_E5M2, &bits), 57344.0);
    run_elem_set(RUN_D_E4M3, &bits, 1e9);
    cr_assert_eq(bits, 0x7F);
    run_elem_set(RUN_D_E5M2, &bits, -1e9);
    cr_assert_eq(bits, 0xFC);
}

Test(run_dtype, integers_saturate)
{
    const struct {
        run_dtype type;
        double x, want;
    } cases[] = {{RUN_D_S8, 200, 127},        {RUN_D_S8, -200, -128},    {RUN_D_U8, -3, 0},
                 {RUN_D_U8, 300, 255},        {RUN_D_S32, 2.5, 2},       {RUN_D_S32, -3.5, -4},
                 {RUN_D_U16, 65535.4, 65535}, {RUN_D_S64, 1e30, 0x1p63}, {RUN_D_S32, NAN, 0}};
    for (size_t i = 0; i < PG_COUNT_OF(cases); i++) {
        unsigned char bytes[8];
        run_elem_set(cases[i].type, bytes, cases[i].x);
        cr_assert_eq(run_elem_get(cases[i].type, bytes), cases[i].want, "%zu", i);
    }
}

Test(run_dtype, values_from_text)
{
    uint64_t bits;
    cr_assert(run_elem_parse(RUN_D_S32, PG_STR("-1"), &bits) && bits == UINT64_MAX);
    cr_assert(run_elem_parse(RUN_D_U32, PG_STR("-1"), &bits) && bits == 0xFFFFFFFF);
    cr_assert(run_elem_parse(RUN_D_S8, PG_STR("255"), &bits) && bits == UINT64_MAX);
    cr_assert(run_elem_parse(RUN_D_U64, PG_STR("0xffffffffffffffff"), &bits) && ~bits == 0);
    cr_assert_not(run_elem_parse(RUN_D_U8, PG_STR("256"), &bits));
    cr_assert_not(run_elem_parse(RUN_D_S16, PG_STR("-32769"), &bits));
    cr_assert_not(run_elem_parse(RUN_D_S16, PG_STR("1.5"), &bits));
    cr_assert(run_elem_parse(RUN_D_F16, PG_STR("1.5"), &bits) && bits == 0x3E00);
    cr_assert(run_elem_parse(RUN_D_BF16, PG_STR("-2"), &bits) && bits == 0xC000);
    cr_assert(run_elem_parse(RUN_D_F64, PG_STR("0.1"), &bits) && bits == pg_f64_bits(0.1));
    cr_assert_eq(run_dtype_find(PG_STR("i32")), RUN_D_S32);
    cr_assert_eq(run_dtype_find(PG_STR("")), RUN_D_NONE);
    cr_assert_eq(run_dtype_of_npy(PG_STR(">f4")), RUN_D_F32);
    cr_assert_eq(run_dtype_of_npy(PG_STR("<c8")), RUN_D_NONE);
}

/* What numpy.save writes for np.arange(6, dtype='<f4').reshape(2, 3). */
Test(run_npy, header_is_numpys)
{
    pg_strbuf b;
    pg_strbuf_init(&b, pg_alloc_default());
    run_array a = {.type = RUN_D_F32, .rank = 2, .shape = {2, 3}};
    run_npy_header(&b, &a);
    const char *dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
    cr_assert_eq(b.len % 64, 0);
    cr_assert_eq(memcmp(b.ptr, "\x93NUMPY\x01\0", 8), 0);
    cr_assert_eq((size_t)(unsigned char)b.ptr[8] + 256u * (unsigned char)b.ptr[9] + 10, b.len);
    cr_assert_eq(memcmp(b.ptr + 10, dict, strlen(dict)), 0);
    cr_assert_eq(b.ptr[b.len - 1], '\n');
    pg_strbuf_clear(&b);
    a.rank = 1;
    run_npy_header(&b, &a);
    cr_assert_not_null(strstr(b.ptr + 10, "'shape': (2,), }"));
    pg_strbuf_clear(&b);
    a.rank = 0;
    run_npy_header(&b, &a);
    cr_assert_not_null(strstr(b.ptr + 10, "'shape': (), }"));
    pg_strbuf_fini(&b);
}

static pg_str make_file(pg_strbuf *b, const char *dict, const void *data, size_t n)
{
    pg_strbuf_clear(b);
    size_t len = strlen(dict);
    pg_put_str(b, (pg_str){"\x93NUMPY\x01\0", 8});
    pg_put_char(b, (char)(len & 0xFF));
    pg_put_char(b, (char)(len >> 8));
    pg_put(b, dict);
    pg_put_str(b, (pg_str){data, n});
    return pg_strbuf_str(b);
}

Test(run_npy, reads_orders_and_bytes)
{
    const run_msgs m = {.to = quiet()};
    pg_arena arena;
    pg_strbuf b;
    run_array a;
    pg_arena_init(&arena, pg_alloc_default());
    pg_strbuf_init(&b, pg_alloc_default());
    const uint8_t columns[] = {1, 4, 2, 5, 3, 6};
    pg_str file =
        make_file(&b, "{\"shape\": (2, 3), 'fortran_order': True, 'descr': '|u1'}\n", columns, 6);
    cr_assert_eq(run_npy_parse(&m, &arena, "f", file, &a), RUN_OK);
    cr_assert_eq(a.n_elems, 6);
    cr_assert_eq(memcmp(a.data, "\1\2\3\4\5\6", 6), 0);
    const uint8_t big[] = {0x3F, 0x80, 0, 0};
    file = make_file(&b, "{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", big, 4);
    cr_assert_eq(run_npy_parse(&m, &arena, "f", file, &a), RUN_OK);
    cr_assert_eq(run_elem_get(a.type, a.data), 1.0);
    file = make_file(&b, "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 5), }", "", 0);
    cr_assert_eq(run_npy_parse(&m, &arena, "f", file, &a), RUN_OK);
    cr_assert_eq(a.n_elems, 0);
    pg_strbuf_fini(&b);
    pg_arena_fini(&arena);
}

Test(run_npy, refuses_what_is_broken)
{
    const char *const dicts[] = {
        "",
        "{}",
        "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (18446744073709551615, 3)}",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,",
        "{'descr': '<f4",
    };
    const run_msgs m = {.to = quiet()};
    pg_arena arena;
    pg_strbuf b;
    run_array a;
    pg_arena_init(&arena, pg_alloc_default());
    pg_strbuf_init(&b, pg_alloc_default());
    for (size_t i = 0; i < PG_COUNT_OF(dicts); i++) {
        pg_str file = make_file(&b, dicts[i], "\0\0\0\0", 4);
        cr_assert_eq(run_npy_parse(&m, &arena, "f", file, &a), RUN_INPUT, "%s", dicts[i]);
    }
    pg_str whole =
        make_file(&b, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", "\0\0\0\0", 4);
    for (size_t n = 0; n < whole.len; n++) {
        cr_assert_eq(run_npy_parse(&m, &arena, "f", pg_str_sub(whole, 0, n), &a), RUN_INPUT);
    }
    srand(1);
    for (int i = 0; i < 20000; i++) { /* any bytes: no crash */
        pg_str copy = pg_arena_str(&arena, whole);
        char *p = pg_arena_copy(&arena, copy.ptr, copy.len);
        p[rand() % (int)copy.len] = (char)rand();
        p[rand() % (int)copy.len] = (char)rand();
        (void)run_npy_parse(&m, &arena, "f", (pg_str){p, copy.len}, &a);
    }
    pg_strbuf_fini(&b);
    pg_arena_fini(&arena);
}

Test(run_npy, round_trip_through_a_file)
{
    const run_msgs m = {.to = stderr};
    pg_arena arena;
    pg_arena_init(&arena, pg_alloc_default());
    char path[] = "/tmp/ptxgen_npy_XXXXXX";
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    int16_t data[] = {1, -2, 3, -4};
    run_array a = {.type = RUN_D_S16, .rank = 2, .shape = {2, 2}, .data = data};
    cr_assert(run_array_sizes(&a));
    run_file file;
    cr_assert_eq(run_npy_file(&m, &arena, path, &a, &file), RUN_OK);
    cr_assert_eq(run_write_files(&m, &file, 1), RUN_OK);
    run_array back;
    cr_assert_eq(run_npy_read(&m, &arena, path, &back), RUN_OK);
    cr_assert_eq(back.type, RUN_D_S16);
    cr_assert_eq(memcmp(back.data, data, sizeof data), 0);
    cr_assert(run_array_retype(&back, RUN_D_BF16));
    cr_assert_not(run_array_retype(&back, RUN_D_F32));
    (void)remove(path);
    pg_arena_fini(&arena);
}

Test(run_expr, values)
{
    const run_name given[] = {{PG_STR("m"), 300}, {PG_STR("n"), 7}, {PG_STR("zero"), 0}};
    const run_names names = {given, 3};
    const struct {
        const char *text;
        int64_t want;
    } good[] = {{"1", 1},
                {"m", 300},
                {"ceildiv(m,128)", 3},
                {"ceildiv(m, 150)", 2},
                {" 2 * (m + n) - 1 ", 613},
                {"2+3*4", 14},
                {"20-3-4", 13},
                {"100/7/2", 7},
                {"m%n", 6},
                {"-m+1", -299},
                {"min(m,n)", 7},
                {"max(1,ceildiv(m*n,1024))", 3},
                {"ceildiv(-7,2)", -3},
                {"9223372036854775807", INT64_MAX},
                {"((((1))))", 1}};
    const char *const bad[] = {"",
                               "m n",
                               "x",
                               "1/zero",
                               "m%zero",
                               "(1",
                               "1)",
                               "min(1)",
                               "min(1,2",
                               "foo(1,2)",
                               "1+",
                               "*2",
                               "9223372036854775807+1",
                               "m*9223372036854775807",
                               "-9223372036854775807-2",
                               "1.5",
                               "99999999999999999999",
                               "1,2",
                               "--"};
    const char *reason;
    pg_str culprit;
    int64_t x;
    for (size_t i = 0; i < PG_COUNT_OF(good); i++) {
        cr_assert(run_expr_eval(pg_str_of(good[i].text), &names, &x, &reason, &culprit), "%s: %s",
                  good[i].text, reason);
        cr_assert_eq(x, good[i].want, "%s", good[i].text);
    }
    for (size_t i = 0; i < PG_COUNT_OF(bad); i++) {
        cr_assert_not(run_expr_eval(pg_str_of(bad[i]), &names, &x, &reason, &culprit), "%s",
                      bad[i]);
        cr_assert(reason[0] != '\0');
    }
    char deep[400];
    memset(deep, '(', sizeof deep);
    cr_assert_not(run_expr_eval((pg_str){deep, sizeof deep}, &names, &x, &reason, &culprit));
    memset(deep, '-', sizeof deep);
    cr_assert_not(run_expr_eval((pg_str){deep, sizeof deep}, &names, &x, &reason, &culprit));
}
