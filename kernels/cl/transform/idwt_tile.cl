// One level of an inverse transform in both directions, tile by tile: columns into local memory, one barrier, rows.
//
// Maths: lift.cl backwards along the columns, then along the rows. A row or column of one sample passes unchanged.
// Shapes: as in dwt_tile.cl with the arrows turned: low_w x low_h coefficients in `low`, the detail bands (high_w and
//   high_h wide and high) in `bands`, all zero beyond; out_w x out_h samples of the w x h that the level has go
//   to where source.cl says.
// NDRange: one group of TILE_LSIZE per tile of TILE_W x TILE_H pairs of samples.
// Assumes what dwt_tile.cl assumes.

#define LINE_PAIRS (TILE_W + 4 * SIDE_VECTORS)

// Where in a row of a band of `band_w` coefficients (parity 0: low, 1: high) coefficient `x` is found; -1: it is zero.
INLINE int band_column(int x, int parity, int w, int band_w)
{
    int at = mapped_near(2 * x + parity, w) >> 1;
    return at < band_w ? at : -1;
}

// Two coefficients of row `row` of a band; negative positions: zero.
INLINE T2 load_band(__global const T *band, int pitch, int row, int a, int b)
{
    __global const T *from = band + (size_t)max(row, 0) * pitch;
    T here = from[max(a, 0)], next = from[max(b, 0)];
    return (T2)(row < 0 || a < 0 ? 0 : here, row < 0 || b < 0 ? 0 : next);
}

// Row of coefficients that position `y` of a column is found in; -1: nowhere, it is zero.
INLINE int band_row(int y, int h, int band_h)
{
    int at = mapped_near(y, h) >> 1;
    return at < band_h ? at : -1;
}

__attribute__((reqd_work_group_size(TILE_LSIZE, 1, 1))) __kernel void
idwt_tile(__global const T *restrict low, int low_pitch, int low_w, int low_h, __global const T *restrict bands,
          int band_pitch, int half_side, int high_w, int high_h, int w, int h, TARGET_PARAMS, int out_w,
          int out_h)
{
    __local T4 low_rows[2 * TILE_H * (LINE_PAIRS / 4)], high_rows[2 * TILE_H * (LINE_PAIRS / 4)];
    int lid = get_local_id(0);
    int left = (int)get_group_id(0) * TILE_W, top = (int)get_group_id(1) * TILE_H;
    bool inside = left >= 2 * SIDE_VECTORS && left + TILE_W + 2 * SIDE_VECTORS <= min(low_w, high_w) && top >= HALO &&
                  top + TILE_H + HALO <= min(low_h, high_h) && 2 * (left + TILE_W) <= out_w &&
                  2 * (top + TILE_H) <= out_h;

    for (int job = lid; job < LINE_PAIRS * (TILE_H / TILE_SEGMENT); job += TILE_LSIZE) {
        int segment = job / LINE_PAIRS * TILE_SEGMENT, column = job % LINE_PAIRS;
        bool is_high = column >= LINE_PAIRS / 2;
        int pair = is_high ? column - LINE_PAIRS / 2 : column;
        int x = left - 2 * SIDE_VECTORS + 2 * pair, first = top + segment - HALO;
        __global const T *upper = is_high ? bands + half_side : low;
        __global const T *lower = bands + (size_t)half_side * band_pitch + (is_high ? half_side : 0);
        int upper_pitch = is_high ? band_pitch : low_pitch, width = is_high ? high_w : low_w;
        T2 s[WINDOW], d[WINDOW];
        if (inside) {
#pragma unroll
            for (int i = 0; i < WINDOW; i++) {
                s[i] = *(__global const T2 *)(upper + (size_t)(first + i) * upper_pitch + x);
                d[i] = *(__global const T2 *)(lower + (size_t)(first + i) * band_pitch + x);
            }
        } else {
            int a = band_column(x, is_high, w, width), b = band_column(x + 1, is_high, w, width);
#pragma unroll
            for (int i = 0; i < WINDOW; i++) {
                int row_s = band_row(2 * (first + i), h, low_h), row_d = band_row(2 * (first + i) + 1, h, high_h);
                s[i] = load_band(upper, upper_pitch, row_s, a, b);
                d[i] = load_band(lower, band_pitch, row_d, a, b);
            }
        }
        if (h > 1)
            merge_two(s, d, WINDOW, first, (h + 1) / 2, h / 2);
        __local T2 *to = (__local T2 *)(is_high ? high_rows : low_rows) + pair + 2 * segment * (LINE_PAIRS / 2);
#pragma unroll
        for (int i = 0; i < TILE_SEGMENT; i++) {
            to[2 * i * (LINE_PAIRS / 2)] = s[HALO + i];
            to[(2 * i + 1) * (LINE_PAIRS / 2)] = d[HALO + i];
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    // Units of two pairs, so that neighbours write one after another.
    for (int i = lid; i < 2 * TILE_H * (TILE_W / 2); i += TILE_LSIZE) {
        int row = i / (TILE_W / 2), unit = i % (TILE_W / 2);
        __local const T2 *low_row = (__local const T2 *)low_rows + row * (LINE_PAIRS / 2) + unit;
        __local const T2 *high_row = (__local const T2 *)high_rows + row * (LINE_PAIRS / 2) + unit;
        T s[2 + 2 * AT], d[2 + 2 * AT];
#pragma unroll
        for (int k = 0; k < 1 + AT; k++) {
            T2 a = low_row[k], b = high_row[k];
            s[2 * k] = a.x;
            s[2 * k + 1] = a.y;
            d[2 * k] = b.x;
            d[2 * k + 1] = b.y;
        }
        int pair = left + 2 * unit, y = 2 * top + row;
        if (w > 1)
            merge_one(s, d, 2 + 2 * AT, pair - AT, (w + 1) / 2, w / 2);
        if (inside) {
            four_to(TARGET, 2 * pair, y, (T4)(s[AT], d[AT], s[AT + 1], d[AT + 1]));
            continue;
        }
        if (y < out_h) {
#pragma unroll
            for (int k = 0; k < 2; k++) {
                if (2 * (pair + k) < out_w)
                    sample_to(TARGET, 2 * (pair + k), y, s[AT + k]);
                if (2 * (pair + k) + 1 < out_w)
                    sample_to(TARGET, 2 * (pair + k) + 1, y, d[AT + k]);
            }
        }
    }
}
