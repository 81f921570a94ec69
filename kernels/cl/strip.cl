// What dwt_strip.cl and idwt_strip.cl share: vectors of eight pairs, for devices on which one work-item is a processor core.
//
// A lifting step needs the pair before or after: vectors that lie one pair apart are put together from two neighbours in
// registers, so that a row is lifted in one pass.
// Defines: STRIP (pairs of columns that a work-item writes, a multiple of 8).

#define LANES 8
// A row of a strip with a vector before and two behind it.
#define STRIP_LINE (STRIP + 3 * LANES)

// The vector that starts one pair before `here`, which `before` precedes.
#define ONE_BACK(before, here) ((float8)((before).s7, (here).s0123, (here).s45, (here).s6))

#if BOUNDARY == ZERO
INLINE float8 keep8(int index, int count, float8 v)
{
    int8 at = (int8)(0, 1, 2, 3, 4, 5, 6, 7) + index;
    return select((float8)(0.0f), v, (at >= 0) & (at < count));
}
#define KEEP8(index, count, v) keep8(index, count, v)
#else
#define KEEP8(index, count, v) (v)
#endif
