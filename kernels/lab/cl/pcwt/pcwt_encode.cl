// The encoder of the profile pcwt: maximum lengths of all elements, Qmax, and the bits of groups.
//
// Maths (Ao 2014, sections 3.2 to 3.5): the maximum m of an element is the largest bit length of its 2 x 2 coefficients'
//   magnitudes, without their last `qmin` bits, and of its 2 x 2 children's maxima; below a parent of maximum a it is coded as
//   a - m zeros and, unless m is 0, a one; then each coefficient as m bits of its magnitude and, unless that is 0, a one if it
//   is positive.
// Shapes: `square` holds coefficients in Mallat layout with `pitch` from row to row; `maxima` one byte an element; `slots`
//   SLOT_WORDS words a group, the first bit in the highest place; `sizes` the bytes of each group; `out` any group's bytes from
//   places[group] on.
// NDRange: pcwt_maxima (columns of the widest band, rows of all bands of the level), coarser levels after finer ones;
//   pcwt_peak any number of groups, with peak[0] = 0 before; pcwt_encode and pcwt_gather one group a coded group;
//   pcwt_encode_serial one work-item a coded group.
// Two ways to join the bits of elements (section 3.5.1 and its future work): work-items that sum up where their elements
//   belong and write there by atomic or, or one work-item that goes through all of them.

// Bit length.
int length(uint magnitude)
{
    return 32 - (int)clz(magnitude);
}

__kernel void pcwt_maxima(__global const int *restrict square, int pitch, __global const BandInfo *restrict bands, int first,
                          int count, int qmin, __global uchar *restrict maxima)
{
    int x = get_global_id(0), y = get_global_id(1);
    __global const BandInfo *band = bands + first;
    for (int i = 1; i < count && y >= band->rows; i++) {
        y -= band->rows;
        band++;
    }
    if (x >= band->columns || y >= band->rows)
        return;
    uint all = 0;
    for (int j = 2 * y; j < min(2 * y + 2, band->h); j++)
        for (int i = 2 * x; i < min(2 * x + 2, band->w); i++)
            all |= abs(square[(size_t)(band->y + j) * pitch + band->x + i]);
    int most = length(all >> qmin);
    if (band->child >= 0) {
        __global const BandInfo *child = bands + band->child;
        for (int j = 2 * y; j < min(2 * y + 2, child->rows); j++)
            for (int i = 2 * x; i < min(2 * x + 2, child->columns); i++)
                most = max(most, (int)maxima[element_at(child, i, j)]);
    }
    maxima[element_at(band, x, y)] = most;
}

__kernel void pcwt_peak(__global const uchar *restrict maxima, int count, __global int *peak)
{
    __local int most[PCWT_LSIZE];
    int item = get_local_id(0), own = 0;
    for (int i = get_global_id(0); i < count; i += get_global_size(0))
        own = max(own, (int)maxima[i]);
    most[item] = own;
    for (int reach = PCWT_LSIZE / 2; reach > 0; reach /= 2) {
        SYNC;
        if (item < reach)
            most[item] = max(most[item], most[item + reach]);
    }
    if (item == 0)
        atomic_max(peak, most[0]);
}

// The codes of an element, of its maximum and of its coefficients; none is of 0 bits.
typedef struct {
    uint code[5];
    int bits[5];
} Element;

// Lengths beyond MAX_LENGTH are cut: the host refuses such a frame.
Element element_codes(__global const int *restrict square, int pitch, __global const BandInfo *restrict bands,
                      __global const BandInfo *band, int x, int y, __global const uchar *restrict maxima, int peak, int qmin)
{
    Element element;
    int from = min(above(bands, band, x, y, maxima, peak), MAX_LENGTH);
    int most = min((int)maxima[element_at(band, x, y)], from);
    element.code[0] = most > 0;
    element.bits[0] = most > 0 ? from - most + 1 : from;
    for (int k = 0; k < 4; k++) {
        int i = 2 * x + (k & 1), j = 2 * y + (k >> 1);
        element.code[k + 1] = 0;
        element.bits[k + 1] = 0;
        if (most > 0 && i < band->w && j < band->h) {
            int value = square[(size_t)(band->y + j) * pitch + band->x + i];
            uint magnitude = (abs(value) >> qmin) & ((1u << most) - 1);
            element.code[k + 1] = magnitude ? magnitude << 1 | (value > 0) : 0;
            element.bits[k + 1] = most + (magnitude > 0);
        }
    }
    return element;
}

__attribute__((reqd_work_group_size(PCWT_LSIZE, 1, 1)))
__kernel void pcwt_encode(__global const int *restrict square, int pitch, __global const BandInfo *restrict bands,
                          __global const GroupInfo *restrict groups, __global const uchar *restrict maxima,
                          __global const int *peaks, int qmin, __global uint *restrict slots,
                          __global uint *restrict sizes)
{
    __local uint words[SLOT_WORDS];
    __local int ends[PCWT_LSIZE];
    int number = get_group_id(0), item = get_local_id(0), peak = peaks[0];
    __global const GroupInfo *group = groups + number;
    __global const BandInfo *band = bands + group->band;
    int columns = group->columns, count = columns * group->rows;
    int each = (count + PCWT_LSIZE - 1) / PCWT_LSIZE;
    int from = min(item * each, count), to = min(from + each, count);
    int bits = 0;
    for (int e = from; e < to; e++) {
        Element element = element_codes(square, pitch, bands, band, group->x + e % columns,
                                        group->y + e / columns, maxima, peak, qmin);
        for (int k = 0; k < 5; k++)
            bits += element.bits[k];
    }
    ends[item] = bits;
    for (int i = item; i < SLOT_WORDS; i += PCWT_LSIZE)
        words[i] = 0;
    SYNC;
    for (int step = 1; step < PCWT_LSIZE; step *= 2) {
        int before = item >= step ? ends[item - step] : 0;
        SYNC;
        ends[item] += before;
        SYNC;
    }
    // The bits of the first word that belong to the work-items before are zeros here.
    int at = ends[item] - bits, word = at / 32, held = at % 32;
    ulong waiting = 0;
    for (int e = from; e < to; e++) {
        Element element = element_codes(square, pitch, bands, band, group->x + e % columns,
                                        group->y + e / columns, maxima, peak, qmin);
        for (int k = 0; k < 5; k++) {
            waiting = waiting << element.bits[k] | element.code[k];
            held += element.bits[k];
            if (held >= 32) {
                held -= 32;
                atomic_or(words + word, (uint)(waiting >> held));
                word++;
            }
        }
    }
    if (to > from && held > 0)
        atomic_or(words + word, (uint)(waiting << (32 - held)));
    SYNC;
    int total = ends[PCWT_LSIZE - 1];
    __global uint *slot = slots + (size_t)number * SLOT_WORDS;
    for (int i = item; i < (total + 31) / 32; i += PCWT_LSIZE)
        slot[i] = words[i];
    if (item == 0)
        sizes[number] = (total + 7) / 8;
}

__kernel void pcwt_encode_serial(__global const int *restrict square, int pitch, __global const BandInfo *restrict bands,
                                 __global const GroupInfo *restrict groups, __global const uchar *restrict maxima,
                                 __global const int *peaks, int qmin, __global uint *restrict slots,
                                 __global uint *restrict sizes, int count)
{
    int number = get_global_id(0), peak = peaks[0];
    if (number >= count)
        return;
    __global const GroupInfo *group = groups + number;
    __global const BandInfo *band = bands + group->band;
    __global uint *slot = slots + (size_t)number * SLOT_WORDS;
    int word = 0, held = 0;
    ulong waiting = 0;
    for (int y = group->y; y < group->y + group->rows; y++) {
        for (int x = group->x; x < group->x + group->columns; x++) {
            Element element = element_codes(square, pitch, bands, band, x, y, maxima, peak, qmin);
            for (int k = 0; k < 5; k++) {
                waiting = waiting << element.bits[k] | element.code[k];
                held += element.bits[k];
                if (held >= 32) {
                    held -= 32;
                    slot[word++] = (uint)(waiting >> held);
                }
            }
        }
    }
    if (held > 0)
        slot[word] = (uint)(waiting << (32 - held));
    sizes[number] = 4 * word + (held + 7) / 8;
}

__attribute__((reqd_work_group_size(PCWT_LSIZE, 1, 1)))
__kernel void pcwt_gather(__global const uint *restrict slots, __global const uint *restrict sizes,
                          __global const uint *restrict places, __global uchar *restrict out)
{
    int number = get_group_id(0), size = sizes[number];
    __global const uint *slot = slots + (size_t)number * SLOT_WORDS;
    out += places[number];
    for (int i = get_local_id(0); i < size; i += PCWT_LSIZE)
        out[i] = slot[i / 4] >> (24 - 8 * (i % 4));
}
