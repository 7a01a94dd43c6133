/* gen_docs.c: the documents that are made from tables.
 *   gen_docs          names of the documents, one a line
 *   gen_docs ops.md   that document
 * Reads the .def files themselves, as text columns, and links nothing of the library. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The columns of a row as they are spelled in its table. */
#define NAME(x) #x

typedef struct op_row {
    const char *text, *n_in, *n_opt, *ins, *res, *attrs, *flags, *level, *sm, *doc;
} op_row;
static const op_row op_rows[] = {
#define OP(id, text, n_in, n_opt, ins, res, attrs, flags, level, sm, doc) \
    {text,        NAME(n_in),  NAME(n_opt), #ins,     NAME(res),          \
     NAME(attrs), NAME(flags), NAME(level), NAME(sm), doc},
#include "ir/ops.def"
};

typedef struct attr_row {
    const char *id, *text, *kind, *words, *doc;
} attr_row;
static const attr_row attr_rows[] = {
#define A(id, text, kind, words, doc) {NAME(id), text, NAME(kind), words, doc},
#include "ir/attrs.def"
};

typedef struct type_row {
    const char *text, *bits, *class;
} type_row;
static const type_row type_rows[] = {
#define E(id, text, bits, ...) {text, NAME(bits), #__VA_ARGS__},
#include "ir/types.def"
};

typedef struct pass_row {
    const char *text, *needs, *gives, *breaks, *doc;
} pass_row;
static const pass_row pass_rows[] = {
#define PASS(id, text, needs, gives, breaks, keeps, doc) \
    {text, NAME(needs), NAME(gives), NAME(breaks), doc},
#include "sched/passes.def"
};

typedef struct diag_row {
    const char *number, *severity, *text, *help;
} diag_row;
static const diag_row diag_rows[] = {
#define DIAG(id, number, severity, status, text, help) {NAME(number), NAME(severity), text, help},
#include "base/diags.def"
};

typedef struct isa_row {
    const char *opcode, *modifiers, *operands, *version, *sm, *doc;
} isa_row;
static const isa_row isa_rows[] = {
#define ISA(id, opcode, modifiers, operands, version, sm, features, doc) \
    {opcode, #modifiers, operands, NAME(version), NAME(sm), doc},
#include "emit/ptx_isa.def"
};

static const char *const executed[] = {
#define EXEC(opcode, decoder) opcode,
#include "tools/exec/exec_ops.def"
};

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* What a code of a table is called for a reader. */
typedef struct word {
    const char *code, *plain;
} word;
static const word class_words[] = {
    {"C_T", "as the result"},
    {"C_E", "element of the result"},
    {"C_X", "as the first operand"},
    {"C_V", "value of the pointer's type"},
    {"C_M", "i1"},
    {"C_NUM", "number"},
    {"C_TILE", "tile"},
    {"C_I32", "i32"},
    {"C_INT", "integer"},
    {"C_PTR", "pointer"},
    {"C_DESC", "desc"},
    {"C_BUF", "buf"},
    {"C_RING", "ring"},
    {"C_BAR", "bar or ring"},
    {"C_TOKEN", "token"},
    {"C_DATA", "scalar or tile"},
    {"C_ANY", "any"},
    {"E_READ", "read"},
    {"E_WRITE", "written"},
    {"E_ARRIVE", "arrived at"},
    {"E_WAIT", "waited for"},
    {"E_INIT", "initialised"},
    {"E_ASYNC", "later"},
};
static const word result_words[] = {
    {"R_NONE", "-"},
    {"R_TYPED", "any type"},
    {"R_INT", "integer or tile of integers"},
    {"R_FLOAT", "float or tile of floats"},
    {"R_TILE", "tile"},
    {"R_TILE_INT", "tile of integers"},
    {"R_CMP", "i1, in the operands' shape"},
    {"R_CAST", "other element, same shape"},
    {"R_PTR", "pointer"},
    {"R_LOAD", "what the pointer points to"},
    {"R_I32", "i32"},
    {"R_I32X2", "i32, i32"},
    {"R_BUF", "buf"},
    {"R_RING", "ring"},
    {"R_BAR", "bar"},
    {"R_TOKEN", "token"},
    {"R_MMA_WAIT", "none, or the accumulator"},
    {"R_REGION", "what the region yields"},
};
static const word level_words[] = {
    {"L_TILE", "tile"},
    {"L_HW", "hw"},
    {"L_LAUNCH", "launch"},
    {"L_BOTH", "tile, hw"},
    {"L_ANY", "tile, hw, launch"},
};

/* Finds the code [from, from + n) among the words; a code that is new prints as it is. */
static void put_word(const word *words, size_t n_words, const char *from, size_t n)
{
    for (size_t i = 0; i < n_words; i++) {
        if (strlen(words[i].code) == n && memcmp(words[i].code, from, n) == 0) {
            fputs(words[i].plain, stdout);
            return;
        }
    }
    printf("%.*s", (int)n, from);
}

/* Text in a cell of a Markdown table. */
static void put_cell(const char *text)
{
    for (; *text; text++) {
        if (*text == '|' || *text == '<' || *text == '*') {
            putchar('\\');
        }
        putchar(*text);
    }
}

static size_t code_length(const char *s)
{
    return strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
}

/* "IN(C_PTR|E_READ, C_M)" with the counts of the row: pointer (read), [i1] */
static void put_operands(const op_row *row)
{
    const char *s = strchr(row->ins, '(');
    bool is_variadic = row->n_in[0] == 'V';
    int n_in = is_variadic ? 99 : row->n_in[0] - '0';
    int index = 0;
    bool in_effects = false;

    for (s = s ? s + 1 : ""; *s && *s != ')'; s++) {
        size_t n = code_length(s);
        if (n > 0) {
            if (s[0] == 'E') {
                fputs(in_effects ? ", " : " (", stdout);
                in_effects = true;
            } else if (index >= n_in) {
                putchar('[');
            }
            put_word(class_words, COUNT(class_words), s, n);
            s += n - 1;
        }
        bool is_end = s[1] == ',' || s[1] == ')';
        if (n > 0 && is_end) {
            fputs(in_effects ? ")" : "", stdout);
            fputs(index >= n_in ? "]" : "", stdout);
            fputs(s[1] == ',' ? ", " : "", stdout);
            index++;
            in_effects = false;
        }
    }
    if (is_variadic) {
        fputs(" ...", stdout);
    }
    if (index == 0) {
        putchar('-');
    }
}

/* "A_SIDE|A_PER": `side` `per` */
static void put_attrs(const char *s)
{
    bool is_first = true;
    while (*s) {
        size_t n = code_length(s);
        if (n == 0) {
            s++;
            continue;
        }
        for (size_t i = 0; n > 2 && i < COUNT(attr_rows); i++) {
            if (strlen(attr_rows[i].id) == n - 2 && memcmp(attr_rows[i].id, s + 2, n - 2) == 0) {
                printf("%s`%s`", is_first ? "" : " ", attr_rows[i].text);
                is_first = false;
            }
        }
        s += n;
    }
    if (is_first) {
        putchar('-');
    }
}

static const char made[] = "<!-- Made by tests/checks/gen_docs.c from %s; "
                           "`ninja -C build docs` writes it again. -->\n\n";

static void print_ops(void)
{
    printf("# Operations\n\n");
    printf(made, "ir/ops.def, ir/attrs.def and ir/types.def");
    printf(
        "The text form around them is in [ptir.md](ptir.md). Operands in brackets may be left out; "
        "in parentheses: what\nthe operation does to what an operand stands for, `later` where "
        "that "
        "happens at a time of its own. `pure`:\nno effect, so that it may be folded, shared, moved "
        "and removed. `sm`: the least target, where there is one.\n\n");
    printf("| operation | operands | result | attributes | level | pure | sm | meaning |\n");
    printf("| --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < COUNT(op_rows); i++) {
        const op_row *row = &op_rows[i];
        printf("| `%s` | ", row->text);
        put_operands(row);
        printf(" | ");
        put_word(result_words, COUNT(result_words), row->res, strlen(row->res));
        printf(" | ");
        put_attrs(row->attrs);
        printf(" | ");
        put_word(level_words, COUNT(level_words), row->level, strlen(row->level));
        printf(" | %s | %s | ", strstr(row->flags, "F_PURE") ? "yes" : "",
               strcmp(row->sm, "0") != 0 ? row->sm : "");
        put_cell(row->doc);
        printf(" |\n");
    }
    printf("\n## Attributes\n\nPrinted in this order.\n\n| attribute | value | meaning |\n");
    printf("| --- | --- | --- |\n");
    for (size_t i = 0; i < COUNT(attr_rows); i++) {
        const attr_row *row = &attr_rows[i];
        printf("| `%s` | ", row->text);
        put_cell(row->words[0] ? row->words : row->kind);
        printf(" | ");
        put_cell(row->doc);
        printf(" |\n");
    }
    printf("\nFLAG has no value; INT is `3`, INTS `(1, 2)`, SYM `@x`, SYMS `(@x, @y)`, VAL `%%x`, "
           "VALS "
           "`(%%m, 4, ?)`, NEST `((0, 1), (2, 0))`.\n");
    printf("\n## Element types\n\n| type | bits | kind |\n| --- | --- | --- |\n");
    for (size_t i = 0; i < COUNT(type_rows); i++) {
        printf("| `%s` | %s | %s |\n", type_rows[i].text, type_rows[i].bits,
               type_rows[i].class[0] == 'I' ? "integer, without a sign" : "float");
    }
}

/* "PG_PROP_LAID_OUT|PG_PROP_RINGED": LAID_OUT, RINGED */
static void put_properties(const char *s)
{
    static const char prefix[] = "PG_PROP_";
    bool is_first = true;
    for (; *s; s++) {
        size_t n = code_length(s);
        if (n > 0 && strncmp(s, prefix, sizeof prefix - 1) == 0) {
            size_t skip = sizeof prefix - 1;
            printf("%s%.*s", is_first ? "" : ", ", (int)(n - skip), s + skip);
            is_first = false;
        }
        s += n > 0 ? n - 1 : 0;
    }
    fputs(is_first ? "-" : "", stdout);
}

static void print_passes(void)
{
    printf("# Passes\n\n");
    printf(made, "sched/passes.def");
    printf("| pass | needs | gives | breaks | does |\n| --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < COUNT(pass_rows); i++) {
        const pass_row *row = &pass_rows[i];
        const char *columns[] = {row->needs, row->gives, row->breaks};
        printf("| `%s` |", row->text);
        for (size_t k = 0; k < COUNT(columns); k++) {
            printf(" ");
            put_properties(columns[k]);
            printf(" |");
        }
        printf(" ");
        put_cell(row->doc);
        printf(" |\n");
    }
}

static void print_diags(void)
{
    printf("# Diagnostics\n\n");
    printf(made, "ptxgen/base/diags.def");
    printf("Numbers never change their meaning. `%%s` and the like stand for what the message "
           "names.\n\n");
    printf("| number | kind | message | help |\n| --- | --- | --- | --- |\n");
    for (size_t i = 0; i < COUNT(diag_rows); i++) {
        const diag_row *row = &diag_rows[i];
        size_t length = strlen(row->number);
        const char *severity = strrchr(row->severity, '_');
        printf("| PG%.*s%s | ", length < 4 ? (int)(4 - length) : 0, "0000", row->number);
        for (severity = severity ? severity + 1 : row->severity; *severity; severity++) {
            putchar(*severity >= 'A' && *severity <= 'Z' ? *severity - 'A' + 'a' : *severity);
        }
        printf(" | ");
        put_cell(row->text);
        printf(" | ");
        put_cell(row->help);
        printf(" |\n");
    }
}

/* Code in a cell; of pasted strings, what stands between the quotes, and the names of macros. */
static void put_code(const char *s)
{
    if (*s != '"') {
        putchar(' ');
    }
    for (; *s; s++) {
        if (*s == '|') {
            putchar('\\');
        }
        if (*s != '"') {
            putchar(*s);
        }
    }
}

static void print_isa(void)
{
    printf("# PTX instructions\n\n");
    printf(made, "emit/ptx_isa.def and tools/exec/exec_ops.def");
    printf("Forms that ptxgen writes, reads and checks. `(a|b)`: one of them; `[x]`: may be left "
           "out; `:T` names the type that\noperands refer to; words in capitals are sets that "
           "emit/ptx_isa.c spells out. `run`: the executor has the opcode.\n\n");
    printf("| instruction | operands | PTX | sm | run | meaning |\n");
    printf("| --- | --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < COUNT(isa_rows); i++) {
        const isa_row *row = &isa_rows[i];
        bool is_executed = false;
        for (size_t k = 0; k < COUNT(executed) && !is_executed; k++) {
            is_executed = strcmp(executed[k], row->opcode) == 0;
        }
        size_t length = strlen(row->version);
        printf("| `%s", row->opcode);
        put_code(row->modifiers);
        printf("` | ");
        put_cell(row->operands);
        printf(" | %.*s.%s | %s | %s | ", (int)(length - 1), row->version,
               row->version + length - 1, strcmp(row->sm, "0") != 0 ? row->sm : "",
               is_executed ? "yes" : "");
        put_cell(row->doc);
        printf(" |\n");
    }
}

static const struct document {
    const char *name;
    void (*print)(void);
} documents[] = {
    {"diagnostics.md", print_diags},
    {"ops.md", print_ops},
    {"passes.md", print_passes},
    {"ptx-isa.md", print_isa},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; i < COUNT(documents); i++) {
        if (argc < 2) {
            puts(documents[i].name);
        } else if (strcmp(argv[1], documents[i].name) == 0) {
            documents[i].print();
            return 0;
        }
    }
    return argc < 2 ? 0 : 2;
}
