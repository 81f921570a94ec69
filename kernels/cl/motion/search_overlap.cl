// The search with the overlap of windows: units that are joined, moved and quartered, each with all that others predict in its window.
//
// Maths: `sums` is the sum of across x down x value over the units that meet at a sample (compensate.cl), without rounding; a part
//   that is tried is taken out of it and added as it might be. A part is changed where that is cheaper (src/coder/search/blocks.rs,
//   overlapped.rs, cells.rs). Parts of one colour of four do not touch: kernels run once for each.
// Shapes: search.cl, search_alone.cl; `sums` begins half a unit to the left of and above the picture and has a row of
//   2 UNIT_SIDE for each column of blocks and one more UNIT_SIDE, and as many rows likewise.
// NDRange: search_sums one group for each square of a unit's side; the others one for each part of the colour, (2 x + colour % 2,
//   2 y + colour / 2).
// Defines: search.cl; QUARTER_BITS, CELL_STRIDE, WIDE_LSIZE (src/opencl/motion/params.rs).

// Parts of one colour are fewer.
#define WIDE_GROUP __attribute__((reqd_work_group_size(WIDE_LSIZE, 1, 1)))
// Side of the square that the windows of a block's units cover.
#define BLOCK_WINDOW (3 * UNIT_SIDE)

INLINE int pitch_of(Field field)
{
    return UNIT_SIDE * (2 * field.columns + 1);
}

// The sample of a square that a motion predicts.
INLINE uint sample_of(Plane from, Cell cell, Taps taps, int left, int top, int column, int row)
{
    return cell.is_flat ? cell.motion & 0xff : tapped(from, taps, left, top, unpacked(cell.motion), column, row);
}

// The sum's sample.
INLINE int rounded(uint sum)
{
    return (int)((sum + 128) >> 8 & 0xff);
}

GROUP __kernel void search_sums(__global const uchar *restrict halves, int width, int height, __global Cell *cells,
                                __global uchar *marks, int slice_rows, __global ushort *restrict sums)
{
    // Of the units that meet here.
    __local Cell motions[4];
    __local Taps taps[4];
    __local int is_there[4];
    Field field = field_of(cells, marks, width, height, slice_rows);
    Plane from = {halves, width, height};
    int x = get_group_id(0), y = get_group_id(1), pitch = pitch_of(field);
    int left = start_of(x), top = start_of(y);
    __global ushort *to = sums + (size_t)UNIT_SIDE * y * pitch + UNIT_SIDE * x;
    for EACH_OF(k, 0, 4) {
        int unit_x = x - 1 + k % 2, unit_y = y - 1 + k / 2;
        is_there[k] = has_unit(field, unit_x, unit_y);
        if (is_there[k]) {
            motions[k] = unit_at(field, unit_x, unit_y);
            taps[k] = taps_of(from, left, top, UNIT_SIDE, vector_of(motions[k]));
        }
    }
    SYNC;
    for EACH_OF(i, 0, UNIT_SIDE * UNIT_SIDE) {
        int column = i % UNIT_SIDE, row = i / UNIT_SIDE;
        uint sum = 0;
        for (int k = 0; k < 4; k++) {
            if (!is_there[k])
                continue;
            uint across = weight_of(x - 1 + k % 2, field.units_x, column + UNIT_SIDE * (1 - k % 2));
            uint down = weight_of(y - 1 + k / 2, field.units_y, row + UNIT_SIDE * (1 - k / 2));
            sum += across * down * sample_of(from, motions[k], taps[k], left, top, column, row);
        }
        to[(size_t)row * pitch + column] = (ushort)sum;
    }
}

// A square of sums with what is compared there, and the weights of the windows of those units of it that are tried.
typedef struct {
    Plane from;
    __local uchar *own;
    __local ushort *others, *across, *down;
    int left, top, side;
} Patch;

// Fills in the square of `units` units from `first` on.
INLINE void load(Patch patch, __global const uchar *source, __global const ushort *sums, Field field, int2 first, int2 units)
{
    int pitch = pitch_of(field);
    sums += (size_t)UNIT_SIDE * first.y * pitch + UNIT_SIDE * first.x;
    for EACH_OF(i, 0, patch.side * patch.side) {
        int column = i % patch.side, row = i / patch.side;
        patch.own[i] = own_at(source, patch.from.width, patch.from.height, patch.left + column, patch.top + row);
        patch.others[i] = sums[(size_t)row * pitch + column];
    }
    for EACH_OF(i, 0, patch.side) {
        uint across = 0, down = 0;
        for (int unit = 0; unit < 2; unit++) {
            int at = i - UNIT_SIDE * unit;
            if (at < 0 || at >= WINDOW)
                continue;
            across += unit < units.x ? weight_of(first.x + unit, field.units_x, at) : 0;
            down += unit < units.y ? weight_of(first.y + unit, field.units_y, at) : 0;
        }
        patch.across[i] = (ushort)across;
        patch.down[i] = (ushort)down;
    }
    SYNC;
}

// The difference of the picture from the sums as they are.
INLINE ulong difference_now(Patch patch, __local uint *sum)
{
    uint total = 0;
    for EACH_OF(i, 0, patch.side * patch.side)
        total += abs((int)patch.own[i] - rounded(patch.others[i]));
    return (ulong)add_up(total, sum) * PARTS;
}

// Takes the window of a unit out of the sums.
INLINE void take_away(Patch patch, Field field, int x, int y, Cell motion)
{
    int right = start_of(x) - patch.left, below = start_of(y) - patch.top;
    int left = start_of(x), top = start_of(y);
    Taps taps = taps_of(patch.from, left, top, WINDOW, vector_of(motion));
    for EACH_OF(i, 0, WINDOW * WINDOW) {
        int column = i % WINDOW, row = i / WINDOW;
        uint weight = weight_of(x, field.units_x, column) * weight_of(y, field.units_y, row);
        patch.others[(row + below) * patch.side + column + right] -=
            (ushort)(weight * sample_of(patch.from, motion, taps, left, top, column, row));
    }
    SYNC;
}

// Adds what each of `count` motions makes of the square to the other sums, and keeps the cheapest, if it is cheaper than the best so far;
// `more`: bits of any.
INLINE bool try_motions(Patch patch, Part part, uint more, __local const Cell *motions, int count, Cell *best, ulong *least,
                        __local Shared *shared)
{
    bool is_better = false;
    SYNC;
    clear_sums(shared);
    SYNC;
    Team team = team_for(count);
    for EACH_OF_TEAMS(k, count) {
        Cell motion = motions[k];
        Taps taps = taps_of(patch.from, patch.left, patch.top, patch.side, vector_of(motion));
        uint sum = 0;
        for EACH_OF_TEAM(i, patch.side * patch.side) {
            int column = i % patch.side, row = i / patch.side;
            uint value = sample_of(patch.from, motion, taps, patch.left, patch.top, column, row);
            sum += abs((int)patch.own[i] - rounded(patch.others[i] + patch.across[column] * patch.down[row] * value));
        }
        add_to(shared, k, sum);
        if (team.place == 0)
            shared->bits[k] = more + motion_bits(part, motion);
    }
    SYNC;
    for (int k = 0; k < count; k++) {
        ulong cost = (ulong)sum_of(shared, k) * PARTS + worth_of(part.costs, shared->bits[k]);
        if (cost < *least) {
            *least = cost;
            *best = motions[k];
            is_better = true;
        }
    }
    return is_better;
}

// Writes the sums with what a motion makes of the square.
INLINE void put(Patch patch, Field field, int2 first, Cell motion, __global ushort *sums)
{
    int pitch = pitch_of(field);
    sums += (size_t)UNIT_SIDE * first.y * pitch + UNIT_SIDE * first.x;
    Taps taps = taps_of(patch.from, patch.left, patch.top, patch.side, vector_of(motion));
    for EACH_OF(i, 0, patch.side * patch.side) {
        int column = i % patch.side, row = i / patch.side;
        uint value = sample_of(patch.from, motion, taps, patch.left, patch.top, column, row);
        sums[(size_t)row * pitch + column] =
            (ushort)(patch.others[i] + patch.across[column] * patch.down[row] * value);
    }
}

// What lies one step beside a place in one of four directions.
INLINE int2 beside(int2 place, int k)
{
    return place + (int2)((k == 0) - (k == 1), (k == 2) - (k == 3));
}

// Adds a motion to `count` others, unless it is that of before; returns how many there are then.
INLINE int add_motion(__local Cell *motions, int count, Cell motion, Cell before)
{
    if (is_same_motion(motion, before))
        return count;
    for EACH_OF(i, 0, 1)
        motions[count] = motion;
    return count + 1;
}

// Joins the units of blocks.
WIDE_GROUP __kernel void search_join(__global const uchar *restrict halves, __global const uchar *restrict source, int width, int height,
                                __global Cell *cells, __global uchar *marks, int slice_rows, __global const uint *restrict costs,
                                __global ushort *restrict sums, int colour)
{
    __local uchar own[BLOCK_WINDOW * BLOCK_WINDOW];
    __local ushort others[BLOCK_WINDOW * BLOCK_WINDOW], across[BLOCK_WINDOW], down[BLOCK_WINDOW];
    __local Shared shared;
    __local Cell motions[CANDIDATES];
    Field field = field_of(cells, marks, width, height, slice_rows);
    int x = 2 * (int)get_group_id(0) + colour % 2, y = 2 * (int)get_group_id(1) + colour / 2;
    int2 first = (int2)(2 * x, 2 * y);
    int2 units = (int2)(min(2, field.units_x - first.x), min(2, field.units_y - first.y));
    Plane from = {halves, width, height};
    Patch patch = {from, own, others, across, down, start_of(first.x), start_of(first.y), BLOCK_WINDOW};
    Cell one = unit_at(field, first.x, first.y), best = one;
    bool is_joined = true;
    uint bits_apart = split_bits(field, costs, x, y, true);
    int count = units.x * units.y;
    for (int k = 0; k < count; k++) {
        int unit_x = first.x + k % units.x, unit_y = first.y + k / units.x;
        Cell motion = unit_at(field, unit_x, unit_y);
        is_joined = is_joined && is_same_motion(motion, one);
        Part part = part_at(field, costs, UNIT_CELLS * unit_x, UNIT_CELLS * unit_y, UNIT_CELLS);
        bits_apart += quarter_bits(field, costs, unit_x, unit_y, false) + motion_bits(part, motion);
        for EACH_OF(i, 0, 1)
            motions[k] = motion;
    }
    if (!is_joined) {
        Part part = part_at(field, costs, BLOCK_CELLS * x, BLOCK_CELLS * y, BLOCK_CELLS);
        uint bits_split = split_bits(field, costs, x, y, false);
        for EACH_OF(i, 0, 1) {
            motions[count] = cell_of(part.expected);
            motions[count + 1] = cell_of((int2)(0, 0));
        }
        load(patch, source, sums, field, first, units);
        ulong least = difference_now(patch, shared.sums) + worth_of(costs, bits_apart);
        for (int k = 0; k < count; k++)
            take_away(patch, field, first.x + k % units.x, first.y + k / units.x, motions[k]);
        is_joined = try_motions(patch, part, bits_split, motions, count + 2, &best, &least, &shared);
        if (is_joined)
            put(patch, field, first, best, sums);
    }
    if (is_joined && get_local_id(0) == 0) {
        field.marks[y * field.columns + x] = 1;
        fill_cells(field, BLOCK_CELLS * x, BLOCK_CELLS * y, BLOCK_CELLS, best);
    }
}

// Moves a unit of its own, if that is worth it; returns whether it does, and how.
INLINE bool move(Patch patch, Field field, __global const uint *costs, __global const uchar *flats, int channels, int x, int y,
                 Cell *best, __local Cell *motions, __local Shared *shared)
{
    Cell before = unit_at(field, x, y);
    Part part = part_at(field, costs, UNIT_CELLS * x, UNIT_CELLS * y, UNIT_CELLS);
    int count = add_motion(motions, 0, cell_of(part.expected), before);
    count = add_motion(motions, count, cell_of((int2)(0, 0)), before);
    for (int k = 0; k < 4; k++) {
        int2 at = beside((int2)(x, y), k);
        if (has_unit(field, at.x, at.y) && !unit_at(field, at.x, at.y).is_flat)
            count = add_motion(motions, count, unit_at(field, at.x, at.y), before);
        if (!before.is_flat)
            count = add_motion(motions, count, cell_of(beside(vector_of(before), k)), before);
    }
    // Channels that a picture lacks are half way.
    uint flat = 0;
    for (int channel = 0; channel < 3; channel++) {
        size_t at = ((size_t)channel * field.units_y + y) * field.units_x + x;
        uint sample = channel < channels ? flats[at] : 128;
        flat |= (channel == 0 ? (sample & ~3u) | 2 : (sample & ~7u) | 4) << (8 * channel);
    }
    Cell flat_cell = {flat, 1};
    count = add_motion(motions, count, flat_cell, before);
    ulong least = difference_now(patch, shared->sums) + worth_of(costs, motion_bits(part, before));
    bool is_better = false;
    *best = before;
    if (least >= worth_of(costs, 16) * QUIET_BITS) {
        take_away(patch, field, x, y, before);
        is_better = try_motions(patch, part, 0, motions, count, best, &least, shared);
    }
    return is_better;
}

// Moves units of their own.
WIDE_GROUP __kernel void search_overlapped(__global const uchar *restrict halves, __global const uchar *restrict source, int width,
                                      int height, __global Cell *cells, __global uchar *marks, int slice_rows,
                                      __global const uint *restrict costs, __global ushort *restrict sums,
                                      __global const uchar *restrict flats, int channels, int colour)
{
    __local uchar own[WINDOW * WINDOW];
    __local ushort others[WINDOW * WINDOW], across[WINDOW], down[WINDOW];
    __local Shared shared;
    __local Cell motions[CANDIDATES];
    Field field = field_of(cells, marks, width, height, slice_rows);
    int x = 2 * (int)get_group_id(0) + colour % 2, y = 2 * (int)get_group_id(1) + colour / 2;
    Plane from = {halves, width, height};
    Patch patch = {from, own, others, across, down, start_of(x), start_of(y), WINDOW};
    if (!is_whole(field, x / 2, y / 2)) {
        Cell best;
        load(patch, source, sums, field, (int2)(x, y), (int2)(1, 1));
        if (move(patch, field, costs, flats, channels, x, y, &best, motions, &shared)) {
            put(patch, field, (int2)(x, y), best, sums);
            for EACH_OF(i, 0, 1)
                fill_cells(field, UNIT_CELLS * x, UNIT_CELLS * y, UNIT_CELLS, best);
        }
    }
}

// The sample of a unit of four cells, whose motions and places these are.
INLINE uint blended(Patch patch, __local const Cell *cells, __local const Taps *taps, int column, int row)
{
#define SECOND(at) ((at) < UNIT_SIDE - UNIT_SIDE / 4 ? 0 \
                    : (at) >= UNIT_SIDE + UNIT_SIDE / 4 ? CELL_WEIGHT : RISING_CELL[(at) - UNIT_SIDE + UNIT_SIDE / 4])
    uint right = SECOND(column), below = SECOND(row), sum = 0;
#undef SECOND
    for (int k = 0; k < 4; k++) {
        uint weight = (k % 2 > 0 ? right : CELL_WEIGHT - right) * (k / 2 > 0 ? below : CELL_WEIGHT - below);
        if (weight == 0)
            continue;
        sum += weight * sample_of(patch.from, cells[k], taps[k], patch.left, patch.top, column, row);
    }
    return (sum + 32) >> 6;
}

// Quarters units.
WIDE_GROUP __kernel void search_quarter(__global const uchar *restrict halves, __global const uchar *restrict source, int width, int height,
                                   __global Cell *cells, __global uchar *marks, int slice_rows,
                                   __global const uint *restrict costs, __global ushort *restrict sums, int colour)
{
    __local uchar own[WINDOW * WINDOW], own_of_cell[UNIT_SIDE * UNIT_SIDE];
    __local ushort others[WINDOW * WINDOW], across[WINDOW], down[WINDOW];
    __local int2 candidates[CANDIDATES];
    __local Cell motions[4];
    __local Taps taps[4];
    __local Shared shared;
    Field field = field_of(cells, marks, width, height, slice_rows);
    int x = 2 * (int)get_group_id(0) + colour % 2, y = 2 * (int)get_group_id(1) + colour / 2;
    if (is_whole(field, x / 2, y / 2))
        return;
    Plane from = {halves, width, height};
    Patch patch = {from, own, others, across, down, start_of(x), start_of(y), WINDOW};
    load(patch, source, sums, field, (int2)(x, y), (int2)(1, 1));
    ulong now = difference_now(patch, shared.sums);
    if (now < worth_of(costs, 16) * QUARTER_BITS)
        return;
    Cell before = unit_at(field, x, y);
    int cell_x = UNIT_CELLS * x, cell_y = UNIT_CELLS * y;
    uint bits_whole = quarter_bits(field, costs, x, y, false) +
                      motion_bits(part_at(field, costs, cell_x, cell_y, UNIT_CELLS), before);
    uint bits_quartered = quarter_bits(field, costs, x, y, true);
    bool is_one = true;
    for (int k = 0; k < 4; k++) {
        int at_x = cell_x + k % 2, at_y = cell_y + k / 2, count = 3;
        Part part = part_at(field, costs, at_x, at_y, 1);
        for EACH_OF(i, 0, 1) {
            candidates[0] = vector_of(before);
            candidates[1] = (int2)(0, 0);
            candidates[2] = part.expected;
        }
        for (int j = 0; j < 4; j++) {
            int2 at = beside((int2)(x, y), j);
            if (!has_unit(field, at.x, at.y))
                continue;
            for EACH_OF(i, 0, 1)
                candidates[count] = vector_of(unit_at(field, at.x, at.y));
            count++;
        }
        // The cell and half of it on each side.
        int right = UNIT_SIDE / 4 + UNIT_SIDE / 2 * (k % 2), below = UNIT_SIDE / 4 + UNIT_SIDE / 2 * (k / 2);
        for EACH_OF(i, 0, UNIT_SIDE * UNIT_SIDE)
            own_of_cell[i] = own[(below + i / UNIT_SIDE) * WINDOW + right + i % UNIT_SIDE];
        Square square = {from, own_of_cell, patch.left + right, patch.top + below, UNIT_LOG, 0, PARTS / 4};
        Cell motion = cell_of(best_of(square, part, candidates, count, CELL_STRIDE, &shared).vector);
        bits_quartered += motion_bits(part, motion);
        is_one = is_one && is_same_motion(motion, before);
        // The next cells' costs depend on it; no unit of a colour touches another one.
        for EACH_OF(i, 0, 1) {
            motions[k] = motion;
            fill_cells(field, at_x, at_y, 1, motion);
        }
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    }
    if (is_one)
        return;
    for EACH_OF(k, 0, 4)
        taps[k] = taps_of(from, patch.left, patch.top, WINDOW, vector_of(motions[k]));
    take_away(patch, field, x, y, before);
    uint total = 0;
    for EACH_OF(i, 0, WINDOW * WINDOW) {
        int column = i % WINDOW, row = i / WINDOW;
        uint value = blended(patch, motions, taps, column, row);
        total += abs((int)own[i] - rounded(others[i] + across[column] * down[row] * value));
    }
    ulong cost = (ulong)add_up(total, shared.sums) * PARTS + worth_of(costs, bits_quartered);
    bool is_better = cost < now + worth_of(costs, bits_whole);
    if (is_better) {
        int pitch = pitch_of(field);
        __global ushort *to = sums + (size_t)UNIT_SIDE * y * pitch + UNIT_SIDE * x;
        for EACH_OF(i, 0, WINDOW * WINDOW) {
            int column = i % WINDOW, row = i / WINDOW;
            uint value = blended(patch, motions, taps, column, row);
            to[(size_t)row * pitch + column] = (ushort)(others[i] + across[column] * down[row] * value);
        }
    }
    for EACH_OF(i, 0, 1) {
        if (is_better)
            *quartered(field, x, y) = 1;
        else
            fill_cells(field, cell_x, cell_y, UNIT_CELLS, before);
    }
}
