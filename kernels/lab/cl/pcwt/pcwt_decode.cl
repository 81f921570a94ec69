// The decoder of the profile pcwt: the groups of one level.
//
// Maths: the inverse of cl/pcwt/pcwt_encode.cl; a magnitude v without its last `qmin` bits becomes the middle of what
// it stands for,
//   v 2^qmin + 2^(qmin - 1), or v if qmin is 0; 0 stays 0.
// Shapes: `data` holds the bytes of all groups, group g up to ends[g]; the rest as in cl/pcwt/pcwt_encode.cl. A group
// with bits that
//   no encoder makes raises damaged[0] to at least the number of groups minus its own.
// NDRange: one work-item a group of the level, the first one being `first`; coarser levels before finer ones.
// Assumes peak <= MAX_LENGTH and qmin + MAX_LENGTH < 31: then no bits of a group do more than damage.

// Bits of bytes, the first one in the highest place; zeros beyond the end.
typedef struct {
    __global const uchar *bytes;
    int size, taken;
    // The next `count` bits in the highest places, zeros below.
    ulong held;
    int count;
} Bits;

// Makes sure that 32 bits are held.
void fill(Bits *bits)
{
    if (bits->count < 32) {
        uint next = 0;
        for (int i = 0; i < 4; i++)
            next = next << 8 | (bits->taken + i < bits->size ? bits->bytes[bits->taken + i] : 0u);
        bits->held |= (ulong)next << (32 - bits->count);
        bits->taken += 4;
        bits->count += 32;
    }
}

// The next n of the held bits, 1 to 32.
uint take(Bits *bits, int n)
{
    uint value = (uint)(bits->held >> (64 - n));
    bits->held <<= n;
    bits->count -= n;
    return value;
}

// The maximum of an element below one of `most`.
int take_maximum(Bits *bits, int most)
{
    fill(bits);
    int zeros = (int)clz(bits->held);
    if (zeros >= most) {
        if (most > 0)
            take(bits, most);
        return 0;
    }
    take(bits, zeros + 1);
    return most - zeros;
}

// A coefficient of an element of this maximum, 1 to MAX_LENGTH.
int take_coefficient(Bits *bits, int most, int qmin)
{
    fill(bits);
    int magnitude = take(bits, most);
    if (magnitude == 0)
        return 0;
    int value = (magnitude << qmin) + (1 << qmin >> 1);
    return take(bits, 1) ? value : -value;
}

// Tells if exactly the bytes were read that an encoder of the bits read would have made.
bool is_finished(const Bits *bits)
{
    int read = 8 * bits->taken - bits->count;
    int rest = bits->size > 0 ? bits->bytes[bits->size - 1] & (0xff >> ((read + 7) % 8 + 1)) : 0;
    return (read + 7) / 8 == bits->size && rest == 0;
}

__kernel void pcwt_decode(__global const uchar *restrict data, __global const uint *restrict ends,
                          __global const BandInfo *restrict bands, __global const GroupInfo *restrict groups, int first, int count,
                          int all, int peak, int qmin, __global uchar *maxima, __global int *restrict square, int pitch,
                          __global int *damaged)
{
    int number = first + (int)get_global_id(0);
    if ((int)get_global_id(0) >= count)
        return;
    __global const GroupInfo *group = groups + number;
    __global const BandInfo *band = bands + group->band;
    uint start = number == 0 ? 0 : ends[number - 1];
    Bits bits = {data + start, (int)(ends[number] - start), 0, 0, 0};
    for (int y = group->y; y < group->y + group->rows; y++) {
        for (int x = group->x; x < group->x + group->columns; x++) {
            int most = take_maximum(&bits, above(bands, band, x, y, maxima, peak));
            maxima[element_at(band, x, y)] = most;
            for (int j = 2 * y; j < min(2 * y + 2, band->h); j++) {
                __global int *row = square + (size_t)(band->y + j) * pitch + band->x;
                for (int i = 2 * x; i < min(2 * x + 2, band->w); i++)
                    row[i] = most > 0 ? take_coefficient(&bits, most, qmin) : 0;
            }
        }
    }
    if (!is_finished(&bits))
        atomic_max(damaged, all - number);
}
