/* Command line to struct, by the table in commands.def. */
#include <string.h>

#include "cli.h"

/* A value that the option cannot have. */
static run_exit wrong_value(cli *c, const cli_option_row *row, const char *value)
{
    static const char *const forms[] = {[CLI_NUMBER] = "a whole number",
                                        [CLI_DIMS] =
                                            "one to three numbers from 1 to 2147483647, as 8,2,1",
                                        [CLI_FILE] = "the name of a file",
                                        [CLI_PASS] = "the name of a pass"};
    const bool has_form = row->kind < PG_COUNT_OF(forms) && forms[row->kind] != NULL;
    const bool is_word = row->kind == CLI_ONE || row->kind == CLI_SOME || row->kind == CLI_MAYBE;
    pg_nearest near = pg_nearest_of(pg_str_of(value));
    for (const char *at = row->takes; is_word && *at != '\0';) {
        const size_t n = strcspn(at, "|");
        pg_nearest_try(&near, (pg_str){at, n});
        at += n + (at[n] == '|');
    }
    return run_fail(&c->msgs, RUN_USAGE, RUN_MSG_USAGE_VALUE, NULL, value, row->text,
                    has_form ? forms[row->kind] : row->takes, run_suggestion(&c->arena, &near));
}

static bool is_word_of(const char *words, const char *word, size_t len)
{
    while (*words != '\0') {
        size_t n = strcspn(words, "|");
        if (n == len && memcmp(words, word, n) == 0) {
            return true;
        }
        words += n + (words[n] == '|');
    }
    return false;
}

static bool are_words_of(const char *words, const char *list)
{
    for (;;) {
        size_t n = strcspn(list, ",");
        if (!is_word_of(words, list, n)) {
            return false;
        }
        if (list[n] == '\0') {
            return true;
        }
        list += n + 1;
    }
}

static bool parse_dims(const char *text, uint32_t out[3])
{
    out[0] = out[1] = out[2] = 1;
    for (int i = 0; i < 3; i++) {
        uint64_t x;
        size_t n = strcspn(text, ",");
        if (!pg_parse_u64((pg_str){text, n}, &x) || x < 1 || x > INT32_MAX) {
            return false;
        }
        out[i] = (uint32_t)x;
        if (text[n] == '\0') {
            return true;
        }
        text += n + 1;
    }
    return false;
}

/* A repeated option; of NAME=VALUE each name and each output file only once, since the second would
 * hide the first. */
static run_exit add_given(cli *c, cli_option o, const char *value)
{
    const cli_option_row *row = &cli_options_table[o];
    cli_given *g = &c->given[c->n_given];
    *g = (cli_given){o, {"", value}};
    if (row->kind == CLI_PAIR) {
        const char *equals = strchr(value, '=');
        const bool is_file = o == CLI_OPT_IN || o == CLI_OPT_OUT;
        if (equals == NULL || equals == value || (is_file && equals[1] == '\0')) {
            return wrong_value(c, row, value);
        }
        g->pair.name = pg_arena_str(&c->arena, (pg_str){value, (size_t)(equals - value)}).ptr;
        g->pair.value = equals + 1;
        for (size_t i = 0; i < c->n_given; i++) {
            const cli_given *before = &c->given[i];
            bool is_same_name = strcmp(before->pair.name, g->pair.name) == 0;
            bool is_same_file = o == CLI_OPT_OUT && strcmp(before->pair.value, g->pair.value) == 0;
            if (before->option == o && (is_same_name || is_same_file)) {
                return run_fail(&c->msgs, RUN_USAGE, RUN_MSG_USAGE_REPEATED, NULL, row->text,
                                is_same_name ? g->pair.name : g->pair.value);
            }
        }
    }
    c->n_given++;
    c->values[o] = value;
    return RUN_OK;
}

static const char left_out[] = ""; /* the value of flags, and of MAYBE without one */

static run_exit set_value(cli *c, cli_option o, const char *value)
{
    const cli_option_row *row = &cli_options_table[o];
    bool is_good = true;
    switch (row->kind) {
    case CLI_FLAG:
    case CLI_TEXT:
    case CLI_TARGET: break;
    case CLI_FILE:
    case CLI_PASS: is_good = value[0] != '\0'; break;
    case CLI_ONE: is_good = is_word_of(row->takes, value, strlen(value)); break;
    case CLI_MAYBE:
        is_good = value == left_out || is_word_of(row->takes, value, strlen(value));
        break;
    case CLI_SOME: is_good = are_words_of(row->takes, value); break;
    case CLI_NUMBER: is_good = pg_parse_u64(pg_str_of(value), &c->numbers[o]); break;
    case CLI_DIMS: is_good = parse_dims(value, c->dims[o]); break;
    case CLI_PAIR:
    case CLI_MANY: return add_given(c, o, value);
    }
    if (!is_good) {
        return wrong_value(c, row, value);
    }
    c->values[o] = value;
    return RUN_OK;
}

/* The option that `text` (up to len) names for the command; CLI_OPTION_COUNT if there is none. */
static cli_option find_option(cli_command command, const char *text, size_t len)
{
    for (int i = 0; i < CLI_OPTION_COUNT; i++) {
        if ((cli_options_table[i].commands & 1u << command) != 0 &&
            strlen(cli_options_table[i].text) == len &&
            memcmp(cli_options_table[i].text, text, len) == 0) {
            return (cli_option)i;
        }
    }
    return CLI_OPTION_COUNT;
}

/* A letter of its own is no misspelling of another. */
static const char *suggest_option(cli *c, const char *text)
{
    const pg_str word = {text, strcspn(text, "=")};
    pg_nearest near = pg_nearest_of(word);
    for (int i = 0; i < CLI_OPTION_COUNT && word.len > 2; i++) {
        if ((cli_options_table[i].commands & 1u << c->command) != 0) {
            pg_nearest_try(&near, pg_str_of(cli_options_table[i].text));
        }
    }
    return run_suggestion(&c->arena, &near);
}

/* One option, whose value may be the next argument: then *at moves on. */
static run_exit parse_option(cli *c, int argc, char **argv, int *at)
{
    const char *text = argv[*at];
    bool is_short = text[1] != '-';
    size_t len = is_short ? 2 : strcspn(text, "=");
    cli_option o = find_option(c->command, text, len);
    const char *value = text[len] == '\0' ? NULL : text + len + (text[len] == '=');
    if (o == CLI_OPTION_COUNT) {
        return run_fail(&c->msgs, RUN_USAGE, RUN_MSG_USAGE_OPTION, NULL,
                        cli_commands[c->command].name, text, suggest_option(c, text));
    }
    if (cli_options_table[o].kind == CLI_FLAG && value != NULL) {
        return run_fail(&c->msgs, RUN_USAGE, RUN_MSG_USAGE_UNWANTED, NULL,
                        cli_options_table[o].text);
    }
    if (cli_options_table[o].kind == CLI_FLAG ||
        (cli_options_table[o].kind == CLI_MAYBE && value == NULL)) {
        value = left_out;
    }
    if (value == NULL) {
        if (*at + 1 >= argc) {
            return run_fail(&c->msgs, RUN_USAGE, RUN_MSG_USAGE_NO_VALUE, NULL,
                            cli_options_table[o].text);
        }
        value = argv[++*at];
    }
    return set_value(c, o, value);
}

run_exit cli_no_command(cli *c, const char *name)
{
    pg_nearest near = pg_nearest_of(pg_str_of(name));
    for (int i = 0; i < CLI_COMMAND_COUNT; i++) {
        pg_nearest_try(&near, pg_str_of(cli_commands[i].name));
    }
    return run_fail(&c->msgs, RUN_USAGE, RUN_MSG_USAGE_COMMAND, NULL, name,
                    run_suggestion(&c->arena, &near));
}

static run_exit find_command(cli *c, const char *name)
{
    static const char *const later[] = {"graph"};
    for (int i = 0; i < CLI_COMMAND_COUNT; i++) {
        if (strcmp(name, cli_commands[i].name) == 0) {
            c->command = (cli_command)i;
            c->msgs.command = cli_commands[i].name;
            return RUN_OK;
        }
    }
    for (size_t i = 0; i < PG_COUNT_OF(later); i++) {
        if (strcmp(name, later[i]) == 0) {
            return run_fail(&c->msgs, RUN_USAGE, RUN_MSG_USAGE_LATER, NULL, name);
        }
    }
    return cli_no_command(c, name);
}

static run_exit check_operands(const cli *c)
{
    const cli_command_row *row = &cli_commands[c->command];
    if (c->n_operands >= row->least && c->n_operands <= row->most) {
        return RUN_OK;
    }
    pg_strbuf more;
    pg_strbuf_init(&more, pg_alloc_default());
    if (c->n_operands > row->most && row->most < CLI_MAX_OPERANDS) {
        pg_putf(&more, ": '%s' is one too many", c->operands[row->most]);
    }
    run_exit status = run_fail(&c->msgs, RUN_USAGE, RUN_MSG_USAGE_OPERANDS, NULL, row->name,
                               row->operands, pg_strbuf_str(&more).ptr);
    pg_strbuf_fini(&more);
    return status;
}

run_exit cli_parse(cli *c, int argc, char **argv)
{
    run_exit status = find_command(c, argv[1]);
    c->given = PG_NEWS(&c->arena, cli_given, (size_t)argc);
    if (c->given == NULL) {
        return run_fail(&c->msgs, RUN_TOOL, RUN_MSG_NO_MEMORY, NULL);
    }
    bool are_options_over = false;
    for (int i = 2; i < argc && status == RUN_OK; i++) {
        if (!are_options_over && strcmp(argv[i], "--") == 0) {
            are_options_over = true;
        } else if (!are_options_over &&
                   (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)) {
            c->operand = cli_commands[c->command].name;
            c->command = CLI_HELP;
            return RUN_OK;
        } else if (!are_options_over && argv[i][0] == '-' && argv[i][1] != '\0') {
            status = parse_option(c, argc, argv, &i);
        } else {
            c->operand = argv[i];
            if (c->n_operands < CLI_MAX_OPERANDS) {
                c->operands[c->n_operands] = argv[i];
            }
            c->n_operands++;
        }
    }
    return status == RUN_OK ? check_operands(c) : status;
}

run_pairs cli_pairs(cli *c, cli_option option)
{
    run_pair *pairs = PG_NEWS(&c->arena, run_pair, c->n_given);
    size_t n = 0;
    for (size_t i = 0; pairs != NULL && i < c->n_given; i++) {
        if (c->given[i].option == option) {
            pairs[n++] = c->given[i].pair;
        }
    }
    return (run_pairs){pairs, n};
}
