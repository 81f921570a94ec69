// The first levels of an inverse transform in one launch: everything up to a low band of at most TAIL x TAIL.
//
// Maths and shapes: as in dwt_tail.cl with the arrows turned: `levels` levels from the corner of the square `bands` to
//   the out_w x out_h samples of `out`; `w` x `h` is the size of the finest of these levels.
// NDRange: one group of TAIL_LSIZE.
// Assumes what dwt_tail.cl assumes.

// Merges four pairs from pair `n` on of a row of `length` samples in local memory, `step` apart, its high half `high`
// behind its low half.
INLINE void merge_four(__local const T *row, int step, int high, int n, int length, T *s, T *d)
{
#pragma unroll
    for (int i = 0; i < TAIL_WINDOW; i++) {
        int even = mapped_near(2 * (n - HALO + i), length), odd = mapped_near(2 * (n - HALO + i) + 1, length);
        T s_i = row[max(even, 0) / 2 * step], d_i = row[high + max(odd, 0) / 2 * step];
        s[i] = even < 0 ? 0 : s_i;
        d[i] = odd < 0 ? 0 : d_i;
    }
    if (length > 1)
        merge_one(s, d, TAIL_WINDOW, n - HALO, (length + 1) / 2, length / 2);
}

__attribute__((reqd_work_group_size(TAIL_LSIZE, 1, 1))) __kernel void
idwt_tail(__global const T *restrict bands, int band_pitch, int half_side, int levels, int w, int h,
          __global T *restrict out, int out_pitch, int out_w, int out_h)
{
    __local T square[TAIL_PITCH * TAIL], columns[TAIL_PITCH * TAIL];
    int lid = get_local_id(0);
    int side = 2 * half_side;
    for (int i = lid; i < TAIL * side; i += TAIL_LSIZE) {
        int x = i % TAIL, y = i / TAIL;
        if (x < side)
            square[y * TAIL_PITCH + x] = bands[(size_t)y * band_pitch + x];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int level = levels - 1; level >= 0; level--) {
        int scale = (1 << level) - 1;
        int here_w = (w + scale) >> level, here_h = (h + scale) >> level, here_half = half_side >> level;
        int low_w = (here_w + 1) / 2, low_h = (here_h + 1) / 2;
        for (int i = lid; i < TAIL * ((low_h + 3) / 4); i += TAIL_LSIZE) {
            int x = i % TAIL, n = i / TAIL * 4;
            if (x >= here_w)
                continue;
            T s[TAIL_WINDOW], d[TAIL_WINDOW];
            merge_four(square + (x < low_w ? x : here_half + x - low_w), TAIL_PITCH, here_half * TAIL_PITCH, n, here_h, s, d);
            __local T *to = columns + 2 * n * TAIL_PITCH + x;
#pragma unroll
            for (int k = 0; k < 4; k++) {
                if (2 * (n + k) < here_h)
                    to[2 * k * TAIL_PITCH] = s[HALO + k];
                if (2 * (n + k) + 1 < here_h)
                    to[(2 * k + 1) * TAIL_PITCH] = d[HALO + k];
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = lid; i < TAIL_UNITS * here_h; i += TAIL_LSIZE) {
            int n = i % TAIL_UNITS * 4, y = i / TAIL_UNITS;
            if (n >= low_w)
                continue;
            T s[TAIL_WINDOW], d[TAIL_WINDOW];
            merge_four(columns + y * TAIL_PITCH, 1, low_w, n, here_w, s, d);
            __local T *to = square + y * TAIL_PITCH + 2 * n;
#pragma unroll
            for (int k = 0; k < 4; k++) {
                if (2 * (n + k) < here_w)
                    to[2 * k] = s[HALO + k];
                if (2 * (n + k) + 1 < here_w)
                    to[2 * k + 1] = d[HALO + k];
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int i = lid; i < TAIL * out_h; i += TAIL_LSIZE) {
        int x = i % TAIL, y = i / TAIL;
        if (x < out_w)
            out[(size_t)y * out_pitch + x] = square[y * TAIL_PITCH + x];
    }
}
