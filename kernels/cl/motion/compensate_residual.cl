// What a prediction leaves of a picture, one channel, and the picture's own samples; the state that comes of it; and how near the prediction is.
//
// Maths: the residual is v - (p - 128) for the centred sample v and the prediction p, the state clamp(floor((r + p) + 1/2), 0, 255)
//   for what was coded of it, r, each sum rounded to f32. How near: of squares of ACTIVITY_SIDE x ACTIVITY_SIDE samples, at the
//   bottom of fewer rows, the sum of |s - p| and that of |s - m|, for the samples s in bytes (colour.cl) and their mean m,
//   rounded down. Columns that make no whole square do not count.
// Shapes: `plane` and `residual` are width x height samples, pitch apart, `prediction`, `source` and `state` width x height bytes; `sums` has
//   the two sums of each row of squares.
// NDRange: take_prediction and add_residual (LSIZE, height), distances (LSIZE, rows of squares): one group per row.
// Defines: ACTIVITY_SIDE (src/opencl/motion/params.rs).

GROUP __kernel void take_prediction(__global float *restrict plane, int pitch, __global const uchar *restrict prediction, int width,
                                    __global uchar *restrict source)
{
    plane += get_global_id(1) * (size_t)pitch;
    prediction += get_global_id(1) * (size_t)width;
    source += get_global_id(1) * (size_t)width;
    for EACH(x, 0, width) {
        source[x] = byte_of(plane[x]);
        plane[x] -= (float)prediction[x] - 128.0f;
    }
}

GROUP __kernel void add_residual(__global const float *restrict residual, int pitch, __global uchar *restrict state, int width)
{
    residual += get_global_id(1) * (size_t)pitch;
    state += get_global_id(1) * (size_t)width;
    for EACH(x, 0, width) {
        float sample = residual[x] + (float)state[x];
        state[x] = (uchar)(int)clamp(sample + 0.5f, 0.0f, 255.0f);
    }
}

GROUP __kernel void distances(__global const float *restrict plane, int pitch, __global const uchar *restrict prediction,
                              int width, int height, __global uint *restrict sums)
{
    __local uint group[2];
    int row = get_group_id(1), top = row * ACTIVITY_SIDE, rows = min(ACTIVITY_SIDE, height - top);
    bool first = get_local_id(0) == 0;
    if (first)
        group[0] = group[1] = 0;
    SYNC;
    plane += (size_t)top * pitch;
    prediction += (size_t)top * width;
    uint difference = 0, activity = 0;
    for EACH(square, 0, width / ACTIVITY_SIDE) {
        int left = square * ACTIVITY_SIDE, sum = 0;
        for (int y = 0; y < rows; y++) {
            for (int x = left; x < left + ACTIVITY_SIDE; x++) {
                int own = byte_of(plane[(size_t)y * pitch + x]);
                sum += own;
                difference += abs(own - (int)prediction[(size_t)y * width + x]);
            }
        }
        int mean = sum / (ACTIVITY_SIDE * rows);
        for (int y = 0; y < rows; y++)
            for (int x = left; x < left + ACTIVITY_SIDE; x++)
                activity += abs((int)byte_of(plane[(size_t)y * pitch + x]) - mean);
    }
    atomic_add(&group[0], difference);
    atomic_add(&group[1], activity);
    SYNC;
    if (first) {
        sums[2 * row] = group[0];
        sums[2 * row + 1] = group[1];
    }
}
