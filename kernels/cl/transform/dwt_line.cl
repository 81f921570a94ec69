// One level of any wavelet along rows or columns, the plain way: one work-item per row or column.
//
// The general version of all schemes, slow and for what they leave out: rows or columns of one sample, and PERIODIC ones
//   of odd length, where both neighbours of the seam are low coefficients and no extension of the input gives what
//   wrapping in every lifting step gives.
// Maths: step j adds to each odd sample (j even) or even sample (j odd), for each k < PAIRS, nearest pair first,
//     LIFTING[j][k] (x[i - 1 - 2k] + x[i + 1 + 2k])
//   as a fused multiply-add; REVERSIBLE steps round as in integer.cl. Then even samples are multiplied by LOW_SCALE, odd
//   ones by HIGH_SCALE. The inverse does the same backwards. A row of one sample passes unchanged.
// Shapes: `lines` rows (or columns) of `n` >= 1 samples. Sample i of line j of `in` is at in_offset + j * in_line_step +
//   i * in_step; the low coefficients `s` and the high ones `d` likewise.
// Defines: real, BOUNDARY, LSIZE, STEPS, PAIRS, LIFTING, REVERSIBLE, LOW_SCALE, HIGH_SCALE.
// NDRange: (ceil(lines / LSIZE) * LSIZE).

// The sample at position `i` of a row of `n` of which this half has `count`, from index 0 on.
real half_at(__global const real *values, int step, int i, int count, int n)
{
#if BOUNDARY == PERIODIC
    int at = (i >> 1) % count;
    at = at < 0 ? at + count : at;
#else
    int at = mapped(i, n) >> 1;
#endif
    return at < 0 ? 0 : values[(size_t)at * step];
}

// Takes lifting step `j` of a row of `n` samples, or takes it back.
void lift_line(__global real *s, int s_step, __global real *d, int d_step, int n, int j, bool back)
{
    int odd = 1 - j % 2;
    __global real *to = odd ? d : s;
    __global const real *from = odd ? s : d;
    int to_step = odd ? d_step : s_step, from_step = odd ? s_step : d_step, count = odd ? (n + 1) / 2 : n / 2;
    for (int i = odd; i < n; i += 2) {
        size_t at = (size_t)(i / 2) * to_step;
        real value = to[at];
        for (int k = 0; k < PAIRS; k++) {
            real left = half_at(from, from_step, i - 1 - 2 * k, count, n);
            real right = half_at(from, from_step, i + 1 + 2 * k, count, n);
#if REVERSIBLE
            value = odd ? predicted(value, left, right, back) : updated(value, left, right, back);
#else
            value = fma(back ? -LIFTING[j][k] : LIFTING[j][k], left + right, value);
#endif
        }
        to[at] = value;
    }
}

GROUP __kernel void dwt_line(__global const real *in, int in_offset, int in_line_step, int in_step, __global real *s,
                             int s_offset, int s_line_step, int s_step, __global real *d, int d_offset, int d_line_step,
                             int d_step, int lines, int n)
{
    int line = get_global_id(0);
    if (line >= lines)
        return;
    in += in_offset + (size_t)line * in_line_step;
    s += s_offset + (size_t)line * s_line_step;
    d += d_offset + (size_t)line * d_line_step;
    for (int i = 0; i < n; i += 2)
        s[(size_t)(i / 2) * s_step] = in[(size_t)i * in_step];
    for (int i = 1; i < n; i += 2)
        d[(size_t)(i / 2) * d_step] = in[(size_t)i * in_step];
    if (n == 1)
        return;
    for (int j = 0; j < STEPS; j++)
        lift_line(s, s_step, d, d_step, n, j, false);
    for (int i = 0; i < n; i += 2)
        s[(size_t)(i / 2) * s_step] *= LOW_SCALE;
    for (int i = 1; i < n; i += 2)
        d[(size_t)(i / 2) * d_step] *= HIGH_SCALE;
}

GROUP __kernel void idwt_line(__global const real *s, int s_offset, int s_line_step, int s_step, __global const real *d,
                              int d_offset, int d_line_step, int d_step, __global real *out, int out_offset,
                              int out_line_step, int out_step, int lines, int n)
{
    int line = get_global_id(0);
    if (line >= lines)
        return;
    s += s_offset + (size_t)line * s_line_step;
    d += d_offset + (size_t)line * d_line_step;
    __global real *even = out + out_offset + (size_t)line * out_line_step, *odd = even + out_step;
    if (n == 1) {
        even[0] = s[0];
        return;
    }
    for (int i = 0; i < n; i += 2)
        even[(size_t)i * out_step] = s[(size_t)(i / 2) * s_step] * HIGH_SCALE;
    for (int i = 1; i < n; i += 2)
        odd[(size_t)(i - 1) * out_step] = d[(size_t)(i / 2) * d_step] * LOW_SCALE;
    for (int j = STEPS - 1; j >= 0; j--)
        lift_line(even, 2 * out_step, odd, 2 * out_step, n, j, true);
}
