// One level of a forward transform in both directions, tile by tile: rows into local memory, one barrier, columns.
//
// Maths: lift.cl along the rows, then along the columns. A row or column of one sample passes unchanged.
// Shapes: `in_w` x `in_h` samples come from where source.cl says; samples beyond are zero up to w x h, the size that is
//   transformed. Low coefficients in both directions go to `low` (low_w x low_h); the others into the three detail
//   bands of the Mallat square `bands`: `half_side` to the right, below, and both.
// NDRange: one group of TILE_LSIZE per tile of TILE_W x TILE_H pairs: (ceil(low_w / TILE_W), ceil(low_h / TILE_H)), any
// rows of them. A work-item lifts units of four pairs along a row, TILE_BATCH units at a time so that many loads are
// under way,
//   then two columns of TILE_SEGMENT pairs. What a unit or segment needs beyond itself it lifts again, in registers.
// Defines: CACHE_HINTS (1: the compiler knows NVIDIA's PTX of compute capability 8 and later).
// Assumes TILE_W a multiple of 4, TILE_H one of TILE_SEGMENT; low_w >= high_w, low_h >= high_h; pitches multiples of 16.

// The next level reads a low band again as soon as this one is done, but nobody the details: the second-level cache should
// keep the one and not the others.
#if CACHE_HINTS && !DOUBLE && !REVERSIBLE
#define STORE_LOW(to, value)                                                                                           \
    __asm__ volatile("{ .reg .b64 keep; createpolicy.fractional.L2::evict_last.b64 keep, 1.0;"                         \
                     " st.global.L2::cache_hint.v2.f32 [%0], {%1, %2}, keep; }" ::"l"(to),                             \
                     "f"((value).x), "f"((value).y)                                                                    \
                     : "memory")
#define STORE_DETAIL(to, value)                                                                                        \
    __asm__ volatile("st.global.cs.v2.f32 [%0], {%1, %2};" ::"l"(to), "f"((value).x), "f"((value).y) : "memory")
#else
#define STORE_LOW(to, value) (*(__global T2 *)(to) = (value))
#define STORE_DETAIL(to, value) (*(__global T2 *)(to) = (value))
#endif

// Four samples from column `x` on, some of which lie beyond the ends.
INLINE T4 load_mapped(SOURCE_PARAMS, int x, int y, int in_w, int w)
{
    T v[4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        int at = mapped_near(x + k, w);
        T here = sample_from(SOURCE, clamp(at, 0, in_w - 1), y);
        v[k] = at >= 0 && at < in_w ? here : 0;
    }
    return (T4)(v[0], v[1], v[2], v[3]);
}

// Lifts a unit, of which the first pair is `pair`, and leaves its four low and four high coefficients at `low` and `high`.
INLINE void split_unit(const T4 *v, __local T4 *low, __local T4 *high, int pair, int w)
{
    T s[UNIT_PAIRS], d[UNIT_PAIRS];
#pragma unroll
    for (int k = 0; k < UNIT_VECTORS; k++) {
        s[2 * k] = v[k].x;
        d[2 * k] = v[k].y;
        s[2 * k + 1] = v[k].z;
        d[2 * k + 1] = v[k].w;
    }
    if (w > 1)
        split_one(s, d, UNIT_PAIRS, pair - AT, (w + 1) / 2, w / 2);
    *low = (T4)(s[AT], s[AT + 1], s[AT + 2], s[AT + 3]);
    *high = (T4)(d[AT], d[AT + 1], d[AT + 2], d[AT + 3]);
}

// Writes up to two neighbouring coefficients.
#define STORE_TWO(to, value, room)                                                                                     \
    do {                                                                                                               \
        if ((room) > 0)                                                                                                \
            (to)[0] = (value).x;                                                                                       \
        if ((room) > 1)                                                                                                \
            (to)[1] = (value).y;                                                                                       \
    } while (0)

__attribute__((reqd_work_group_size(TILE_LSIZE, 1, 1))) __kernel void
dwt_tile(SOURCE_PARAMS, int in_w, int in_h, int w, int h, __global T *restrict low,
         int low_pitch, int low_w, int low_h, __global T *restrict bands, int band_pitch, int half_side, int high_w,
         int high_h)
{
    __local T4 low_rows[TILE_ROWS * UNITS], high_rows[TILE_ROWS * UNITS];
    int lid = get_local_id(0);
    int left = (int)get_group_id(0) * TILE_W, top = (int)get_global_id(1) * TILE_H;
    // True if the tile and all that it depends on lie inside the samples, and all that it writes inside the bands.
    bool inside = left >= 2 * SIDE_VECTORS && 2 * (left + TILE_W + 2 * SIDE_VECTORS) <= in_w && top >= HALO &&
                  2 * (top + TILE_H + HALO) <= in_h && left + TILE_W <= high_w && top + TILE_H <= high_h;

    if (inside) {
        for (int base = lid; base < TILE_ROWS * UNITS; base += TILE_LSIZE * TILE_BATCH) {
            T4 v[TILE_BATCH][UNIT_VECTORS];
#pragma unroll
            for (int j = 0; j < TILE_BATCH; j++) {
                int i = min(base + j * TILE_LSIZE, TILE_ROWS * UNITS - 1);
                int x = 2 * left + 8 * (i % UNITS) - 4 * SIDE_VECTORS, y = 2 * (top - HALO) + i / UNITS;
#pragma unroll
                for (int k = 0; k < UNIT_VECTORS; k++)
                    v[j][k] = four_from(SOURCE, x + 4 * k, y);
            }
#pragma unroll
            for (int j = 0; j < TILE_BATCH; j++) {
                int i = base + j * TILE_LSIZE;
                if (i < TILE_ROWS * UNITS)
                    split_unit(v[j], low_rows + i, high_rows + i, left + 4 * (i % UNITS), w);
            }
        }
    } else {
        for (int i = lid; i < TILE_ROWS * UNITS; i += TILE_LSIZE) {
            int x = 2 * left + 8 * (i % UNITS) - 4 * SIDE_VECTORS, y = mapped_near(2 * (top - HALO) + i / UNITS, h);
            T4 v[UNIT_VECTORS];
#pragma unroll
            for (int k = 0; k < UNIT_VECTORS; k++)
                v[k] = (T4)(0);
            if (y >= 0 && y < in_h) {
                if (x >= 0 && x + 4 * UNIT_VECTORS <= in_w) {
#pragma unroll
                    for (int k = 0; k < UNIT_VECTORS; k++)
                        v[k] = four_from(SOURCE, x + 4 * k, y);
                } else {
#pragma unroll
                    for (int k = 0; k < UNIT_VECTORS; k++)
                        v[k] = load_mapped(SOURCE, x + 4 * k, y, in_w, w);
                }
            }
            split_unit(v, low_rows + i, high_rows + i, left + 4 * (i % UNITS), w);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    for (int job = lid; job < TILE_W * (TILE_H / TILE_SEGMENT); job += TILE_LSIZE) {
        int segment = job / TILE_W * TILE_SEGMENT, column = job % TILE_W;
        bool is_high = column >= TILE_W / 2;
        int pair = is_high ? column - TILE_W / 2 : column;
        __local const T2 *from = (__local const T2 *)(is_high ? high_rows : low_rows) + pair;
        T2 s[WINDOW], d[WINDOW];
#pragma unroll
        for (int i = 0; i < WINDOW; i++) {
            s[i] = from[2 * (segment + i) * (TILE_W / 2)];
            d[i] = i + 1 < WINDOW ? from[(2 * (segment + i) + 1) * (TILE_W / 2)] : (T2)(0);
        }
        int x = left + 2 * pair, first = top + segment;
        if (h > 1)
            split_two(s, d, WINDOW, first - HALO, (h + 1) / 2, h / 2);
        __global T *right = bands + (size_t)first * band_pitch + half_side + x;
        __global T *below = bands + (size_t)(half_side + first) * band_pitch + (is_high ? half_side : 0) + x;
        __global T *corner = low + (size_t)first * low_pitch + x;
        if (inside) {
#pragma unroll
            for (int i = 0; i < TILE_SEGMENT; i++) {
                if (is_high)
                    STORE_DETAIL(right + (size_t)i * band_pitch, s[HALO + i]);
                else
                    STORE_LOW(corner + (size_t)i * low_pitch, s[HALO + i]);
                STORE_DETAIL(below + (size_t)i * band_pitch, d[HALO + i]);
            }
        } else {
            int room = (is_high ? high_w : low_w) - x;
#pragma unroll
            for (int i = 0; i < TILE_SEGMENT; i++) {
                if (is_high && first + i < low_h)
                    STORE_TWO(right + (size_t)i * band_pitch, s[HALO + i], room);
                if (!is_high && first + i < low_h)
                    STORE_TWO(corner + (size_t)i * low_pitch, s[HALO + i], room);
                if (first + i < high_h)
                    STORE_TWO(below + (size_t)i * band_pitch, d[HALO + i], room);
            }
        }
    }
}
