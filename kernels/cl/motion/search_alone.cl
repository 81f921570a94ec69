// The search for a vector of each unit on its own.
//
// Maths: at first the best of no motion, of what the last frame's units there and around it have, and, if that is wanted, of what is nearest
//   on the means of squares of COARSE x COARSE samples; then, as often as wanted, of what units there and around have found, with costs
//   beside those.
// Shapes: search.cl; `plane` is centred samples, pitch apart; `means` those of ceil(width / COARSE) squares a row; `vectors` and `coarse` one
//   vector of each unit in the picture, packed; `flats` the mean sample of each channel and of each of these units.
// NDRange: search_bytes (LSIZE, height), search_means and search_flat one group for each unit, the others likewise; search_field one
//   for each unit of all blocks.
// Defines: search.cl; COARSE, COARSE_SIDE, COARSE_RANGE, STRIDE, NEIGHBOUR_STRIDE (src/opencl/motion/params.rs).

#define SQUARES (UNIT_SIDE / COARSE)
#define REACH (COARSE_SIDE + 2 * COARSE_RANGE)

GROUP __kernel void search_bytes(__global const float *restrict plane, int pitch, int width, __global uchar *restrict source)
{
    plane += get_global_id(1) * (size_t)pitch;
    source += get_global_id(1) * (size_t)width;
    for EACH_OF(x, 0, width)
        source[x] = byte_of(plane[x]);
}

GROUP __kernel void search_means(__global const uchar *restrict source, int width, int height, __global uchar *restrict means)
{
    int columns = (width + COARSE - 1) / COARSE;
    for EACH_OF(i, 0, SQUARES * SQUARES) {
        int x = SQUARES * (int)get_group_id(0) + i % SQUARES, y = SQUARES * (int)get_group_id(1) + i / SQUARES;
        int across = min(COARSE, width - COARSE * x), down = min(COARSE, height - COARSE * y);
        if (across <= 0 || down <= 0)
            continue;
        int sum = 0;
        for (int k = 0; k < across * down; k++)
            sum += source[(size_t)(COARSE * y + k / across) * width + COARSE * x + k % across];
        means[(size_t)y * columns + x] = (uchar)((sum + across * down / 2) / (across * down));
    }
}

// The mean sample of a channel's units of `side` samples.
GROUP __kernel void search_flat(__global const float *restrict plane, int pitch, int width, int height, int side,
                                __global uchar *restrict flats, int channel)
{
    __local uint total[1];
    int left = side * get_group_id(0), top = side * get_group_id(1);
    int across = min(side, width - left), down = min(side, height - top);
    uint sum = 0;
    for EACH_OF(i, 0, across * down)
        sum += byte_of(plane[(size_t)(top + i / across) * pitch + left + i % across]);
    sum = add_up(sum, total);
    int count = across * down, units = get_num_groups(0) * get_num_groups(1);
    int unit = get_group_id(1) * get_num_groups(0) + get_group_id(0);
    for EACH_OF(i, 0, 1)
        flats[(size_t)channel * units + unit] = (uchar)((sum + count / 2) / count);
}

// The vector by which the means of a unit's window lie nearest to those of the reference; of several the one with the least components.
GROUP __kernel void search_coarse(__global const uchar *restrict means, __global const uchar *restrict reference, int width,
                                  int height, __global uint *restrict coarse)
{
    __local uchar own[COARSE_SIDE * COARSE_SIDE], room[REACH * REACH];
    __local uint least[1];
    int columns = (width + COARSE - 1) / COARSE, rows = (height + COARSE - 1) / COARSE;
    int left = SQUARES * (int)get_group_id(0) - COARSE_SIDE / 4, top = SQUARES * (int)get_group_id(1) - COARSE_SIDE / 4;
    for EACH_OF(i, 0, COARSE_SIDE * COARSE_SIDE)
        own[i] = own_at(means, columns, rows, left + i % COARSE_SIDE, top + i / COARSE_SIDE);
    for EACH_OF(i, 0, REACH * REACH)
        room[i] = own_at(reference, columns, rows, left - COARSE_RANGE + i % REACH, top - COARSE_RANGE + i / REACH);
    for EACH_OF(i, 0, 1)
        least[0] = UINT_MAX;
    SYNC;
    uint key = UINT_MAX;
    for EACH_OF(i, 0, (2 * COARSE_RANGE + 1) * (2 * COARSE_RANGE + 1)) {
        int dx = i % (2 * COARSE_RANGE + 1), dy = i / (2 * COARSE_RANGE + 1);
        uint sum = abs(dx - COARSE_RANGE) + abs(dy - COARSE_RANGE);
        for (int k = 0; k < COARSE_SIDE * COARSE_SIDE; k++)
            sum += abs((int)own[k] - (int)room[(dy + k / COARSE_SIDE) * REACH + dx + k % COARSE_SIDE]);
        key = min(key, sum << 10 | (uint)dx << 5 | (uint)dy);
    }
    atomic_min(&least[0], key);
    SYNC;
    int2 squares = (int2)((int)(least[0] >> 5 & 31) - COARSE_RANGE, (int)(least[0] & 31) - COARSE_RANGE);
    for EACH_OF(i, 0, 1)
        coarse[get_group_id(1) * get_num_groups(0) + get_group_id(0)] = packed(4 * COARSE * squares);
}

// Loads what counts of a unit on its own: one of 2^step_log rows of its window, or itself where much of that lies outside.
INLINE Square square_of(Plane from, __global const uchar *source, Field field, int x, int y, int step_log, __local uchar *own)
{
    bool is_outermost = x == 0 || y == 0 || x + 1 == field.units_x || y + 1 == field.units_y;
    int side_log = is_outermost ? UNIT_LOG : UNIT_LOG + 1;
    int left = is_outermost ? UNIT_SIDE * x : start_of(x), top = is_outermost ? UNIT_SIDE * y : start_of(y);
    for EACH_OF(i, 0, 1 << 2 * side_log)
        own[i] = own_at(source, from.width, from.height, left + (i & ((1 << side_log) - 1)), top + (i >> side_log));
    Square outermost = {from, own, left, top, side_log, 0, PARTS}, square = {from, own, left, top, side_log, step_log, PARTS / 4 << step_log};
    return is_outermost ? outermost : square;
}

// Adds the vectors of the units around one to `count` candidates; returns how many there are then.
INLINE int add_around(__global const uint *vectors, Field field, int x, int y, __local int2 *candidates, int count)
{
    for (int k = 0; k < 9; k++) {
        int beside_x = x + k % 3 - 1, beside_y = y + k / 3 - 1;
        if (k == 4 || !has_unit(field, beside_x, beside_y))
            continue;
        for EACH_OF(i, 0, 1)
            candidates[count] = unpacked(vectors[beside_y * field.units_x + beside_x]);
        count++;
    }
    return count;
}

// `has_last`: there are vectors of a last frame; `has_coarse`: those of the means are known.
GROUP __kernel void search_first(__global const uchar *restrict halves, __global const uchar *restrict source, int width, int height,
                                 __global const uint *restrict costs, __global const uint *restrict vectors, int has_last,
                                 __global const uint *restrict coarse, int has_coarse, __global uint *restrict found)
{
    __local uchar own[WINDOW * WINDOW];
    __local int2 candidates[CANDIDATES];
    __local Shared shared;
    Field field = field_of(0, 0, width, height, 1);
    Plane from = {halves, width, height};
    int x = get_group_id(0), y = get_group_id(1), at = y * field.units_x + x;
    int2 expected = has_last ? unpacked(vectors[at]) : (int2)(0, 0);
    for EACH_OF(i, 0, 1) {
        candidates[0] = expected;
        candidates[1] = (int2)(0, 0);
        candidates[2] = has_coarse ? unpacked(coarse[at]) : (int2)(0, 0);
    }
    int count = has_last ? add_around(vectors, field, x, y, candidates, 3) : 3;
    Square square = square_of(from, source, field, x, y, 1, own);
    Part part = part_of(costs, 0, 0, UNIT_CELLS, expected);
    Found best = best_of(square, part, candidates, count, STRIDE, &shared);
    for EACH_OF(i, 0, 1)
        found[at] = packed(best.vector);
}

// Whether a unit and those around it have the vectors that they had earlier.
INLINE bool is_settled(__global const uint *vectors, __global const uint *earlier, Field field, int x, int y)
{
    bool is_same = true;
    for (int k = 0; k < 9; k++) {
        int beside_x = x + k % 3 - 1, beside_y = y + k / 3 - 1, at = beside_y * field.units_x + beside_x;
        if (has_unit(field, beside_x, beside_y))
            is_same = is_same && vectors[at] == earlier[at];
    }
    return is_same;
}

// What one unit has found helps those around it; nothing new comes where nothing has changed since `earlier`, if there is that.
GROUP __kernel void search_again(__global const uchar *restrict halves, __global const uchar *restrict source, int width, int height,
                                 int slice_rows, __global const uint *restrict costs, __global const uint *restrict vectors,
                                 __global const uint *restrict earlier, int has_earlier, __global uint *restrict found)
{
    __local uchar own[WINDOW * WINDOW];
    __local int2 candidates[CANDIDATES];
    __local Shared shared;
    Field field = field_of(0, 0, width, height, slice_rows);
    Plane from = {halves, width, height};
    int x = get_group_id(0), y = get_group_id(1), at = y * field.units_x + x;
    Found best = {unpacked(vectors[at]), 0};
    if (!has_earlier || !is_settled(vectors, earlier, field, x, y)) {
        int2 before = unpacked(vectors[at]), left = x > 0 ? unpacked(vectors[at - 1]) : (int2)(0, 0), expected = left;
        int differ = 0;
        if (y > 2 * slice_start(field, y / 2)) {
            int up_at = at - field.units_x;
            int2 up = unpacked(vectors[up_at]);
            int2 other = unpacked(vectors[x + 1 < field.units_x ? up_at + 1 : (x > 0 ? up_at - 1 : up_at)]);
            expected = median_of(left, up, other);
            differ = differing(left, up, other);
        }
        for EACH_OF(i, 0, 1) {
            candidates[0] = before;
            candidates[1] = expected;
            candidates[2] = (int2)(0, 0);
        }
        int count = add_around(vectors, field, x, y, candidates, 3);
        Square square = square_of(from, source, field, x, y, 0, own);
        Part part = part_of(costs, 0, differ, UNIT_CELLS, expected);
        best = best_of(square, part, candidates, count, 0, &shared);
        if (!is_equal(best.vector, before)) {
            SYNC;
            for EACH_OF(i, 0, 1)
                candidates[0] = best.vector;
            best = best_of(square, part, candidates, 1, NEIGHBOUR_STRIDE, &shared);
        }
    }
    for EACH_OF(i, 0, 1)
        found[at] = packed(best.vector);
}

// Makes a field of these vectors, of blocks of units of their own.
GROUP __kernel void search_field(__global const uint *restrict vectors, int width, int height, __global Cell *restrict cells,
                                 __global uchar *restrict marks)
{
    Field field = field_of(cells, marks, width, height, 1);
    int x = get_group_id(0), y = get_group_id(1);
    for EACH_OF(i, 0, 1) {
        Cell cell = {has_unit(field, x, y) ? vectors[y * field.units_x + x] : 0, 0};
        fill_cells(field, UNIT_CELLS * x, UNIT_CELLS * y, UNIT_CELLS, cell);
        *quartered(field, x, y) = 0;
        if (x % 2 == 0 && y % 2 == 0)
            field.marks[y / 2 * field.columns + x / 2] = 0;
    }
}
