// One level of the transform for planes that are too small to fill a device: one work-item per quadruple, a barrier a
// lifting step.
//
// Maths: lifting of all rows, then of all columns, as in lift.cl; the inverse backwards. A quadruple is the samples
//   (2x, 2y), (2x+1, 2y), (2x, 2y+1), (2x+1, 2y+1), which become its coefficients LL, HL, LH, HH in the same four cells.
// Shapes: as in dwt_strip.cl and idwt_strip.cl. w > 1, h > 1, and both even if BOUNDARY is PERIODIC.
// NDRange: one group of SMALL_W x SMALL_H work-items per tile, forward any rows of tiles. The tile overlaps its neighbours
//   by HALO on each side, so that (SMALL_W - 2 HALO) x (SMALL_H - 2 HALO) quadruples are written: forward all of
//   low_w x low_h, inverse all of ceil(out_w / 2) x ceil(out_h / 2).
// Local memory: four cells per quadruple, kind by kind, each kind with MARGIN cells before and after, into which reads
//   beyond the tile's first and last row fall; these and reads beyond the ends of a row find values that only quadruples
//   of the halo use.
// Defines: those of lift.cl and source.cl, SMALL_W, SMALL_H.

#define MARGIN (TAPS * (SMALL_W + 1))
#define KIND (SMALL_W * SMALL_H + 2 * MARGIN)
#define INSIDE_W (SMALL_W - 2 * HALO)
#define INSIDE_H (SMALL_H - 2 * HALO)
#define SMALL __attribute__((reqd_work_group_size(SMALL_W, SMALL_H, 1)))

// Takes a step that predicts the odd value in `to`, number `at` of `count`, from even ones in `from`, `stride` apart.
INLINE void predict_cell(__local T *to, __local const T *from, int stride, T c0, T c1, int at, int count)
{
    const T s[4] = {TAPS > 1 ? from[-stride] : 0, from[0], from[stride], TAPS > 1 ? from[2 * stride] : 0};
    const T d[2] = {0, to[0]};
    to[0] = KEEP_AS(T, at, count, PREDICTED(T, 1, c0, c1));
}

// Takes a step that updates the even value in `to` with odd ones, likewise.
INLINE void update_cell(__local T *to, __local const T *from, int stride, T c0, T c1, int at, int count)
{
    const T d[4] = {TAPS > 1 ? from[-2 * stride] : 0, from[-stride], from[0], TAPS > 1 ? from[stride] : 0};
    const T s[3] = {0, 0, to[0]};
    to[0] = KEEP_AS(T, at, count, UPDATED(T, 2, c0, c1));
}

// Takes all steps along rows, where the low and the high values of a pair are `odd` cells apart and neighbours `stride`,
// for both kinds of cells, `other` apart: number `at` of `ns` even and `nd` odd ones.
INLINE void split_cells(__local T *own, int odd, int other, int stride, int at, int ns, int nd)
{
#pragma unroll
    for (int step = 0; step < STEPS; step += 2) {
        T p0 = step == 0 ? C_0_0 : C_2_0, p1 = step == 0 ? C_0_1 : C_2_1;
        T u0 = step == 0 ? C_1_0 : C_3_0, u1 = step == 0 ? C_1_1 : C_3_1;
        SYNC;
        predict_cell(own + odd, own, stride, p0, p1, at, nd);
        predict_cell(own + odd + other, own + other, stride, p0, p1, at, nd);
        SYNC;
        update_cell(own, own + odd, stride, u0, u1, at, ns);
        update_cell(own + other, own + odd + other, stride, u0, u1, at, ns);
    }
    SYNC;
    own[0] = SCALED(own[0], LOW_SCALE);
    own[other] = SCALED(own[other], LOW_SCALE);
    own[odd] = SCALED(own[odd], HIGH_SCALE);
    own[odd + other] = SCALED(own[odd + other], HIGH_SCALE);
}

// Takes them back.
INLINE void merge_cells(__local T *own, int odd, int other, int stride, int at, int ns, int nd)
{
    own[0] = SCALED(own[0], HIGH_SCALE);
    own[other] = SCALED(own[other], HIGH_SCALE);
    own[odd] = SCALED(own[odd], LOW_SCALE);
    own[odd + other] = SCALED(own[odd + other], LOW_SCALE);
#pragma unroll
    for (int step = STEPS - 2; step >= 0; step -= 2) {
        T p0 = step == 0 ? C_0_0 : C_2_0, p1 = step == 0 ? C_0_1 : C_2_1;
        T u0 = step == 0 ? C_1_0 : C_3_0, u1 = step == 0 ? C_1_1 : C_3_1;
        SYNC;
        update_cell(own, own + odd, stride, -u0, -u1, at, ns);
        update_cell(own + other, own + odd + other, stride, -u0, -u1, at, ns);
        SYNC;
        predict_cell(own + odd, own, stride, -p0, -p1, at, nd);
        predict_cell(own + odd + other, own + other, stride, -p0, -p1, at, nd);
    }
    SYNC;
}

// The value in column x and row y of a band of w x h; zero outside it.
INLINE T value_at(__global const T *band, int pitch, int x, int y, int w, int h)
{
    return x >= 0 && x < w && y >= 0 && y < h ? band[(size_t)y * pitch + x] : 0;
}

// The sample in column x and row y of w x h; zero outside.
INLINE T sample_at(SOURCE_PARAMS, int x, int y, int w, int h)
{
    return x >= 0 && x < w && y >= 0 && y < h ? sample_from(SOURCE, x, y) : 0;
}

SMALL __kernel void dwt_small(SOURCE_PARAMS, int in_w, int in_h, int w, int h, __global T *low, int low_pitch, int low_w,
                              int low_h, __global T *bands, int band_pitch, int half_side, int high_w, int high_h)
{
    __local T cells[4 * KIND];
    int tile_x = get_local_id(0), tile_y = get_local_id(1);
    int x = (int)get_group_id(0) * INSIDE_W + tile_x - HALO;
    int y = ((int)get_global_id(1) / SMALL_H) * INSIDE_H + tile_y - HALO;
    __local T *own = cells + MARGIN + tile_y * SMALL_W + tile_x;
    int left = mapped(2 * x, w), right = mapped(2 * x + 1, w), top = mapped(2 * y, h), bottom = mapped(2 * y + 1, h);
    own[0] = sample_at(SOURCE, left, top, in_w, in_h);
    own[KIND] = sample_at(SOURCE, right, top, in_w, in_h);
    own[2 * KIND] = sample_at(SOURCE, left, bottom, in_w, in_h);
    own[3 * KIND] = sample_at(SOURCE, right, bottom, in_w, in_h);
    split_cells(own, KIND, 2 * KIND, 1, x, (w + 1) / 2, w / 2);
    split_cells(own, 2 * KIND, KIND, SMALL_W, y, (h + 1) / 2, h / 2);
    if (tile_x < HALO || tile_x >= SMALL_W - HALO || tile_y < HALO || tile_y >= SMALL_H - HALO)
        return;
    __global T *hl = bands + half_side, *lh = bands + (size_t)half_side * band_pitch, *hh = lh + half_side;
    if (x < low_w && y < low_h)
        low[(size_t)y * low_pitch + x] = own[0];
    if (x < high_w && y < low_h)
        hl[(size_t)y * band_pitch + x] = own[KIND];
    if (x < low_w && y < high_h)
        lh[(size_t)y * band_pitch + x] = own[2 * KIND];
    if (x < high_w && y < high_h)
        hh[(size_t)y * band_pitch + x] = own[3 * KIND];
}

SMALL __kernel void idwt_small(__global const T *low, int low_pitch, int low_w, int low_h, __global const T *bands,
                               int band_pitch, int half_side, int w, int h, TARGET_PARAMS, int out_w, int out_h)
{
    __local T cells[4 * KIND];
    int tile_x = get_local_id(0), tile_y = get_local_id(1);
    int x = (int)get_group_id(0) * INSIDE_W + tile_x - HALO;
    int y = (int)get_group_id(1) * INSIDE_H + tile_y - HALO;
    __local T *own = cells + MARGIN + tile_y * SMALL_W + tile_x;
    __global const T *hl = bands + half_side, *lh = bands + (size_t)half_side * band_pitch, *hh = lh + half_side;
    // Low coefficients are the even samples of a row, high ones the odd samples. A shift keeps -1, which is nowhere.
    int left = mapped(2 * x, w) >> 1, right = mapped(2 * x + 1, w) >> 1;
    int top = mapped(2 * y, h) >> 1, bottom = mapped(2 * y + 1, h) >> 1;
    int even_w = (w + 1) / 2, odd_w = w / 2, even_h = (h + 1) / 2, odd_h = h / 2;
    own[0] = value_at(low, low_pitch, left, top, low_w, low_h);
    own[KIND] = value_at(hl, band_pitch, right, top, odd_w, even_h);
    own[2 * KIND] = value_at(lh, band_pitch, left, bottom, even_w, odd_h);
    own[3 * KIND] = value_at(hh, band_pitch, right, bottom, odd_w, odd_h);
    merge_cells(own, 2 * KIND, KIND, SMALL_W, y, even_h, odd_h);
    merge_cells(own, KIND, 2 * KIND, 1, x, even_w, odd_w);
    if (tile_x < HALO || tile_x >= SMALL_W - HALO || tile_y < HALO || tile_y >= SMALL_H - HALO)
        return;
    if (2 * x < out_w && 2 * y < out_h)
        sample_to(TARGET, 2 * x, 2 * y, own[0]);
    if (2 * x + 1 < out_w && 2 * y < out_h)
        sample_to(TARGET, 2 * x + 1, 2 * y, own[KIND]);
    if (2 * x < out_w && 2 * y + 1 < out_h)
        sample_to(TARGET, 2 * x, 2 * y + 1, own[2 * KIND]);
    if (2 * x + 1 < out_w && 2 * y + 1 < out_h)
        sample_to(TARGET, 2 * x + 1, 2 * y + 1, own[3 * KIND]);
}
