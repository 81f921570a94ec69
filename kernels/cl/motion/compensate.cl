// Pictures of predicted frames, one channel: the overlapped prediction from a state, alone or with what was coded besides.
//
// Maths: a unit of UNIT_SIDE samples predicts a window of twice its width and height about its middle. The prediction is
//   (sum of across x down x value + 128) >> 8 over the units that meet at a sample; along an axis the second of two has the
//   weight RISING, the first the rest of WEIGHT, and the outermost ones meet themselves. The value of a unit of four cells is
//   (sum of across x down x value of a cell + 32) >> 6 with RISING_CELL and CELL_WEIGHT about its middle. A part's value is
//   its flat sample, or that of the state where its vector points:
//   luma     as in compensate_quarters.cl
//   chroma   ((8 - fy) ((8 - fx) a + fx b) + fy ((8 - fx) c + fx d) + 32) >> 6, EIGHTHS eighths of a sample to a vector's quarter
//   The picture is p itself or, if ADDS, clamp(floor((r + p) + 1/2), 0, 255) for the prediction p and the residual r, both sums
//   rounded to f32.
// Shapes: `from` holds the planes of compensate_halves.cl (luma) or width x height samples (chroma), `out` width x height samples;
//   `residual` as many, residual_pitch apart; `cells` has the CELLS cells of each of columns x rows units. EIGHTHS is 0 for luma.
// NDRange: (columns + 1, rows + 1) groups, each from the middle of a unit to that of the next, where the same four units meet.
// Defines: ADDS, UNIT_SIDE, EIGHTHS, BORDER, CELLS, WEIGHT, CELL_WEIGHT, RISING, RISING_CELL, Cell (src/opencl/motion/params.rs).
// Vectors come from strangers: every place is cut to the planes before it is read.

#if EIGHTHS == 0
#define moved quarter_at
#else
INLINE uint whole_at(Plane from, int x, int y)
{
    return from.samples[(size_t)clamp(y, 0, from.height - 1) * from.width + clamp(x, 0, from.width - 1)];
}

INLINE uint moved(Plane from, int x, int y, int right, int below)
{
    int left = x + ((EIGHTHS * right) >> 3), top = y + ((EIGHTHS * below) >> 3);
    uint fx = (EIGHTHS * right) & 7, fy = (EIGHTHS * below) & 7;
    uint upper = (8 - fx) * whole_at(from, left, top) + fx * whole_at(from, left + 1, top);
    uint lower = (8 - fx) * whole_at(from, left, top + 1) + fx * whole_at(from, left + 1, top + 1);
    return ((8 - fy) * upper + fy * lower + 32) >> 6;
}
#endif

INLINE uint value_of(Plane from, Cell cell, int channel, int x, int y)
{
    if (cell.is_flat)
        return (cell.motion >> (8 * channel)) & 0xff;
    return moved(from, x, y, (int)(cell.motion << 16) >> 16, (int)cell.motion >> 16);
}

INLINE bool is_same(Cell a, Cell b)
{
    return a.motion == b.motion && a.is_flat == b.is_flat;
}

// Whether the four cells of a unit move like this one.
INLINE bool moves_like(__global const Cell *unit, Cell cell)
{
    return is_same(unit[0], cell) && is_same(unit[1], cell) && is_same(unit[2], cell) && is_same(unit[3], cell);
}

// The weight of the second half of unit `unit` along an axis.
INLINE uint second_half(int at, int unit)
{
    int place = at - unit * UNIT_SIDE - UNIT_SIDE / 4;
    if (place < 0)
        return 0;
    return place < UNIT_SIDE / 2 ? RISING_CELL[place] : CELL_WEIGHT;
}

// The value of the unit in this column and row.
INLINE uint value_in(Plane from, __global const Cell *unit, int column, int row, int channel, int x, int y)
{
    uint first = value_of(from, unit[0], channel, x, y);
    if (moves_like(unit, unit[0]))
        return first;
    uint right = second_half(x, column), below = second_half(y, row);
    uint upper = (CELL_WEIGHT - right) * first + right * value_of(from, unit[1], channel, x, y);
    uint lower =
        (CELL_WEIGHT - right) * value_of(from, unit[2], channel, x, y) + right * value_of(from, unit[3], channel, x, y);
    return ((CELL_WEIGHT - below) * upper + below * lower + 32) >> 6;
}

GROUP __kernel void compensate(__global const uchar *restrict from, __global const Cell *restrict cells, int columns,
                               int rows, int channel,
#if ADDS
                               __global const float *restrict residual, int residual_pitch,
#endif
                               __global uchar *restrict out, int width, int height)
{
    Plane plane = {from, width, height};
    int group_x = get_group_id(0), group_y = get_group_id(1);
    int left = max(group_x - 1, 0), right = min(group_x, columns - 1);
    int top = max(group_y - 1, 0), bottom = min(group_y, rows - 1);
    __global const Cell *first = cells + CELLS * ((size_t)top * columns + left);
    __global const Cell *second = cells + CELLS * ((size_t)top * columns + right);
    __global const Cell *third = cells + CELLS * ((size_t)bottom * columns + left);
    __global const Cell *fourth = cells + CELLS * ((size_t)bottom * columns + right);
    Cell one = first[0];
    bool is_one = moves_like(first, one) && moves_like(second, one) && moves_like(third, one) && moves_like(fourth, one);
    for EACH(i, 0, UNIT_SIDE * UNIT_SIDE) {
        int place_x = i % UNIT_SIDE, place_y = i / UNIT_SIDE;
        int x = group_x * UNIT_SIDE - UNIT_SIDE / 2 + place_x, y = group_y * UNIT_SIDE - UNIT_SIDE / 2 + place_y;
        if (x < 0 || y < 0 || x >= width || y >= height)
            continue;
        uint prediction;
        if (is_one) {
            prediction = value_of(plane, one, channel, x, y);
        } else {
            uint across = RISING[place_x], down = RISING[place_y];
            uint upper = (WEIGHT - across) * value_in(plane, first, left, top, channel, x, y) +
                         across * value_in(plane, second, right, top, channel, x, y);
            uint lower = (WEIGHT - across) * value_in(plane, third, left, bottom, channel, x, y) +
                         across * value_in(plane, fourth, right, bottom, channel, x, y);
            prediction = ((WEIGHT - down) * upper + down * lower + 128) >> 8;
        }
#if ADDS
        float sample = residual[(size_t)y * residual_pitch + x] + (float)prediction;
        prediction = (int)clamp(sample + 0.5f, 0.0f, 255.0f);
#endif
        out[(size_t)y * width + x] = (uchar)prediction;
    }
}
