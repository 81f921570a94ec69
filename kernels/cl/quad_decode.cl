// Block decoder and dequantiser: the bytes of each block to coefficients.
//
// Maths: the inverse of quad_encode.cl; a coefficient of magnitude m > 0 becomes fma(m, step, offset) with its sign,
//   where 1 has an offset of its own.
// Shapes: block b (see quad.cl) has the `spans[b].y` bytes of `bytes` from `spans[b].x` on; none: all zero; the length
//   MISSING: nothing is known of it. `table` holds frequency and start of each context and symbol, `starts` the
//   starts alone, SYMBOLS a context. `steps` is described in quad.cl; blocks from `fine_blocks` on use the step
//   after `step`.
//   Writes the block's rectangle, cut to `side` columns and rows, of `bands`, except of a coarse block that is missing or damaged, which keeps what is
//   there, and `damaged[b]`: 1 if no encoder makes these bytes.
// NDRange: (blocks * BLOCK_LSIZE).
// Bytes come from strangers: reads stop at both ends of a block, and every bit-length is bounded before it is used.

typedef struct {
    __global const uchar *bytes;
    int left;
    uint state;
} Rans;

INLINE uint shift_in(Rans *rans)
{
    rans->left--;
    uint byte = rans->left >= 0 ? rans->bytes[rans->left] : 0;
    return (rans->state << 8) | byte;
}

INLINE int get_symbol(Rans *rans, int context, __global const uint2 *restrict table,
                      __global const ushort *restrict starts)
{
    int slot = rans->state & ((1 << PROBABILITY_BITS) - 1);
    __global const ushort *row = starts + context * SYMBOLS;
    int symbol = (slot >= row[1]) + (slot >= row[2]) + (slot >= row[3]);
    if (slot >= row[4]) {
        symbol = 4;
        while (symbol < SYMBOLS - 1 && slot >= row[symbol + 1])
            symbol++;
    }
    uint2 entry = table[context * SYMBOLS + symbol];
    rans->state = entry.x * (rans->state >> PROBABILITY_BITS) + (uint)slot - entry.y;
    if (rans->state < (1u << 16)) {
        rans->state = shift_in(rans);
        if (rans->state < (1u << 16))
            rans->state = shift_in(rans);
    }
    return symbol;
}

INLINE int get_value(Rans *rans, int context, __global const uint2 *restrict table,
                     __global const ushort *restrict starts)
{
    int symbol = get_symbol(rans, context, table, starts);
    return symbol < ESCAPE_SYMBOL ? symbol : symbol + get_symbol(rans, ESCAPE, table, starts);
}

#define GET(context) get_value(&rans, (context), table, starts)

// Reads signs and low bits, and turns bit-lengths into coefficients; false if the raw bytes and the encoder's first
// state are not as long as the bit-lengths ask for or a coefficient lies outside the block.
bool read_raw_bits(__global const uchar *restrict raw, int raw_len, uint state, __local const uchar *restrict lengths,
                   __local const uchar *restrict quads, Block block, float4 step, __local float *restrict values)
{
    ulong pending = 0;
    int bits = 0, at = 0, total = 0;
    for (int y = 0; y < (block.height + 1) / 2; y++) {
        for (int x = 0; x < (block.width + 1) / 2; x++) {
            if (quads[QUAD_AT(y, x)] == 0)
                continue;
            for (int position = 0; position < 4; position++) {
                int row = 2 * y + position / 2, column = 2 * x + position % 2;
                int length = lengths[LENGTH_AT(row, column)];
                if (length == 0)
                    continue;
                if (row >= block.height || column >= block.width)
                    return false;
                if (bits < MAX_LENGTH) {
                    if (at + 4 <= raw_len) {
                        uint word = raw[at] | ((uint)raw[at + 1] << 8) | ((uint)raw[at + 2] << 16) |
                                    ((uint)raw[at + 3] << 24);
                        pending |= (ulong)word << bits;
                        bits += 32;
                        at += 4;
                    } else {
                        while (bits < MAX_LENGTH) {
                            // The last bits are those of the state.
                            int beyond = min(at - raw_len, 3);
                            pending |= (ulong)(beyond < 0 ? raw[at] : (state >> (8 * beyond)) & 0xff) << bits;
                            bits += 8;
                            at++;
                        }
                    }
                }
                uint sign = (uint)pending << 31;
                uint top = (1u << length) >> 1;
                uint magnitude = (((uint)pending >> 1) & (top - 1)) | top;
                float value = fma((float)magnitude, step.y, magnitude == 1 ? step.z : step.w);
                values[row * SIDE + column] = as_float(as_uint(value) | sign);
                pending >>= length;
                bits -= length;
                total += length;
            }
        }
    }
    return raw_len == RAW_BYTES(total) && 31 - (int)clz(state) == PAYLOAD_BITS(total);
}

// Decodes a block of at least one byte into `values`, which are zero before; false if it is damaged.
bool decode_block(__global const uchar *restrict bytes, int size, Block block, __local uchar *restrict lengths,
                  __local uchar *restrict quads, __local float *restrict values, __global const uint2 *restrict table,
                  __global const ushort *restrict starts, float4 step)
{
    Rans rans = {bytes, size, 0};
    for (int i = 0; i < 3; i++)
        rans.state = shift_in(&rans);
    int columns = (block.width + 1) / 2, rows = (block.height + 1) / 2;
    int peak = GET(PEAK + block.class);
    if (peak < 1 || peak > MAX_LENGTH)
        return false;
    int first_context = quad_row(peak, block.diagonal);
    for (int y = 0; y < rows; y++) {
        for (int x = 0; x < columns; x++) {
            int drop = GET(quad_context(quads, y, x, peak, first_context));
            if (drop > peak)
                return false;
            quads[QUAD_AT(y, x)] = (uchar)(peak - drop);
        }
    }
    for (int y = 0; y < rows; y++) {
        for (int x = 0; x < columns; x++) {
            int quad = quads[QUAD_AT(y, x)];
            if (quad == 0)
                continue;
            __local uchar *at = lengths + LENGTH_AT(2 * y, 2 * x);
            int context = coefficient_row(quad);
            int right = quads[QUAD_AT(y, x + 1)], below = quads[QUAD_AT(y + 1, x)];
            int drop_0 = GET(coefficient_context(context, quad, 0, at[-1], at[-LENGTH_PITCH]));
            int reached = drop_0 == 0;
            int drop_1 = GET(coefficient_context(context, quad, 1 + reached, right, at[1 - LENGTH_PITCH]));
            reached |= drop_1 == 0;
            int drop_2 = GET(coefficient_context(context, quad, 3 + reached, at[LENGTH_PITCH - 1], below));
            reached |= drop_2 == 0;
            int drop_3 = reached ? GET(coefficient_context(context, quad, 5, right, below)) : 0;
            if (max(max(drop_0, drop_1), max(drop_2, drop_3)) > quad)
                return false;
            at[0] = (uchar)(quad - drop_0);
            at[1] = (uchar)(quad - drop_1);
            at[LENGTH_PITCH] = (uchar)(quad - drop_2);
            at[LENGTH_PITCH + 1] = (uchar)(quad - drop_3);
        }
    }
    if (rans.left < 0)
        return false;
    return read_raw_bits(bytes, rans.left, rans.state, lengths, quads, block, step, values);
}

BLOCK_GROUP __kernel void quad_decode(__global const uchar *restrict bytes, __global const uint2 *restrict spans,
                                      __global const Block *restrict blocks, __global const uint2 *restrict table,
                                      __global const ushort *restrict starts, __global const float4 *restrict steps,
                                      int step, uint fine_blocks, __global float *restrict bands, int pitch,
                                      int side, __global uint *restrict damaged)
{
    __local float values[SIDE * SIDE];
    __local uchar lengths[LENGTH_CELLS];
    __local uchar quads[QUAD_CELLS];
    __local int whole;

    int number = get_group_id(0);
    Block block = blocks[number];
    uint2 span = spans[number];
    bool coded = span.y != MISSING && span.y > 0;
    for BLOCK_EACH(i, 0, SIDE * SIDE)
        values[i] = 0.0f;
    if (coded) {
        for BLOCK_EACH(i, 0, LENGTH_CELLS)
            lengths[i] = 0;
        for BLOCK_EACH(i, 0, QUAD_CELLS)
            quads[i] = 0;
    }
    SYNC;
    if (get_local_id(0) == 0) {
        step = min(step + ((uint)block.index >= fine_blocks), LAST_STEP);
        step = min(step + block.coarser, LAST_STEP);
        whole = !coded || decode_block(bytes + span.x, (int)span.y, block, lengths, quads, values, table, starts,
                                       steps[step]);
        damaged[number] = !whole;
    }
    SYNC;
    bool known = whole && span.y != MISSING;
    if (!known && block.coarse)
        return;
    bands += (size_t)block.y * pitch + block.x;
    int width = min(block.width, side - block.x), height = min(block.height, side - block.y);
    for (int y = 0; y < height; y++)
        for BLOCK_EACH(x, 0, width)
            bands[(size_t)y * pitch + x] = known ? values[y * SIDE + x] : 0.0f;
}
