// Where a level finds its samples, and where the way back leaves them: in a plane, or in the bytes of a picture, which
// become samples and are made of them as colour.cl has it.
//
// Shapes: sample (x, y) of a plane is at y * pitch + x; bytes of a picture are where colour.cl says.
// Defines: T (element of planes; float by default), FROM and TO (one of the forms in src/opencl/transform/source.rs), ALIGNED (1
//   if all rows of BYTES start at a multiple of four bytes). T4 and LANES bring vectors of four and of eight.

#ifndef T
#define T float
#endif

#if FROM == PLANE
#define SOURCE_PARAMS __global const T *restrict in, int in_pitch
#define SOURCE in, in_pitch
#define SAMPLE(x, y) in[(size_t)(y)*in_pitch + (x)]
#elif FROM == BYTES
#define SOURCE_PARAMS __global const uchar *restrict in, int offset, int row_bytes
#define SOURCE in, offset, row_bytes
#define SAMPLE(x, y) centred_sample(in, offset, row_bytes, 1, 0, 0, x, y)
#elif FROM == SAMPLES
#define SOURCE_PARAMS __global const uchar *restrict in, int offset, int row_bytes, int step, int across, int down
#define SOURCE in, offset, row_bytes, step, across, down
#define SAMPLE(x, y) centred_sample(SOURCE, x, y)
#elif FROM == MEANS
#define SOURCE_PARAMS                                                                                                  \
    __global const uchar *restrict in, int offset, int row_bytes, int step, int across, int source_w, int source_h
#define SOURCE in, offset, row_bytes, step, across, source_w, source_h
#define SAMPLE(x, y) mean_sample(SOURCE, x, y)
#else
#define SOURCE_PARAMS                                                                                                  \
    __global const uchar *restrict in, float wr, float wg, float wb, float constant_term, int source_w, int source_h
#define SOURCE in, wr, wg, wb, constant_term, source_w, source_h
#if FROM == RGB
#define SAMPLE(x, y) rgb_sample(in, wr, wg, wb, constant_term, source_w, x, y)
#else
#define SAMPLE(x, y) rgb_mean_sample(SOURCE, x, y)
#endif
#endif

#if TO == PLANE
#define TARGET_PARAMS __global T *restrict out, int out_pitch
#define TO_SAMPLE(v) (v)
#else
#define TARGET_PARAMS __global uchar *restrict out, int out_pitch
#define TO_SAMPLE(v) byte_of(v)
#endif
#define TARGET out, out_pitch

INLINE T sample_from(SOURCE_PARAMS, int x, int y)
{
    return SAMPLE(x, y);
}

INLINE void sample_to(TARGET_PARAMS, int x, int y, T v)
{
    out[(size_t)y * out_pitch + x] = TO_SAMPLE(v);
}

#ifdef LANES
// As byte_of.
INLINE int8 eight_rounded(float8 v)
{
    return convert_int8(clamp(v + 128.5f, 0.0f, 255.0f));
}

// Eight samples from column `x` on.
INLINE float8 eight_from(SOURCE_PARAMS, int x, int y)
{
#if FROM == PLANE
    return vload8(0, in + (size_t)y * in_pitch + x);
#elif FROM == BYTES
    return convert_float8(vload8(0, in + offset + (size_t)y * row_bytes + x)) - 128.0f;
#else
    return (float8)(SAMPLE(x, y), SAMPLE(x + 1, y), SAMPLE(x + 2, y), SAMPLE(x + 3, y), SAMPLE(x + 4, y),
                    SAMPLE(x + 5, y), SAMPLE(x + 6, y), SAMPLE(x + 7, y));
#endif
}

// Eight samples to column `x` and on.
INLINE void eight_to(TARGET_PARAMS, int x, int y, float8 v)
{
#if TO == PLANE
    vstore8(v, 0, out + (size_t)y * out_pitch + x);
#else
    vstore8(convert_uchar8(eight_rounded(v)), 0, out + (size_t)y * out_pitch + x);
#endif
}
#endif

#ifdef T4
// Four samples from column `x` on, a multiple of four; rows of planes start at such.
INLINE T4 four_from(SOURCE_PARAMS, int x, int y)
{
#if FROM == PLANE
    return *(__global const T4 *)(in + (size_t)y * in_pitch + x);
#elif FROM == BYTES && ALIGNED
    return convert_float4(*(__global const uchar4 *)(in + offset + (size_t)y * row_bytes + x)) - 128.0f;
#else
    return (T4)(SAMPLE(x, y), SAMPLE(x + 1, y), SAMPLE(x + 2, y), SAMPLE(x + 3, y));
#endif
}

INLINE void four_to(TARGET_PARAMS, int x, int y, T4 v)
{
#if TO == PLANE
    *(__global T4 *)(out + (size_t)y * out_pitch + x) = v;
#else
    uchar4 bytes = (uchar4)(byte_of(v.x), byte_of(v.y), byte_of(v.z), byte_of(v.w));
#if ALIGNED
    *(__global uchar4 *)(out + (size_t)y * out_pitch + x) = bytes;
#else
    vstore4(bytes, 0, out + (size_t)y * out_pitch + x);
#endif
#endif
}
#endif
