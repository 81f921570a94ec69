// A block's coefficients to the integers that are coded, and their bit-lengths.
//
// Maths: with m = |c| * inverse, q = trunc(min(m, 2^MAX_LENGTH - 1)) if that is at least 3, else 0, 1 or 2 by two
//   thresholds that depend on the activity around, with the sign of c, as in src/reference/quantise.rs. LOSSLESS: q = c.
// Shapes: `bands` starts at the block, `pitch` from row to row; `quantised` holds SIDE x SIDE integers, `lengths` their
//   bit-lengths as quad.cl has them, and `quads`, for a while, the largest parts of a step of each quad.
// BLOCK_LANES work-items share a block, each the columns or quads of its number; all of it is there when they return.

#define LENGTH(value) (uchar)(32 - (int)clz((uint)abs(value)))

#if LOSSLESS
// Takes this lane's part of a block of `bands` as it is: coefficients and their bit-lengths.
INLINE void load_block(__local int *quantised, __local uchar *lengths, __global const VALUE *restrict bands, int pitch,
                       BlockInfo block, int lane)
{
    for (int y = 0; y < SIDE; y++) {
        int width = y < block.height ? block.width : 0;
        for (int x = lane; x < SIDE; x += BLOCK_LANES) {
            int value = x < width ? bands[(size_t)y * pitch + x] : 0;
            quantised[y * SIDE + x] = value;
            lengths[LENGTH_AT(y, x)] = LENGTH(value);
        }
    }
    SYNC;
}
#else
// Magnitude in parts of a step, at most 255.
int parts_of(float coefficient, float inverse)
{
    return (int)min(fabs(coefficient) * inverse * (float)PARTS, 255.0f);
}

// The value from which on a magnitude becomes 1, in parts of a step.
int first_threshold(StepValues step, int activity)
{
    return max(step.quiet - QUIET_SLOPE * activity, step.busy - BUSY_SLOPE * activity);
}

// The most activity there is, with which the threshold is the lowest: what is below becomes 0 wherever it is.
#define MOST_ACTIVE (8 + BESIDE_ONE)

// What a coefficient of that many `parts` becomes whose quad's neighbours have this activity and the largest of whose
// quad's other coefficients is `others`, cut to an integer.
int decide(float coefficient, StepValues step, int parts, int activity, int others)
{
    int magnitude = (int)min(fabs(coefficient) * step.inverse, (float)((1 << MAX_LENGTH) - 1));
    if (parts < PLAIN) {
        int one = activity + (others >= 1 ? BESIDE_ONE : 0), two = activity + (others >= 2 ? BESIDE_TWO : 0);
        int first = first_threshold(step, one);
        int second = max(SECOND - SECOND_SLOPE * two, 2 * PARTS);
        magnitude = (parts >= first) + (parts >= second);
    }
    return coefficient < 0.0f ? -magnitude : magnitude;
}

// Parts of a step cut to steps, at most 2.
#define WHOLE(parts) min((parts) / PARTS, 2)

// Quantises this lane's part of a block of `bands`: coefficients and their bit-lengths.
INLINE void quantise_block(__local int *quantised, __local uchar *lengths, __local uchar *quads,
                           __global const VALUE *restrict bands, int pitch, BlockInfo block, StepValues step, int lane)
{
    // First, magnitudes in parts of a step, where lengths will be, and the largest of each quad.
#pragma unroll 2
    for (int y = 0; y < SIDE; y++) {
        int width = y < block.height ? block.width : 0;
        for (int x = lane; x < SIDE; x += BLOCK_LANES) {
            float coefficient = x < width ? bands[(size_t)y * pitch + x] : 0.0f;
            quantised[y * SIDE + x] = as_int(coefficient);
            lengths[LENGTH_AT(y, x)] = (uchar)parts_of(coefficient, step.inverse);
        }
    }
    SYNC;
    for (int y = 0; y < QUADS; y++) {
        for (int x = lane; x < QUADS; x += BLOCK_LANES) {
            __local const uchar *at = lengths + LENGTH_AT(2 * y, 2 * x);
            quads[QUAD_AT(y, x)] = max(max(at[0], at[1]), max(at[LENGTH_PITCH], at[LENGTH_PITCH + 1]));
        }
    }
    SYNC;
    int least = first_threshold(step, MOST_ACTIVE);
    for (int y = 0; y < QUADS; y++) {
        for (int x = lane; x < QUADS; x += BLOCK_LANES) {
            __local uchar *at = lengths + LENGTH_AT(2 * y, 2 * x);
            int4 four = (int4)(at[0], at[1], at[LENGTH_PITCH], at[LENGTH_PITCH + 1]);
            int2 pairs = max(four.xz, four.yw);
            int4 others = max(four.yxwz, pairs.yyxx);
            int activity = (x > 0 ? WHOLE(quads[QUAD_AT(y, x - 1)]) : 0) + WHOLE(quads[QUAD_AT(y, x + 1)]) +
                           (y > 0 ? WHOLE(quads[QUAD_AT(y - 1, x)]) : 0) + WHOLE(quads[QUAD_AT(y + 1, x)]);
            int parts[4] = {four.x, four.y, four.z, four.w};
            int largest[4] = {others.x, others.y, others.z, others.w};
            for (int position = 0; position < 4; position++) {
                int row = 2 * y + position / 2, column = 2 * x + position % 2, decided = 0;
                __local int *value = quantised + row * SIDE + column;
                if (parts[position] >= least)
                    decided = decide(as_float(*value), step, parts[position], activity, WHOLE(largest[position]));
                *value = decided;
                lengths[LENGTH_AT(row, column)] = LENGTH(decided);
            }
        }
    }
    SYNC;
}
#endif
