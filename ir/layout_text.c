/* layout_text.c: a layout as a table, as a picture, and as JSON. */
#include "ir/layout_text.h"

#include <string.h>

enum { LANES = 32, MAX_COLUMNS = 8, MAX_ROWS = 32, MAX_DRAWN = 64, BANK_BYTES = 4, N_BANKS = 32 };

static const char *const index_names[PG_LIN_DIM_COUNT] = {"reg", "lane", "warp", "cta", "offset"};

static void put_coord(pg_strbuf *out, const pg_layout *l, const uint32_t *coord)
{
    for (uint32_t d = 0; d < l->rank; d++) {
        pg_putf(out, "%s%u", d == 0 ? "(" : ", ", coord[d]);
    }
    pg_put_char(out, ')');
}

static void put_step(pg_strbuf *out, const pg_layout *l, uint32_t d, uint32_t step)
{
    uint32_t index[PG_LIN_DIM_COUNT] = {0}, coord[PG_MAX_RANK] = {0};
    index[d] = step;
    pg_layout_at(l, index, coord);
    put_coord(out, l, coord);
}

static void put_shape(pg_strbuf *out, const pg_layout_view *v)
{
    for (uint32_t d = 0; d < v->layout.rank; d++) {
        pg_putf(out, "%ux", v->layout.dims[d]);
    }
    pg_put(out, v->elem);
}

/* ---- table ----------------------------------------------------------------------------------- */

/* One line for each index: what its bits and digits add to the coordinate. */
static void put_vectors(pg_strbuf *out, const pg_layout *l)
{
    for (uint32_t d = 0; d < PG_LIN_DIM_COUNT; d++) {
        if (pg_layout_size(l, (pg_lin_dim)d) == 1) {
            continue;
        }
        pg_putf(out, "  %-6s", index_names[d]);
        for (uint32_t b = 0; b < l->n_bits[d]; b++) {
            pg_put_char(out, ' ');
            put_step(out, l, d, 1u << b);
        }
        for (uint32_t i = 0; i < l->n_outer; i++) {
            const pg_outer_digit *o = &l->outer[i];
            if (o->in_dim == d) {
                pg_putf(out, "  every %u: ", o->in_stride);
                put_step(out, l, d, o->in_stride);
                pg_putf(out, " x 0..%u", o->extent - 1);
            }
        }
        pg_put_char(out, '\n');
    }
}

static void pad_to(pg_strbuf *out, size_t line, size_t column)
{
    size_t at = out->len - line;
    pg_put_repeat(out, ' ', at < column ? column - at : 1);
}

/* Lanes of warp 0 downwards, registers to the right. */
static void put_registers(pg_strbuf *out, const pg_layout *l)
{
    uint32_t regs = pg_layout_size(l, PG_LIN_REG);
    uint32_t shown = regs < MAX_COLUMNS ? regs : MAX_COLUMNS;
    size_t width = 4 + 4 * (size_t)l->rank, line = out->len;
    pg_put(out, "warp 0");
    for (uint32_t r = 0; r < shown; r++) {
        pad_to(out, line, 8 + r * width);
        pg_putf(out, "r%u", r);
    }
    pg_put(out, shown < regs ? " ...\n" : "\n");
    for (uint32_t lane = 0; lane < LANES; lane++) {
        line = out->len;
        pg_putf(out, "lane %u", lane);
        for (uint32_t r = 0; r < shown; r++) {
            uint32_t index[PG_LIN_DIM_COUNT] = {0}, coord[PG_MAX_RANK] = {0};
            index[PG_LIN_REG] = r;
            index[PG_LIN_LANE] = lane;
            pg_layout_at(l, index, coord);
            pad_to(out, line, 8 + r * width);
            put_coord(out, l, coord);
        }
        pg_put_char(out, '\n');
    }
}

/* Coordinates of the element `row`, `column` of the last two dimensions. */
static void coord_of(const pg_layout *l, uint32_t row, uint32_t column, uint32_t out[PG_MAX_RANK])
{
    memset(out, 0, PG_MAX_RANK * sizeof *out);
    if (l->rank > 1) {
        out[l->rank - 2] = row;
    }
    if (l->rank > 0) {
        out[l->rank - 1] = column;
    }
}

static uint32_t extent_from_last(const pg_layout *l, uint32_t i)
{
    return l->rank > i ? l->dims[l->rank - 1 - i] : 1;
}

static uint32_t bank_of(const pg_layout_view *v, uint32_t offset)
{
    uint64_t bits = v->elem_bits < 8 ? 8 : v->elem_bits;
    return (uint32_t)(offset * bits / 8 / BANK_BYTES % N_BANKS);
}

/* Where elements of the last two dimensions lie: for each 4 bytes of a row offset and bank. */
static void put_offsets(pg_strbuf *out, const pg_layout_view *v)
{
    const pg_layout *l = &v->layout;
    uint32_t rows = extent_from_last(l, 1), columns = extent_from_last(l, 0);
    uint32_t step = v->elem_bits >= 32 ? 1 : 32 / (v->elem_bits < 8 ? 8 : v->elem_bits);
    pg_putf(out, "offset of (row, column), and its bank; columns in steps of %u\n", step);
    for (uint32_t r = 0; r < rows && r < MAX_ROWS; r++) {
        size_t line = out->len;
        pg_putf(out, "row %u", r);
        for (uint32_t c = 0; c < columns && c / step < N_BANKS; c += step) {
            uint32_t coord[PG_MAX_RANK], index[PG_LIN_DIM_COUNT] = {0};
            coord_of(l, r, c, coord);
            if (pg_layout_find(l, coord, index)) {
                pad_to(out, line, 8 + (size_t)(c / step) * 9);
                pg_putf(out, "%u b%u", index[PG_LIN_OFFSET], bank_of(v, index[PG_LIN_OFFSET]));
            }
        }
        pg_put(out, columns / step > N_BANKS ? " ...\n" : "\n");
    }
    pg_put(out, rows > MAX_ROWS ? "...\n" : "");
}

void pg_layout_put_table(pg_strbuf *out, const pg_layout_view *v)
{
    const pg_layout *l = &v->layout;
    put_shape(out, v);
    if (v->is_memory) {
        uint64_t bits = v->elem_bits < 8 ? 8 : v->elem_bits;
        pg_putf(out, ": %llu bytes\n",
                (unsigned long long)(pg_layout_size(l, PG_LIN_OFFSET) * bits / 8));
    } else {
        pg_putf(out, " over %u warps: %u registers of an element, %u in a row, ", v->n_warps,
                pg_layout_size(l, PG_LIN_REG), pg_layout_vector(l));
        uint32_t replicas = pg_popcount(pg_layout_free_bits(l, PG_LIN_REG)) +
                            pg_popcount(pg_layout_free_bits(l, PG_LIN_LANE)) +
                            pg_popcount(pg_layout_free_bits(l, PG_LIN_WARP));
        pg_putf(out, "each element held %u times\n", 1u << replicas);
    }
    pg_put(out, "what each bit of an index adds to the coordinate:\n");
    put_vectors(out, l);
    pg_put_char(out, '\n');
    if (v->is_memory) {
        put_offsets(out, v);
    } else {
        put_registers(out, l);
    }
}

/* ---- picture --------------------------------------------------------------------------------- */

enum { CELL_WIDTH = 34, CELL_HEIGHT = 22, MARGIN = 30, TITLE = 24 };

/* Colours that stay apart in grey: warps, or groups of four banks. */
static const char *const colours[8] = {"#cfe3f5", "#fbe0b8", "#d3eccb", "#f6cfd3",
                                       "#e2d6ee", "#f5f1b5", "#c9ebe7", "#dcdcdc"};

static void put_text(pg_strbuf *out, uint32_t x, uint32_t y, const char *what, uint32_t n)
{
    pg_putf(out, "<text x=\"%u\" y=\"%u\">%s%u</text>\n", x, y, what, n);
}

static void put_cell(pg_strbuf *out, const pg_layout_view *v, uint32_t row, uint32_t column)
{
    const pg_layout *l = &v->layout;
    uint32_t coord[PG_MAX_RANK], index[PG_LIN_DIM_COUNT] = {0};
    uint32_t x = MARGIN + column * CELL_WIDTH, y = TITLE + MARGIN / 2 + row * CELL_HEIGHT;
    coord_of(l, row, column, coord);
    if (!pg_layout_find(l, coord, index)) {
        return;
    }
    uint32_t bank = bank_of(v, index[PG_LIN_OFFSET]);
    uint32_t colour = v->is_memory ? bank / 4 : index[PG_LIN_WARP] % 8;
    pg_putf(out,
            "<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" fill=\"%s\" "
            "stroke=\"#808080\" stroke-width=\"0.5\"/>\n",
            x, y, CELL_WIDTH, CELL_HEIGHT, colours[colour]);
    if (v->is_memory) {
        put_text(out, x + CELL_WIDTH / 2, y + 9, "", index[PG_LIN_OFFSET]);
        put_text(out, x + CELL_WIDTH / 2, y + 19, "b", bank);
    } else {
        put_text(out, x + CELL_WIDTH / 2, y + 9, "l", index[PG_LIN_LANE]);
        put_text(out, x + CELL_WIDTH / 2, y + 19, "r", index[PG_LIN_REG]);
    }
}

void pg_layout_put_svg(pg_strbuf *out, const pg_layout_view *v)
{
    uint32_t rows = extent_from_last(&v->layout, 1), columns = extent_from_last(&v->layout, 0);
    uint32_t n_rows = rows < MAX_DRAWN ? rows : MAX_DRAWN;
    uint32_t n_columns = columns < MAX_DRAWN ? columns : MAX_DRAWN;
    uint32_t width = MARGIN + n_columns * CELL_WIDTH + 8;
    uint32_t height = TITLE + MARGIN / 2 + n_rows * CELL_HEIGHT + 8;
    width = width < 420 ? 420 : width;
    pg_putf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
            "viewBox=\"0 0 %u %u\" font-family=\"sans-serif\" font-size=\"9\" "
            "text-anchor=\"middle\">\n",
            width, height, width, height);
    pg_putf(out, "<rect width=\"%u\" height=\"%u\" fill=\"white\"/>\n", width, height);
    pg_put(out, "<text x=\"4\" y=\"14\" font-size=\"12\" text-anchor=\"start\">");
    put_shape(out, v);
    pg_put(out, v->is_memory ? ": offset, bank (colour: four banks)"
                             : ": lane, register (colour: warp)");
    if (n_rows < rows || n_columns < columns) {
        pg_putf(out, "; the first %ux%u", n_rows, n_columns);
    }
    pg_put(out, "</text>\n");
    for (uint32_t c = 0; c < n_columns; c++) {
        put_text(out, MARGIN + c * CELL_WIDTH + CELL_WIDTH / 2, TITLE + MARGIN / 2 - 4, "", c);
    }
    for (uint32_t r = 0; r < n_rows; r++) {
        put_text(out, MARGIN / 2, TITLE + MARGIN / 2 + r * CELL_HEIGHT + 14, "", r);
        for (uint32_t c = 0; c < n_columns; c++) {
            put_cell(out, v, r, c);
        }
    }
    pg_put(out, "</svg>\n");
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_list(pg_strbuf *out, const uint32_t *at, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        pg_putf(out, i == 0 ? "[%u" : ", %u", at[i]);
    }
    pg_put(out, n == 0 ? "[]" : "]");
}

static void put_json_vectors(pg_strbuf *out, const pg_layout *l, uint32_t d)
{
    pg_putf(out, "\"%s\": [", index_names[d]);
    for (uint32_t b = 0; b < l->n_bits[d]; b++) {
        uint32_t index[PG_LIN_DIM_COUNT] = {0}, coord[PG_MAX_RANK] = {0};
        index[d] = 1u << b;
        pg_layout_at(l, index, coord);
        pg_put(out, b == 0 ? "" : ", ");
        put_list(out, coord, l->rank);
    }
    pg_put_char(out, ']');
}

void pg_layout_put_json(pg_strbuf *out, const pg_layout_view *v)
{
    const pg_layout *l = &v->layout;
    pg_put(out, "{\"schema\": 1, \"shape\": ");
    put_list(out, l->dims, l->rank);
    pg_putf(out, ", \"elem\": \"%s\", ", v->elem);
    if (v->is_memory) {
        pg_putf(out, "\"elements\": %u, \"linear\": {", pg_layout_size(l, PG_LIN_OFFSET));
        put_json_vectors(out, l, PG_LIN_OFFSET);
    } else {
        pg_putf(out, "\"warps\": %u, \"registers\": %u, \"vector\": %u, \"linear\": {", v->n_warps,
                pg_layout_size(l, PG_LIN_REG), pg_layout_vector(l));
        for (uint32_t d = PG_LIN_REG; d <= PG_LIN_WARP; d++) {
            pg_put(out, d == PG_LIN_REG ? "" : ", ");
            put_json_vectors(out, l, d);
        }
    }
    pg_put(out, "}, \"digits\": [");
    for (uint32_t i = 0; i < l->n_outer; i++) {
        const pg_outer_digit *o = &l->outer[i];
        pg_putf(out,
                "%s{\"index\": \"%s\", \"every\": %u, \"extent\": %u, \"dim\": %u, \"stride\": %u}",
                i == 0 ? "" : ", ", index_names[o->in_dim], o->in_stride, o->extent, o->out_dim,
                o->stride);
    }
    pg_put(out, "]}\n");
}
