// The last levels of a forward transform in one launch: everything from a low band of at most TAIL x TAIL on.
//
// Maths: as in dwt_tile.cl, level after level, in local memory.
// Shapes: in_w x in_h samples of `in`, zero beyond up to w x h, `levels` levels; `half_side` is where the first one's
//   detail bands start in the Mallat square `bands`, whose corner gets the last low band.
// NDRange: one group of TAIL_LSIZE.
// Defines: TAIL (largest side), TAIL_LSIZE.
// Assumes 1 <= w, h <= TAIL; with PERIODIC no level of odd length above 1.

// Pairs that four pairs are lifted from.
#define TAIL_WINDOW (4 + 2 * HALO)
// Units of four pairs in a row, and a pitch whose rows start in different banks of local memory.
#define TAIL_UNITS (TAIL / 8)
#define TAIL_PITCH (TAIL + 1)

// Lifts four pairs from pair `n` on of a row of `length` samples in local memory, `step` apart.
INLINE void split_four(__local const T *row, int step, int n, int length, T *s, T *d)
{
#pragma unroll
    for (int i = 0; i < TAIL_WINDOW; i++) {
        int even = mapped_near(2 * (n - HALO + i), length), odd = mapped_near(2 * (n - HALO + i) + 1, length);
        T s_i = row[max(even, 0) * step], d_i = row[max(odd, 0) * step];
        s[i] = even < 0 ? 0 : s_i;
        d[i] = odd < 0 ? 0 : d_i;
    }
    if (length > 1)
        split_one(s, d, TAIL_WINDOW, n - HALO, (length + 1) / 2, length / 2);
}

__attribute__((reqd_work_group_size(TAIL_LSIZE, 1, 1))) __kernel void
dwt_tail(__global const T *restrict in, int in_pitch, int in_w, int in_h, int w, int h, int levels, int half_side,
         __global T *restrict bands, int band_pitch)
{
    __local T samples[TAIL_PITCH * TAIL], rows[TAIL_PITCH * TAIL];
    int lid = get_local_id(0);
    for (int i = lid; i < TAIL * h; i += TAIL_LSIZE) {
        int x = i % TAIL, y = i / TAIL;
        if (x >= w)
            continue;
        samples[y * TAIL_PITCH + x] = x < in_w && y < in_h ? in[(size_t)y * in_pitch + x] : 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int level = 0; level < levels; level++) {
        int low_w = (w + 1) / 2, low_h = (h + 1) / 2;
        for (int i = lid; i < TAIL_UNITS * h; i += TAIL_LSIZE) {
            int n = i % TAIL_UNITS * 4, y = i / TAIL_UNITS;
            if (n >= low_w)
                continue;
            T s[TAIL_WINDOW], d[TAIL_WINDOW];
            split_four(samples + y * TAIL_PITCH, 1, n, w, s, d);
            __local T *to = rows + y * TAIL_PITCH + n;
#pragma unroll
            for (int k = 0; k < 4; k++) {
                if (n + k < low_w)
                    to[k] = s[HALO + k];
                if (low_w + n + k < w)
                    to[low_w + k] = d[HALO + k];
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = lid; i < TAIL * ((low_h + 3) / 4); i += TAIL_LSIZE) {
            int x = i % TAIL, n = i / TAIL * 4;
            if (x >= w)
                continue;
            T s[TAIL_WINDOW], d[TAIL_WINDOW];
            split_four(rows + x, TAIL_PITCH, n, h, s, d);
            bool is_high = x >= low_w;
            __global T *right = bands + (size_t)n * band_pitch + half_side + x - low_w;
            __global T *below = bands + (size_t)(half_side + n) * band_pitch + (is_high ? half_side + x - low_w : x);
#pragma unroll
            for (int k = 0; k < 4; k++) {
                if (is_high && n + k < low_h)
                    right[(size_t)k * band_pitch] = s[HALO + k];
                if (!is_high && n + k < low_h)
                    samples[(n + k) * TAIL_PITCH + x] = s[HALO + k];
                if (low_h + n + k < h)
                    below[(size_t)k * band_pitch] = d[HALO + k];
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        w = low_w;
        h = low_h;
        half_side /= 2;
    }
    for (int i = lid; i < w * h; i += TAIL_LSIZE)
        bands[(size_t)(i / w) * band_pitch + i % w] = samples[i / w * TAIL_PITCH + i % w];
}
