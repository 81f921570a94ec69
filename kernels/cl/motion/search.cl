// What the kernels of the search for vectors share: costs, differences, and the best of several vectors.
//
// Maths: a vector costs PARTS times the sum of absolute differences of the samples that it predicts, plus lambda for each sixteenth of
//   a bit. The best one is the cheapest of candidates, and then of four around it, at a stride that is halved when none is better, until
//   it is worth less than QUIET_BITS. All in integers, and as the processor has it (src/coder/search, src/coder/cost.rs).
// Shapes: `halves` is the planes of compensate_halves.cl of the reference's luma, `source` the width x height bytes of the picture's. A
//   field's cells are those of all its blocks, row by row; `marks` has 1 for each block that is whole and then for each unit that is
//   quartered. `costs` has two of each context, the magnitudes of two axes, and lambda, the lower word first.
// Defines: CONTEXTS, FLAT, SAME, COMPONENT_ZERO, SPLIT, QUARTER, EXPONENTS, BLOCK_CELLS, UNIT_CELLS, UNIT_SIDE, UNIT_LOG, WEIGHT, CELL_WEIGHT, RISING,
//   RISING_CELL, VECTOR_MAX, PARTS, STEPS, QUIET_BITS, Cell (src/opencl/motion/params.rs).

#define WINDOW (2 * UNIT_SIDE)
// Most vectors or motions that are compared at once.
#define CANDIDATES 11
// Least work-items that compare one of them together, in groups that have so many: they read neighbouring samples.
#define TEAM_MIN 16
// Sums that work-items add to instead of one, so that fewer of them wait for each other.
#define SPREAD 8
// As EACH, in groups of any size.
#define EACH_OF(i, from, to) (int i = (from) + (int)get_local_id(0); i < (to); i += (int)get_local_size(0))
#define LAMBDA (2 * CONTEXTS + 2 * EXPONENTS)

typedef struct {
    __global Cell *cells;
    __global uchar *marks;
    // Blocks, and units that lie at least in part in the picture.
    int columns, rows, units_x, units_y;
    // Rows of blocks of a slice.
    int slice_rows;
} Field;

typedef struct {
    int2 vector;
    ulong cost;
} Found;

// Costs of a part, by where it is.
typedef struct {
    __global const uint *costs;
    uint flat[2], same[2];
    int2 expected;
} Part;

// Places of the samples of a square at halves, if they all lie in the planes: those of which a sample is the mean.
typedef struct {
    uint first, right, below, both;
    int pitch, count;
} Taps;

// A square of 2^side_log x 2^side_log samples that is compared, by one of 2^step_log rows, and the worth of its differences.
typedef struct {
    Plane from;
    __local const uchar *own;
    int left, top, side_log, step_log;
    uint worth;
} Square;

// Memory of a group that compares. What lives across barriers lies here and not in arrays of each work-item, which some compilers lose in
// loops.
typedef struct {
    uint sums[CANDIDATES * SPREAD];
    uint bits[CANDIDATES];
    int2 around[4];
} Shared;

INLINE Field field_of(__global Cell *cells, __global uchar *marks, int width, int height, int slice_rows)
{
    int block = 2 * UNIT_SIDE;
    Field field = {cells,
                   marks,
                   (width + block - 1) / block,
                   (height + block - 1) / block,
                   (width + UNIT_SIDE - 1) / UNIT_SIDE,
                   (height + UNIT_SIDE - 1) / UNIT_SIDE,
                   slice_rows};
    return field;
}

INLINE uint packed(int2 vector)
{
    int2 cut = clamp(vector, -VECTOR_MAX, VECTOR_MAX);
    return ((uint)cut.x & 0xffff) | (uint)cut.y << 16;
}

INLINE int2 unpacked(uint motion)
{
    return (int2)((int)(motion << 16) >> 16, (int)motion >> 16);
}

INLINE Cell cell_of(int2 vector)
{
    Cell cell = {packed(vector), 0};
    return cell;
}

INLINE int2 vector_of(Cell cell)
{
    return cell.is_flat ? (int2)(0, 0) : unpacked(cell.motion);
}

INLINE bool is_same_motion(Cell a, Cell b)
{
    return a.motion == b.motion && a.is_flat == b.is_flat;
}

INLINE int cell_columns(Field field)
{
    return BLOCK_CELLS * field.columns;
}

INLINE Cell cell_at(Field field, int x, int y)
{
    return field.cells[(size_t)y * cell_columns(field) + x];
}

// The motion of a unit: of its first cell, if it is quartered.
INLINE Cell unit_at(Field field, int x, int y)
{
    return cell_at(field, UNIT_CELLS * x, UNIT_CELLS * y);
}

INLINE bool has_unit(Field field, int x, int y)
{
    return x >= 0 && y >= 0 && x < field.units_x && y < field.units_y;
}

INLINE void fill_cells(Field field, int x, int y, int side, Cell cell)
{
    for (int i = 0; i < side * side; i++)
        field.cells[(size_t)(y + i / side) * cell_columns(field) + x + i % side] = cell;
}

INLINE bool is_whole(Field field, int x, int y)
{
    return field.marks[y * field.columns + x];
}

INLINE __global uchar *quartered(Field field, int x, int y)
{
    return field.marks + field.columns * field.rows + y * 2 * field.columns + x;
}

// The first row of blocks of the slice of this one.
INLINE int slice_start(Field field, int row)
{
    return row / field.slice_rows * field.slice_rows;
}

// The place of a cell in the order of coding.
INLINE int order_of(Field field, int x, int y)
{
    int block = y / BLOCK_CELLS * field.columns + x / BLOCK_CELLS;
    return 16 * block + 8 * (y >> 1 & 1) + 4 * (x >> 1 & 1) + 2 * (y & 1) + (x & 1);
}

INLINE int2 median_of(int2 a, int2 b, int2 c)
{
    return min(max(a, b), max(min(a, b), c));
}

INLINE bool is_equal(int2 a, int2 b)
{
    return a.x == b.x && a.y == b.y;
}

// How many of three vectors differ: 0 none, 2 all.
INLINE int differing(int2 a, int2 b, int2 c)
{
    int equal = is_equal(a, b) + is_equal(b, c) + is_equal(a, c);
    return equal == 0 ? 2 : (equal == 3 ? 0 : 1);
}

INLINE Part part_of(__global const uint *costs, int flat, int differ, int side, int2 expected)
{
    int size = side == 1 ? 0 : (side == 2 ? 1 : 2);
    __global const uint *of_flat = costs + 2 * (FLAT + flat);
    __global const uint *of_same = costs + 2 * (SAME + 6 * size + 2 * differ + is_equal(expected, (int2)(0, 0)));
    Part part = {costs, {of_flat[0], of_flat[1]}, {of_same[0], of_same[1]}, expected};
    return part;
}

// The costs of the part of `side` cells at cell (x, y).
INLINE Part part_at(Field field, __global const uint *costs, int x, int y, int side)
{
    int first = BLOCK_CELLS * slice_start(field, y / BLOCK_CELLS);
    Cell none = {0, 0};
    Cell left_cell = x > 0 ? cell_at(field, x - 1, y) : none;
    int2 left = vector_of(left_cell);
    if (y <= first)
        return part_of(costs, left_cell.is_flat, 0, side, left);
    Cell up_cell = cell_at(field, x, y - 1);
    int2 up = vector_of(up_cell), other = (int2)(0, 0);
    int right = x + side;
    if (right < cell_columns(field) && order_of(field, right, y - 1) < order_of(field, x, y))
        other = vector_of(cell_at(field, right, y - 1));
    else if (x > 0)
        other = vector_of(cell_at(field, x - 1, y - 1));
    return part_of(costs, left_cell.is_flat + up_cell.is_flat, differing(left, up, other), side, median_of(left, up, other));
}

INLINE uint component_bits(__global const uint *costs, int axis, int value, bool may_be_zero)
{
    uint zero = may_be_zero ? costs[2 * (COMPONENT_ZERO + axis) + (value == 0)] : 0;
    if (value == 0)
        return zero;
    int digits = min(31 - (int)clz(abs(value)), EXPONENTS - 1);
    return zero + costs[2 * CONTEXTS + EXPONENTS * axis + digits];
}

// Sixteenths of a bit of a vector.
INLINE uint vector_bits(Part part, int2 vector)
{
    int2 difference = vector - part.expected;
    bool is_expected = difference.x == 0 && difference.y == 0;
    uint first = part.flat[0] + part.same[is_expected];
    if (is_expected)
        return first;
    return first + component_bits(part.costs, 0, difference.x, true) +
           component_bits(part.costs, 1, difference.y, difference.x != 0);
}

INLINE uint motion_bits(Part part, Cell cell)
{
    return cell.is_flat ? part.flat[1] + 16 * 16 : vector_bits(part, vector_of(cell));
}

INLINE uint split_bits(Field field, __global const uint *costs, int x, int y, bool is_split)
{
    int near = (x > 0 && !is_whole(field, x - 1, y)) + (y > slice_start(field, y) && !is_whole(field, x, y - 1));
    return costs[2 * (SPLIT + near) + is_split];
}

INLINE uint quarter_bits(Field field, __global const uint *costs, int x, int y, bool is_quartered)
{
    int first = 2 * slice_start(field, y / 2);
    int near = (x > 0 && *quartered(field, x - 1, y)) + (y > first && *quartered(field, x, y - 1));
    return costs[2 * (QUARTER + near) + is_quartered];
}

INLINE ulong worth_of(__global const uint *costs, uint bits)
{
    return (((ulong)costs[LAMBDA + 1] << 32) | costs[LAMBDA]) * bits;
}

// The first sample of the window of a unit, along an axis.
INLINE int start_of(int unit)
{
    return UNIT_SIDE * unit - UNIT_SIDE / 2;
}

// The weight of a unit's window along an axis of so many units.
INLINE uint weight_of(int unit, int units, int at)
{
    if (at < UNIT_SIDE)
        return unit == 0 ? WEIGHT : RISING[at];
    return unit + 1 == units ? WEIGHT : WEIGHT - RISING[at - UNIT_SIDE];
}

INLINE uchar own_at(__global const uchar *source, int width, int height, int x, int y)
{
    return source[(size_t)clamp(y, 0, height - 1) * width + clamp(x, 0, width - 1)];
}

INLINE Taps taps_of(Plane from, int left, int top, int side, int2 vector)
{
    int pitch = from.width + 2 * BORDER, rows = from.height + 2 * BORDER;
    int x = (4 * left + vector.x) >> 1, y = (4 * top + vector.y) >> 1, dx = vector.x & 1, dy = vector.y & 1;
    int column = (x >> 1) + BORDER, row = (y >> 1) + BORDER;
    Taps taps = {0, 0, 0, 0, pitch, 0};
    if (column < 0 || row < 0 || column + side >= pitch || row + side >= rows)
        return taps;
#define PLACE(x, y) ((((x) & 1) + 2 * ((y) & 1)) * (uint)rows + ((y) >> 1) + BORDER) * (uint)pitch + ((x) >> 1) + BORDER
    taps.first = PLACE(x, y);
    taps.right = PLACE(x + dx, y);
    taps.below = PLACE(x, y + dy);
    taps.both = PLACE(x + dx, y + dy);
#undef PLACE
    taps.count = (1 + dx) * (1 + dy);
    return taps;
}

// The sample in this column and row of a square, so moved.
INLINE uint tapped(Plane from, Taps taps, int left, int top, int2 vector, int column, int row)
{
    uint at = (uint)row * taps.pitch + column;
    __global const uchar *samples = from.samples;
    switch (taps.count) {
    case 1:
        return samples[taps.first + at];
    case 2:
        return (samples[taps.first + at] + samples[taps.both + at] + 1) >> 1;
    case 4:
        return (samples[taps.first + at] + samples[taps.right + at] + samples[taps.below + at] + samples[taps.both + at] + 2) >> 2;
    default:
        return quarter_at(from, left + column, top + row, vector.x, vector.y);
    }
}

// Makes the sum of the group out of those of its work-items.
INLINE uint add_up(uint own, __local uint *sum)
{
    SYNC;
    for EACH_OF(i, 0, 1)
        *sum = 0;
    SYNC;
    atomic_add(sum, own);
    SYNC;
    return *sum;
}

// Makes the sums of candidates ready to be added to.
INLINE void clear_sums(__local Shared *shared)
{
    for EACH_OF(i, 0, CANDIDATES * SPREAD)
        shared->sums[i] = 0;
}

INLINE void add_to(__local Shared *shared, int candidate, uint sum)
{
    atomic_add(&shared->sums[SPREAD * candidate + get_local_id(0) % SPREAD], sum);
}

INLINE uint sum_of(__local const Shared *shared, int candidate)
{
    uint sum = 0;
    for (int i = 0; i < SPREAD; i++)
        sum += shared->sums[SPREAD * candidate + i];
    return sum;
}

// A part of the group's work-items, which compares one of several candidates while others compare others.
typedef struct {
    int size, place, number, count;
} Team;

// The work-item's team, where there are `count` candidates, at most 16.
INLINE Team team_for(int count)
{
    int all = get_local_size(0), own = get_local_id(0);
    int parts = count <= 1 ? 1 : (count <= 2 ? 2 : (count <= 4 ? 4 : (count <= 8 ? 8 : 16)));
    int size = max(all / parts, min(TEAM_MIN, all));
    Team team = {size, own % size, own / size, all / size};
    return team;
}

#define EACH_OF_TEAMS(k, count) (int k = team.number; k < (count); k += team.count)
#define EACH_OF_TEAM(i, to) (int i = team.place; i < (to); i += team.size)

// The work-item's part of the difference of a square from what a vector makes of it.
INLINE uint difference_of(Square square, Team team, Taps taps, int2 vector)
{
    uint sum = 0;
    int side = 1 << square.side_log;
    __global const uchar *samples = square.from.samples;
#define ADD(value)                                                                     \
    for EACH_OF_TEAM(i, side * side >> square.step_log) {                              \
        int column = i & (side - 1), row = i >> square.side_log << square.step_log;    \
        uint at = (uint)row * taps.pitch + column;                                     \
        sum += abs((int)square.own[row * side + column] - (int)(value));               \
    }
    switch (taps.count) {
    case 1:
        ADD(samples[taps.first + at]);
        break;
    case 2:
        ADD((samples[taps.first + at] + samples[taps.both + at] + 1) >> 1);
        break;
    default:
        ADD(tapped(square.from, taps, square.left, square.top, vector, column, row));
    }
#undef ADD
    return sum;
}

// Compares a square with what each of `count` vectors makes of it; keeps the cheapest.
INLINE void compare(Square square, Part part, __local const int2 *vectors, int count, Found *found, __local Shared *shared)
{
    SYNC;
    clear_sums(shared);
    SYNC;
    Team team = team_for(count);
    for EACH_OF_TEAMS(k, count) {
        int2 vector = vectors[k];
        add_to(shared, k, difference_of(square, team, taps_of(square.from, square.left, square.top, 1 << square.side_log, vector), vector));
        if (team.place == 0)
            shared->bits[k] = vector_bits(part, vector);
    }
    SYNC;
    for (int k = 0; k < count; k++) {
        ulong cost = (ulong)sum_of(shared, k) * square.worth + worth_of(part.costs, shared->bits[k]);
        if (cost < found->cost) {
            found->cost = cost;
            found->vector = vectors[k];
        }
    }
}

// The best of `count` candidates, and of what lies around it at the stride and less.
INLINE Found best_of(Square square, Part part, __local const int2 *candidates, int count, int stride, __local Shared *shared)
{
    Found found = {(int2)(0, 0), ULONG_MAX};
    compare(square, part, candidates, count, &found, shared);
    ulong quiet = worth_of(part.costs, 16) * QUIET_BITS;
    int steps = 0;
    while (stride > 0 && found.cost > quiet) {
        int2 middle = found.vector;
        SYNC;
        for EACH_OF(k, 0, 4)
            shared->around[k] = middle + stride * (int2)((k == 0) - (k == 1), (k == 2) - (k == 3));
        compare(square, part, shared->around, 4, &found, shared);
        steps++;
        if (is_equal(found.vector, middle) || steps >= STEPS)
            stride /= 2;
    }
    return found;
}
