/* disassemble.c: runs nvdisasm, or cuobjdump where there is no nvdisasm. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/asm/child.h"
#include "tools/sass/sass.h"

enum { TIMEOUT_MS = 120000 };

/* cuobjdump by its name, anything else is taken as nvdisasm. */
static const char *flag_of(const char *tool)
{
    const char *name = strrchr(tool, '/');
    return strstr(name == NULL ? tool : name, "cuobjdump") != NULL ? "-sass" : "-c";
}

static char *find_tool(const char *tool_or_null)
{
    char *tool = child_find(tool_or_null, "nvdisasm", "PTXGEN_NVDISASM");
    return tool != NULL || tool_or_null != NULL ? tool
                                                : child_find(NULL, "cuobjdump", "PTXGEN_CUOBJDUMP");
}

static sass_status run(pg_arena *a, const char *tool, const char *path, const char *log,
                       sass_file *file, const char **why)
{
    const char *argv[] = {tool, flag_of(tool), path, NULL};
    int state = 0;
    size_t size = 0;
    const child_end end = child_run(argv, log, TIMEOUT_MS, &state);
    if (end != CHILD_ENDED) {
        *why = end == CHILD_TIMEOUT ? "it took too long" : "it cannot be started";
        return end == CHILD_TIMEOUT ? SASS_FAILED : SASS_NO_TOOL;
    }
    char *text = child_read_file(log, &size);
    while (text != NULL && size > 0 && text[size - 1] == '\n') {
        size--;
    }
    const pg_str kept = text == NULL ? (pg_str){0} : pg_arena_str(a, (pg_str){text, size});
    free(text);
    if (kept.ptr == NULL) {
        return SASS_NO_MEMORY;
    }
    if (!WIFEXITED(state) || WEXITSTATUS(state) != 0) {
        *why = kept.len == 0 ? "it died" : kept.ptr;
        return SASS_FAILED;
    }
    return sass_read_listing(a, kept, file) ? SASS_OK : SASS_NO_MEMORY;
}

sass_status sass_disassemble(pg_arena *a, const char *path, const char *tool_or_null,
                             sass_file *file, const char **why)
{
    char log[] = "/tmp/ptxgen-sass-XXXXXX";
    *why = "";
    char *tool = find_tool(tool_or_null);
    if (tool == NULL) {
        return SASS_NO_TOOL;
    }
    const int fd = mkstemp(log);
    sass_status status = SASS_FAILED;
    if (fd < 0) {
        *why = "no temporary file can be made";
    } else {
        (void)close(fd);
        status = run(a, tool, path, log, file, why);
        (void)unlink(log);
    }
    free(tool);
    return status;
}
