// One level of the forward CDF 9/7 in both directions, in one pass over the samples.
//
// Maths (even samples s, odd samples d; first along rows, then along columns):
//   d[n] += ALPHA (s[n] + s[n+1])     s[n] += BETA  (d[n-1] + d[n])
//   d[n] += GAMMA (s[n] + s[n+1])     s[n] += DELTA (d[n-1] + d[n])     s *= KAPPA     d *= KAPPA_INVERSE
// A row or column of one sample passes unchanged.
//
// Shapes: in_w x in_h samples come from where source.cl says; samples beyond are zero up to w x h,
//   the size that is transformed. Low coefficients in both directions go to `low` (low_w x low_h); the others
//   into the three detail bands of the Mallat square `bands`: `half_side` to the right, below, and both.
// NDRange: one group per strip of STRIP column pairs and per segment of `rows` row pairs:
//   (ceil(low_w / STRIP) * LSIZE, ceil(low_h / rows)), any rows of them.
// A group slides down its segment. Each step loads two rows of its strip with a halo of two pairs on both
//   sides, lifts them along the row, and feeds the columns' lifting, whose state is four rows (S0, D1, S1, D2).
//   Two pairs above a segment and one below it are lifted again by the neighbour.
// Assumes in_w <= w, in_h <= h, low_w >= high_w, low_h >= high_h.

#define NOWHERE ((__global float *)0)

// Sample `x` of row `y`; zero where none is stored.
float visible_sample(SOURCE_PARAMS, int x, int y, int in_w)
{
    return x >= 0 && x < in_w ? sample_from(SOURCE, x, y) : 0.0f;
}

// Loads row `y`, split into even and odd samples from pair `first` on.
void load_pairs(__local float *restrict even, __local float *restrict odd, SOURCE_PARAMS, int in_w, int in_h, int w,
                int h, int y, int first)
{
    int at = mapped(y, h);
    if (at < 0 || at >= in_h) {
        for EACH(c, 0, LINE)
            even[c] = odd[c] = 0.0f;
        return;
    }
    int from = max(0, -first);
    int to = clamp(in_w / 2 - first, from, LINE);
    for EACH(c, 0, from) {
        even[c] = visible_sample(SOURCE, mapped(2 * (first + c), w), at, in_w);
        odd[c] = visible_sample(SOURCE, mapped(2 * (first + c) + 1, w), at, in_w);
    }
    for EACH(c, from, to) {
        even[c] = sample_from(SOURCE, 2 * (first + c), at);
        odd[c] = sample_from(SOURCE, 2 * (first + c) + 1, at);
    }
    for EACH(c, to, LINE) {
        even[c] = visible_sample(SOURCE, mapped(2 * (first + c), w), at, in_w);
        odd[c] = visible_sample(SOURCE, mapped(2 * (first + c) + 1, w), at, in_w);
    }
}

// Lifts two rows of pairs, of which the first is pair `first` of rows of `ns` even and `nd` odd samples.
void lift_pairs(__local float *restrict even_a, __local float *restrict odd_a, __local float *restrict even_b,
                __local float *restrict odd_b, int first, int ns, int nd)
{
    for EACH(c, 0, STRIP + 3) {
        odd_a[c] = KEEP(first + c, nd, fma(ALPHA, even_a[c] + even_a[c + 1], odd_a[c]));
        odd_b[c] = KEEP(first + c, nd, fma(ALPHA, even_b[c] + even_b[c + 1], odd_b[c]));
    }
    SYNC;
    for EACH(c, 1, STRIP + 3) {
        even_a[c] = KEEP(first + c, ns, fma(BETA, odd_a[c - 1] + odd_a[c], even_a[c]));
        even_b[c] = KEEP(first + c, ns, fma(BETA, odd_b[c - 1] + odd_b[c], even_b[c]));
    }
    SYNC;
    for EACH(c, 1, STRIP + 2) {
        odd_a[c] = KEEP(first + c, nd, fma(GAMMA, even_a[c] + even_a[c + 1], odd_a[c]));
        odd_b[c] = KEEP(first + c, nd, fma(GAMMA, even_b[c] + even_b[c + 1], odd_b[c]));
    }
    SYNC;
    for EACH(c, 2, STRIP + 2) {
        even_a[c] = fma(DELTA, odd_a[c - 1] + odd_a[c], even_a[c]);
        even_b[c] = fma(DELTA, odd_b[c - 1] + odd_b[c], even_b[c]);
    }
    SYNC;
}

// One step of the columns' lifting for `count` columns: takes rows 2n+1 (`odd_row`) and 2n+2 (`even_row`) and
// writes coefficients n-1 where a place is given. `scale` is the rows' scaling of these columns.
void lift_columns(__local float *restrict state, __local const float *restrict odd_row,
                  __local const float *restrict even_row, float scale, int count, int n, int ns, int nd,
                  __global float *low, __global float *high)
{
    __local float *s0 = state, *d1 = state + 2 * STRIP, *s1 = state + 4 * STRIP, *d2 = state + 6 * STRIP;
    for EACH(c, 0, count) {
        float s = even_row[c] * scale;
        float d1_n = KEEP(n, nd, fma(ALPHA, s0[c] + s, odd_row[c] * scale));
        float s1_n = KEEP(n, ns, fma(BETA, d1[c] + d1_n, s0[c]));
        float d2_n = KEEP(n - 1, nd, fma(GAMMA, s1[c] + s1_n, d1[c]));
        float s2_n = fma(DELTA, d2[c] + d2_n, s1[c]);
        s0[c] = s;
        d1[c] = d1_n;
        s1[c] = s1_n;
        d2[c] = d2_n;
        if (low)
            low[c] = s2_n * KAPPA;
        if (high)
            high[c] = d2_n * KAPPA_INVERSE;
    }
}

GROUP __kernel void dwt_level(SOURCE_PARAMS, int in_w, int in_h, int w, int h, __global float *low, int low_pitch, int low_w, int low_h, __global float *bands,
                              int band_pitch, int half_side, int high_w, int high_h, int rows)
{
    // Two rows, each split in even and odd; then the state of low and high columns.
    __local float line[4 * LINE];
    __local float state[8 * STRIP];
    __local float *even_a = line, *odd_a = even_a + LINE;
    __local float *even_b = odd_a + LINE, *odd_b = even_b + LINE;

    int x = (int)get_group_id(0) * STRIP;
    int first = x - 2;
    int top = (int)get_global_id(1) * rows;
    int bottom = min(top + rows, low_h);
    int low_cols = min(STRIP, low_w - x);
    int high_cols = min(STRIP, high_w - x);
    int row_ns = (w + 1) / 2, row_nd = w / 2, column_ns = (h + 1) / 2, column_nd = h / 2;
    float low_scale = w == 1 ? 1.0f : KAPPA;

    __global float *low_out = low + x;
    __global float *hl = bands + half_side + x;
    __global float *lh = bands + (size_t)half_side * band_pitch + x;
    __global float *hh = lh + half_side;

    load_pairs(even_a, odd_a, SOURCE, in_w, in_h, w, h, 2 * (top - 2), first);
    load_pairs(even_b, odd_b, SOURCE, in_w, in_h, w, h, 0, first);
    SYNC;
    if (w > 1)
        lift_pairs(even_a, odd_a, even_b, odd_b, first, row_ns, row_nd);
    if (h == 1) {
        for EACH(c, 0, low_cols)
            low_out[c] = even_b[c + 2] * low_scale;
        for EACH(c, 0, high_cols)
            hl[c] = odd_b[c + 2] * KAPPA_INVERSE;
        return;
    }
    for EACH(c, 0, 8 * STRIP)
        state[c] = 0.0f;
    SYNC;
    for EACH(c, 0, STRIP) {
        state[c] = even_a[c + 2] * low_scale;
        state[STRIP + c] = odd_a[c + 2] * KAPPA_INVERSE;
    }
    for (int n = top - 2; n <= bottom; n++) {
        SYNC;
        load_pairs(even_a, odd_a, SOURCE, in_w, in_h, w, h, 2 * n + 1, first);
        load_pairs(even_b, odd_b, SOURCE, in_w, in_h, w, h, 2 * n + 2, first);
        SYNC;
        if (w > 1)
            lift_pairs(even_a, odd_a, even_b, odd_b, first, row_ns, row_nd);
        int m = n - 1;
        bool has_low = m >= top;
        bool has_high = has_low && m < high_h;
        lift_columns(state, even_a + 2, even_b + 2, low_scale, low_cols, n, column_ns, column_nd,
                     has_low ? low_out + (size_t)m * low_pitch : NOWHERE, has_high ? lh + (size_t)m * band_pitch : NOWHERE);
        lift_columns(state + STRIP, odd_a + 2, odd_b + 2, KAPPA_INVERSE, high_cols, n, column_ns, column_nd,
                     has_low ? hl + (size_t)m * band_pitch : NOWHERE, has_high ? hh + (size_t)m * band_pitch : NOWHERE);
    }
}
