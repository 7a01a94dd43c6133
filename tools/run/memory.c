#include "tools/run/memory.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

enum { MOST_TEXT = 8192, LONGEST_PATH = 4096, LONGEST_SIZE = 32 };

void run_memory_add(uint64_t *sum, uint64_t n, uint64_t times)
{
    const bool is_more = times != 0 && n > (UINT64_MAX - *sum) / times;
    *sum = is_more ? UINT64_MAX : *sum + n * times;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The beginning of a file; "" if it cannot be read. */
static void read_text(const char *path, char out[MOST_TEXT])
{
    FILE *in = fopen(path, "rb");
    const size_t n = in == NULL ? 0 : fread(out, 1, MOST_TEXT - 1, in);
    out[n] = '\0';
    if (in != NULL) {
        (void)fclose(in);
    }
}

/* The number at the beginning of a text, behind blanks; `otherwise` if there is none ("max"). */
static uint64_t number_at(const char *text, uint64_t otherwise)
{
    uint64_t x;
    text += strspn(text, " \t");
    return pg_parse_u64((pg_str){text, strspn(text, "0123456789")}, &x) ? x : otherwise;
}

/* A line of /proc/meminfo, in bytes. */
static uint64_t meminfo(const char *text, const char *key, uint64_t otherwise)
{
    enum { KIB = 1024 };
    const char *at = strstr(text, key);
    const uint64_t x = at == NULL ? UINT64_MAX : number_at(at + strlen(key), UINT64_MAX);
    return x > UINT64_MAX / KIB ? otherwise : x * KIB;
}

static uint64_t of_machine(void)
{
    char text[MOST_TEXT];
    read_text("/proc/meminfo", text);
    uint64_t most = meminfo(text, "MemAvailable:", UINT64_MAX);
    run_memory_add(&most, meminfo(text, "SwapFree:", 0), 1);
    return most;
}

static uint64_t of_process(void)
{
    static const int limits[] = {RLIMIT_AS, RLIMIT_DATA};
    uint64_t most = UINT64_MAX;
    for (size_t i = 0; i < PG_COUNT_OF(limits); i++) {
        struct rlimit limit;
        if (getrlimit(limits[i], &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
            most = least(most, limit.rlim_cur);
        }
    }
    return most;
}

/* A group's limit holds for the groups in it: those up to the root count as well. A container may
 * see its own group as the root, under a name from outside; that is why the root is asked too. */
static uint64_t of_group(const char *root, const char *group, size_t len, const char *file)
{
    uint64_t most = UINT64_MAX;
    for (;;) {
        char path[LONGEST_PATH];
        char text[MOST_TEXT];
        const int n = snprintf(path, sizeof path, "%s%.*s/%s", root, (int)len, group, file);
        if (n > 0 && (size_t)n < sizeof path) {
            read_text(path, text);
            most = least(most, number_at(text, UINT64_MAX));
        }
        if (len == 0) {
            return most;
        }
        while (len > 0 && group[--len] != '/') {
        }
    }
}

/* Lines "NUMBER:CONTROLLERS:GROUP"; of version 2 the controllers are left out. */
static uint64_t of_groups(void)
{
    char text[MOST_TEXT];
    uint64_t most = UINT64_MAX;
    read_text("/proc/self/cgroup", text);
    for (const char *line = text; *line != '\0';) {
        const size_t len = strcspn(line, "\n");
        const char *controllers = memchr(line, ':', len);
        const char *group = controllers == NULL ? NULL : strchr(controllers + 1, ':');
        if (group != NULL && group < line + len) {
            const size_t n = (size_t)(line + len - ++group);
            if (strncmp(controllers, "::", 2) == 0) {
                most = least(most, of_group("/sys/fs/cgroup", group, n, "memory.max"));
            } else if (strncmp(controllers, ":memory:", 8) == 0) {
                most = least(most,
                             of_group("/sys/fs/cgroup/memory", group, n, "memory.limit_in_bytes"));
            }
        }
        line += len + (line[len] == '\n');
    }
    return most;
}

uint64_t run_memory_free(void)
{
    const uint64_t machine = of_machine();
    const uint64_t groups = of_groups();
    return least(machine, least(of_process(), groups));
}

/* "7.5 GiB"; one digit behind the point, cut off, never rounded up to what there is not. */
static void put_size(char out[LONGEST_SIZE], uint64_t bytes)
{
    static const char *const units[] = {"", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    enum { STEP = 1024, TENTHS = 10 };
    size_t unit = 0;
    uint64_t rest = 0;
    while (bytes >= STEP) {
        rest = bytes % STEP;
        bytes /= STEP;
        unit++;
    }
    if (unit == 0) {
        (void)snprintf(out, LONGEST_SIZE, "%llu bytes", (unsigned long long)bytes);
    } else {
        (void)snprintf(out, LONGEST_SIZE, "%llu.%llu %s", (unsigned long long)bytes,
                       (unsigned long long)(rest * TENTHS / STEP), units[unit]);
    }
}

run_exit run_memory_check(const run_msgs *m, const char *file, uint64_t arrays, uint64_t need)
{
    const uint64_t have = run_memory_free();
    if (need <= have) {
        return RUN_OK;
    }
    char sizes[3][LONGEST_SIZE];
    put_size(sizes[0], arrays);
    put_size(sizes[1], need);
    put_size(sizes[2], have);
    return run_fail(m, RUN_TOOL, RUN_MSG_NO_ROOM, file, sizes[0], sizes[1], sizes[2]);
}
