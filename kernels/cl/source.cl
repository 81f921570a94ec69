// Where a level finds its samples, and where it leaves them on the way back: a plane.
//
// Shapes: sample (x, y) of a plane is at y * pitch + x.

#define SOURCE_PARAMS __global const float *restrict in, int in_pitch
#define SOURCE in, in_pitch
#define TARGET_PARAMS __global float *restrict out, int out_pitch
#define TARGET out, out_pitch

INLINE float sample_from(SOURCE_PARAMS, int x, int y)
{
    return in[(size_t)y * in_pitch + x];
}

// Eight samples from column `x` on.
INLINE float8 eight_from(SOURCE_PARAMS, int x, int y)
{
    return vload8(0, in + (size_t)y * in_pitch + x);
}

INLINE void sample_to(TARGET_PARAMS, int x, int y, float v)
{
    out[(size_t)y * out_pitch + x] = v;
}

INLINE void eight_to(TARGET_PARAMS, int x, int y, float8 v)
{
    vstore8(v, 0, out + (size_t)y * out_pitch + x);
}
