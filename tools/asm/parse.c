/* parse.c: what ptxas writes, as data. Lines that it does not know are left to `output`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/asm/ptxasm.h"

typedef struct parser {
    ptxasm_result *out;
    bool is_oom;
} parser;

static char *copy(parser *p, const char *text)
{
    char *s = strdup(text);
    p->is_oom = p->is_oom || s == NULL;
    return s;
}

static void *grow(parser *p, void *at, size_t n, size_t size)
{
    if (n != 0 && (n & (n - 1)) != 0) {
        return at; /* capacities are powers of two */
    }
    void *bigger = realloc(at, (n == 0 ? 1 : 2 * n) * size);
    p->is_oom = p->is_oom || bigger == NULL;
    return bigger;
}

static void add_message(parser *p, ptxasm_severity severity, uint32_t line, const char *text)
{
    ptxasm_message m = {.severity = severity, .line = line};
    if (text[0] == '(' && text[1] == 'C') {
        size_t n = strcspn(text + 1, ")");
        if (n < sizeof m.code && text[n + 1] == ')') {
            memcpy(m.code, text + 1, n);
            text += n + 2;
            text += strspn(text, " ");
        }
    }
    if (severity == PTXASM_INFO && m.code[0] == 0) {
        return; /* figures; they have their own fields */
    }
    ptxasm_message *at = grow(p, p->out->messages, p->out->n_messages, sizeof *at);
    if (at == NULL) {
        return;
    }
    p->out->messages = at;
    m.text = copy(p, text);
    if (m.text != NULL) {
        at[p->out->n_messages++] = m;
    }
}

static ptxasm_entry *entry_named(parser *p, const char *name, size_t n_name)
{
    for (size_t i = p->out->n_entries; i-- > 0;) {
        ptxasm_entry *e = &p->out->entries[i];
        if (strlen(e->name) == n_name && memcmp(e->name, name, n_name) == 0) {
            return e;
        }
    }
    ptxasm_entry *at = grow(p, p->out->entries, p->out->n_entries, sizeof *at);
    if (at == NULL) {
        return NULL;
    }
    p->out->entries = at;
    ptxasm_entry *e = &at[p->out->n_entries];
    memset(e, 0, sizeof *e);
    e->name = strndup(name, n_name);
    if (e->name == NULL) {
        p->is_oom = true;
        return NULL;
    }
    p->out->n_entries++;
    return e;
}

/* The number before `unit` in the line, 0 without one: 24 for "24 bytes spill stores". */
static uint32_t figure(const char *line, const char *unit)
{
    const char *at = strstr(line, unit);
    if (at == NULL) {
        return 0;
    }
    while (at > line && at[-1] == ' ') {
        at--;
    }
    while (at > line && at[-1] >= '0' && at[-1] <= '9') {
        at--;
    }
    return (uint32_t)strtoul(at, NULL, 10);
}

/* "Used 168 registers, used 2 barriers, 32 bytes cumulative stack size, 1024 bytes smem" */
static void parse_used(ptxasm_entry *e, const char *text)
{
    e->registers = figure(text, " registers");
    e->barriers = figure(text, " barriers");
    e->smem = figure(text, " bytes smem");
    e->cmem = figure(text, " bytes cmem[0]");
}

static void parse_info(parser *p, ptxasm_entry **current, const char *text)
{
    static const char compiling[] = "Compiling entry function '";
    static const char properties[] = "Function properties for ";
    static const char time[] = "Compile time = ";
    if (strncmp(text, compiling, sizeof compiling - 1) == 0) {
        const char *name = text + sizeof compiling - 1;
        *current = entry_named(p, name, strcspn(name, "'"));
        if (*current != NULL) {
            (*current)->is_entry = true;
        }
    } else if (strncmp(text, properties, sizeof properties - 1) == 0) {
        const char *name = text + sizeof properties - 1;
        *current = entry_named(p, name, strlen(name));
    } else if (strncmp(text, "Used ", 5) == 0 && *current != NULL) {
        parse_used(*current, text);
    } else if (strncmp(text, time, sizeof time - 1) == 0 && *current != NULL) {
        (*current)->compile_ms = strtod(text + sizeof time - 1, NULL);
    } else {
        add_message(p, PTXASM_INFO, 0, text);
    }
}

/* "error   : TEXT"; returns the text, NULL if the line has no severity here. */
static const char *severity_of(const char *s, ptxasm_severity *out)
{
    static const char *const names[] = {"info", "warning", "error", "fatal"};
    for (int i = 0; i < 4; i++) {
        size_t n = strlen(names[i]);
        if (strncmp(s, names[i], n) == 0) {
            const char *colon = s + n + strspn(s + n, " ");
            if (*colon == ':') {
                *out = (ptxasm_severity)i;
                return colon + 1 + strspn(colon + 1, " ");
            }
        }
    }
    return NULL;
}

static void parse_line(parser *p, const char *s, ptxasm_entry **current)
{
    ptxasm_severity severity = PTXASM_INFO;
    if (s[0] == ' ' && *current != NULL && strstr(s, "bytes stack frame") != NULL) {
        (*current)->stack = figure(s, " bytes stack frame");
        (*current)->spill_stores = figure(s, " bytes spill stores");
        (*current)->spill_loads = figure(s, " bytes spill loads");
        return;
    }
    if (strncmp(s, "ptxas ", 6) != 0) {
        return;
    }
    const char *text = severity_of(s + 6, &severity);
    if (text != NULL) {
        if (severity == PTXASM_INFO) {
            parse_info(p, current, text);
        } else if (strstr(text, "Ptx assembly aborted due to errors") == NULL) {
            add_message(p, severity, 0, text);
        }
        return;
    }
    /* "ptxas FILE, line N; error   : TEXT": the last ", line " before a severity */
    for (const char *at = s; (at = strstr(at, ", line ")) != NULL; at++) {
        char *end = NULL;
        unsigned long line = strtoul(at + 7, &end, 10);
        text = end[0] == ';' ? severity_of(end + 1 + strspn(end + 1, " "), &severity) : NULL;
        if (text != NULL) {
            add_message(p, severity, (uint32_t)line, text);
            return;
        }
    }
}

bool ptxasm_parse(const char *text, ptxasm_result *out)
{
    parser p = {.out = out};
    ptxasm_entry *current = NULL; /* whoever moves the entries also sets it anew */
    char *lines = strdup(text);
    if (lines == NULL) {
        return false;
    }
    char *line = lines;
    while (*line != 0 && !p.is_oom) {
        size_t n = strcspn(line, "\n");
        bool is_last = line[n] == 0;
        line[n] = 0;
        if (n > 0 && line[n - 1] == '\r') {
            line[n - 1] = 0;
        }
        parse_line(&p, line, &current);
        line += is_last ? n : n + 1;
    }
    free(lines);
    return !p.is_oom;
}

uint32_t ptxasm_source_line(const uint32_t *line_of, size_t n_lines, uint32_t ptx_line)
{
    size_t i = ptx_line < n_lines ? ptx_line : n_lines;
    while (i > 0 && line_of[i - 1] == 0) {
        i--;
    }
    return i > 0 ? line_of[i - 1] : 0;
}
