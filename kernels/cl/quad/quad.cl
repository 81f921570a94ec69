// Shared by the block encoder and decoder: a block's bit-lengths and the contexts, and what becomes of an integer.
//
// The code is described in src/reference/quad.rs and the contexts in src/tables.rs. The macros PEAK, QUAD,
// QUAD_PEAKS, QUAD_SUMS, COEFFICIENT, COEFFICIENT_PEAKS, COEFFICIENT_STATES, COEFFICIENT_SUMS, ESCAPE, SYMBOLS,
// MAX_LENGTH and PROBABILITY_BITS come from there.
//
// Blocks, spans and steps are described in src/opencl/transform/params.rs; `steps` has one for each step index, up to
// LAST_STEP. Bit-lengths are kept with a border of zeros, so that neighbours outside the block need no test.
// LOSSLESS: coefficients are integers, and steps mean nothing.

#if LOSSLESS
#define VALUE int
#else
#define VALUE float
#endif

#define QUADS (SIDE / 2)
#define LENGTH_PITCH (SIDE + 1)
#define QUAD_PITCH (QUADS + 1)
#define LENGTH_CELLS (LENGTH_PITCH * LENGTH_PITCH)
#define QUAD_CELLS (QUAD_PITCH * QUAD_PITCH)
// Cell of the coefficient in row y and column x: the border is above and to the left.
#define LENGTH_AT(y, x) (((y) + 1) * LENGTH_PITCH + (x) + 1)
// Cell of the quad in row y and column x: the border is below and to the right.
#define QUAD_AT(y, x) ((y) * QUAD_PITCH + (x))
// Of an entry of either table.
#define FREQUENCY_MASK ((1u << FREQUENCY_BITS) - 1)
#define ESCAPE_SYMBOL (SYMBOLS - 1)
// Of `raw` raw bits, how many the encoder's first state carries, and whole bytes of the others.
#define PAYLOAD_BITS(raw) ((raw) < 16 ? 16 : 16 + (raw) % 8)
#define RAW_BYTES(raw) (max((raw) / 8, 2) - 2)

// Context of the drop of quad (y, x) from `peak`; `row` is the first context of this peak and orientation.
int quad_context(__local const uchar *quads, int y, int x, int peak, int row)
{
    int left = x > 0 ? peak - quads[QUAD_AT(y, x - 1)] : -1;
    int up = y > 0 ? peak - quads[QUAD_AT(y - 1, x)] : left;
    left = x > 0 ? left : up;
    return row + clamp(left + up, 0, QUAD_SUMS - 1);
}

int quad_row(int peak, int diagonal)
{
    return QUAD + (diagonal * QUAD_PEAKS + min(peak, QUAD_PEAKS) - 1) * QUAD_SUMS;
}

// How large a neighbour's bit-length is beside `quad`: 3 if equal, 4 if larger, 0 if three or more smaller.
int nearness(int length, int quad)
{
    return clamp(length + 3 - quad, 0, 4);
}

// Context of coefficient `position` (state: see table below) between neighbours `beside` and `across`; `row` is
// coefficient_row(quad).
int coefficient_context(int row, int quad, int state, int beside, int across)
{
    return row + state * COEFFICIENT_SUMS + nearness(beside, quad) + nearness(across, quad);
}

int coefficient_row(int quad)
{
    return COEFFICIENT + (min(quad, COEFFICIENT_PEAKS) - 1) * COEFFICIENT_STATES * COEFFICIENT_SUMS;
}

// Columns and rows of quads.
#define COLUMNS(block) (((block).width + 1) / 2)
#define ROWS(block) (((block).height + 1) / 2)

// The quads numbered `first` to `end`, row by row, of a block with so many columns of them, in row y and column x. Several lanes
// stay side by side in one loop; for one alone two are faster.
#if BLOCK_LANES == 1
#define EACH_QUAD(y, x, first, end, columns)                                                                           \
    (int y = (first) / (columns); y * (columns) < (end); y++)                                                          \
    for (int x = max((first)-y * (columns), 0), row_end = min((end)-y * (columns), (columns)); x < row_end; x++)
#else
#define EACH_QUAD(y, x, first, end, columns)                                                                           \
    (int i = (first), y = i / (columns), x = i % (columns); i < (end); i++, x = x + 1 < (columns) ? x + 1 : 0, y += x == 0)
#endif

// How many raw bits the coefficients in the quads `first` to `end` have, one for each bit of their lengths; -1 if one lies
// outside the block.
INLINE int count_raw_bits(__local const uchar *lengths, BlockInfo block, int first, int end)
{
    int bits = 0, outside = 0;
    for EACH_QUAD(y, x, first, end, COLUMNS(block)) {
        __local const uchar *at = lengths + LENGTH_AT(2 * y, 2 * x);
        int right = at[1] | at[LENGTH_PITCH + 1], below = at[LENGTH_PITCH] | at[LENGTH_PITCH + 1];
        bits += at[0] + at[1] + at[LENGTH_PITCH] + at[LENGTH_PITCH + 1];
        outside |= (2 * x + 1 < block.width ? 0 : right) | (2 * y + 1 < block.height ? 0 : below);
    }
    return outside ? -1 : bits;
}

// A coefficient of this magnitude, at least 1, and the sign in the highest bit.
INLINE VALUE reconstructed(uint magnitude, uint sign, StepValues step)
{
#if LOSSLESS
    return sign ? -(int)magnitude : (int)magnitude;
#else
    float value = fma((float)magnitude, step.step, magnitude == 1 ? step.offset_of_one : step.offset);
    return as_float(as_uint(value) | sign);
#endif
}
