// One level of the inverse CDF 9/7 in both directions, in one pass over the coefficients: idwt.cl for processors.
//
// Maths and shapes: as in idwt.cl.
// NDRange: one work-item per strip of STRIP column pairs and per segment of `rows` row pairs.
// A work-item slides down its segment: each step takes one low and one high row of coefficients, feeds the columns'
//   lifting (state D2, S1, D1, S0) and lifts the two rows of samples that come out along the row, eight pairs at a time.

// Copies a row of a strip of a band from one vector before the strip on: of the vector before the last two pairs, of the
// one behind the first three. Coefficient `x` of the band is at position 2 x + `parity` of a row of `w`.
void copy_band(__local float *restrict to, __global const float *band, int pitch, int band_w, int band_h, int parity, int x,
               int y, int w, int h, float scale)
{
    int at = mapped(y, h), end = STRIP + LANES + 3;
    if (at < 0 || at / 2 >= band_h) {
        for (int c = LANES - 2; c < end; c++)
            to[c] = 0.0f;
        return;
    }
    __global const float *row = band + (size_t)(at / 2) * pitch;
    int first = x - LANES, from = max(LANES - 2, -first), until = clamp(band_w - first, from, end);
    for (int c = LANES - 2; c < from; c++) {
        int i = mapped(2 * (first + c) + parity, w);
        to[c] = i >= 0 && i / 2 < band_w ? row[i / 2] * scale : 0.0f;
    }
    for (int c = from; c < until; c++)
        to[c] = row[first + c] * scale;
    for (int c = until; c < end; c++) {
        int i = mapped(2 * (first + c) + parity, w);
        to[c] = i >= 0 && i / 2 < band_w ? row[i / 2] * scale : 0.0f;
    }
}

// One step of the columns' lifting of eight columns: takes low and high coefficients n and gives sample rows 2n-2 and 2n-3.
INLINE void unlift_columns(__local float *state, float8 low, float8 high, int n, int ns, int nd, float8 *even,
                           float8 *odd)
{
    float8 d2 = vload8(0, state), s1 = vload8(0, state + STRIP_LINE);
    float8 d1 = vload8(0, state + 2 * STRIP_LINE), s0 = vload8(0, state + 3 * STRIP_LINE);
    float8 s1_n = KEEP(n, ns, fma((float8)-DELTA, d2 + high, low));
    float8 d1_n = KEEP(n - 1, nd, fma((float8)-GAMMA, s1 + s1_n, d2));
    float8 s0_n = KEEP(n - 1, ns, fma((float8)-BETA, d1 + d1_n, s1));
    *odd = fma((float8)-ALPHA, s0 + s0_n, d1);
    *even = s0_n;
    vstore8(high, 0, state);
    vstore8(s1_n, 0, state + STRIP_LINE);
    vstore8(d1_n, 0, state + 2 * STRIP_LINE);
    vstore8(s0_n, 0, state + 3 * STRIP_LINE);
}

// What lifting along a row carries from one vector to the next.
typedef struct {
    float8 d2, s1, d1, s0;
} Back;

// Takes eight pairs of coefficients from index `c` + 2 on (of a row of one sample: from `c` on) and gives the pairs of samples from index `c` on.
INLINE void unlift_row(Back *before, float8 s, float8 d, int first, int c, int w, float8 *even, float8 *odd)
{
    if (w == 1) {
        *even = s;
        *odd = (float8)(0.0f);
        return;
    }
    int ns = (w + 1) / 2, nd = w / 2;
    float8 d2 = d * KAPPA, d2_back = ONE_BACK(before->d2, d2);
    float8 s1 = KEEP8(first + c + 2, ns, fma((float8)-DELTA, d2_back + d2, s * KAPPA_INVERSE));
    float8 s1_back = ONE_BACK(before->s1, s1);
    float8 d1 = KEEP8(first + c + 1, nd, fma((float8)-GAMMA, s1_back + s1, d2_back));
    float8 d1_back = ONE_BACK(before->d1, d1);
    float8 s0 = KEEP8(first + c + 1, ns, fma((float8)-BETA, d1_back + d1, s1_back));
    float8 s0_back = ONE_BACK(before->s0, s0);
    *even = s0_back;
    *odd = fma((float8)-ALPHA, s0_back + s0, d1_back);
    before->d2 = d2;
    before->s1 = s1;
    before->d1 = d1;
    before->s0 = s0;
}

// Writes the first `count` samples of eight pairs.
INLINE void put_pairs(float8 even, float8 odd, __global float *to, int count)
{
    float8 front = (float8)(even.s0, odd.s0, even.s1, odd.s1, even.s2, odd.s2, even.s3, odd.s3);
    float8 back = (float8)(even.s4, odd.s4, even.s5, odd.s5, even.s6, odd.s6, even.s7, odd.s7);
    if (count >= 2 * LANES) {
        vstore8(front, 0, to);
        vstore8(back, 1, to);
        return;
    }
    float values[2 * LANES];
    vstore8(front, 0, values);
    vstore8(back, 1, values);
    for (int i = 0; i < count; i++)
        to[i] = values[i];
}

GROUP __kernel void idwt_level(__global const float *low, int low_pitch, int low_w, int low_h,
                               __global const float *bands, int band_pitch, int half_side, int high_w, int high_h, int w,
                               int h, __global float *out, int out_pitch, int out_w, int out_h, int rows)
{
    __local float ll[STRIP_LINE], hl[STRIP_LINE], lh[STRIP_LINE], hh[STRIP_LINE];
    __local float low_state[4 * STRIP_LINE], high_state[4 * STRIP_LINE];
    int x = (int)get_group_id(0) * STRIP, first = x - LANES;
    int top = (int)get_group_id(1) * rows, bottom = min(top + rows, (out_h + 1) / 2);
    int column_ns = (h + 1) / 2, column_nd = h / 2;
    int ahead = w == 1 ? 0 : 2;
    int vectors = (min(STRIP, (out_w + 1) / 2 - x) + LANES - 1) / LANES;
    __global const float *right = bands + half_side, *below = bands + (size_t)half_side * band_pitch;

    for (int c = 0; c < STRIP_LINE; c++)
        ll[c] = hl[c] = lh[c] = hh[c] = 0.0f;
    for (int c = 0; c < 4 * STRIP_LINE; c++)
        low_state[c] = high_state[c] = 0.0f;
    for (int n = h == 1 ? bottom + 1 : top - 2; n <= bottom + 1; n++) {
        // A single row has been scaled along the row alone.
        int row = h == 1 ? 0 : 2 * n;
        copy_band(ll, low, low_pitch, low_w, low_h, 0, x, row, w, h, h == 1 ? 1.0f : KAPPA_INVERSE);
        copy_band(hl, right, band_pitch, high_w, low_h, 1, x, row, w, h, h == 1 ? 1.0f : KAPPA_INVERSE);
        if (h > 1) {
            copy_band(lh, below, band_pitch, low_w, high_h, 0, x, row + 1, w, h, KAPPA);
            copy_band(hh, below + half_side, band_pitch, high_w, high_h, 1, x, row + 1, w, h, KAPPA);
        }
        int odd_row = h == 1 ? -1 : 2 * n - 3, even_row = h == 1 ? 0 : 2 * n - 2;
        bool has_odd = odd_row >= 2 * top && odd_row < out_h;
        bool has_even = even_row >= 2 * top && even_row < 2 * bottom && even_row < out_h;
        __global float *to_odd = out + (size_t)max(odd_row, 0) * out_pitch + 2 * x;
        __global float *to_even = out + (size_t)max(even_row, 0) * out_pitch + 2 * x;
        Back a, b;
        a.d2 = a.s1 = a.d1 = a.s0 = b.d2 = b.s1 = b.d1 = b.s0 = (float8)(0.0f);
        for (int t = -1; t < vectors; t++) {
            int c = (t + 1) * LANES;
            float8 even_s = vload8(0, ll + c + ahead), even_d = vload8(0, hl + c + ahead), odd_s, odd_d, even, odd;
            if (h > 1) {
                unlift_columns(low_state + c, even_s, vload8(0, lh + c + ahead), n, column_ns, column_nd, &even_s, &odd_s);
                unlift_columns(high_state + c, even_d, vload8(0, hh + c + ahead), n, column_ns, column_nd, &even_d, &odd_d);
            }
            unlift_row(&a, even_s, even_d, first, c, w, &even, &odd);
            if (t >= 0 && has_even)
                put_pairs(even, odd, to_even + 2 * t * LANES, out_w - 2 * x - 2 * t * LANES);
            if (!has_odd)
                continue;
            unlift_row(&b, odd_s, odd_d, first, c, w, &even, &odd);
            if (t >= 0)
                put_pairs(even, odd, to_odd + 2 * t * LANES, out_w - 2 * x - 2 * t * LANES);
        }
    }
}
