// Pictures to integer planes of one channel and back, exactly.
//
// Maths (ISO/IEC 15444-1, annex G.2): Y = floor((R + 2G + B) / 4) - MIDDLE, U = B - G, V = R - G, and back
//   G = Y + MIDDLE - floor((U + V) / 4), R = V + G, B = U + G; samples of other pictures are centred, v = s - MIDDLE. Sums wrap
//   around, results saturate.
// Shapes: planes are width x height ints with `pitch` from row to row; samples have no gaps and SAMPLE_BITS bits: 8, a byte each,
//   or 10, two bytes each, the low one first. A sample of the source at column x and row y is number
//   offset + (y >> down) * row_samples + (x >> across) * step.
// NDRange: (columns, rows) rounded up to whole groups.

#define MIDDLE (1 << (SAMPLE_BITS - 1))
#define LARGEST ((1 << SAMPLE_BITS) - 1)

int sample_at(__global const uchar *in, size_t at)
{
#if SAMPLE_BITS == 8
    return in[at];
#else
    return in[2 * at] | in[2 * at + 1] << 8;
#endif
}

void put_sample(__global uchar *out, size_t at, int value)
{
    int sample = clamp(value, 0, LARGEST);
#if SAMPLE_BITS == 8
    out[at] = sample;
#else
    out[2 * at] = sample;
    out[2 * at + 1] = sample >> 8;
#endif
}

__kernel void rct_samples(__global const uchar *restrict in, int offset, int row_samples, int step, int across, int down,
                          __global int *restrict out, int pitch, int width, int height)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    size_t at = offset + (size_t)(y >> down) * row_samples + (size_t)(x >> across) * step;
    out[(size_t)y * pitch + x] = sample_at(in, at) - MIDDLE;
}

__kernel void rct_split(__global const uchar *restrict in, int channel, __global int *restrict out, int pitch,
                        int width, int height)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    size_t at = 3 * ((size_t)y * width + x);
    int r = sample_at(in, at), g = sample_at(in, at + 1), b = sample_at(in, at + 2);
    out[(size_t)y * pitch + x] = channel == 0 ? ((r + 2 * g + b) >> 2) - MIDDLE : channel == 1 ? b - g : r - g;
}

__kernel void rct_bytes(__global const int *restrict in, int pitch, __global uchar *restrict out, int width, int height)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x < width && y < height)
        put_sample(out, (size_t)y * width + x, add_sat(in[(size_t)y * pitch + x], MIDDLE));
}

__kernel void rct_merge(__global const int *restrict luma, __global const int *restrict blue,
                        __global const int *restrict red, int pitch, __global uchar *restrict out, int width, int height)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    size_t at = (size_t)y * pitch + x, to = 3 * ((size_t)y * width + x);
    uint u = blue[at], v = red[at];
    uint g = (uint)luma[at] + MIDDLE - (uint)((int)(u + v) >> 2);
    put_sample(out, to, v + g);
    put_sample(out, to + 1, g);
    put_sample(out, to + 2, u + g);
}
