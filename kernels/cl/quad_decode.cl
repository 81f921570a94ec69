// Block decoder and dequantiser: the bytes of each block to coefficients.
//
// Maths: the inverse of quad_encode.cl; a coefficient of magnitude m > 0 becomes fma(m, step, offset) with its sign,
//   where 1 has an offset of its own.
// Shapes: block b (see quad.cl) has the `spans[b].y` bytes of `bytes` from `spans[b].x` on; none: all zero; the length
//   MISSING: nothing is known of it. `table` holds the start of each context and symbol and, from bit 16 on, its
//   frequency, SYMBOLS a context. `steps` is described in quad.cl; blocks from `fine_blocks` on use the step after `step`.
//   Writes the block's rectangle, cut to `side` columns and rows, of `bands`, except of a coarse block that is missing or
//   damaged, which keeps what is there, and `damaged[b]`: 1 if no encoder makes these bytes.
// NDRange: (blocks). A group's first work-item decodes bit-lengths, one after another; then each reads the raw bits of some
//   rows of quads. More blocks to a group take longer: their ways through the code part.
// Bytes come from strangers: reads stop at both ends of a block, and every bit-length is bounded before it is used.

typedef struct {
    __global const uchar *bytes;
    // How many bytes have not been shifted in; less than none if a block is cut short.
    int left;
    uint state;
} Rans;

// The last but `after` of the bytes that have not been shifted in.
INLINE uint byte_after(const Rans *rans, int after)
{
    int at = rans->left - after - 1;
    uint byte = rans->bytes[max(at, 0)];
    return at >= 0 ? byte : 0;
}

INLINE Rans start_rans(__global const uchar *bytes, int size)
{
    Rans rans = {bytes, size, 0};
    rans.state = (byte_after(&rans, 0) << 16) | (byte_after(&rans, 1) << 8) | byte_after(&rans, 2);
    rans.left -= 3;
    return rans;
}

// Start and frequency of a symbol, and the first slot after its own.
#define START(entry) ((int)((entry) & 0xffff))
#define END(entry) (START(entry) + (int)((entry) >> 16))

// Takes the next symbol. The way from one state to the next has no branch but for rare symbols; the bytes that may be
// shifted in are fetched before it is known whether they are.
INLINE int get_symbol(Rans *rans, int context, __global const uint4 *restrict table)
{
    uint bytes = (byte_after(rans, 0) << 8) | byte_after(rans, 1);
    int slot = rans->state & ((1 << PROBABILITY_BITS) - 1), symbol = 0;
    __global const uint4 *row = table + context * (SYMBOLS / 4);
    uint4 four = row[0];
    if (slot >= END(four.w)) {
        do {
            symbol += 4;
            four = row[symbol / 4];
        } while (slot >= END(four.w) && symbol < SYMBOLS - 4);
    }
    bool y = slot >= START(four.y), z = slot >= START(four.z), w = slot >= START(four.w);
    uint entry = w ? four.w : z ? four.z : y ? four.y : four.x;
    uint state = (entry >> 16) * (rans->state >> PROBABILITY_BITS) + (uint)(slot - START(entry));
    int count = (state < (1u << 16)) + (state < (1u << 8));
    rans->state = (state << (8 * count)) | (bytes >> (16 - 8 * count));
    rans->left -= count;
    return symbol + y + z + w;
}

INLINE int get_value(Rans *rans, int context, __global const uint4 *restrict table)
{
    int symbol = get_symbol(rans, context, table);
    return symbol < ESCAPE_SYMBOL ? symbol : symbol + get_symbol(rans, ESCAPE, table);
}

#define GET(context) get_value(&rans, (context), table)

// What is known of a block while it is decoded.
typedef struct {
    // Bit-lengths of coefficients and, from QUADS_FROM on, of quads.
    uchar cells[LENGTH_CELLS + QUAD_CELLS];
    // Of the first lane: whether all is well so far, how many raw bytes there are, the encoder's first state.
    int whole, raw_len;
    uint state;
    // Raw bits of each lane.
    int bits[BLOCK_LSIZE];
} Decoding;

#define QUADS_FROM LENGTH_CELLS

// Decodes the bit-lengths of a block of at least one byte, which are zero before; false if it is damaged. What the next
// contexts need is kept in registers: the way from symbol to symbol is what takes the time.
INLINE bool decode_lengths(__global const uchar *restrict bytes, int size, Block block, __local Decoding *work,
                           __global const uint4 *restrict table)
{
    __local uchar *quads = work->cells + QUADS_FROM;
    Rans rans = start_rans(bytes, size);
    int columns = (block.width + 1) / 2, rows = (block.height + 1) / 2;
    int peak = GET(PEAK + block.class);
    if (peak < 1 || peak > MAX_LENGTH)
        return false;
    bool good = true;
    int first_context = quad_row(peak, block.diagonal);
    for (int y = 0; y < rows; y++) {
        int drop = 0;
        for (int x = 0; x < columns; x++) {
            int left = x > 0 ? drop : -1;
            int up = y > 0 ? peak - quads[QUAD_AT(y - 1, x)] : left;
            left = x > 0 ? left : up;
            drop = GET(first_context + clamp(left + up, 0, QUAD_SUMS - 1));
            good = good && drop <= peak;
            drop = min(drop, peak);
            quads[QUAD_AT(y, x)] = (uchar)(peak - drop);
        }
    }
    for (int y = 0; y < rows; y++) {
        // Of the quad before: the bit-lengths in its right column. And this quad's.
        int before_1 = 0, before_3 = 0, quad = quads[QUAD_AT(y, 0)];
        for (int x = 0; x < columns; x++) {
            int right = quads[QUAD_AT(y, x + 1)], below = quads[QUAD_AT(y + 1, x)];
            __local uchar *at = work->cells + LENGTH_AT(2 * y, 2 * x);
            int above_0 = at[-LENGTH_PITCH], above_1 = at[1 - LENGTH_PITCH];
            int length_0 = 0, length_1 = 0, length_2 = 0, length_3 = 0;
            if (quad > 0) {
                int context = coefficient_row(quad);
                int drop_0 = GET(coefficient_context(context, quad, 0, before_1, above_0));
                int reached = drop_0 == 0;
                int drop_1 = GET(coefficient_context(context, quad, 1 + reached, right, above_1));
                reached |= drop_1 == 0;
                int drop_2 = GET(coefficient_context(context, quad, 3 + reached, before_3, below));
                reached |= drop_2 == 0;
                int drop_3 = reached ? GET(coefficient_context(context, quad, 5, right, below)) : 0;
                good = good && max(max(drop_0, drop_1), max(drop_2, drop_3)) <= quad;
                length_0 = max(quad - drop_0, 0), length_1 = max(quad - drop_1, 0);
                length_2 = max(quad - drop_2, 0), length_3 = max(quad - drop_3, 0);
                at[0] = (uchar)length_0;
                at[1] = (uchar)length_1;
                at[LENGTH_PITCH] = (uchar)length_2;
                at[LENGTH_PITCH + 1] = (uchar)length_3;
            }
            before_1 = length_1;
            before_3 = length_3;
            quad = right;
        }
    }
    work->raw_len = rans.left;
    work->state = rans.state;
    return good && rans.left >= 0;
}

// Reads signs and low bits of the coefficients in rows `from` to `to` of quads, which start at bit `bit`, and turns
// bit-lengths into coefficients. The last bits are those of the encoder's first state.
INLINE void read_raw_bits(__global const uchar *restrict raw, __local Decoding *work, Block block, float4 step, int from,
                          int to, int bit, __global float *restrict bands, int pitch, int width, int height)
{
    int raw_len = work->raw_len, at = bit / 8, bits = -(bit % 8);
    uint state = work->state;
    ulong pending = 0;
    for (int y = from; y < to; y++) {
        for (int x = 0; x < (block.width + 1) / 2; x++) {
            if (work->cells[QUADS_FROM + QUAD_AT(y, x)] == 0)
                continue;
            for (int position = 0; position < 4; position++) {
                int row = 2 * y + position / 2, column = 2 * x + position % 2;
                int length = work->cells[LENGTH_AT(row, column)];
                if (length == 0)
                    continue;
                if (bits < MAX_LENGTH) {
                    if (at + 4 <= raw_len) {
                        uint word = raw[at] | ((uint)raw[at + 1] << 8) | ((uint)raw[at + 2] << 16) |
                                    ((uint)raw[at + 3] << 24);
                        pending |= bits < 0 ? word >> -bits : (ulong)word << bits;
                        bits += 32;
                        at += 4;
                    }
                    while (bits < MAX_LENGTH) {
                        int beyond = min(at - raw_len, 3);
                        uint byte = beyond < 0 ? raw[at] : (state >> (8 * beyond)) & 0xff;
                        pending |= bits < 0 ? byte >> -bits : (ulong)byte << bits;
                        bits += 8;
                        at++;
                    }
                }
                uint sign = (uint)pending << 31;
                uint top = (1u << length) >> 1;
                uint magnitude = (((uint)pending >> 1) & (top - 1)) | top;
                float value = fma((float)magnitude, step.y, magnitude == 1 ? step.z : step.w);
                if (row < height && column < width)
                    bands[(size_t)row * pitch + column] = as_float(as_uint(value) | sign);
                pending >>= length;
                bits -= length;
            }
        }
    }
}

BLOCK_GROUP __kernel void quad_decode(__global const uchar *restrict bytes, __global const uint2 *restrict spans,
                                      __global const Block *restrict blocks,
                                      __global const uint4 *restrict table, __global const float4 *restrict steps,
                                      int step, uint fine_blocks, __global float *restrict bands, int pitch, int side,
                                      __global uint *restrict damaged)
{
    __local Decoding decoding;
    __local Decoding *work = &decoding;
    int lane = get_local_id(0), number = get_group_id(0);
    Block block = blocks[number];
    uint2 span = spans[number];
    bool coded = span.y != MISSING && span.y > 0;
    if (coded) {
        for (int i = lane; i < LENGTH_CELLS + QUAD_CELLS; i += BLOCK_LSIZE)
            work->cells[i] = 0;
    }
    SYNC;
    if (lane == 0)
        work->whole = !coded || decode_lengths(bytes + span.x, (int)span.y, block, work, table);
    SYNC;
    int rows = (block.height + 1) / 2, share = (rows + BLOCK_LSIZE - 1) / BLOCK_LSIZE;
    int from = min(lane * share, rows), to = min(from + share, rows);
    bool whole = work->whole;
    if (coded && whole)
        work->bits[lane] = count_raw_bits(work->cells, block, from, to);
    SYNC;
    int before = 0;
    if (coded && whole) {
        int total = 0;
        for (int i = 0; i < BLOCK_LSIZE; i++) {
            int bits = work->bits[i];
            whole = whole && bits >= 0;
            before += i < lane ? bits : 0;
            total += bits;
        }
        whole = whole && work->raw_len == RAW_BYTES(total) && 31 - (int)clz(work->state) == PAYLOAD_BITS(total);
    }
    if (lane == 0)
        damaged[number] = !whole;
    bool known = whole && span.y != MISSING, written = known || !block.coarse;
    int width = min(block.width, side - block.x), height = min(block.height, side - block.y);
    bands += (size_t)block.y * pitch + block.x;
    for (int y = 0; written && y < height; y++)
        for (int x = lane; x < width; x += BLOCK_LSIZE)
            bands[(size_t)y * pitch + x] = 0.0f;
    barrier(CLK_GLOBAL_MEM_FENCE);
    if (written && known && coded) {
        step = min(step + ((uint)block.index >= fine_blocks), LAST_STEP);
        step = min(step + block.coarser, LAST_STEP);
        read_raw_bits(bytes + span.x, work, block, steps[step], from, to, before, bands, pitch, width, height);
    }
}
