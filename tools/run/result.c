/* result.c: what the library said of a text. Apart from message.c, which programs without it share.
 */
#include "tools/run/message.h"

void run_print_result(const run_msgs *m, const char *file, const char *source,
                      const ptxgen_result *r)
{
    static const char *const names[] = {"note", "warning", "error"};
    for (size_t i = 0; i < ptxgen_result_diag_count(r); i++) {
        const ptxgen_diag d = ptxgen_result_diag(r, i);
        const run_note note = {
            .file = file,
            .line = d.line,
            .column = d.column,
            .severity = names[d.severity],
            .number = d.number,
            .message = d.message.ptr,
            .help = d.help.ptr,
            .source = source,
        };
        run_print(m, &note);
    }
}
