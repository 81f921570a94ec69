// Pictures to planes of one channel and back.
//
// Maths: a plane holds samples centred on zero, v = s - 128 (exact). Chroma at half size is the mean of 2x2
//   samples, of which those beyond the last row or column are copies of it. R'G'B' becomes BT.709 Y'CbCr by
//   v = fma(wr, r, fma(wg, g, fma(wb, b, offset))), with RGB's own 2x2 mean for chroma at half size.
//   Back: s = clamp(floor(v + 128.5), 0, 255).
// Shapes: a sample of the source at column x and row y is the byte at offset + (y >> down) * row_bytes + (x >> across) *
//   step: that covers planes, interleaved samples, and chroma that is coarser in the source than in the stream.
//   `source_w` x `source_h` is the size of the source in samples before halving.
// source.cl chooses which of these the first level of a transform reads.

// Four samples' integer sum as a centred mean.
INLINE float centred_mean(int sum)
{
    return (float)sum * 0.25f - 128.0f;
}

INLINE float centred_sample(__global const uchar *in, int offset, int row_bytes, int step, int across, int down, int x,
                            int y)
{
    return (float)in[offset + (size_t)(y >> down) * row_bytes + (size_t)(x >> across) * step] - 128.0f;
}

INLINE float mean_sample(__global const uchar *in, int offset, int row_bytes, int step, int across, int source_w,
                         int source_h, int x, int y)
{
    __global const uchar *upper = in + offset + (size_t)(2 * y) * row_bytes;
    __global const uchar *lower = in + offset + (size_t)min(2 * y + 1, source_h - 1) * row_bytes;
    int left = ((2 * x) >> across) * step;
    int right = (min(2 * x + 1, source_w - 1) >> across) * step;
    return centred_mean(upper[left] + upper[right] + lower[left] + lower[right]);
}

INLINE float rgb_sample(__global const uchar *in, float wr, float wg, float wb, float constant_term, int source_w,
                        int x, int y)
{
    __global const uchar *at = in + 3 * ((size_t)y * source_w + x);
    return fma(wr, (float)at[0], fma(wg, (float)at[1], fma(wb, (float)at[2], constant_term)));
}

INLINE float rgb_mean_sample(__global const uchar *in, float wr, float wg, float wb, float constant_term, int source_w,
                             int source_h, int x, int y)
{
    __global const uchar *upper = in + (size_t)(2 * y) * source_w * 3;
    __global const uchar *lower = in + (size_t)min(2 * y + 1, source_h - 1) * source_w * 3;
    int left = 6 * x, right = 3 * min(2 * x + 1, source_w - 1);
    float r = (float)(upper[left] + upper[right] + lower[left] + lower[right]) * 0.25f;
    float g = (float)(upper[left + 1] + upper[right + 1] + lower[left + 1] + lower[right + 1]) * 0.25f;
    float b = (float)(upper[left + 2] + upper[right + 2] + lower[left + 2] + lower[right + 2]) * 0.25f;
    return fma(wr, r, fma(wg, g, fma(wb, b, constant_term)));
}

// A centred sample to a byte. Numbers that are not negative are rounded down by cutting their fraction off.
INLINE uchar byte_of(float v)
{
    return (uchar)(int)clamp(v + 128.5f, 0.0f, 255.0f);
}
