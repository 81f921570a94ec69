// One level of the forward CDF 9/7 in both directions, in one pass over the samples, on processors.
//
// Maths (even samples s, odd samples d; first along rows, then along columns):
//   d[n] += ALPHA (s[n] + s[n+1])     s[n] += BETA  (d[n-1] + d[n])
//   d[n] += GAMMA (s[n] + s[n+1])     s[n] += DELTA (d[n-1] + d[n])     s *= KAPPA     d *= KAPPA_INVERSE
//
// Shapes: in_w x in_h samples come from where source.cl says; samples beyond are zero up to w x h,
//   the size that is transformed, w > 1 and h > 1. Low coefficients in both directions go to `low` (low_w x low_h); the others
//   into the three detail bands of the Mallat square `bands`: `half_side` to the right, below, and both.
// NDRange: one work-item per strip of STRIP column pairs and per segment of `rows` row pairs:
//   (ceil(low_w / STRIP), ceil(low_h / rows)), any rows of them.
// A work-item slides down its segment. Each step lifts two rows of samples in registers, four pairs of both at a time, and
//   feeds the columns' lifting, whose state is four rows (S0, D1, S1, D2) in the first-level cache.
// Assumes in_w <= w, in_h <= h, low_w >= high_w, low_h >= high_h.

// Row `y` in vectors of eight samples; `edges` gets those that are not wholly inside.
INLINE Row samples_row(SOURCE_PARAMS, float *restrict edges, int y, int in_w, int in_h, int w, int h, int first,
                       int vectors)
{
    int at = mapped(y, h);
    if (at < 0 || at >= in_h)
        return row_of_zeros(edges, vectors);
    Row row = row_inside(at, first, in_w, vectors);
    for (int i = row.from == 0 ? 0 : LANES; i < LANES * (1 + vectors - row.to); i++) {
        int x = mapped(first + (i < LANES ? i - LANES : i - LANES + LANES * row.to), w);
        edges[i] = x >= 0 && x < in_w ? sample_from(SOURCE, x, at) : 0.0f;
    }
    return row;
}

// Vector `k` of a row. `inside`: known to be.
INLINE float8 samples(SOURCE_PARAMS, const float *restrict edges, Row row, int first, int k, bool inside)
{
    if (inside || (k >= row.from && k < row.to))
        return eight_from(SOURCE, first + LANES * k, row.y);
    return vload8(EDGE(row, k), edges);
}

// What lifting along two rows carries from one vector to the next.
typedef struct {
    float8 s0, d1, s1, d2;
} Along;

// Takes eight samples of both rows: odd ones of pairs at - 1 to at + 2, each followed by the even one of the next pair. Gives
// coefficients at - 2 to at + 1.
INLINE void along_rows(Along *before, float8 a, float8 b, int at, int ns, int nd, float8 *low, float8 *high)
{
    float8 d0 = (float8)(a.even, b.even), s0_next = (float8)(a.odd, b.odd);
    float8 s0 = one_back(before->s0, s0_next);
    float8 d1 = KEEP8(at - 1, nd, fma((float8)ALPHA, s0 + s0_next, d0));
    float8 d1_back = one_back(before->d1, d1);
    float8 s1 = KEEP8(at - 1, ns, fma((float8)BETA, d1_back + d1, s0));
    float8 s1_back = one_back(before->s1, s1);
    float8 d2 = KEEP8(at - 2, nd, fma((float8)GAMMA, s1_back + s1, d1_back));
    float8 s2 = fma((float8)DELTA, one_back(before->d2, d2) + d2, s1_back);
    before->s0 = s0_next;
    before->d1 = d1;
    before->s1 = s1;
    before->d2 = d2;
    *low = s2 * KAPPA;
    *high = d2 * KAPPA_INVERSE;
}

// One step of the columns' lifting of eight columns: takes rows 2n+1 and 2n+2 and gives coefficients n-1.
INLINE void along_columns(float8 *restrict state, float8 odd, float8 even, int n, int ns, int nd, float8 *low,
                          float8 *high)
{
    float8 s0 = state[0], d1 = state[1], s1 = state[2], d2 = state[3];
    float8 d1_n = KEEP(n, nd, fma((float8)ALPHA, s0 + even, odd));
    float8 s1_n = KEEP(n, ns, fma((float8)BETA, d1 + d1_n, s0));
    float8 d2_n = KEEP(n - 1, nd, fma((float8)GAMMA, s1 + s1_n, d1));
    float8 s2_n = fma((float8)DELTA, d2 + d2_n, s1);
    state[0] = even;
    state[1] = d1_n;
    state[2] = s1_n;
    state[3] = d2_n;
    *low = s2_n * KAPPA;
    *high = d2_n * KAPPA_INVERSE;
}

// Writes the first `count` of eight coefficients.
INLINE void put8(float8 v, __global float *to, int count)
{
    if (count >= LANES) {
        vstore8(v, 0, to);
        return;
    }
    float values[LANES];
    vstore8(v, 0, values);
    for (int i = 0; i < count; i++)
        to[i] = values[i];
}

GROUP __kernel void dwt_level(SOURCE_PARAMS, int in_w, int in_h, int w, int h, __global float *restrict low,
                              int low_pitch, int low_w, int low_h, __global float *restrict bands, int band_pitch,
                              int half_side, int high_w, int high_h, int rows)
{
    // Of eight low columns, then of eight high ones, and so on.
    float8 state[STRIP_VECTORS * 8];
    float edges_a[LANES * (2 * STRIP_VECTORS + 2)], edges_b[LANES * (2 * STRIP_VECTORS + 2)];
    // Vectors of samples start at an odd one and go one pair ahead of the coefficients that they give.
    int x = (int)get_group_id(0) * STRIP, first = 2 * x + 3;
    int top = (int)get_global_id(1) * rows, bottom = min(top + rows, low_h);
    int row_ns = (w + 1) / 2, row_nd = w / 2, column_ns = (h + 1) / 2, column_nd = h / 2;
    int low_cols = min(STRIP, low_w - x), high_cols = min(STRIP, high_w - x);
    int vectors = (low_cols + LANES - 1) / LANES;

    for (int i = 0; i < 8 * vectors; i++)
        state[i] = 0.0f;
    for (int n = top - 3; n <= bottom; n++) {
        Row row_a = samples_row(SOURCE, edges_a, 2 * n + 1, in_w, in_h, w, h, first, 2 * vectors);
        Row row_b = samples_row(SOURCE, edges_b, 2 * n + 2, in_w, in_h, w, h, first, 2 * vectors);
        int m = n - 1;
        bool has_low = m >= top, has_high = has_low && m < high_h;
        __global float *ll = low + (size_t)max(m, 0) * low_pitch + x;
        __global float *hl = bands + (size_t)max(m, 0) * band_pitch + half_side + x;
        __global float *lh = bands + (size_t)(half_side + max(m, 0)) * band_pitch + x, *hh = lh + half_side;
        // Vectors of which all is there, on both sides.
        int whole = min(min(row_a.to, row_b.to) / 2, high_cols / LANES);
        whole = has_high && max(row_a.from, row_b.from) <= 0 ? whole : 0;
        Along along;
        along.s0 = along.d1 = along.s1 = along.d2 = (float8)(0.0f);
        float8 low_0, high_0, low_1, high_1, s, d;
#define LIFT(k, inside, low, high)                                                                                     \
    along_rows(&along, samples(SOURCE, edges_a, row_a, first, k, inside),                                              \
               samples(SOURCE, edges_b, row_b, first, k, inside), x + 4 * (k) + 2, row_ns, row_nd, &low, &high)
        LIFT(-1, false, low_0, high_0);
        int t = 0;
        for (; t < whole; t++) {
            int c = t * LANES;
            LIFT(2 * t, true, low_0, high_0);
            LIFT(2 * t + 1, true, low_1, high_1);
            along_columns(state + c, FIRST_FOUR(low_0, low_1), LAST_FOUR(low_0, low_1), n, column_ns, column_nd, &s, &d);
            vstore8(s, 0, ll + c);
            vstore8(d, 0, lh + c);
            along_columns(state + c + 4, FIRST_FOUR(high_0, high_1), LAST_FOUR(high_0, high_1), n, column_ns, column_nd,
                          &s, &d);
            vstore8(s, 0, hl + c);
            vstore8(d, 0, hh + c);
        }
        for (; t < vectors; t++) {
            int c = t * LANES;
            LIFT(2 * t, false, low_0, high_0);
            LIFT(2 * t + 1, false, low_1, high_1);
            along_columns(state + c, FIRST_FOUR(low_0, low_1), LAST_FOUR(low_0, low_1), n, column_ns, column_nd, &s, &d);
            if (has_low)
                put8(s, ll + c, low_cols - c);
            if (has_high)
                put8(d, lh + c, low_cols - c);
            along_columns(state + c + 4, FIRST_FOUR(high_0, high_1), LAST_FOUR(high_0, high_1), n, column_ns, column_nd,
                          &s, &d);
            if (has_low)
                put8(s, hl + c, high_cols - c);
            if (has_high)
                put8(d, hh + c, high_cols - c);
        }
    }
}
