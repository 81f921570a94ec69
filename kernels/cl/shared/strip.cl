// What dwt_strip.cl and idwt_strip.cl share: two rows side by side in a vector, for devices on which one work-item is a
// processor core.
//
// A vector is four pairs of an upper row and the same four of a lower one: going one pair back stays within each half of it,
// which processors do in fewer instructions, and a row is lifted in registers in one pass.
// Defines: STRIP (pairs of columns that a work-item writes).

#define LANES 8
// Vectors of a strip.
#define STRIP_VECTORS ((STRIP + LANES - 1) / LANES)

// The vector that starts one pair before `here`, which `before` precedes.
INLINE float8 one_back(float8 before, float8 here)
{
    float8 v = here.s00124456;
    v.s04 = before.s37;
    return v;
}

// Two rows' first or last four values side by side, and apart again.
#define FIRST_FOUR(a, b) ((float8)((a).s0123, (b).s0123))
#define LAST_FOUR(a, b) ((float8)((a).s4567, (b).s4567))

#if BOUNDARY == ZERO
INLINE float8 keep8(int index, int count, float8 v)
{
    int8 at = (int8)(0, 1, 2, 3, 0, 1, 2, 3) + index;
    return select((float8)(0.0f), v, (at >= 0) & (at < count));
}
#define KEEP(index, count, value) ((index) >= 0 && (index) < (count) ? (value) : 0.0f)
#define KEEP8(index, count, v) keep8(index, count, v)
#else
#define KEEP(index, count, value) (value)
#define KEEP8(index, count, v) (v)
#endif

// Of the vectors of a row, `from` to `to` - 1 lie inside it; the others are in memory of their own, those before first.
typedef struct {
    int y, from, to;
} Row;

// Vectors of a row of which `count` values are stored; its vector 0 starts at `first`.
INLINE Row row_inside(int y, int first, int count, int vectors)
{
    Row row;
    row.y = y;
    row.from = first >= LANES ? -1 : 0;
    row.to = count >= first ? min((count - first) / LANES, vectors) : -1;
    return row;
}

// A row of zeros.
INLINE Row row_of_zeros(float *restrict edges, int vectors)
{
    Row row;
    row.y = 0;
    row.from = row.to = vectors;
    for (int i = 0; i < LANES; i++)
        edges[i] = 0.0f;
    return row;
}

// Where in `edges` vector `t` is, which is not inside.
#define EDGE(row, t) ((t) < (row).from ? 0 : 1 + (t) - (row).to)
