// Where the first level of the forward transform finds its samples: macros that dwt_tile.cl is built from.
//
// SOURCE_AT(x, y) is the sample of column x and row y; SOURCE_FOUR(x, y) four of them, x a multiple of 4. SOURCE is one of
//   PLANE                         elements T, `in_pitch` from row to row
//   SAMPLES MEANS RGB RGB_MEANS   bytes of a picture, see colour.cl (T is float)

#if SOURCE == PLANE
#define SOURCE_PARAMETERS __global const T *restrict in, int in_pitch
#define SOURCE_ARGUMENTS in, in_pitch
#define SOURCE_AT(x, y) in[(size_t)(y) * in_pitch + (x)]
#define SOURCE_FOUR(x, y) (*(__global const T4 *)(in + (size_t)(y) * in_pitch + (x)))
#else
#if SOURCE == SAMPLES
#define SOURCE_PARAMETERS __global const uchar *restrict in, int offset, int row_bytes, int step, int across, int down
#define SOURCE_ARGUMENTS in, offset, row_bytes, step, across, down
#define SOURCE_AT(x, y) centred_sample(SOURCE_ARGUMENTS, x, y)
#elif SOURCE == MEANS
#define SOURCE_PARAMETERS                                                                                              \
    __global const uchar *restrict in, int offset, int row_bytes, int step, int across, int source_w, int source_h
#define SOURCE_ARGUMENTS in, offset, row_bytes, step, across, source_w, source_h
#define SOURCE_AT(x, y) mean_sample(SOURCE_ARGUMENTS, x, y)
#elif SOURCE == RGB
#define SOURCE_PARAMETERS                                                                                              \
    __global const uchar *restrict in, float wr, float wg, float wb, float constant_term, int source_w, int source_h
#define SOURCE_ARGUMENTS in, wr, wg, wb, constant_term, source_w, source_h
#define SOURCE_AT(x, y) rgb_sample(in, wr, wg, wb, constant_term, source_w, x, y)
#elif SOURCE == RGB_MEANS
#define SOURCE_PARAMETERS                                                                                              \
    __global const uchar *restrict in, float wr, float wg, float wb, float constant_term, int source_w, int source_h
#define SOURCE_ARGUMENTS in, wr, wg, wb, constant_term, source_w, source_h
#define SOURCE_AT(x, y) rgb_mean_sample(SOURCE_ARGUMENTS, x, y)
#endif
#define SOURCE_FOUR(x, y) (T4)(SOURCE_AT(x, y), SOURCE_AT((x) + 1, y), SOURCE_AT((x) + 2, y), SOURCE_AT((x) + 3, y))
#endif
