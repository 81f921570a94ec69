// Block encoder: coefficients to the bytes of each block.
//
// Maths: integers by quad_quantise.cl; unless LOSSLESS, a detail block of at most SPARSE_ONES ones and nothing larger is all
//   zero, as in src/reference/quantise.rs; then the code of src/reference/quad.rs: symbols by rANS in reverse, signs and low bits
//   raw.
// Shapes: `bands` is the Mallat square with `pitch` from row to row; `blocks` are described in quad.cl. The bytes of
//   block b, of which there are `sizes[a][b]`, are at the start of slot b of area a of `slots`, SLOT_BYTES apart.
//   `table` holds for each context and symbol its frequency and what encoder_table() in params.rs makes of it, by
//   which division is a multiplication.
// NDRange: quad_encode (groups, passes) for the `count` blocks from `first` on, BLOCKS_PER_GROUP to a group; pass 0
//   codes them at `step` into area `area`, pass 1 at `step_1` into `area_1`. quad_gather (blocks).
// BLOCK_LANES work-items share a block: they quantise, measure, list the symbols and write the raw bits, each those of some
//   quads; the first of them codes the symbols, one after another. Several blocks to a group keep a warp busy then.

// What is known of a block while it is coded.
typedef struct {
    union {
        // First the coefficients and their raw bits, then the symbols.
        struct {
            // Before they are quantised the coefficients themselves, as bits.
            int quantised[SIDE * SIDE];
            uint raw[RAW_WORDS];
        } values;
        ushort symbols[MAX_SYMBOLS];
    } of;
    uchar lengths[LENGTH_CELLS];
    uchar quads[QUAD_CELLS];
    int peak;
    // Sum of all bit-lengths: of ones alone, how many.
    int ones;
    // Raw bits, symbols of quads and symbols of coefficients that each lane has; the places of its first ones are sums.
    int counts[BLOCK_LANES][3];
    // Of all lanes together.
    int raw_bits, symbol_count;
} Encoding;

#define ONLY_COUNT ((__local ushort *)0)

// Puts the symbol or symbols of `value` at `count`, or only counts them; returns the count after.
INLINE int put(__local ushort *symbols, int count, int context, int value)
{
    bool escaped = value >= ESCAPE_SYMBOL;
    if (symbols) {
        symbols[count] = (ushort)(context * SYMBOLS + min(value, ESCAPE_SYMBOL));
        if (escaped)
            symbols[count + 1] = (ushort)(ESCAPE * SYMBOLS + value - ESCAPE_SYMBOL);
    }
    return count + 1 + escaped;
}

// Lists the symbols of the quads `first` to `end` from place `count` on; returns the place after.
INLINE int list_quads(__local ushort *symbols, int count, __local const Encoding *work, BlockInfo block, int first, int end)
{
    int row = quad_row(work->peak, block.diagonal);
    for EACH_QUAD(y, x, first, end, COLUMNS(block)) {
        int context = quad_context(work->quads, y, x, work->peak, row);
        count = put(symbols, count, context, work->peak - work->quads[QUAD_AT(y, x)]);
    }
    return count;
}

// The same for the coefficients in these quads.
INLINE int list_coefficients(__local ushort *symbols, int count, __local const Encoding *work, BlockInfo block, int first,
                             int end)
{
    for EACH_QUAD(y, x, first, end, COLUMNS(block)) {
        int quad = work->quads[QUAD_AT(y, x)];
        if (quad == 0)
            continue;
        __local const uchar *at = work->lengths + LENGTH_AT(2 * y, 2 * x);
        int context = coefficient_row(quad);
        int right = work->quads[QUAD_AT(y, x + 1)], below = work->quads[QUAD_AT(y + 1, x)];
        int drop_0 = quad - at[0], drop_1 = quad - at[1];
        int drop_2 = quad - at[LENGTH_PITCH], drop_3 = quad - at[LENGTH_PITCH + 1];
        int reached_1 = drop_0 == 0, reached_2 = reached_1 | (drop_1 == 0);
        count = put(symbols, count, coefficient_context(context, quad, 0, at[-1], at[-LENGTH_PITCH]), drop_0);
        count = put(symbols, count, coefficient_context(context, quad, 1 + reached_1, right, at[1 - LENGTH_PITCH]), drop_1);
        count = put(symbols, count, coefficient_context(context, quad, 3 + reached_2, at[LENGTH_PITCH - 1], below), drop_2);
        if (reached_2 | (drop_2 == 0))
            count = put(symbols, count, coefficient_context(context, quad, 5, right, below), drop_3);
    }
    return count;
}

// Writes signs and low bits of the coefficients in the quads `first` to `end` from bit `bits` on; returns the bit after.
// `raw` is zero before. Words on the border between two lanes are joined by `or`.
INLINE int write_raw_bits(__local Encoding *work, BlockInfo block, int first, int end, int bits)
{
    __local uint *raw = work->of.values.raw;
    int word = bits / 32, shared_word = word;
    ulong pending = 0;
    bits %= 32;
    for EACH_QUAD(y, x, first, end, COLUMNS(block)) {
        if (work->quads[QUAD_AT(y, x)] == 0)
            continue;
        for (int position = 0; position < 4; position++) {
            int value = work->of.values.quantised[(2 * y + position / 2) * SIDE + 2 * x + position % 2];
            uint magnitude = abs(value);
            int length = 32 - (int)clz(magnitude);
            uint low = magnitude ^ ((1u << length) >> 1);
            pending |= (ulong)((low << 1) | (uint)(value < 0)) << bits;
            bits += length;
            if (bits >= 32) {
                if (word == shared_word)
                    atomic_or(raw + word, (uint)pending);
                else
                    raw[word] = (uint)pending;
                word++;
                pending >>= 32;
                bits -= 32;
            }
        }
    }
    if (bits > 0)
        atomic_or(raw + word, (uint)pending);
    return 32 * word + bits;
}

#define SHIFT_MASK ((1u << (BIAS_BIT - SHIFT_BIT)) - 1)

// Codes a symbol behind the first `end` bytes of a slot; `state` is the state before and after.
INLINE int code_symbol(__global uchar *restrict slot, int end, uint2 entry, uint *state)
{
    uint frequency = entry.x & FREQUENCY_MASK, limit = frequency << PROBABILITY_BITS, before = *state;
    slot[end] = (uchar)before;
    slot[end + 1] = (uchar)(before >> 8);
    int bytes = (before >= limit) + ((before >> 8) >= limit);
    before >>= 8 * bytes;
    uint quotient = mul_hi(before, entry.y) >> (entry.x >> SHIFT_BIT & SHIFT_MASK);
    *state = before + quotient * ((1u << PROBABILITY_BITS) - frequency) + (entry.x >> BIAS_BIT);
    return end + bytes;
}

// Entries that are on their way while others are used.
#define AHEAD 4

// Codes `count` symbols behind the first `end` bytes of a slot, from the state that carries the `payload` last raw bits of
// `last` on; returns how many bytes the block has.
INLINE int code_symbols(__global uchar *restrict slot, int end, __local const ushort *restrict symbols, int count,
                        uint last, int payload, __global const uint2 *restrict table)
{
    uint leading = 1u << payload;
    uint state = leading | (last & (leading - 1));
    for (; count % AHEAD > 0; count--)
        end = code_symbol(slot, end, table[symbols[count - 1]], &state);
    uint2 next[AHEAD];
#pragma unroll
    for (int k = 0; k < AHEAD; k++)
        next[k] = table[symbols[max(count - 1 - k, 0)]];
    for (int i = count - 1; i >= 0; i -= AHEAD) {
        uint2 now[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            now[k] = next[k];
            next[k] = table[symbols[max(i - AHEAD - k, 0)]];
        }
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            end = code_symbol(slot, end, now[k], &state);
    }
    slot[end] = (uchar)state;
    slot[end + 1] = (uchar)(state >> 8);
    slot[end + 2] = (uchar)(state >> 16);
    return end + 3;
}

// What there is before anything is known of a block.
INLINE void clear_block(__local Encoding *work, int lane)
{
    for (int i = lane; i < LENGTH_PITCH; i += BLOCK_LANES)
        work->lengths[i] = work->lengths[i * LENGTH_PITCH] = 0;
    for (int i = lane; i < QUAD_PITCH; i += BLOCK_LANES)
        work->quads[QUADS * QUAD_PITCH + i] = work->quads[i * QUAD_PITCH + QUADS] = 0;
    for (int i = lane; i < RAW_WORDS; i += BLOCK_LANES)
        work->of.values.raw[i] = 0;
    if (lane == 0)
        work->peak = work->ones = 0;
}

// Of bit-lengths those of this lane's quads, and the block's.
INLINE void measure_quads(__local Encoding *work, int lane)
{
    __local uchar *lengths = work->lengths, *quads = work->quads;
    int peak = 0, ones = 0;
    for (int y = 0; y < QUADS; y++) {
        for (int x = lane; x < QUADS; x += BLOCK_LANES) {
            __local const uchar *at = lengths + LENGTH_AT(2 * y, 2 * x);
            uchar quad = max(max(at[0], at[1]), max(at[LENGTH_PITCH], at[LENGTH_PITCH + 1]));
            quads[QUAD_AT(y, x)] = quad;
            peak = max(peak, (int)quad);
            ones += at[0] + at[1] + at[LENGTH_PITCH] + at[LENGTH_PITCH + 1];
        }
    }
    atomic_max(&work->peak, peak);
    atomic_add(&work->ones, ones);
    SYNC;
}

BLOCK_GROUP __kernel void quad_encode(__global const VALUE *restrict bands, int pitch,
                                      __global const BlockInfo *restrict blocks, int all, int first, int count, int step,
                                      int area, int step_1, int area_1, __global const uint2 *restrict table,
                                      __global const StepValues *restrict steps, __global uint *restrict slots,
                                      __global uint *restrict sizes)
{
    __local Encoding group[BLOCKS_PER_GROUP];
    __local Encoding *work = group + get_local_id(0) / BLOCK_LANES;
    int lane = get_local_id(0) % BLOCK_LANES;
    bool second = get_group_id(1) > 0;
    int index = get_group_id(0) * BLOCKS_PER_GROUP + get_local_id(0) / BLOCK_LANES;
    // What a group has too much codes nothing.
    bool there = index < count;
    int number = first + min(index, count - 1);
    BlockInfo block = blocks[number];
    if (!there)
        block.width = block.height = 0;
    bands += (size_t)block.y * pitch + block.x;
    clear_block(work, lane);
    __local int *quantised = work->of.values.quantised;
#if LOSSLESS
    load_block(quantised, work->lengths, bands, pitch, block, lane);
#else
    StepValues values = steps[min((second ? step_1 : step) + block.coarser, LAST_STEP)];
    quantise_block(quantised, work->lengths, work->quads, bands, pitch, block, values, lane);
#endif
    measure_quads(work, lane);

    int all_quads = COLUMNS(block) * ROWS(block), share = (all_quads + BLOCK_LANES - 1) / BLOCK_LANES;
    int from = min(lane * share, all_quads), to = min(from + share, all_quads);
    int peak = work->peak, place = 0, quads_before = 0, before = 0, bits = 0;
    // A detail block of a few ones is not worth its bytes.
    if (!LOSSLESS && peak == 1 && block.class > 0 && work->ones <= SPARSE_ONES)
        peak = 0;
    int leading = put(ONLY_COUNT, 0, PEAK + block.class, peak);
    if (BLOCK_LANES > 1) {
        if (peak > 0) {
            work->counts[lane][0] = count_raw_bits(work->lengths, block, from, to);
            work->counts[lane][1] = list_quads(ONLY_COUNT, 0, work, block, from, to);
            work->counts[lane][2] = list_coefficients(ONLY_COUNT, 0, work, block, from, to);
        }
        SYNC;
        if (peak > 0) {
            for (int i = 0; i < BLOCK_LANES; i++) {
                place += work->counts[i][1];
                bits += i < lane ? work->counts[i][0] : 0;
                quads_before += i < lane ? work->counts[i][1] : 0;
                before += i < lane ? work->counts[i][2] : 0;
            }
        }
    }
    if (peak > 0)
        bits = write_raw_bits(work, block, from, to, bits);
    if (lane == BLOCK_LANES - 1)
        work->raw_bits = bits;
    SYNC;
    int number_in_area = (second ? area_1 : area) * all + number;
    __global uchar *slot = (__global uchar *)(slots + (size_t)number_in_area * (SLOT_BYTES / 4));
    bits = work->raw_bits;
    int end = RAW_BYTES(bits);
    uint last = 0;
    if (peak > 0) {
        __local const uchar *raw = (__local const uchar *)work->of.values.raw;
        last = raw[end] | ((uint)raw[end + 1] << 8) | ((uint)raw[end + 2] << 16);
        for (int i = lane; i < end; i += BLOCK_LANES)
            slot[i] = raw[i];
    }
    SYNC;
    __local ushort *symbols = work->of.symbols;
    if (peak > 0) {
        if (lane == 0)
            put(symbols, 0, PEAK + block.class, peak);
        int quads_end = list_quads(symbols, leading + quads_before, work, block, from, to);
        place = BLOCK_LANES > 1 ? leading + place + before : quads_end;
        place = list_coefficients(symbols, place, work, block, from, to);
    }
    if (lane == BLOCK_LANES - 1)
        work->symbol_count = place;
    SYNC;
    if (lane == 0 && there) {
        int size = 0;
        if (peak > 0)
            size = code_symbols(slot, end, symbols, work->symbol_count, last, PAYLOAD_BITS(bits), table);
        sizes[number_in_area] = (uint)size;
    }
}

// Moves the blocks' bytes together, from the slots of channels into `out`.
BLOCK_GROUP __kernel void quad_gather(__global const uchar *slots_0, __global const uchar *slots_1,
                                      __global const uchar *slots_2, __global const GatheredBlock *restrict places,
                                      __global uchar *restrict out)
{
    GatheredBlock place = places[get_group_id(0)];
    __global const uchar *slots = place.channel == 0 ? slots_0 : place.channel == 1 ? slots_1 : slots_2;
    __global const uchar *from = slots + (size_t)place.slot * SLOT_BYTES;
    out += place.start;
    for BLOCK_EACH(i, 0, (int)place.length)
        out[i] = from[i];
}
