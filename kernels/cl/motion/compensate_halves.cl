// Luma of a state at whole and half samples, of which compensate.cl makes predictions.
//
// Maths: half way between two samples of a row or column lies the sum of HALF_TAPS[k] (s[k - 3] + s[4 - k]) for k = 0 to 3, plus 32,
//   >> 6, cut to 0 to 255; half way both ways, that of a row of samples that are half way down.
// Shapes: `from` is width x height samples; `halves` is four planes of PITCH x ROWS samples: of whole samples, half a sample to the
//   right, half a sample below, and both. They begin BORDER samples to the left of and above the state, which goes on with its
//   outermost samples; beyond the border all samples of a row or column are the same.
// NDRange: halves_below (LSIZE, ROWS), halves_right (LSIZE, 2 ROWS).
// Defines: BORDER, HALF_TAPS (src/opencl/motion/params.rs).

#define PITCH (width + 2 * BORDER)
#define ROWS (height + 2 * BORDER)

INLINE int half_way(int a, int b, int c, int d, int e, int f, int g, int h)
{
    int sum = HALF_TAPS[0] * (a + h) + HALF_TAPS[1] * (b + g) + HALF_TAPS[2] * (c + f) + HALF_TAPS[3] * (d + e);
    return clamp((sum + 32) >> 6, 0, 255);
}

// The planes of whole samples and of those half a sample below.
GROUP __kernel void halves_below(__global const uchar *restrict from, int width, int height, __global uchar *restrict halves)
{
    int row = get_global_id(1), y = row - BORDER;
    __global uchar *whole = halves + (size_t)row * PITCH, *below = whole + 2 * (size_t)ROWS * PITCH;
    for EACH(column, 0, PITCH) {
        __global const uchar *at = from + clamp(column - BORDER, 0, width - 1);
#define SAMPLE(down) at[(size_t)clamp(y + (down), 0, height - 1) * width]
        whole[column] = SAMPLE(0);
        below[column] = (uchar)half_way(SAMPLE(-3), SAMPLE(-2), SAMPLE(-1), SAMPLE(0), SAMPLE(1), SAMPLE(2), SAMPLE(3), SAMPLE(4));
#undef SAMPLE
    }
}

// The planes half a sample to the right of these two.
GROUP __kernel void halves_right(__global uchar *halves, int width, int height)
{
    int row = get_global_id(1);
    size_t plane = (size_t)ROWS * PITCH;
    __global const uchar *at = halves + (size_t)row * PITCH + (row < ROWS ? 0 : plane);
    __global uchar *right = halves + (size_t)row * PITCH + (row < ROWS ? plane : 2 * plane);
    for EACH(column, 0, PITCH) {
#define SAMPLE(across) at[clamp(column + (across), 0, PITCH - 1)]
        right[column] = (uchar)half_way(SAMPLE(-3), SAMPLE(-2), SAMPLE(-1), SAMPLE(0), SAMPLE(1), SAMPLE(2), SAMPLE(3), SAMPLE(4));
#undef SAMPLE
    }
}
