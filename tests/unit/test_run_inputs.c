/* tools/run: manifests, values of arguments, SPECs of exec. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "tools/run/inputs.h"
#include "tools/run/memory.h"
#include "tools/run/spec.h"

static const char json[] =
    "{\"schema\": 1, \"entry\": \"k\", \"target\": \"sm_80\", \"ptx_version\": \"8.0\", \"grid\": "
    "[\"ceildiv(m,4)\", \"n\", \"1\"], \"block\": [128,1,1], \"cluster\": [1,1,1], \"smem\": "
    "\"16*n\", \"args\": [{\"name\": \"x\", \"kind\": \"pointer\", \"dtype\": \"f16\", \"role\": "
    "\"in\", \"shape\": [\"m\",\"n\"]}, {\"name\": \"y\", \"kind\": \"pointer\", \"dtype\": "
    "\"bf16\", \"role\": \"out\", \"shape\": [\"m*n\"]}, {\"name\": \"m\", \"kind\": \"i32\"}, "
    "{\"name\": \"n\", \"kind\": \"i64\"}, {\"name\": \"s\", \"kind\": \"f32\"}]}";

typedef struct fixture {
    run_msgs msgs;
    pg_arena arena;
    run_manifest manifest;
} fixture;

static void set_up(fixture *f)
{
    f->msgs = (run_msgs){.to = fopen("/dev/null", "w")};
    pg_arena_init(&f->arena, pg_alloc_default());
    cr_assert_eq(
        run_manifest_read(&f->msgs, &f->arena, "k", (pg_str){json, sizeof json - 1}, &f->manifest),
        RUN_OK);
}

static void tear_down(fixture *f)
{
    pg_arena_fini(&f->arena);
    (void)fclose(f->msgs.to);
}

Test(run_manifest, reads_what_emission_writes)
{
    fixture f;
    set_up(&f);
    const run_manifest *m = &f.manifest;
    cr_assert_str_eq(m->entry, "k");
    cr_assert_eq(m->n_args, 5);
    cr_assert_eq(m->block[0], 128);
    cr_assert(pg_str_is(m->grid[0], "ceildiv(m,4)"));
    cr_assert(m->args[0].is_in && !m->args[0].is_out && m->args[1].is_out);
    cr_assert_eq(m->args[1].type, RUN_D_BF16);
    cr_assert_eq(m->args[3].type, RUN_D_S64);
    cr_assert_eq(m->args[4].kind, RUN_ARG_SCALAR);
    const char *const bad[] = {
        "",
        "[]",
        "{\"schema\": 2}",
        "{\"schema\": 1, \"entry\": 3}",
        "{\"schema\": 1, \"entry\": \"k\", \"target\": \"t\", \"block\": [0]}",
        ("{\"schema\": 1, \"entry\": \"k\", \"target\": \"t\", \"args\": [{\"name\": \"x\", "
         "\"kind\": \"f99\"}]}"),
    };
    run_manifest out;
    for (size_t i = 0; i < PG_COUNT_OF(bad); i++) {
        cr_assert_eq(run_manifest_read(&f.msgs, &f.arena, "k", pg_str_of(bad[i]), &out), RUN_DEFECT,
                     "%s", bad[i]);
    }
    tear_down(&f);
}

Test(run_inputs, scalars_give_shapes)
{
    fixture f;
    run_inputs in;
    set_up(&f);
    const run_pair args[] = {{"m", "6"}, {"n", "3"}, {"s", "1.5"}};
    run_request r = {.file = "k", .args = {args, 3}, .low = -1, .high = 1, .seed = 7};
    cr_assert_eq(run_inputs_make(&f.msgs, &f.arena, &r, &f.manifest, &in), RUN_OK);
    cr_assert_eq(in.values[0].array.n_elems, 18);
    cr_assert_eq(in.values[1].array.shape[0], 18);
    cr_assert_not_null(in.values[0].array.data);
    cr_assert_null(in.values[1].array.data);
    cr_assert_eq(in.values[4].bits, pg_f32_bits(1.5f));
    int64_t x;
    cr_assert_eq(run_inputs_eval(&f.msgs, &in, "k", "smem", f.manifest.smem, &x), RUN_OK);
    cr_assert_eq(x, 48);
    /* The same seed, the same elements; all within the range. */
    run_inputs again;
    cr_assert_eq(run_inputs_make(&f.msgs, &f.arena, &r, &f.manifest, &again), RUN_OK);
    cr_assert_eq(memcmp(in.values[0].array.data, again.values[0].array.data, 36), 0);
    for (size_t i = 0; i < 18; i++) {
        double e = run_elem_get(RUN_D_F16, (const char *)in.values[0].array.data + 2 * i);
        cr_assert(e >= -1 && e <= 1);
    }
    tear_down(&f);
}

Test(run_inputs, defaults_and_mistakes)
{
    fixture f;
    run_inputs in;
    set_up(&f);
    const run_pair defaults[] = {{"n", "m"}, {"m", "big"}, {"big", "4"}, {"must", NULL}};
    const run_pair s[] = {{"s", "0"}};
    run_request r = {.file = "k", .args = {s, 1}, .defaults = {defaults, 4}, .high = 1};
    cr_assert_eq(run_inputs_make(&f.msgs, &f.arena, &r, &f.manifest, &in), RUN_OK);
    cr_assert_eq(in.values[0].array.n_elems, 16);
    const struct {
        run_pair arg;
        run_exit want;
    } cases[] = {{{"q", "1"}, RUN_USAGE},
                 {{"m", "x"}, RUN_USAGE},
                 {{"m", "3000000000000"}, RUN_USAGE},
                 {{"x", "1"}, RUN_USAGE},
                 {{"m", "-5"}, RUN_INPUT},
                 {{"m", "1"}, RUN_USAGE}}; /* the last: n and s are missing */
    for (size_t i = 0; i < PG_COUNT_OF(cases); i++) {
        const run_pair args[] = {cases[i].arg, {"s", "1"}, {"n", "2"}};
        r = (run_request){.file = "k", .args = {args, i + 1 < PG_COUNT_OF(cases) ? 3 : 1}};
        cr_assert_eq(run_inputs_make(&f.msgs, &f.arena, &r, &f.manifest, &in), cases[i].want, "%zu",
                     i);
    }
    tear_down(&f);
}

/* A .npy file of 5 x 2 zeros. */
static void write_zeros(fixture *f, const char *path, run_dtype type)
{
    uint16_t data[10] = {0};
    run_array a = {.type = type, .rank = 2, .shape = {5, 2}, .data = data};
    run_file made;
    cr_assert(run_array_sizes(&a));
    cr_assert_eq(run_npy_file(&f->msgs, &f->arena, path, &a, &made), RUN_OK);
    cr_assert_eq(run_write_files(&f->msgs, &made, 1), RUN_OK);
}

Test(run_inputs, arrays_give_sizes)
{
    fixture f;
    run_inputs in;
    set_up(&f);
    char path[] = "/tmp/ptxgen_in_XXXXXX";
    cr_assert_geq(mkstemp(path), 0);
    write_zeros(&f, path, RUN_D_F16);
    const run_pair args[] = {{"s", "1"}, {"m", "6"}};
    const run_pair ins[] = {{"x", path}};
    run_request r = {.file = "k", .args = {args, 1}, .ins = {ins, 1}};
    cr_assert_eq(run_inputs_make(&f.msgs, &f.arena, &r, &f.manifest, &in), RUN_OK);
    cr_assert_eq(in.values[2].bits, 5);
    cr_assert_eq(in.values[3].bits, 2);
    r.args.n = 2; /* m = 6 contradicts the file */
    cr_assert_eq(run_inputs_make(&f.msgs, &f.arena, &r, &f.manifest, &in), RUN_INPUT);
    write_zeros(&f, path, RUN_D_U16); /* not how an f16 is stored */
    r.args.n = 1;
    cr_assert_eq(run_inputs_make(&f.msgs, &f.arena, &r, &f.manifest, &in), RUN_INPUT);
    (void)remove(path);
    tear_down(&f);
}

Test(run_inputs, unknown_extents_and_strides)
{
    static const char text[] =
        "{\"schema\": 1, \"entry\": \"k\", \"target\": \"sm_80\", \"args\": [{\"name\": \"x\", "
        "\"kind\": \"pointer\", \"dtype\": \"f16\", \"role\": \"in\", \"shape\": [\"?\", \"2\"], "
        "\"strides\": [\"s\", \"1\"]}, {\"name\": \"s\", \"kind\": \"i32\"}]}";
    fixture f;
    run_inputs in;
    run_manifest manifest;
    set_up(&f);
    cr_assert_eq(run_manifest_read(&f.msgs, &f.arena, "k", pg_str_of(text), &manifest), RUN_OK);
    char path[] = "/tmp/ptxgen_in_XXXXXX";
    cr_assert_geq(mkstemp(path), 0);
    write_zeros(&f, path, RUN_D_F16);
    const run_pair ins[] = {{"x", path}};
    const run_pair dense[] = {{"s", "2"}};
    const run_pair gaps[] = {{"s", "4"}};
    run_request r = {.file = "k", .args = {dense, 1}, .ins = {ins, 1}};
    cr_assert_eq(run_inputs_make(&f.msgs, &f.arena, &r, &manifest, &in), RUN_OK);
    cr_assert_eq(in.values[0].array.n_elems, 10);
    r.args.at = gaps;
    cr_assert_eq(run_inputs_make(&f.msgs, &f.arena, &r, &manifest, &in), RUN_TOOL);
    r.ins.n = 0;
    cr_assert_eq(run_inputs_make(&f.msgs, &f.arena, &r, &manifest, &in), RUN_USAGE);
    (void)remove(path);
    tear_down(&f);
}

Test(run_spec, forms)
{
    fixture f;
    run_specs s;
    set_up(&f);
    const char *const texts[] = {"u32:7",   "s8:-1", "f16:1.5",
                                 "f64:2",   "null",  "out:a:b.npy:f32:2x3",
                                 "zero:64", "@5+8",  "@7+4"};
    cr_assert_eq(run_specs_parse(&f.msgs, &f.arena, texts, 9, &s), RUN_OK);
    cr_assert_eq(s.n_params, 9);
    cr_assert_eq(s.n_buffers, 2);
    cr_assert_eq(s.params[0].n_bytes, 4);
    cr_assert_eq(s.params[1].n_bytes, 1);
    cr_assert_eq(memcmp(s.params[2].bytes, "\x00\x3e", 2), 0);
    cr_assert_eq(s.params[4].n_bytes, 8);
    cr_assert_str_eq(s.out_files[0], "a:b.npy");
    cr_assert_eq(s.arrays[0].n_bytes, 24);
    cr_assert(s.buffers[1].is_zero);
    cr_assert_eq(s.params[8].buffer, 0);
    cr_assert_eq(s.params[8].offset, 12);
    const char *const bad[] = {
        "",        "x",     "u32",       "u32:",      "u32:x",     "u8:256",     "@0",
        "@",       "@9",    "out:x.npy", "out:x:f32", "out:x:q:2", "out:x:f32:", "out:x:f32:2x",
        "zero:-1", "zero:", "inout:x",   "in:",       "foo:1",     "out::f32:2"};
    for (size_t i = 0; i < PG_COUNT_OF(bad); i++) {
        cr_assert_eq(run_specs_parse(&f.msgs, &f.arena, &bad[i], 1, &s), RUN_USAGE, "%s", bad[i]);
    }
    const char *missing[] = {"in:/nonexistent/x.npy:f32"};
    cr_assert_eq(run_specs_parse(&f.msgs, &f.arena, missing, 1, &s), RUN_INPUT);
    const char *tmap[] = {"tmap:in:/nonexistent/x.npy:box=64x128"};
    cr_assert_eq(run_specs_parse(&f.msgs, &f.arena, tmap, 1, &s), RUN_INPUT);
    tear_down(&f);
}

Test(run_memory, limits_of_the_process_count)
{
    /* Less than anything has, so that what the machine has left does not matter. */
    const rlim_t little = 1234567;
    struct rlimit before;
    cr_assert_geq(run_memory_free(), little);
    cr_assert_eq(getrlimit(RLIMIT_DATA, &before), 0);
    cr_assert_eq(setrlimit(RLIMIT_DATA, &(struct rlimit){little, before.rlim_max}), 0);
    const uint64_t have = run_memory_free();
    cr_assert_eq(setrlimit(RLIMIT_DATA, &before), 0);
    cr_assert_eq(have, little);
    fixture f;
    set_up(&f);
    cr_assert_eq(run_memory_check(&f.msgs, "k", 1, UINT64_MAX), RUN_TOOL);
    cr_assert_eq(run_memory_check(&f.msgs, "k", 1, little), RUN_OK);
    tear_down(&f);
}

Test(run_memory, sums_stay_at_the_end)
{
    uint64_t sum = 1;
    run_memory_add(&sum, UINT64_MAX, 0);
    run_memory_add(&sum, 3, 5);
    cr_assert_eq(sum, 16);
    run_memory_add(&sum, UINT64_MAX / 2, 2);
    cr_assert_eq(sum, UINT64_MAX);
    run_memory_add(&sum, 1, 1);
    cr_assert_eq(sum, UINT64_MAX);
}
