// Pictures to planes of one channel and back, where that is not part of a level.
//
// Maths: colour.cl.
// Shapes: rows of `width` samples.
// NDRange: one group per row, any range of rows: (LSIZE, rows) from work-item (0, first row) on.
// Defines: FROM, TO (source.cl).

GROUP __kernel void plane_zero(__global float *restrict out, int out_pitch, int width)
{
    out += get_global_id(1) * (size_t)out_pitch;
    for EACH(x, 0, width)
        out[x] = 0.0f;
}

GROUP __kernel void plane_copy(SOURCE_PARAMS, TARGET_PARAMS, int width)
{
    for EACH(x, 0, width)
        sample_to(TARGET, x, get_global_id(1), sample_from(SOURCE, x, get_global_id(1)));
}
