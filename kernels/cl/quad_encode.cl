// Quantiser and block encoder: coefficients to the bytes of each block.
//
// Maths: with m = |c| * inverse, q = trunc(min(m, 2^MAX_LENGTH - 1)) if that is at least 3, else 0, 1 or 2 by two
//   thresholds that depend on the activity around, as in src/reference/quantise.rs, with the sign of c; then the code
//   of src/reference/quad.rs: symbols by rANS in reverse, signs and low bits raw.
// Shapes: `bands` is the Mallat square with `pitch` from row to row; `blocks` are described in quad.cl. The bytes of
//   block b are at the start of slot b of `slots`, SLOT_BYTES apart, and `sizes[b]` says how many there are. `table`
//   holds for each context and symbol its frequency, start, and 2^40 / frequency + 1 as two halves: for states
//   below frequency * 2^12 multiplying by it divides exactly.
// NDRange: quad_encode (blocks * BLOCK_LSIZE), the first block being `first`; quad_gather likewise.
// One group codes one block: all its work-items quantise and measure, the first one codes.

// Magnitude in parts of a step, at most 255.
int parts_of(float coefficient, float inverse)
{
    return (int)min(fabs(coefficient) * inverse * (float)PARTS, 255.0f);
}

// The lowest threshold there is: what is below becomes 0 wherever it is.
#define MOST_ACTIVE (8 + BESIDE_ONE)
#define LEAST max(FIRST_QUIET - FIRST_QUIET_SLOPE * MOST_ACTIVE, FIRST_BUSY - FIRST_BUSY_SLOPE * MOST_ACTIVE)

// What a coefficient of that many `parts` becomes whose quad's neighbours have this activity and the largest of whose
// quad's other coefficients is `others`, cut to an integer.
int decide(float coefficient, float inverse, int parts, int activity, int others)
{
    int magnitude = (int)min(fabs(coefficient) * inverse, (float)((1 << MAX_LENGTH) - 1));
    if (parts < PLAIN) {
        int one = activity + (others >= 1 ? BESIDE_ONE : 0), two = activity + (others >= 2 ? BESIDE_TWO : 0);
        int first = max(FIRST_QUIET - FIRST_QUIET_SLOPE * one, FIRST_BUSY - FIRST_BUSY_SLOPE * one);
        int second = max(SECOND - SECOND_SLOPE * two, 2 * PARTS);
        magnitude = (parts >= first) + (parts >= second);
    }
    return coefficient < 0.0f ? -magnitude : magnitude;
}

// Parts of a step cut to steps, at most 2.
#define WHOLE(parts) min((parts) / PARTS, 2)

// Appends the symbol or symbols of `value`.
#define PUT(context, value)                                                                                            \
    do {                                                                                                               \
        int put_value = (value);                                                                                       \
        symbols[count++] = (ushort)((context) * SYMBOLS + min(put_value, ESCAPE_SYMBOL));                              \
        if (put_value >= ESCAPE_SYMBOL)                                                                                \
            symbols[count++] = (ushort)(ESCAPE * SYMBOLS + put_value - ESCAPE_SYMBOL);                                 \
    } while (0)

// Lists the symbols of a block in decoding order; returns how many.
int list_symbols(__local ushort *restrict symbols, __local const uchar *restrict lengths,
                 __local const uchar *restrict quads, Block block, int peak)
{
    int columns = (block.width + 1) / 2, rows = (block.height + 1) / 2, count = 0;
    PUT(PEAK + block.class, peak);
    int row = quad_row(peak, block.diagonal);
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < columns; x++)
            PUT(quad_context(quads, y, x, peak, row), peak - quads[QUAD_AT(y, x)]);
    for (int y = 0; y < rows; y++) {
        for (int x = 0; x < columns; x++) {
            int quad = quads[QUAD_AT(y, x)];
            if (quad == 0)
                continue;
            __local const uchar *at = lengths + LENGTH_AT(2 * y, 2 * x);
            int context = coefficient_row(quad);
            int right = quads[QUAD_AT(y, x + 1)], below = quads[QUAD_AT(y + 1, x)];
            int drop_0 = quad - at[0], drop_1 = quad - at[1];
            int drop_2 = quad - at[LENGTH_PITCH], drop_3 = quad - at[LENGTH_PITCH + 1];
            int reached_1 = drop_0 == 0, reached_2 = reached_1 | (drop_1 == 0);
            PUT(coefficient_context(context, quad, 0, at[-1], at[-LENGTH_PITCH]), drop_0);
            PUT(coefficient_context(context, quad, 1 + reached_1, right, at[1 - LENGTH_PITCH]), drop_1);
            PUT(coefficient_context(context, quad, 3 + reached_2, at[LENGTH_PITCH - 1], below), drop_2);
            if (reached_2 | (drop_2 == 0))
                PUT(coefficient_context(context, quad, 5, right, below), drop_3);
        }
    }
    return count;
}

// Writes signs and low bits from the start of a slot on; returns how many bits. The word that holds the last bit
// is complete.
int write_raw_bits(__global uint *restrict words, __local const int *restrict quantised,
                   __local const uchar *restrict quads, Block block)
{
    ulong pending = 0;
    int bits = 0, word = 0;
    for (int y = 0; y < (block.height + 1) / 2; y++) {
        for (int x = 0; x < (block.width + 1) / 2; x++) {
            if (quads[QUAD_AT(y, x)] == 0)
                continue;
            for (int position = 0; position < 4; position++) {
                int value = quantised[(2 * y + position / 2) * SIDE + 2 * x + position % 2];
                uint magnitude = abs(value);
                int length = 32 - (int)clz(magnitude);
                uint low = magnitude ^ ((1u << length) >> 1);
                pending |= (ulong)((low << 1) | (uint)(value < 0)) << bits;
                bits += length;
                if (bits >= 32) {
                    words[word++] = (uint)pending;
                    pending >>= 32;
                    bits -= 32;
                }
            }
        }
    }
    words[word] = (uint)pending;
    return 32 * word + bits;
}

BLOCK_GROUP __kernel void quad_encode(__global const float *restrict bands, int pitch,
                                      __global const Block *restrict blocks, int first, int step,
                                      __global const uint4 *restrict table, __global const float4 *restrict steps,
                                      __global uint *restrict slots, __global uint *restrict sizes)
{
    __local int quantised[SIDE * SIDE];
    __local uchar lengths[LENGTH_CELLS];
    __local uchar quads[QUAD_CELLS];
    __local ushort symbols[2 + 2 * QUADS * QUADS + 2 * SIDE * SIDE];
    __local int group_peak;

    int number = first + (int)get_group_id(0);
    Block block = blocks[number];
    float inverse = steps[min(step + block.coarser, LAST_STEP)].x;
    bands += (size_t)block.y * pitch + block.x;
    for BLOCK_EACH(i, 0, LENGTH_PITCH)
        lengths[i] = lengths[i * LENGTH_PITCH] = 0;
    for BLOCK_EACH(i, 0, QUAD_PITCH)
        quads[QUADS * QUAD_PITCH + i] = quads[i * QUAD_PITCH + QUADS] = 0;
    if (get_local_id(0) == 0)
        group_peak = 0;
    // First, magnitudes in parts of a step, where lengths will be, and the largest of each quad.
    for (int y = 0; y < SIDE; y++) {
        int width = y < block.height ? block.width : 0;
        for BLOCK_EACH(x, 0, SIDE)
            lengths[LENGTH_AT(y, x)] =
                x < width ? (uchar)parts_of(bands[(size_t)y * pitch + x], inverse) : 0;
    }
    SYNC;
    for (int y = 0; y < QUADS; y++) {
        for BLOCK_EACH(x, 0, QUADS) {
            __local const uchar *at = lengths + LENGTH_AT(2 * y, 2 * x);
            quads[QUAD_AT(y, x)] = max(max(at[0], at[1]), max(at[LENGTH_PITCH], at[LENGTH_PITCH + 1]));
        }
    }
    SYNC;
    for (int y = 0; y < QUADS; y++) {
        for BLOCK_EACH(x, 0, QUADS) {
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
                if (parts[position] >= LEAST)
                    decided = decide(bands[(size_t)row * pitch + column], inverse, parts[position], activity,
                                     WHOLE(largest[position]));
                quantised[row * SIDE + column] = decided;
                lengths[LENGTH_AT(row, column)] = (uchar)(32 - (int)clz((uint)abs(decided)));
            }
        }
    }
    SYNC;
    int peak = 0;
    for (int y = 0; y < QUADS; y++) {
        for BLOCK_EACH(x, 0, QUADS) {
            __local const uchar *at = lengths + LENGTH_AT(2 * y, 2 * x);
            uchar quad = max(max(at[0], at[1]), max(at[LENGTH_PITCH], at[LENGTH_PITCH + 1]));
            quads[QUAD_AT(y, x)] = quad;
            peak = max(peak, (int)quad);
        }
    }
    atomic_max(&group_peak, peak);
    SYNC;
    if (get_local_id(0) != 0)
        return;
    peak = group_peak;
    if (peak == 0) {
        sizes[number] = 0;
        return;
    }
    __global uint *words = slots + (size_t)number * (SLOT_BYTES / 4);
    int raw_bits = write_raw_bits(words, quantised, quads, block);
    int count = list_symbols(symbols, lengths, quads, block, peak);
    __global uchar *slot = (__global uchar *)words;
    int end = RAW_BYTES(raw_bits);
    uint last = slot[end] | ((uint)slot[end + 1] << 8) | ((uint)slot[end + 2] << 16);
    uint leading = 1u << PAYLOAD_BITS(raw_bits);
    uint state = leading | (last & (leading - 1));
    for (int i = count - 1; i >= 0; i--) {
        uint4 entry = table[symbols[i]];
        uint limit = entry.x << PROBABILITY_BITS;
        slot[end] = (uchar)state;
        slot[end + 1] = (uchar)(state >> 8);
        int bytes = (state >= limit) + ((state >> 8) >= limit);
        state >>= 8 * bytes;
        end += bytes;
        uint quotient = (uint)(((ulong)state * (((ulong)entry.w << 32) | entry.z)) >> 40);
        state += quotient * ((1u << PROBABILITY_BITS) - entry.x) + entry.y;
    }
    slot[end] = (uchar)state;
    slot[end + 1] = (uchar)(state >> 8);
    slot[end + 2] = (uchar)(state >> 16);
    sizes[number] = (uint)(end + 3);
}

// Moves the blocks' bytes together: block b to `places[b]` in `out`.
BLOCK_GROUP __kernel void quad_gather(__global const uchar *restrict slots, __global const uint *restrict sizes,
                                      __global const uint *restrict places, __global uchar *restrict out)
{
    int number = get_group_id(0);
    __global const uchar *from = slots + (size_t)number * SLOT_BYTES;
    out += places[number];
    int size = (int)sizes[number];
    for BLOCK_EACH(i, 0, size)
        out[i] = from[i];
}
