// One level of the forward CDF 9/7 in both directions, in one pass over the samples: dwt.cl for processors.
//
// Maths and shapes: as in dwt.cl.
// NDRange: one work-item per strip of STRIP column pairs and per segment of `rows` row pairs:
//   (ceil(low_w / STRIP), ceil(low_h / rows)).
// A work-item slides down its segment. Each step takes two rows of samples apart into even and odd ones, lifts them along
//   the row, eight pairs at a time, and feeds the columns' lifting, whose state is four rows (S0, D1, S1, D2).
// Assumes in_w <= w, in_h <= h, low_w >= high_w, low_h >= high_h.

// Takes row `y` apart into even and odd samples, from one vector before the strip on: of the vector before the last two
// pairs, of the one behind the first three.
void take_apart(__local float *restrict even, __local float *restrict odd, __global const float *in, int in_pitch,
                int in_w, int in_h, int w, int h, int y, int x)
{
    int at = mapped(y, h);
    if (at < 0 || at >= in_h) {
        for (int c = LANES - 2; c < STRIP + LANES + 3; c++)
            even[c] = odd[c] = 0.0f;
        return;
    }
    __global const float *row = in + (size_t)at * in_pitch;
    int first = x - LANES, from = max(LANES - 2, -first), end = STRIP + LANES + 3;
    int to = clamp(in_w / 2 - first, from, end);
    for (int c = LANES - 2; c < from; c++) {
        even[c] = sample_at(row, 2 * (first + c), w, in_w);
        odd[c] = sample_at(row, 2 * (first + c) + 1, w, in_w);
    }
    __global const float *pairs = row + 2 * first;
    for (int c = from; c < to; c++) {
        even[c] = pairs[2 * c];
        odd[c] = pairs[2 * c + 1];
    }
    for (int c = to; c < end; c++) {
        even[c] = sample_at(row, 2 * (first + c), w, in_w);
        odd[c] = sample_at(row, 2 * (first + c) + 1, w, in_w);
    }
}

// What lifting along a row carries from one vector to the next.
typedef struct {
    float8 d1, s1, d2;
} Along;

// Lifts eight pairs from index `c` + 1 on and gives the coefficients from index `c` on.
INLINE void along_row(Along *before, __local const float *even, __local const float *odd, int c, int first, int w,
                      float8 *low, float8 *high)
{
    if (w == 1) {
        *low = vload8(0, even + c);
        *high = (float8)(0.0f);
        return;
    }
    int ns = (w + 1) / 2, nd = w / 2;
    float8 s0 = vload8(0, even + c + 1), s0_next = vload8(0, even + c + 2), d0 = vload8(0, odd + c + 1);
    float8 d1 = KEEP8(first + c + 1, nd, fma((float8)ALPHA, s0 + s0_next, d0));
    float8 d1_back = ONE_BACK(before->d1, d1);
    float8 s1 = KEEP8(first + c + 1, ns, fma((float8)BETA, d1_back + d1, s0));
    float8 s1_back = ONE_BACK(before->s1, s1);
    float8 d2 = KEEP8(first + c, nd, fma((float8)GAMMA, s1_back + s1, d1_back));
    float8 s2 = fma((float8)DELTA, ONE_BACK(before->d2, d2) + d2, s1_back);
    before->d1 = d1;
    before->s1 = s1;
    before->d2 = d2;
    *low = s2 * KAPPA;
    *high = d2 * KAPPA_INVERSE;
}

// One step of the columns' lifting of eight columns: takes rows 2n+1 and 2n+2 and gives coefficients n-1.
INLINE void along_columns(__local float *state, float8 odd, float8 even, int n, int ns, int nd, float8 *low,
                          float8 *high)
{
    float8 s0 = vload8(0, state), d1 = vload8(0, state + STRIP);
    float8 s1 = vload8(0, state + 2 * STRIP), d2 = vload8(0, state + 3 * STRIP);
    float8 d1_n = KEEP(n, nd, fma((float8)ALPHA, s0 + even, odd));
    float8 s1_n = KEEP(n, ns, fma((float8)BETA, d1 + d1_n, s0));
    float8 d2_n = KEEP(n - 1, nd, fma((float8)GAMMA, s1 + s1_n, d1));
    float8 s2_n = fma((float8)DELTA, d2 + d2_n, s1);
    vstore8(even, 0, state);
    vstore8(d1_n, 0, state + STRIP);
    vstore8(s1_n, 0, state + 2 * STRIP);
    vstore8(d2_n, 0, state + 3 * STRIP);
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

GROUP __kernel void dwt_level(__global const float *restrict in, int in_pitch, int in_w, int in_h, int w, int h,
                              __global float *low, int low_pitch, int low_w, int low_h, __global float *bands,
                              int band_pitch, int half_side, int high_w, int high_h, int rows)
{
    __local float even_a[STRIP_LINE], odd_a[STRIP_LINE], even_b[STRIP_LINE], odd_b[STRIP_LINE];
    __local float low_state[4 * STRIP], high_state[4 * STRIP];
    int x = (int)get_group_id(0) * STRIP, first = x - LANES;
    int top = (int)get_group_id(1) * rows, bottom = min(top + rows, low_h);
    int column_ns = (h + 1) / 2, column_nd = h / 2;
    int vectors = (min(STRIP, low_w - x) + LANES - 1) / LANES;

    for (int c = 0; c < STRIP_LINE; c++)
        even_a[c] = odd_a[c] = even_b[c] = odd_b[c] = 0.0f;
    for (int c = 0; c < 4 * STRIP; c++)
        low_state[c] = high_state[c] = 0.0f;
    // A single row goes through the rows' lifting alone.
    for (int n = h == 1 ? bottom : top - 3; n <= bottom; n++) {
        take_apart(even_a, odd_a, in, in_pitch, in_w, in_h, w, h, 2 * n + 1, x);
        take_apart(even_b, odd_b, in, in_pitch, in_w, in_h, w, h, h == 1 ? 0 : 2 * n + 2, x);
        int m = h == 1 ? 0 : n - 1;
        __global float *ll = low + (size_t)max(m, 0) * low_pitch + x;
        __global float *hl = bands + (size_t)max(m, 0) * band_pitch + half_side + x;
        __global float *lh = bands + (size_t)(half_side + max(m, 0)) * band_pitch + x, *hh = lh + half_side;
        Along a, b;
        a.d1 = a.s1 = a.d2 = b.d1 = b.s1 = b.d2 = (float8)(0.0f);
        for (int t = -1; t < vectors; t++) {
            int c = t * LANES;
            float8 low_a, high_a, low_b, high_b, s, d;
            along_row(&a, even_a, odd_a, c + LANES, first, w, &low_a, &high_a);
            along_row(&b, even_b, odd_b, c + LANES, first, w, &low_b, &high_b);
            if (t < 0)
                continue;
            int low_count = low_w - x - c, high_count = high_w - x - c;
            if (h == 1) {
                put8(low_b, ll + c, low_count);
                put8(high_b, hl + c, high_count);
                continue;
            }
            along_columns(low_state + c, low_a, low_b, n, column_ns, column_nd, &s, &d);
            if (m >= top)
                put8(s, ll + c, low_count);
            if (m >= top && m < high_h)
                put8(d, lh + c, low_count);
            along_columns(high_state + c, high_a, high_b, n, column_ns, column_nd, &s, &d);
            if (m >= top)
                put8(s, hl + c, high_count);
            if (m >= top && m < high_h)
                put8(d, hh + c, high_count);
        }
    }
}
