/* Text: the buffer and its formats, JSON, diagnostics. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/suggest.h"

#define CHECK_FORMAT(...)                                 \
    do {                                                  \
        char want_[256];                                  \
        (void)snprintf(want_, sizeof want_, __VA_ARGS__); \
        pg_strbuf_clear(&b);                              \
        pg_putf(&b, __VA_ARGS__);                         \
        cr_assert_str_eq(b.ptr, want_);                   \
    } while (0)

Test(base_text, the_same_of_one_place_is_said_once)
{
    pg_arena a;
    pg_arena_init(&a, pg_alloc_default());
    pg_diags d;
    pg_diags_init(&d, &a, pg_alloc_default());
    for (uint32_t i = 0; i < 6; i++) {
        cr_assert_eq(pg_diag_add(&d, PG_D_INTERNAL, (pg_loc){3, 7}, "f", i % 2, "w"),
                     PG_E_INTERNAL);
        cr_assert_eq(pg_diag_add(&d, PG_D_INTERNAL, (pg_loc){0, 0}, "f", 1, "w"), PG_E_INTERNAL);
    }
    cr_assert_eq(d.n, 2 + 6); /* two texts; without a place nothing is taken for the same */
    cr_assert_eq(d.n_errors, 8);
    cr_assert_eq(d.n_dropped, 0);
    pg_arena_fini(&a);
}

Test(base_text, formats_like_printf)
{
    pg_strbuf b;
    pg_strbuf_init(&b, pg_alloc_default());
    CHECK_FORMAT("%d %i %u", -5, 2147483647, 4000000000u);
    CHECK_FORMAT("[%5d] [%-5d] [%05d] [%d]", -42, -42, -42, -2147483647 - 1);
    CHECK_FORMAT("%x %X %04x %08X", 0xbeefu, 0xbeefu, 0xabu, 0xabu);
    CHECK_FORMAT("%lld %llu %llx %ld %lu %zu", -9223372036854775807LL, 18446744073709551615ULL,
                 0xFFFFFFFFFFFFFFFFULL, -7L, 7UL, (size_t)99);
    CHECK_FORMAT("%c|%s|%10s|%-10s|%.3s|%.*s|%%", 'x', "abc", "abc", "abc", "abcdef", 2, "xyz");
    CHECK_FORMAT("%s", "");
    pg_strbuf_fini(&b);
}

Test(base_text, json_escapes)
{
    pg_strbuf b;
    pg_strbuf_init(&b, pg_alloc_default());
    pg_put_json(&b, PG_STR("a\"b\\c\n\t\x01 \xC3\xA9 \xFF \xC0\x80 \xED\xA0\x80 \xE2\x82"));
    cr_assert_str_eq(b.ptr, "\"a\\\"b\\\\c\\n\\t\\u0001 \xC3\xA9 \\ufffd \\ufffd\\ufffd "
                            "\\ufffd\\ufffd\\ufffd \\ufffd\\ufffd\"");
    pg_strbuf_fini(&b);
}

static void *resize_never(void *user, void *block, size_t old_size, size_t new_size)
{
    (void)user;
    (void)block;
    (void)old_size;
    (void)new_size;
    return NULL;
}

Test(base_text, buffer_without_memory_is_empty_and_says_so)
{
    pg_strbuf b;
    pg_strbuf_init(&b, (pg_alloc){NULL, resize_never});
    pg_put(&b, "x");
    pg_putf(&b, "%d", 3);
    pg_put_f64(&b, 1.5);
    pg_put_f32(&b, 1.5f);
    cr_assert_eq(pg_strbuf_status(&b), PG_E_NOMEM);
    cr_assert_eq(pg_strbuf_str(&b).len, 0);
    pg_strbuf_fini(&b);
}

Test(base_text, strings)
{
    cr_assert_lt(pg_str_cmp(PG_STR("ab"), PG_STR("abc")), 0);
    cr_assert_gt(pg_str_cmp(PG_STR("b"), PG_STR("abc")), 0);
    cr_assert_eq(pg_str_cmp(PG_STR(""), pg_str_of(NULL)), 0);
    cr_assert(pg_str_starts(PG_STR("abc"), PG_STR("ab")));
    cr_assert_not(pg_str_starts(PG_STR("a"), PG_STR("ab")));
    cr_assert(pg_str_is(pg_str_sub(PG_STR("hello"), 1, 3), "el"));
    cr_assert(pg_str_is(pg_str_sub(PG_STR("hello"), 4, 99), "o"));
    cr_assert(pg_str_is(pg_str_sub(PG_STR("hello"), 9, 3), ""));
}

Test(base_text, the_65th_error_is_counted_not_kept)
{
    pg_arena a;
    pg_arena_init(&a, pg_alloc_default());
    pg_diags d;
    pg_diags_init(&d, &a, pg_alloc_default());
    for (uint32_t i = 0; i < 100; i++) {
        cr_assert_eq(pg_diag_add(&d, PG_D_NOTE, (pg_loc){1, i + 1}, "n"), PG_OK);
        cr_assert_eq(pg_diag_add(&d, PG_D_NOTE, (pg_loc){1, 1}, "n"), PG_OK); /* said already */
    }
    cr_assert_eq(pg_diags_status(&d), PG_OK);
    for (uint32_t i = 0; i < 100; i++) {
        cr_assert_eq(pg_diag_add(&d, PG_D_INTERNAL, (pg_loc){200 - i, 1}, "f", 1, "w"),
                     PG_E_INTERNAL);
    }
    cr_assert_eq(d.n, 2 * PG_MAX_DIAGS);
    cr_assert_eq(d.n_errors, 100);
    /* Where the list is full it is not known what was said. */
    cr_assert_eq(d.n_dropped, 200 - 2 * PG_MAX_DIAGS + 100 - PG_MAX_DIAGS + 1);
    cr_assert_eq(pg_diags_status(&d), PG_E_INTERNAL);
    pg_diags_sort(&d);
    for (uint32_t i = 1; i < d.n; i++) {
        cr_assert_leq(d.at[i - 1].loc.line, d.at[i].loc.line);
    }
    pg_arena_fini(&a);
}

Test(base_text, diagnostics_print_with_place_help_and_caret)
{
    pg_arena a;
    pg_arena_init(&a, pg_alloc_default());
    pg_diags d;
    pg_diags_init(&d, &a, pg_alloc_default());
    cr_assert_eq(pg_diag_internal(&d, "../x/y.c", 12, "oh"), PG_E_INTERNAL);
    d.at[0].loc = (pg_loc){2, 3};
    pg_strbuf b;
    pg_strbuf_init(&b, pg_alloc_default());
    pg_diag_print(&b, &d.at[0], PG_STR("in.ptir"), PG_STR("one\n\ttwo\x1b\r\nthree"));
    cr_assert_str_eq(b.ptr, "in.ptir:2:3: error: PG9000 defect of ptxgen at y.c:12: oh\n"
                            "help: please report this with the input that caused it\n"
                            "  \ttwo?\n  \t ^\n");
    pg_strbuf_clear(&b);
    d.at[0].loc = (pg_loc){0, 0};
    pg_diag_print(&b, &d.at[0], PG_STR(""), PG_STR("text"));
    cr_assert(pg_str_starts(pg_strbuf_str(&b), PG_STR("error: PG9000 ")));
    pg_strbuf_clear(&b);
    d.at[0].loc = (pg_loc){77, 5};
    pg_diag_print(&b, &d.at[0], PG_STR("f"), PG_STR("text"));
    cr_assert_null(strchr(b.ptr, '^'));
    pg_strbuf_fini(&b);
    pg_arena_fini(&a);
}

Test(base_text, plurals_follow_their_number)
{
    pg_arena a;
    pg_arena_init(&a, pg_alloc_default());
    pg_diags d;
    pg_diags_init(&d, &a, pg_alloc_default());
    (void)pg_diag_add(&d, PG_D_CARRY_COUNT, (pg_loc){1, 1}, 1u, 0u);
    (void)pg_diag_add(&d, PG_D_CARRY_COUNT, (pg_loc){1, 1}, 2u, 1u);
    (void)pg_diag_add(&d, PG_D_RING_LAG, (pg_loc){1, 1}, 11LL, 1);
    cr_expect_str_eq(d.at[0].message.ptr, "the loop carries 1 value and has 0 results");
    cr_expect_str_eq(d.at[1].message.ptr, "the loop carries 2 values and has 1 result");
    cr_expect_str_eq(d.at[2].message.ptr, "a lag of 11 in a ring of 1 slot");
    pg_arena_fini(&a);
}

Test(base_text, diagnostics_are_copied_and_taken_back)
{
    pg_arena a, other;
    pg_diags d, from;
    pg_arena_init(&a, pg_alloc_default());
    pg_arena_init(&other, pg_alloc_default());
    pg_diags_init(&d, &a, pg_alloc_default());
    pg_diags_init(&from, &other, pg_alloc_default());
    (void)pg_diag_add(&from, PG_D_CAST_SAME, (pg_loc){3, 4}, "i32");
    (void)pg_diag_add(&from, PG_D_NOTE, (pg_loc){0, 0}, "n");
    pg_diags_copy(&d, &from.at[0]);
    pg_diags_copy(&d, &from.at[1]);
    pg_arena_fini(&other);
    cr_assert_eq(d.n, 2);
    cr_assert_eq(d.n_errors, 1);
    cr_assert_eq(pg_diags_status(&d), PG_E_INVALID);
    cr_assert_str_eq(d.at[0].message.ptr, "the operand is i32 already");
    for (uint32_t i = 0; i < 3; i++) {
        (void)pg_diag_add(&d, PG_D_CAST_SAME, (pg_loc){i + 5, 1}, "i8");
        (void)pg_diag_add(&d, PG_D_ATTR_TWICE, (pg_loc){i + 5, 1}, "dim");
    }
    pg_diags_take_back(&d, 4, PG_D_CAST_SAME); /* the second and third of them */
    cr_assert_eq(d.n, 6);
    cr_assert_eq(d.n_errors, 5);
    cr_assert_eq(d.at[2].id, PG_D_CAST_SAME);
    for (uint32_t i = 3; i < 6; i++) {
        cr_assert_eq(d.at[i].id, PG_D_ATTR_TWICE);
        cr_assert_eq(d.at[i].loc.line, i + 2);
    }
    pg_diags_take_back(&d, 99, PG_D_ATTR_TWICE);
    cr_assert_eq(d.n, 6);
    for (uint32_t i = 0; i < 2 * PG_MAX_DIAGS; i++) {
        pg_diag one = d.at[2];
        pg_diags_copy(&d, &one);
    }
    cr_assert_eq(d.n_errors, 5 + 2 * PG_MAX_DIAGS);
    cr_assert_eq(d.n_dropped, 5 + PG_MAX_DIAGS);
    pg_arena_fini(&a);
}

/* One conversion that pg_putf knows, behind its '%'; NULL for others, of which printf has many. */
static const char *skip_conversion(const char *at)
{
    static const char *const kinds[] = {"d",   "i",  "u",  "x",  "X", "lld", "llu",
                                        "llx", "ld", "lu", "zu", "c", "s",   "%"};
    at += strspn(at, "-0");
    at += strspn(at, "123456789");
    if (strncmp(at, ".*s", 3) == 0) {
        return at + 3;
    }
    for (size_t k = 0; k < PG_COUNT_OF(kinds); k++) {
        if (strncmp(at, kinds[k], strlen(kinds[k])) == 0) {
            return at + strlen(kinds[k]);
        }
    }
    return NULL;
}

Test(base_text, rows_have_conversions_that_exist)
{
    for (int i = 1; i < PG_D_COUNT; i++) {
        const char *at = pg_diag_infos[i].text;
        while (at != NULL && (at = strchr(at, '%')) != NULL) {
            at = skip_conversion(at + 1);
            cr_expect_not_null(at, "PG%04d: %s", pg_diag_infos[i].number, pg_diag_infos[i].text);
        }
    }
}

Test(base_text, rows_of_the_table_are_sorted_and_complete)
{
    for (int i = 1; i < PG_D_COUNT; i++) {
        const pg_diag_info *info = &pg_diag_infos[i];
        cr_assert_gt(info->number, pg_diag_infos[i - 1].number, "PG%04d", info->number);
        cr_assert_not_null(info->text);
        cr_assert_not_null(info->help);
        cr_assert_eq(info->severity == PG_SEV_ERROR, info->status != PG_OK, "PG%04d", info->number);
        cr_assert(info->severity != PG_SEV_ERROR || info->help[0] != '\0', "PG%04d has no help",
                  info->number);
        cr_assert_null(strstr(info->help, "%%"), "PG%04d: help is no format", info->number);
    }
}

Test(suggest, counts_edits)
{
    static const struct {
        const char *a, *b;
        uint32_t want;
    } cases[] = {{"", "", 0},       {"", "abc", 3},       {"run", "run", 0},
                 {"rnu", "run", 1}, {"gleu", "gelu", 1},  {"kitten", "sitting", 3},
                 {"ab", "ba", 1},   {"ca", "abc", 3},     {"div", "dvi", 1},
                 {"abcd", "", 4},   {"softmx", "max", 5}, {"--emti", "--emit", 1}};
    for (size_t i = 0; i < PG_COUNT_OF(cases); i++) {
        pg_str a = pg_str_of(cases[i].a);
        pg_str b = pg_str_of(cases[i].b);
        cr_assert_eq(pg_edit_distance(a, b), cases[i].want, "%s %s", a.ptr, b.ptr);
        cr_assert_eq(pg_edit_distance(b, a), cases[i].want, "%s %s", b.ptr, a.ptr);
    }
    char longest[PG_LONGEST_WORD + 2] = {0};
    memset(longest, 'x', PG_LONGEST_WORD);
    cr_assert_eq(pg_edit_distance(pg_str_of(longest), PG_STR("")), PG_LONGEST_WORD);
    longest[PG_LONGEST_WORD] = 'x';
    cr_assert_eq(pg_edit_distance(pg_str_of(longest), pg_str_of("x")), UINT32_MAX);
}

Test(suggest, first_of_the_nearest)
{
    pg_nearest n = pg_nearest_of(pg_str_of("dtpe"));
    pg_nearest_try(&n, pg_str_of("block"));
    cr_assert_eq(n.word.len, 0);
    pg_nearest_try(&n, pg_str_of("type"));
    cr_assert(pg_str_is(n.word, "type"));
    pg_nearest_try(&n, pg_str_of("dtype"));
    pg_nearest_try(&n, pg_str_of("dtpa"));
    cr_assert(pg_str_is(n.word, "dtype") && n.distance == 1);
    n = pg_nearest_of(pg_str_of("m"));
    pg_nearest_try(&n, pg_str_of("n"));
    cr_assert_eq(n.word.len, 0);
    pg_nearest_try(&n, pg_str_of("m"));
    cr_assert(n.distance == 0 && n.word.len == 1);
}
