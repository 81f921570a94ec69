// One level of the transform in tiles in local memory, by a generated sequence of steps: one work-item per quadruple.
//
// Maths: forward_steps and inverse_steps take a quadruple (LL, HL, LH, HH) through all steps of a scheme; their text is made
//   by src/opencl/scheme/ and follows this file. See kernels/MATHEMATICS.md, "schemes".
// Shapes: as in dwt_strip.cl and idwt_strip.cl. w > 1, h > 1, and both even if BOUNDARY is PERIODIC.
// NDRange: one group of TILE_W x TILE_H work-items per tile, forward any rows of tiles. The tile overlaps its
// neighbours by the halo that the steps use
//   up (FORWARD_LEFT, .. INVERSE_DOWN), so that (TILE_W - left - right) x (TILE_H - up - down) quadruples are written:
//   forward all of low_w x low_h, inverse all of ceil(out_w / 2) x ceil(out_h / 2).
// Local memory: slots of one cell per quadruple with a MARGIN before and after, into which reads beyond the tile's first and
//   last row fall; these and reads beyond the ends of a row find values that only quadruples of the halo use.
// Defines: real, BOUNDARY, the above, FORWARD_SLOTS, INVERSE_SLOTS.

// Low and high coefficients, horizontal then vertical; before the transform samples, even and odd.
typedef struct {
    real ll, hl, lh, hh;
} Quad;

#define SLOT (TILE_W * TILE_H + 2 * MARGIN)
#define PUBLISH(slot, value) cells[(slot) * SLOT] = (value)
#define CELL(slot, dx, dy) cells[(slot) * SLOT + (dy) * TILE_W + (dx)]
// Zero outside columns 0..w and rows 0..h.
#define KEEP(value, x, w, y, h) value = (x) >= 0 && (x) < (w) && (y) >= 0 && (y) < (h) ? value : 0
#define TILE __attribute__((reqd_work_group_size(TILE_W, TILE_H, 1)))

// The same for the quadruple at (x, y) of a level of w x h samples. `cells` is the own cell of slot 0.
Quad forward_steps(Quad q, __local real *cells, int x, int y, int w, int h);
Quad inverse_steps(Quad q, __local real *cells, int x, int y, int w, int h);

// The value in column x and row y of a band of w x h; zero outside it.
real value_at(__global const real *band, int pitch, int x, int y, int w, int h)
{
    return x >= 0 && x < w && y >= 0 && y < h ? band[(size_t)y * pitch + x] : 0;
}

// The sample in column x and row y of w x h; zero outside.
INLINE real sample_at(SOURCE_PARAMS, int x, int y, int w, int h)
{
    return x >= 0 && x < w && y >= 0 && y < h ? sample_from(SOURCE, x, y) : 0;
}

TILE __kernel void scheme_forward(SOURCE_PARAMS, int in_w, int in_h, int w, int h,
                                  __global real *low, int low_pitch, int low_w, int low_h, __global real *bands,
                                  int band_pitch, int half_side, int high_w, int high_h)
{
    __local real cells[FORWARD_SLOTS * SLOT];
    int tile_x = get_local_id(0), tile_y = get_local_id(1);
    int x = (int)get_group_id(0) * (TILE_W - FORWARD_LEFT - FORWARD_RIGHT) + tile_x - FORWARD_LEFT;
    int y = ((int)get_global_id(1) / TILE_H) * (TILE_H - FORWARD_UP - FORWARD_DOWN) + tile_y - FORWARD_UP;
    int left = mapped(2 * x, w), right = mapped(2 * x + 1, w), top = mapped(2 * y, h), bottom = mapped(2 * y + 1, h);
    Quad q = {sample_at(SOURCE, left, top, in_w, in_h), sample_at(SOURCE, right, top, in_w, in_h),
              sample_at(SOURCE, left, bottom, in_w, in_h), sample_at(SOURCE, right, bottom, in_w, in_h)};
    q = forward_steps(q, cells + MARGIN + tile_y * TILE_W + tile_x, x, y, w, h);
    if (tile_x < FORWARD_LEFT || tile_x >= TILE_W - FORWARD_RIGHT || tile_y < FORWARD_UP || tile_y >= TILE_H - FORWARD_DOWN)
        return;
    __global real *hl = bands + half_side, *lh = bands + (size_t)half_side * band_pitch, *hh = lh + half_side;
    if (x < low_w && y < low_h)
        low[(size_t)y * low_pitch + x] = q.ll;
    if (x < high_w && y < low_h)
        hl[(size_t)y * band_pitch + x] = q.hl;
    if (x < low_w && y < high_h)
        lh[(size_t)y * band_pitch + x] = q.lh;
    if (x < high_w && y < high_h)
        hh[(size_t)y * band_pitch + x] = q.hh;
}

TILE __kernel void scheme_inverse(__global const real *low, int low_pitch, int low_w, int low_h,
                                  __global const real *bands, int band_pitch, int half_side, int w, int h,
                                  TARGET_PARAMS, int out_w, int out_h)
{
    __local real cells[INVERSE_SLOTS * SLOT];
    int tile_x = get_local_id(0), tile_y = get_local_id(1);
    int x = (int)get_group_id(0) * (TILE_W - INVERSE_LEFT - INVERSE_RIGHT) + tile_x - INVERSE_LEFT;
    int y = (int)get_group_id(1) * (TILE_H - INVERSE_UP - INVERSE_DOWN) + tile_y - INVERSE_UP;
    __global const real *hl = bands + half_side, *lh = bands + (size_t)half_side * band_pitch, *hh = lh + half_side;
    // Low coefficients are the even samples of a row, high ones the odd samples. A shift keeps -1, which is nowhere.
    int left = mapped(2 * x, w) >> 1, right = mapped(2 * x + 1, w) >> 1;
    int top = mapped(2 * y, h) >> 1, bottom = mapped(2 * y + 1, h) >> 1;
    int even_w = (w + 1) / 2, odd_w = w / 2, even_h = (h + 1) / 2, odd_h = h / 2;
    Quad q = {value_at(low, low_pitch, left, top, low_w, low_h), value_at(hl, band_pitch, right, top, odd_w, even_h),
              value_at(lh, band_pitch, left, bottom, even_w, odd_h),
              value_at(hh, band_pitch, right, bottom, odd_w, odd_h)};
    q = inverse_steps(q, cells + MARGIN + tile_y * TILE_W + tile_x, x, y, w, h);
    if (tile_x < INVERSE_LEFT || tile_x >= TILE_W - INVERSE_RIGHT || tile_y < INVERSE_UP || tile_y >= TILE_H - INVERSE_DOWN)
        return;
    if (2 * x < out_w && 2 * y < out_h)
        sample_to(TARGET, 2 * x, 2 * y, q.ll);
    if (2 * x + 1 < out_w && 2 * y < out_h)
        sample_to(TARGET, 2 * x + 1, 2 * y, q.hl);
    if (2 * x < out_w && 2 * y + 1 < out_h)
        sample_to(TARGET, 2 * x, 2 * y + 1, q.lh);
    if (2 * x + 1 < out_w && 2 * y + 1 < out_h)
        sample_to(TARGET, 2 * x + 1, 2 * y + 1, q.hh);
}
