// One level of the inverse CDF 9/7 in both directions, in one pass over the coefficients, on processors.
//
// Maths (low s, high d; first along columns, then along rows), the steps of dwt_strip.cl backwards:
//   s *= KAPPA_INVERSE     d *= KAPPA
//   s[n] -= DELTA (d[n-1] + d[n])     d[n] -= GAMMA (s[n] + s[n+1])
//   s[n] -= BETA  (d[n-1] + d[n])     d[n] -= ALPHA (s[n] + s[n+1])
//
// Shapes: as in dwt_strip.cl with the arrows turned: low_w x low_h coefficients in `low`, the detail bands in
//   `bands`, all of them zero beyond; out_w x out_h samples of the w x h that the level has are written.
// NDRange: one work-item per strip of STRIP column pairs and per segment of `rows` row pairs.
// A work-item slides down its segment: each step takes one low and one high row of coefficients, feeds the columns'
//   lifting, whose state is four rows (D2, S1, D1, S0) in the first-level cache, and lifts the two rows of samples that come
//   out in registers, four pairs of both at a time.

// Vectors of a row in `edges`: one before it and at most three behind, since bands are no narrower than the samples need.
#define BAND_EDGES (8 * LANES)

// The row of a band where position `y` of a column is found, in vectors of eight coefficients, of which coefficient `c` is at
// position 2 c + `parity` of the row; `edges` gets those that are not wholly inside.
INLINE Row band_row(__global const float *restrict band, int pitch, int band_w, int band_h, int parity,
                    float *restrict edges, int y, int w, int h, int first, int vectors)
{
    int at = mapped(y, h);
    if (at < 0 || at / 2 >= band_h)
        return row_of_zeros(edges, vectors);
    Row row = row_inside(at / 2, first, band_w, vectors);
    for (int i = row.from == 0 ? 0 : LANES; i < LANES * (1 + vectors - row.to); i++) {
        int c = first + (i < LANES ? i - LANES : i - LANES + LANES * row.to);
        int position = mapped(2 * c + parity, w);
        bool is_there = position >= 0 && position / 2 < band_w;
        edges[i] = is_there ? band[(size_t)row.y * pitch + position / 2] : 0.0f;
    }
    return row;
}

// Vector `t` of a row of a band. `inside`: known to be.
INLINE float8 coefficients(__global const float *restrict band, int pitch, const float *restrict edges, Row row,
                           int first, int t, bool inside)
{
    if (inside || (t >= row.from && t < row.to))
        return vload8(0, band + (size_t)row.y * pitch + first + LANES * t);
    return vload8(EDGE(row, t), edges);
}

// One step of the columns' lifting of eight columns: takes low and high coefficients n and gives sample rows 2n-2 and 2n-3.
INLINE void unlift_columns(float8 *restrict state, float8 low, float8 high, int n, int ns, int nd, float8 *even,
                           float8 *odd)
{
    float8 d2 = state[0], s1 = state[1], d1 = state[2], s0 = state[3];
    float8 s1_n = KEEP(n, ns, fma((float8)-DELTA, d2 + high, low));
    float8 d1_n = KEEP(n - 1, nd, fma((float8)-GAMMA, s1 + s1_n, d2));
    float8 s0_n = KEEP(n - 1, ns, fma((float8)-BETA, d1 + d1_n, s1));
    *odd = fma((float8)-ALPHA, s0 + s0_n, d1);
    *even = s0_n;
    state[0] = high;
    state[1] = s1_n;
    state[2] = d1_n;
    state[3] = s0_n;
}

// What lifting along two rows carries from one vector to the next.
typedef struct {
    float8 d2, s1, d1, s0;
} Back;

// Takes four pairs of coefficients of both rows from pair `at` on, low ones `s` and high ones `d`, and gives the samples of
// pairs at - 2 to at + 1.
INLINE void unlift_rows(Back *before, float8 s, float8 d, int at, int ns, int nd, float8 *even, float8 *odd)
{
    float8 d2 = d * KAPPA, d2_back = one_back(before->d2, d2);
    float8 s1 = KEEP8(at, ns, fma((float8)-DELTA, d2_back + d2, s * KAPPA_INVERSE));
    float8 s1_back = one_back(before->s1, s1);
    float8 d1 = KEEP8(at - 1, nd, fma((float8)-GAMMA, s1_back + s1, d2_back));
    float8 d1_back = one_back(before->d1, d1);
    float8 s0 = KEEP8(at - 1, ns, fma((float8)-BETA, d1_back + d1, s1_back));
    float8 s0_back = one_back(before->s0, s0);
    *even = s0_back;
    *odd = fma((float8)-ALPHA, s0_back + s0, d1_back);
    before->d2 = d2;
    before->s1 = s1;
    before->d1 = d1;
    before->s0 = s0;
}

// Samples of the upper and of the lower row.
#define UPPER(even, odd)                                                                                               \
    ((float8)((even).s0, (odd).s0, (even).s1, (odd).s1, (even).s2, (odd).s2, (even).s3, (odd).s3))
#define LOWER(even, odd)                                                                                               \
    ((float8)((even).s4, (odd).s4, (even).s5, (odd).s5, (even).s6, (odd).s6, (even).s7, (odd).s7))

// Writes eight samples from column `x` on of an upper and of a lower row.
INLINE void put_rows(TARGET_PARAMS, int x, int upper, int lower, float8 even, float8 odd)
{
#if TO == PLANE
    eight_to(TARGET, x, upper, UPPER(even, odd));
    eight_to(TARGET, x, lower, LOWER(even, odd));
#else
    // A short is a pair, its first byte in the lower half: processors are little-endian.
    ushort8 pairs = convert_ushort8(eight_rounded(even) | eight_rounded(odd) << 8);
    __global uchar *to_upper = out + (size_t)upper * out_pitch + x, *to_lower = out + (size_t)lower * out_pitch + x;
#if ALIGNED
    vstore2(as_uint2(pairs.lo), 0, (__global uint *)to_upper);
    vstore2(as_uint2(pairs.hi), 0, (__global uint *)to_lower);
#else
    vstore8(as_uchar8(pairs.lo), 0, to_upper);
    vstore8(as_uchar8(pairs.hi), 0, to_lower);
#endif
#endif
}

// Writes the first `count` of eight samples.
INLINE void put_samples(TARGET_PARAMS, int x, int y, float8 v, int count)
{
    if (count >= LANES) {
        eight_to(TARGET, x, y, v);
        return;
    }
    float values[LANES];
    vstore8(v, 0, values);
    for (int i = 0; i < count; i++)
        sample_to(TARGET, x + i, y, values[i]);
}

GROUP __kernel void idwt_level(__global const float *restrict low, int low_pitch, int low_w, int low_h,
                               __global const float *restrict bands, int band_pitch, int half_side, int high_w,
                               int high_h, int w, int h, TARGET_PARAMS, int out_w, int out_h, int rows)
{
    // Of eight low columns, then of eight high ones, and so on, from one vector before the strip on.
    float8 state[(STRIP_VECTORS + 1) * 8];
    float edges_ll[BAND_EDGES], edges_hl[BAND_EDGES], edges_lh[BAND_EDGES], edges_hh[BAND_EDGES];
    // Coefficients are taken two pairs ahead of the samples that they give.
    int x = (int)get_group_id(0) * STRIP, first = x + 2;
    int top = (int)get_group_id(1) * rows, bottom = min(top + rows, (out_h + 1) / 2);
    int row_ns = (w + 1) / 2, row_nd = w / 2, column_ns = (h + 1) / 2, column_nd = h / 2;
    int columns = min(2 * STRIP, out_w - 2 * x), end = 2 * x + columns;
    int vectors = (columns + 2 * LANES - 1) / (2 * LANES);
    __global const float *right = bands + half_side, *below = bands + (size_t)half_side * band_pitch;
    __global const float *corner = below + half_side;

    for (int i = 0; i < 8 * (vectors + 1); i++)
        state[i] = 0.0f;
    for (int n = top - 2; n <= bottom + 1; n++) {
        Row ll = band_row(low, low_pitch, low_w, low_h, 0, edges_ll, 2 * n, w, h, first, vectors);
        Row hl = band_row(right, band_pitch, high_w, low_h, 1, edges_hl, 2 * n, w, h, first, vectors);
        Row lh = band_row(below, band_pitch, low_w, high_h, 0, edges_lh, 2 * n + 1, w, h, first, vectors);
        Row hh = band_row(corner, band_pitch, high_w, high_h, 1, edges_hh, 2 * n + 1, w, h, first, vectors);
        int odd_row = 2 * n - 3, even_row = 2 * n - 2;
        bool has_odd = odd_row >= 2 * top && odd_row < out_h;
        bool has_even = even_row >= 2 * top && even_row < 2 * bottom && even_row < out_h;
        // Vectors of which all is there, on both sides.
        int whole = min(min(min(ll.to, hl.to), min(lh.to, hh.to)), columns / (2 * LANES));
        whole = has_odd && has_even && max(max(ll.from, hl.from), max(lh.from, hh.from)) <= 0 ? whole : 0;
        Back back;
        back.d2 = back.s1 = back.d1 = back.s0 = (float8)(0.0f);
        float8 even_s, even_d, odd_s, odd_d, even, odd;
#define UNLIFT(t, inside)                                                                                              \
    unlift_columns(state + 8 * (t) + 8,                                                                                \
                   coefficients(low, low_pitch, edges_ll, ll, first, t, inside) * KAPPA_INVERSE,                       \
                   coefficients(below, band_pitch, edges_lh, lh, first, t, inside) * KAPPA, n, column_ns, column_nd,   \
                   &even_s, &odd_s);                                                                                   \
    unlift_columns(state + 8 * (t) + 12,                                                                               \
                   coefficients(right, band_pitch, edges_hl, hl, first, t, inside) * KAPPA_INVERSE,                    \
                   coefficients(corner, band_pitch, edges_hh, hh, first, t, inside) * KAPPA, n, column_ns, column_nd,  \
                   &even_d, &odd_d)
#define UNLIFT_FOUR(HALF, at) unlift_rows(&back, HALF(even_s, odd_s), HALF(even_d, odd_d), at, row_ns, row_nd, &even, &odd)
        UNLIFT(-1, false);
        UNLIFT_FOUR(LAST_FOUR, first - 4);
        int t = 0;
        for (; t < whole; t++) {
            int at = first + t * LANES, column = 2 * (x + t * LANES);
            UNLIFT(t, true);
            UNLIFT_FOUR(FIRST_FOUR, at);
            put_rows(TARGET, column, even_row, odd_row, even, odd);
            UNLIFT_FOUR(LAST_FOUR, at + 4);
            put_rows(TARGET, column + LANES, even_row, odd_row, even, odd);
        }
        for (; t < vectors; t++) {
            int at = first + t * LANES, column = 2 * (x + t * LANES);
            UNLIFT(t, false);
            UNLIFT_FOUR(FIRST_FOUR, at);
            if (has_even)
                put_samples(TARGET, column, even_row, UPPER(even, odd), end - column);
            if (has_odd)
                put_samples(TARGET, column, odd_row, LOWER(even, odd), end - column);
            UNLIFT_FOUR(LAST_FOUR, at + 4);
            if (has_even)
                put_samples(TARGET, column + LANES, even_row, UPPER(even, odd), end - column - LANES);
            if (has_odd)
                put_samples(TARGET, column + LANES, odd_row, LOWER(even, odd), end - column - LANES);
        }
    }
}
