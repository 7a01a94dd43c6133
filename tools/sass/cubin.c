/* cubin.c: what ptxas wrote into the ELF file of its machine code.
 *
 *   .text.NAME                 code
 *   .nv.shared.NAME            as large as the static shared memory
 *   .nv.info                   attributes of all functions: (symbol, registers), (symbol, frame)
 *   .nv.info.NAME              attributes of one: barriers
 *
 * An attribute is a byte that says how it is stored, one that names it, and 16 bits: a value, or
 * the size of what follows. Every offset is checked: the file may be anybody's. */
#include <string.h>

#include "tools/sass/sass.h"

enum { EM_CUDA = 190, SHT_SYMTAB = 2, SHT_NOBITS = 8, STT_FUNC = 2 };
enum {
    EIFMT_SVAL = 4,
    EIATTR_FRAME_SIZE = 0x11,
    EIATTR_REGCOUNT = 0x2f,
    EIATTR_NUM_BARRIERS = 0x4c
};

typedef struct section {
    const char *name;
    uint32_t type;
    uint64_t at, size;
} section;

typedef struct elf {
    pg_str bytes;
    uint32_t n;
    section *sections;
    const unsigned char *strings; /* of symbols */
    uint64_t strings_size;
    const unsigned char *symbols;
    uint32_t n_symbols;
    uint32_t *kernel_of; /* by symbol: index + 1 */
} elf;

static uint64_t get(const unsigned char *p, uint32_t n_bytes)
{
    uint64_t x = 0;
    for (uint32_t i = 0; i < n_bytes; i++) {
        x |= (uint64_t)p[i] << (8 * i);
    }
    return x;
}

/* `size` bytes at `at`, or NULL: beyond the end. */
static const unsigned char *span(const elf *e, uint64_t at, uint64_t size)
{
    const bool is_in = at <= e->bytes.len && size <= e->bytes.len - at;
    return is_in ? (const unsigned char *)e->bytes.ptr + at : NULL;
}

/* A text that ends within its table. */
static const char *text_at(const unsigned char *table, uint64_t size, uint64_t at)
{
    const bool is_in = table != NULL && at < size && memchr(table + at, 0, size - at) != NULL;
    return is_in ? (const char *)table + at : NULL;
}

static const char *read_sections(pg_arena *a, elf *e)
{
    const unsigned char *h = span(e, 0, 64);
    if (h == NULL ||
        memcmp(h,
               "\x7f"
               "ELF\x02\x01",
               6) != 0 ||
        get(h + 18, 2) != EM_CUDA) {
        return "it is no 64-bit ELF file for NVIDIA's machines";
    }
    const uint64_t at = get(h + 40, 8), size = get(h + 58, 2);
    const uint32_t n = (uint32_t)get(h + 60, 2), names = (uint32_t)get(h + 62, 2);
    const unsigned char *table = size == 64 ? span(e, at, n * UINT64_C(64)) : NULL;
    if (table == NULL || names >= n) {
        return "its table of sections lies outside of the file";
    }
    const unsigned char *entry = table + (size_t)names * 64;
    const uint64_t n_text = get(entry + 32, 8);
    const unsigned char *text = span(e, get(entry + 24, 8), n_text);
    e->sections = PG_NEWS(a, section, (size_t)n + 1);
    for (uint32_t i = 0; e->sections != NULL && i < n; i++) {
        entry = table + (size_t)i * 64;
        section *s = &e->sections[e->n++];
        *s = (section){.name = text_at(text, n_text, get(entry, 4)),
                       .type = (uint32_t)get(entry + 4, 4),
                       .at = get(entry + 24, 8),
                       .size = get(entry + 32, 8)};
        if (s->name == NULL) {
            return "a section has no name";
        }
        if (s->type != SHT_NOBITS && s->type != 0 && span(e, s->at, s->size) == NULL) {
            return "a section lies outside of the file";
        }
    }
    return NULL;
}

static const section *find_section(const elf *e, const char *prefix, const char *name)
{
    const size_t n = strlen(prefix);
    for (uint32_t i = 0; i < e->n; i++) {
        if (strncmp(e->sections[i].name, prefix, n) == 0 &&
            strcmp(e->sections[i].name + n, name) == 0) {
            return &e->sections[i];
        }
    }
    return NULL;
}

static const char *read_symbols(elf *e)
{
    const section *symbols = find_section(e, ".symtab", "");
    const section *strings = find_section(e, ".strtab", "");
    if (symbols == NULL || strings == NULL || symbols->type != SHT_SYMTAB) {
        return "it has no symbols";
    }
    e->strings = span(e, strings->at, strings->size);
    e->strings_size = strings->size;
    e->symbols = span(e, symbols->at, symbols->size);
    e->n_symbols = (uint32_t)(symbols->size / 24);
    return e->strings == NULL || e->symbols == NULL ? "its symbols lie outside of the file" : NULL;
}

typedef void attribute_fn(const elf *e, sass_file *out, sass_kernel *of, uint32_t name,
                          uint32_t value, const unsigned char *more);

static void read_attributes(const elf *e, const section *s, sass_file *out, sass_kernel *of,
                            attribute_fn *each)
{
    const unsigned char *p = s == NULL ? NULL : span(e, s->at, s->size);
    uint64_t left = p == NULL ? 0 : s->size;
    while (left >= 4) {
        const uint32_t name = p[1], value = (uint32_t)get(p + 2, 2);
        const uint64_t more = p[0] == EIFMT_SVAL ? value : 0;
        if (more > left - 4) {
            return;
        }
        each(e, out, of, name, value, more >= 8 ? p + 4 : NULL);
        p += 4 + more;
        left -= 4 + more;
    }
}

static void of_file(const elf *e, sass_file *out, sass_kernel *of, uint32_t name, uint32_t value,
                    const unsigned char *more)
{
    (void)of;
    (void)value;
    const uint64_t symbol = more == NULL ? UINT64_MAX : get(more, 4);
    if (symbol >= e->n_symbols || e->kernel_of[symbol] == 0) {
        return;
    }
    sass_kernel *k = &out->kernels[e->kernel_of[symbol] - 1];
    const uint32_t x = (uint32_t)get(more + 4, 4);
    if (name == EIATTR_REGCOUNT) {
        k->registers = x;
    } else if (name == EIATTR_FRAME_SIZE) {
        k->stack = x;
    }
}

static void of_kernel(const elf *e, sass_file *out, sass_kernel *of, uint32_t name, uint32_t value,
                      const unsigned char *more)
{
    (void)e;
    (void)out;
    (void)more;
    if (name == EIATTR_NUM_BARRIERS) {
        of->barriers = value & 0xff;
    }
}

/* A kernel is a global function that has code of its own. */
static const char *read_kernels(pg_arena *a, elf *e, sass_file *out)
{
    e->kernel_of = PG_NEWS(a, uint32_t, (size_t)e->n_symbols + 1);
    out->kernels = PG_NEWS(a, sass_kernel, (size_t)e->n_symbols + 1);
    if (e->kernel_of == NULL || out->kernels == NULL) {
        return "memory ran out";
    }
    for (uint32_t i = 0; i < e->n_symbols; i++) {
        const unsigned char *s = e->symbols + (size_t)i * 24;
        const char *name = text_at(e->strings, e->strings_size, get(s, 4));
        const section *code =
            name == NULL || name[0] == '\0' ? NULL : find_section(e, ".text.", name);
        if ((s[4] & 15) != STT_FUNC || s[4] >> 4 == 0 || code == NULL) {
            continue;
        }
        const section *shared = find_section(e, ".nv.shared.", name);
        sass_kernel *k = &out->kernels[out->n++];
        *k = (sass_kernel){.name = pg_str_of(name),
                           .code_bytes = (uint32_t)code->size,
                           .shared = shared == NULL ? 0 : (uint32_t)shared->size};
        e->kernel_of[i] = out->n;
    }
    return out->n == 0 ? "it holds no kernel" : NULL;
}

const char *sass_read_cubin(pg_arena *a, pg_str bytes, sass_file *out)
{
    elf e = {.bytes = bytes};
    *out = (sass_file){0};
    const char *why = read_sections(a, &e);
    why = why == NULL ? read_symbols(&e) : why;
    why = why == NULL ? read_kernels(a, &e, out) : why;
    if (why != NULL) {
        return why;
    }
    const unsigned char *h = (const unsigned char *)bytes.ptr;
    const uint32_t flags = (uint32_t)get(h + 48, 4);
    out->sm = h[8] >= 8 ? flags >> 8 & 0xff : flags & 0xff; /* by the version of the ABI */
    read_attributes(&e, find_section(&e, ".nv.info", ""), out, NULL, of_file);
    for (uint32_t i = 0; i < out->n; i++) {
        const section *s = find_section(&e, ".nv.info.", out->kernels[i].name.ptr);
        read_attributes(&e, s, out, &out->kernels[i], of_kernel);
    }
    return NULL;
}
