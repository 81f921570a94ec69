// Block decoder and dequantiser: the bytes of each block to coefficients.
//
// Maths: the inverse of quad_encode.cl; a coefficient of magnitude m > 0 becomes fma(m, step, offset) with its sign,
//   where 1 has an offset of its own. LOSSLESS: it is m with its sign.
// Shapes: block b (see quad.cl) has the `spans[b].length` bytes of `bytes`, whole words, from `spans[b].start` on; none: all zero; the
//   length MISSING: nothing is known of it. `table` holds for each context and symbol, SYMBOLS a context, what decoder_table()
//   in params.rs makes of them. `steps` is described in quad.cl; blocks from `fine_blocks` on use the step after `step`.
//   Writes the block's rectangle, cut to `side` columns and rows, of `bands`, except of a coarse block that is missing or
//   damaged, which keeps what is there, and `damaged[b]`: 1 if no encoder makes these bytes.
// NDRange: (blocks). A group's first work-item decodes bit-lengths, one after another; then each reads the raw bits of some
//   quads. More blocks to a group take longer: their ways through the code part.
// Bytes come from strangers: reads stay in `bytes`, and what comes from them is bounded before it is an index or a length.

// A block's rANS code, read backwards from its end.
typedef struct {
    __global const uint *words;
    // Index of the word that follows, and the word itself, fetched before it is needed.
    int word;
    uint next;
    // The bytes before it, from the top: how many bits.
    ulong ahead;
    int bits;
    uint state;
    int more;
} Rans;

// Makes sure of what two symbols may take.
INLINE void refill(Rans *rans)
{
    if (rans->bits <= 32) {
        rans->ahead |= (ulong)rans->next << (32 - rans->bits);
        rans->bits += 32;
        rans->word--;
        // Before the block, bytes do not matter: it is damaged. The index may be less than nothing then.
        rans->next = rans->words[max(rans->word, 0)];
    }
}

// The code that ends before byte `end`, at least 1, of `words`.
INLINE Rans start_rans(__global const uint *words, int end)
{
    int word = (end - 1) / 4, bits = 8 * (end - 4 * word);
    Rans rans = {words, word - 1, words[max(word - 1, 0)], (ulong)words[word] << (64 - bits), bits, 0, 0};
    refill(&rans);
    rans.state = (uint)(rans.ahead >> 40);
    rans.ahead <<= 24;
    rans.bits -= 24;
    return rans;
}

// Before which byte of `words` what has been read starts.
INLINE int end_of(const Rans *rans)
{
    return 4 * (rans->word + 1) + rans->bits / 8;
}

// An entry's parts. A slot belongs to the last symbol that starts at or before it.
#define FREQUENCY(entry) ((entry) & FREQUENCY_MASK)
#define SYMBOL(entry) ((int)((entry) >> SYMBOL_BIT) & ((1 << (START_BIT - SYMBOL_BIT)) - 1))

INLINE uint entry_of(uint4 four, uint slot)
{
    uint entry = slot > four.y ? four.y : four.x;
    entry = slot > four.z ? four.z : entry;
    return slot > four.w ? four.w : entry;
}

// The entry of a symbol that is none of the first four of its row. Not in line, nor is what follows: code that is rarely run
// would keep the other from the instruction cache.
static NOINLINE uint entry_beyond(__global const uint4 *row, uint slot)
{
    uint entry = 0;
    for (int i = 1; i < SYMBOLS / 4; i++) {
        entry = entry_of(row[i], slot);
        if ((slot - entry) >> START_BIT < FREQUENCY(entry))
            break;
    }
    return entry;
}

// The first four entries of a context.
#define ROW(context) table[(context) * (SYMBOLS / 4)]

// Takes the next symbol, of which `four` is the ROW; before, two may be taken after each refill. The way from one state to the
// next has no branch but for rare symbols.
INLINE int take_symbol(Rans *rans, uint4 four, int context, __global const uint4 *restrict table)
{
    uint slot = (rans->state << START_BIT) | ((1u << START_BIT) - 1);
    uint entry = entry_of(four, slot);
    uint within = (slot - entry) >> START_BIT;
    if (within >= FREQUENCY(entry)) {
        entry = entry_beyond(&ROW(context), slot);
        within = (slot - entry) >> START_BIT;
    }
    uint state = FREQUENCY(entry) * (rans->state >> PROBABILITY_BITS) + within;
    int shift = (state < (1u << 16) ? 8 : 0) + (state < (1u << 8) ? 8 : 0);
    rans->state = (uint)(((((ulong)state << 32) | (rans->ahead >> 32)) << shift) >> 32);
    rans->ahead <<= shift;
    rans->bits -= shift;
    return SYMBOL(entry);
}

// Takes the second symbol of an escaped value to `more`.
static NOINLINE Rans take_more(Rans rans, __global const uint4 *table)
{
    refill(&rans);
    rans.more = take_symbol(&rans, ROW(ESCAPE), ESCAPE, table);
    refill(&rans);
    return rans;
}

INLINE int take_value(Rans *rans, uint4 four, int context, __global const uint4 *restrict table)
{
    int symbol = take_symbol(rans, four, context, table);
    if (symbol == ESCAPE_SYMBOL) {
        *rans = take_more(*rans, table);
        symbol += rans->more;
    }
    return symbol;
}

#define TAKE(row, context) take_value(&rans, (row), (context), table)

// No power of two, so that rows begin in different banks.
#define VALUE_PITCH (SIDE + 1)

// What is known of a block while it is decoded.
typedef struct {
    // Bit-lengths of coefficients and, from QUADS_FROM on, of quads.
    uchar cells[LENGTH_CELLS + QUAD_CELLS];
    // Of the first lane: whether all is well so far, how many raw bytes there are, the encoder's first state.
    int whole, raw_len;
    uint state;
    // Raw bits of each lane.
    int bits[BLOCK_LSIZE];
    // Coefficients.
    VALUE values[SIDE * VALUE_PITCH];
} Decoding;

#define QUADS_FROM LENGTH_CELLS

// Decodes the bit-lengths of a block, the bytes `from` to `end` of `words`, at least one; they are zero before. False if it is
// damaged. What the next contexts need is kept in registers: the way from symbol to symbol is what takes the time.
INLINE bool decode_lengths(__global const uint *restrict words, int from, int end, BlockInfo block, __local Decoding *work,
                           __global const uint4 *restrict table)
{
    __local uchar *quads = work->cells + QUADS_FROM;
    Rans rans = start_rans(words, end);
    int columns = COLUMNS(block), rows = ROWS(block);
    refill(&rans);
    int peak = TAKE(ROW(PEAK + block.class), PEAK + block.class);
    if (peak < 1 || peak > MAX_LENGTH)
        return false;
    // Negative once a drop is too large.
    int rest = 0;
    int first_context = quad_row(peak, block.diagonal);
    for (int y = 0; y < rows; y++) {
        __local uchar *row = quads + QUAD_AT(y, 0);
        __local const uchar *above = y > 0 ? row - QUAD_PITCH : row;
        int up = y > 0 ? peak - above[0] : 0, drop = up;
        for (int x = 0; x < columns; x++) {
            int context = first_context + min(drop + (y > 0 ? up : drop), QUAD_SUMS - 1);
            up = peak - above[x + 1];
            refill(&rans);
            drop = TAKE(ROW(context), context);
            rest |= peak - drop;
            drop = min(drop, peak);
            row[x] = (uchar)(peak - drop);
        }
    }
    for (int y = 0; y < rows; y++) {
        // Of the quad before: the bit-lengths in its right column. And this quad's.
        int before_1 = 0, before_3 = 0, quad = quads[QUAD_AT(y, 0)];
        __local uchar *at = work->cells + LENGTH_AT(2 * y, 0);
        int above_0 = at[-LENGTH_PITCH], above_1 = at[1 - LENGTH_PITCH];
        int right = quads[QUAD_AT(y, 1)], below = quads[QUAD_AT(y + 1, 0)];
        for (int x = 0; x < columns; x++, at += 2) {
            // Of the next quad; beyond the last one nobody asks.
            int next_above_0 = at[2 - LENGTH_PITCH], next_above_1 = at[3 - LENGTH_PITCH];
            int next_right = quads[QUAD_AT(y, x + 2)], next_below = quads[QUAD_AT(y + 1, x + 1)];
            int length_1 = 0, length_3 = 0;
            if (quad > 0) {
                int near_right = nearness(right, quad), near_below = nearness(below, quad), row = coefficient_row(quad);
                // Contexts of the four, of which the second and third move on by COEFFICIENT_SUMS once a coefficient has
                // reached the quad's length: their rows are fetched both ways before that is known.
                int first = row + nearness(before_1, quad) + nearness(above_0, quad);
                int second = row + COEFFICIENT_SUMS + near_right + nearness(above_1, quad);
                int third = row + 3 * COEFFICIENT_SUMS + nearness(before_3, quad) + near_below;
                int fourth = row + 5 * COEFFICIENT_SUMS + near_right + near_below;
                uint4 second_row = ROW(second), second_reached = ROW(second + COEFFICIENT_SUMS);
                uint4 third_row = ROW(third), third_reached = ROW(third + COEFFICIENT_SUMS), fourth_row = ROW(fourth);
                refill(&rans);
                int length_0 = quad - TAKE(ROW(first), first);
                bool reached = length_0 == quad;
                second += reached ? COEFFICIENT_SUMS : 0;
                length_1 = quad - TAKE(reached ? second_reached : second_row, second);
                reached = reached || length_1 == quad;
                third += reached ? COEFFICIENT_SUMS : 0;
                refill(&rans);
                int length_2 = quad - TAKE(reached ? third_reached : third_row, third);
                length_3 = quad;
                if (reached || length_2 == quad)
                    length_3 -= TAKE(fourth_row, fourth);
                rest |= length_0 | length_1 | length_2 | length_3;
                at[0] = (uchar)length_0;
                at[1] = (uchar)length_1;
                at[LENGTH_PITCH] = (uchar)length_2;
                at[LENGTH_PITCH + 1] = (uchar)length_3;
            }
            before_1 = length_1;
            before_3 = length_3;
            quad = right;
            above_0 = next_above_0, above_1 = next_above_1, right = next_right, below = next_below;
        }
    }
    work->raw_len = end_of(&rans) - from;
    work->state = rans.state;
    return rest >= 0 && work->raw_len >= 0;
}

// Reads signs and low bits of the coefficients in the quads `first` to `last`, which start at bit `bit`, and turns bit-lengths
// into coefficients. The last bits are those of the encoder's first state.
INLINE void read_raw_bits(__global const uchar *restrict raw, __local Decoding *work, BlockInfo block, StepValues step, int first,
                          int last, int bit)
{
    int raw_len = work->raw_len, at = bit / 8, bits = -(bit % 8);
    uint state = work->state;
    ulong pending = 0;
    for EACH_QUAD(y, x, first, last, COLUMNS(block)) {
        for (int position = 0; position < 4; position++) {
            int row = 2 * y + position / 2, column = 2 * x + position % 2;
            int length = work->cells[LENGTH_AT(row, column)];
            while (bits < length) {
                if (at + 4 <= raw_len) {
                    uint word =
                        raw[at] | ((uint)raw[at + 1] << 8) | ((uint)raw[at + 2] << 16) | ((uint)raw[at + 3] << 24);
                    pending |= bits < 0 ? word >> -bits : (ulong)word << bits;
                    bits += 32;
                    at += 4;
                } else {
                    int beyond = min(at - raw_len, 3);
                    uint byte = beyond < 0 ? raw[at] : (state >> (8 * beyond)) & 0xff;
                    pending |= bits < 0 ? byte >> -bits : (ulong)byte << bits;
                    bits += 8;
                    at++;
                }
            }
            uint sign = (uint)pending << 31, top = (1u << length) >> 1;
            uint magnitude = (((uint)pending >> 1) & (top - 1)) | top;
            work->values[row * VALUE_PITCH + column] = length == 0 ? 0 : reconstructed(magnitude, sign, step);
            pending >>= length;
            bits -= length;
        }
    }
}

BLOCK_GROUP __kernel void quad_decode(__global const uchar *restrict bytes, __global const Span *restrict spans,
                                      __global const BlockInfo *restrict blocks,
                                      __global const uint4 *restrict table, __global const StepValues *restrict steps,
                                      int step, uint fine_blocks, __global VALUE *restrict bands, int pitch, int side,
                                      __global uint *restrict damaged)
{
    __local Decoding decoding;
    __local Decoding *work = &decoding;
    int lane = get_local_id(0), number = get_group_id(0);
    BlockInfo block = blocks[number];
    Span span = spans[number];
    bool coded = span.length != MISSING && span.length > 0;
    if (coded) {
        for (int i = lane; i < LENGTH_CELLS + QUAD_CELLS; i += BLOCK_LSIZE)
            work->cells[i] = 0;
    }
    SYNC;
    if (lane == 0)
        work->whole = !coded || decode_lengths((__global const uint *)bytes, (int)span.start, (int)(span.start + span.length), block,
                                               work, table);
    SYNC;
    int quads = COLUMNS(block) * ROWS(block), share = (quads + BLOCK_LSIZE - 1) / BLOCK_LSIZE;
    int first = min(lane * share, quads), last = min(first + share, quads);
    bool whole = work->whole;
    if (coded && whole)
        work->bits[lane] = count_raw_bits(work->cells, block, first, last);
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
    bool known = whole && span.length != MISSING, written = known || !block.coarse, filled = known && coded;
    if (filled) {
        step = min(step + ((uint)block.index >= fine_blocks), LAST_STEP);
        step = min(step + block.coarser, LAST_STEP);
        read_raw_bits(bytes + span.start, work, block, steps[step], first, last, before);
    }
    SYNC;
    int width = min(block.width, side - block.x), height = min(block.height, side - block.y);
    bands += (size_t)block.y * pitch + block.x;
    for (int y = 0; written && y < height; y++)
        for (int x = lane; x < width; x += BLOCK_LSIZE)
            bands[(size_t)y * pitch + x] = filled ? work->values[y * VALUE_PITCH + x] : 0;
}
