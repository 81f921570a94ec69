// Dead-zone quantiser of a whole square of coefficients.
//
// Maths: m = min(trunc(|c| INVERSE), 2^MAX_LENGTH - 1) with the sign of c, INVERSE = 1 / step.
// Shapes: `in` and `out` are side x side, `in_pitch` and `side` from row to row.
// NDRange: one group per row: (LSIZE, side).

GROUP __kernel void quantise_square(__global const float *restrict in, int in_pitch, __global int *restrict out,
                                    int side, float inverse)
{
    in += get_global_id(1) * (size_t)in_pitch;
    out += get_global_id(1) * (size_t)side;
    for EACH(x, 0, side) {
        int magnitude = (int)min(fabs(in[x]) * inverse, (float)((1 << MAX_LENGTH) - 1));
        out[x] = in[x] < 0.0f ? -magnitude : magnitude;
    }
}
