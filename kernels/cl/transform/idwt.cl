// One level of the inverse CDF 9/7 in both directions, in one pass over the coefficients.
//
// Maths (low s, high d; first along columns, then along rows), the steps of dwt.cl backwards:
//   s *= KAPPA_INVERSE     d *= KAPPA
//   s[n] -= DELTA (d[n-1] + d[n])     d[n] -= GAMMA (s[n] + s[n+1])
//   s[n] -= BETA  (d[n-1] + d[n])     d[n] -= ALPHA (s[n] + s[n+1])
//
// Shapes: as in dwt.cl with the arrows turned: low_w x low_h coefficients in `low`, the detail bands in
//   `bands`, all of them zero beyond; out_w x out_h samples of the w x h that the level has are written.
// NDRange: (ceil(ceil(out_w / 2) / STRIP) * LSIZE, ceil(ceil(out_h / 2) / rows)).
// A group slides down its segment of `rows` row pairs: each step loads one low and one high row of
//   coefficients of its strip with a halo of two pairs on both sides, feeds the columns' lifting (state D2, S1,
//   D1, S0), and lifts the two rows of samples that come out along the row.

// Loads low row `n` (parity 0) or high row `n` (parity 1) from pair `first` on: `left` from a band `left_w` wide,
// `right` from one `right_w` wide, times `scale`.
void load_bands(__local float *restrict left, __local float *restrict right, __global const float *left_band,
                int left_pitch, int left_w, __global const float *right_band, int right_pitch, int right_w, int w,
                int h, int band_h, int n, int parity, int first, float scale)
{
    int at = mapped(2 * n + parity, h);
    if (at < 0 || at / 2 >= band_h) {
        for EACH(c, 0, LINE)
            left[c] = right[c] = 0.0f;
        return;
    }
    __global const float *left_row = left_band + (size_t)(at / 2) * left_pitch;
    __global const float *right_row = right_band + (size_t)(at / 2) * right_pitch;
    int from = max(0, -first);
    int to = clamp(min(left_w, right_w) - first, from, LINE);
    __global const float *left_at = left_row + first, *right_at = right_row + first;
    for EACH(c, from, to) {
        left[c] = left_at[c] * scale;
        right[c] = right_at[c] * scale;
    }
    for EACH(i, 0, LINE - (to - from)) {
        int c = i < from ? i : i + to - from;
        int low = mapped(2 * (first + c), w), high = mapped(2 * (first + c) + 1, w);
        left[c] = low >= 0 && low / 2 < left_w ? left_row[low / 2] * scale : 0.0f;
        right[c] = high >= 0 && high / 2 < right_w ? right_row[high / 2] * scale : 0.0f;
    }
}

// One step of the columns' lifting of LINE columns: takes low and high coefficients n, and leaves
// sample row 2n-2 in `even_row` and 2n-3 in `odd_row`, their columns scaled for the lifting of rows.
void unlift_columns(__local float *restrict state, __local float *restrict low_row, __local float *restrict high_row,
                    float scale, int n, int ns, int nd)
{
    __local float *d2 = state, *s1 = state + 2 * LINE, *d1 = state + 4 * LINE, *s0 = state + 6 * LINE;
    for EACH(c, 0, LINE) {
        float d2_n = high_row[c];
        float s1_n = KEEP(n, ns, fma(-DELTA, d2[c] + d2_n, low_row[c]));
        float d1_n = KEEP(n - 1, nd, fma(-GAMMA, s1[c] + s1_n, d2[c]));
        float s0_n = KEEP(n - 1, ns, fma(-BETA, d1[c] + d1_n, s1[c]));
        float d0_n = fma(-ALPHA, s0[c] + s0_n, d1[c]);
        d2[c] = d2_n;
        s1[c] = s1_n;
        d1[c] = d1_n;
        s0[c] = s0_n;
        low_row[c] = s0_n * scale;
        high_row[c] = d0_n * scale;
    }
}

// Undoes the lifting of two rows of pairs, of which the first is pair `first` of `ns` low and `nd` high.
void unlift_pairs(__local float *restrict even_a, __local float *restrict odd_a, __local float *restrict even_b,
                  __local float *restrict odd_b, int first, int ns, int nd)
{
    for EACH(c, 1, STRIP + 4) {
        even_a[c] = KEEP(first + c, ns, fma(-DELTA, odd_a[c - 1] + odd_a[c], even_a[c]));
        even_b[c] = KEEP(first + c, ns, fma(-DELTA, odd_b[c - 1] + odd_b[c], even_b[c]));
    }
    SYNC;
    for EACH(c, 1, STRIP + 3) {
        odd_a[c] = KEEP(first + c, nd, fma(-GAMMA, even_a[c] + even_a[c + 1], odd_a[c]));
        odd_b[c] = KEEP(first + c, nd, fma(-GAMMA, even_b[c] + even_b[c + 1], odd_b[c]));
    }
    SYNC;
    for EACH(c, 2, STRIP + 3) {
        even_a[c] = KEEP(first + c, ns, fma(-BETA, odd_a[c - 1] + odd_a[c], even_a[c]));
        even_b[c] = KEEP(first + c, ns, fma(-BETA, odd_b[c - 1] + odd_b[c], even_b[c]));
    }
    SYNC;
    for EACH(c, 2, STRIP + 2) {
        odd_a[c] = fma(-ALPHA, even_a[c] + even_a[c + 1], odd_a[c]);
        odd_b[c] = fma(-ALPHA, even_b[c] + even_b[c + 1], odd_b[c]);
    }
    SYNC;
}

// Writes `count` samples from column `x` of row `y` on from the row's even and odd halves.
void store_row(TARGET_PARAMS, int x, int y, __local const float *restrict even, __local const float *restrict odd,
               int count)
{
    for EACH(c, 0, count / 2) {
        sample_to(TARGET, x + 2 * c, y, even[c]);
        sample_to(TARGET, x + 2 * c + 1, y, odd[c]);
    }
    if ((count & 1) && get_local_id(0) == 0)
        sample_to(TARGET, x + count - 1, y, even[count / 2]);
}

GROUP __kernel void idwt_level(__global const float *low, int low_pitch, int low_w, int low_h,
                               __global const float *bands, int band_pitch, int half_side, int high_w, int high_h, int w,
                               int h, TARGET_PARAMS, int out_w, int out_h, int rows)
{
    // Rows a and b hold low and high coefficients, then even and odd columns of an even and an odd row.
    __local float line[4 * LINE];
    __local float state[8 * LINE];
    __local float *a = line, *b = a + 2 * LINE;

    int x = (int)get_group_id(0) * STRIP;
    int first = x - 2;
    int top = (int)get_group_id(1) * rows;
    int bottom = min(top + rows, (out_h + 1) / 2);
    int columns = min(2 * STRIP, out_w - 2 * x);
    int row_ns = (w + 1) / 2, row_nd = w / 2, column_ns = (h + 1) / 2, column_nd = h / 2;
    float even_scale = w == 1 ? 1.0f : KAPPA_INVERSE;
    __global const float *hl = bands + half_side;
    __global const float *lh = bands + (size_t)half_side * band_pitch;
    __global const float *hh = lh + half_side;

    if (h == 1) {
        load_bands(a, a + LINE, low, low_pitch, low_w, hl, band_pitch, high_w, w, h, low_h, 0, 0, first, 1.0f);
        SYNC;
        for EACH(c, 0, LINE) {
            a[c] *= even_scale;
            a[LINE + c] *= KAPPA;
            b[c] = b[LINE + c] = 0.0f;
        }
        SYNC;
        if (w > 1)
            unlift_pairs(a, a + LINE, b, b + LINE, first, row_ns, row_nd);
        store_row(TARGET, 2 * x, 0, a + 2, a + LINE + 2, columns);
        return;
    }
    load_bands(b, b + LINE, lh, band_pitch, low_w, hh, band_pitch, high_w, w, h, high_h, top - 2, 1, first, KAPPA);
    SYNC;
    for EACH(c, 0, LINE) {
        state[c] = b[c];
        state[LINE + c] = b[LINE + c];
    }
    for EACH(c, 2 * LINE, 8 * LINE)
        state[c] = 0.0f;
    for (int n = top - 1; n <= bottom + 1; n++) {
        SYNC;
        load_bands(a, a + LINE, low, low_pitch, low_w, hl, band_pitch, high_w, w, h, low_h, n, 0, first,
                   KAPPA_INVERSE);
        load_bands(b, b + LINE, lh, band_pitch, low_w, hh, band_pitch, high_w, w, h, high_h, n, 1, first, KAPPA);
        SYNC;
        unlift_columns(state, a, b, even_scale, n, column_ns, column_nd);
        unlift_columns(state + LINE, a + LINE, b + LINE, KAPPA, n, column_ns, column_nd);
        SYNC;
        if (n <= top)
            continue;
        if (w > 1)
            unlift_pairs(a, a + LINE, b, b + LINE, first, row_ns, row_nd);
        int odd = 2 * n - 3, even = 2 * n - 2;
        if (odd >= 2 * top && odd < out_h)
            store_row(TARGET, 2 * x, odd, b + 2, b + LINE + 2, columns);
        if (even < 2 * bottom && even < out_h)
            store_row(TARGET, 2 * x, even, a + 2, a + LINE + 2, columns);
    }
}
