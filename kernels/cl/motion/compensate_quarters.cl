// A channel of a state, and its luma between samples.
//
// Maths: a sample at quarters is (a + b + c + d + 2) >> 2 of the nearest samples at halves, one of them twice or four times where it
//   is nearest.
// Shapes: luma is the planes of compensate_halves.cl.
// Defines: BORDER (src/opencl/motion/params.rs).
// Vectors come from strangers: every place is cut to the planes before it is read.

// A channel of the state.
typedef struct {
    __global const uchar *samples;
    int width, height;
} Plane;

// The sample at (x / 2, y / 2).
INLINE uint half_at(Plane from, int x, int y)
{
    int pitch = from.width + 2 * BORDER, rows = from.height + 2 * BORDER;
    int column = clamp((x >> 1) + BORDER, 0, pitch - 1), row = clamp((y >> 1) + BORDER, 0, rows - 1);
    int plane = (x & 1) + 2 * (y & 1);
    return from.samples[((size_t)plane * rows + row) * pitch + column];
}

// The sample so many quarters to the right of (x, y) and below.
INLINE uint quarter_at(Plane from, int x, int y, int right, int below)
{
    int left = (4 * x + right) >> 1, dx = right & 1;
    int top = (4 * y + below) >> 1, dy = below & 1;
    uint upper = half_at(from, left, top) + half_at(from, left + dx, top);
    return (upper + half_at(from, left, top + dy) + half_at(from, left + dx, top + dy) + 2) >> 2;
}
