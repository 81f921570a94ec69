// Pictures to integer planes of one channel and back, exactly.
//
// Maths (ISO/IEC 15444-1, annex G.2): Y = floor((R + 2G + B) / 4) - 128, U = B - G, V = R - G, and back
//   G = Y + 128 - floor((U + V) / 4), R = V + G, B = U + G; samples of other pictures are centred, v = s - 128. Sums wrap around,
//   results saturate.
// Shapes: planes are width x height ints with `pitch` from row to row, bytes without gaps. A sample of the source at column x and
//   row y is the byte at offset + (y >> down) * row_bytes + (x >> across) * step.
// NDRange: (columns, rows) rounded up to whole groups.

__kernel void rct_samples(__global const uchar *restrict in, int offset, int row_bytes, int step, int across, int down,
                          __global int *restrict out, int pitch, int width, int height)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x < width && y < height)
        out[(size_t)y * pitch + x] = in[offset + (size_t)(y >> down) * row_bytes + (size_t)(x >> across) * step] - 128;
}

__kernel void rct_split(__global const uchar *restrict in, int channel, __global int *restrict out, int pitch,
                        int width, int height)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    __global const uchar *pixel = in + 3 * ((size_t)y * width + x);
    int r = pixel[0], g = pixel[1], b = pixel[2];
    out[(size_t)y * pitch + x] = channel == 0 ? ((r + 2 * g + b) >> 2) - 128 : channel == 1 ? b - g : r - g;
}

__kernel void rct_bytes(__global const int *restrict in, int pitch, __global uchar *restrict out, int width, int height)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x < width && y < height)
        out[(size_t)y * width + x] = clamp(add_sat(in[(size_t)y * pitch + x], 128), 0, 255);
}

__kernel void rct_merge(__global const int *restrict luma, __global const int *restrict blue,
                        __global const int *restrict red, int pitch, __global uchar *restrict out, int width, int height)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    size_t at = (size_t)y * pitch + x;
    uint u = blue[at], v = red[at];
    uint g = (uint)luma[at] + 128u - (uint)((int)(u + v) >> 2);
    __global uchar *pixel = out + 3 * ((size_t)y * width + x);
    pixel[0] = clamp((int)(v + g), 0, 255);
    pixel[1] = clamp((int)g, 0, 255);
    pixel[2] = clamp((int)(u + g), 0, 255);
}
