#include "tools/run/message.h"

#include <string.h>

#include "base/diag.h"
#include "tools/run/report_json.h"

enum { LONGEST_EXCERPT = 240 };

static const char *color_of(const run_msgs *m, const char *severity)
{
    if (!m->has_color) {
        return "";
    }
    return severity[0] == 'e' ? "\033[1;31m" : severity[0] == 'w' ? "\033[1;35m" : "\033[1;36m";
}

/* The line, from 1; NULL if the text has fewer. */
static const char *line_at(const char *text, uint32_t number)
{
    for (uint32_t i = 1; i < number && text != NULL; i++) {
        text = strchr(text, '\n');
        text = text == NULL ? NULL : text + 1;
    }
    return text;
}

uint32_t run_first_column(const char *text, uint32_t line)
{
    const char *at = line_at(text, line);
    return at == NULL ? 1 : (uint32_t)strspn(at, " \t") + 1;
}

/* Control characters show as '?', so that a hostile file cannot steer the terminal. */
static void print_source(const run_msgs *m, const char *line, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)line[i];
        (void)fputc((c < 0x20 && c != '\t') || c == 0x7F ? '?' : c, m->to);
    }
    (void)fputc('\n', m->to);
}

/* A caret below a column of the line. */
static void print_caret(const run_msgs *m, const char *line, uint32_t column)
{
    for (size_t i = 0; i + 1 < column; i++) {
        unsigned char c = (unsigned char)line[i];
        if ((c & 0xC0) != 0x80) { /* one column for a whole UTF-8 sequence */
            (void)fputc(c == '\t' ? '\t' : ' ', m->to);
        }
    }
    (void)fprintf(m->to, "%s^%s\n", m->has_color ? "\033[1;32m" : "",
                  m->has_color ? "\033[0m" : "");
}

static bool can_show(const run_note *note, const char *line, size_t len)
{
    return line != NULL && len != 0 && len <= LONGEST_EXCERPT && note->column != 0 &&
           note->column <= len + 1;
}

/* The line and a caret under its column. */
static void print_excerpt(const run_msgs *m, const run_note *note)
{
    const char *line = line_at(note->source, note->line);
    size_t len = line == NULL ? 0 : strcspn(line, "\r\n");
    if (can_show(note, line, len)) {
        (void)fputs("  ", m->to);
        print_source(m, line, len);
        (void)fputs("  ", m->to);
        print_caret(m, line, note->column);
    }
}

/* The same with the lines around it, numbered. */
static void print_window(const run_msgs *m, const run_note *note)
{
    uint32_t from = note->line > note->around ? note->line - note->around : 1;
    for (uint32_t k = from; k <= note->line + note->around; k++) {
        const char *line = line_at(note->source, k);
        size_t len = line == NULL ? 0 : strcspn(line, "\r\n");
        if (line == NULL || (*line == '\0' && k > note->line)) {
            return;
        }
        (void)fprintf(m->to, "%c%5u | ", k == note->line ? '>' : ' ', (unsigned)k);
        print_source(m, line, len > LONGEST_EXCERPT ? LONGEST_EXCERPT : len);
        if (k == note->line && can_show(note, line, len)) {
            (void)fputs("       | ", m->to);
            print_caret(m, line, note->column);
        }
    }
}

/* Text from outside: no control characters but the tab reach the terminal. */
static void print_clean(const run_msgs *m, const char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        (void)fputc((c < 0x20 && c != '\t' && c != '\n') || c == 0x7F ? '?' : c, m->to);
    }
}

/* One line, whatever the file is called. */
static void print_name(const run_msgs *m, const char *name)
{
    for (; *name != '\0'; name++) {
        unsigned char c = (unsigned char)*name;
        (void)fputc(c < 0x20 || c == 0x7F ? '?' : c, m->to);
    }
}

void run_print(const run_msgs *m, const run_note *note)
{
    const char *bold = m->has_color ? "\033[1m" : "";
    const char *plain = m->has_color ? "\033[0m" : "";
    if (m->json != NULL) {
        run_json_note(m->json, note);
    }
    (void)fputs(bold, m->to);
    print_name(m, note->file == NULL ? "ptxgen" : note->file);
    if (note->line != 0) {
        (void)fprintf(m->to, ":%u:%u", (unsigned)note->line, (unsigned)note->column);
    }
    (void)fprintf(m->to, ": %s%s%s: ", color_of(m, note->severity), note->severity, plain);
    if (note->number != 0) {
        (void)fprintf(m->to, "PG%04u ", note->number);
    }
    (void)fputs(bold, m->to);
    print_clean(m, note->message);
    (void)fprintf(m->to, "%s\n", plain);
    if (note->help != NULL && note->help[0] != '\0') {
        (void)fprintf(m->to, "help: ");
        print_clean(m, note->help);
        (void)fputc('\n', m->to);
    }
    if (note->source != NULL && note->line != 0) {
        (note->around == 0 ? print_excerpt : print_window)(m, note);
    }
}

static const pg_diag_info *info_of(int number)
{
    const pg_diag_info *info = &pg_diag_infos[PG_D_INTERNAL];
    for (size_t i = 0; i < PG_D_COUNT; i++) {
        if (pg_diag_infos[i].number == number) {
            info = &pg_diag_infos[i];
        }
    }
    return info;
}

run_exit run_fail_row_at(const run_msgs *m, run_exit exit, int number, const char *file,
                         uint32_t line)
{
    const pg_diag_info *info = info_of(number);
    const run_note note = {.file = file,
                           .line = line,
                           .column = 1,
                           .severity = "error",
                           .number = info->number,
                           .message = info->text,
                           .help = info->help};
    run_print(m, &note);
    return exit;
}

/* The help of a message about the command at hand speaks of it by its name. */
static void put_help(pg_strbuf *out, const char *help, const char *command)
{
    static const char place[] = "COMMAND";
    const char *at = command == NULL ? NULL : strstr(help, place);
    if (at == NULL) {
        pg_put(out, help);
        return;
    }
    pg_putf(out, "%.*s%s%s", (int)(at - help), help, command, at + sizeof place - 1);
}

run_exit run_fail_row(const run_msgs *m, run_exit exit, int number, const char *file_or_null, ...)
{
    const pg_diag_info *info = info_of(number);
    pg_strbuf text;
    pg_strbuf help;
    va_list args;
    pg_strbuf_init(&text, pg_alloc_default());
    pg_strbuf_init(&help, pg_alloc_default());
    put_help(&help, info->help, m->command);
    va_start(args, file_or_null);
    pg_putv(&text, info->text, args);
    va_end(args);
    const run_note note = {
        .file = file_or_null,
        .severity = info->severity == PG_SEV_ERROR     ? "error"
                    : info->severity == PG_SEV_WARNING ? "warning"
                                                       : "note",
        .number = info->number,
        .message = text.ptr == NULL ? info->text : text.ptr,
        .help = help.ptr == NULL ? info->help : help.ptr,
    };
    run_print(m, &note);
    pg_strbuf_fini(&text);
    pg_strbuf_fini(&help);
    return exit;
}

const char *run_suggestion(pg_arena *a, const pg_nearest *near)
{
    return pg_nearest_text(near, a, pg_alloc_default());
}

run_exit run_fail_entry(const run_msgs *m, pg_arena *a, const char *file, const char *entry_or_null,
                        const char *const *names, size_t n)
{
    if (n == 0) {
        return run_fail(m, RUN_INPUT, RUN_MSG_ENTRY_NONE, file);
    }
    if (entry_or_null != NULL) {
        pg_nearest near = pg_nearest_of(pg_str_of(entry_or_null));
        for (size_t i = 0; i < n; i++) {
            pg_nearest_try(&near, pg_str_of(names[i]));
        }
        return run_fail(m, RUN_INPUT, RUN_MSG_ENTRY, file, entry_or_null, run_suggestion(a, &near));
    }
    enum { MAX_SHOWN = 8 };
    pg_strbuf text;
    pg_strbuf_init(&text, pg_alloc_default());
    for (size_t i = 0; i < n && i < MAX_SHOWN; i++) {
        pg_putf(&text, "%s%s", i == 0 ? "" : ", ", names[i]);
    }
    pg_put(&text, n > MAX_SHOWN ? ", ..." : "");
    run_exit exit = run_fail(m, RUN_INPUT, RUN_MSG_ENTRY_MANY, file, n, pg_strbuf_str(&text).ptr);
    pg_strbuf_fini(&text);
    return exit;
}
