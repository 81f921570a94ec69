// One level of the CDF 9/7 along rows or columns, the plain way: one work-item per row or column.
//
// The general version of dwt.cl and idwt.cl, slow and for the case that they leave out: PERIODIC rows or columns
//   of odd length, where both neighbours of the seam are low coefficients and no extension of the input gives
//   what wrapping in every lifting step gives. Maths as in dwt.cl.
// Shapes: `lines` rows (or columns) of `n` >= 1 samples. Sample i of line j of `in` is at j * in_line_step +
//   i * in_step; the low coefficients `s` and the high ones `d` likewise, each
//   from its own offset on.
// NDRange: (ceil(lines / LSIZE) * LSIZE).

// The neighbour of index `i` of a half with `count` coefficients.
int neighbour(int i, int count)
{
#if BOUNDARY == SYMMETRIC
    return i < 0 ? 0 : min(i, count - 1);
#elif BOUNDARY == PERIODIC
    return i < 0 ? count - 1 : (i < count ? i : 0);
#else
    return i < count ? i : -1;
#endif
}

float half_at(__global const float *coefficients, int i, int count, int step)
{
    int at = neighbour(i, count);
    return at < 0 ? 0.0f : coefficients[(size_t)at * step];
}

// d[n] += factor (s[n] + s[n+1])
void lift_high(__global const float *s, int s_step, __global float *d, int d_step, int ns, int nd, float factor)
{
    for (int n = 0; n < nd; n++) {
        float sum = s[(size_t)n * s_step] + half_at(s, n + 1, ns, s_step);
        d[(size_t)n * d_step] = fma(factor, sum, d[(size_t)n * d_step]);
    }
}

// s[n] += factor (d[n-1] + d[n])
void lift_low(__global float *s, int s_step, __global const float *d, int d_step, int ns, int nd, float factor)
{
    for (int n = 0; n < ns; n++) {
        float sum = half_at(d, n - 1, nd, d_step) + half_at(d, n, nd, d_step);
        s[(size_t)n * s_step] = fma(factor, sum, s[(size_t)n * s_step]);
    }
}

GROUP __kernel void dwt_line(__global const float *in, int in_offset, int in_line_step, int in_step, __global float *s, int s_offset,
                             int s_line_step, int s_step, __global float *d, int d_offset, int d_line_step, int d_step,
                             int lines, int n)
{
    int line = get_global_id(0);
    if (line >= lines)
        return;
    int ns = (n + 1) / 2, nd = n / 2;
    in += in_offset + (size_t)line * in_line_step;
    s += s_offset + (size_t)line * s_line_step;
    d += d_offset + (size_t)line * d_line_step;
    for (int i = 0; i < ns; i++)
        s[(size_t)i * s_step] = in[(size_t)(2 * i) * in_step];
    for (int i = 0; i < nd; i++)
        d[(size_t)i * d_step] = in[(size_t)(2 * i + 1) * in_step];
    if (n == 1)
        return;
    lift_high(s, s_step, d, d_step, ns, nd, ALPHA);
    lift_low(s, s_step, d, d_step, ns, nd, BETA);
    lift_high(s, s_step, d, d_step, ns, nd, GAMMA);
    lift_low(s, s_step, d, d_step, ns, nd, DELTA);
    for (int i = 0; i < ns; i++)
        s[(size_t)i * s_step] *= KAPPA;
    for (int i = 0; i < nd; i++)
        d[(size_t)i * d_step] *= KAPPA_INVERSE;
}

GROUP __kernel void idwt_line(__global const float *s, int s_offset, int s_line_step, int s_step,
                              __global const float *d, int d_offset, int d_line_step, int d_step, __global float *out,
                              int out_offset, int out_line_step, int out_step, int lines, int n)
{
    int line = get_global_id(0);
    if (line >= lines)
        return;
    int ns = (n + 1) / 2, nd = n / 2, step = 2 * out_step;
    s += s_offset + (size_t)line * s_line_step;
    d += d_offset + (size_t)line * d_line_step;
    __global float *even = out + out_offset + (size_t)line * out_line_step, *odd = even + out_step;
    if (n == 1) {
        even[0] = s[0];
        return;
    }
    for (int i = 0; i < ns; i++)
        even[(size_t)i * step] = s[(size_t)i * s_step] * KAPPA_INVERSE;
    for (int i = 0; i < nd; i++)
        odd[(size_t)i * step] = d[(size_t)i * d_step] * KAPPA;
    lift_low(even, step, odd, step, ns, nd, -DELTA);
    lift_high(even, step, odd, step, ns, nd, -GAMMA);
    lift_low(even, step, odd, step, ns, nd, -BETA);
    lift_high(even, step, odd, step, ns, nd, -ALPHA);
}
