// What dwt_strip.cl and idwt_strip.cl share: vectors of 16 pairs, for devices on which one work-item is a processor core.
//
// A lifting step needs the pair before or after: vectors that lie one pair apart are put together from two neighbours in
// registers, so that a row is lifted in one pass.
// Defines: STRIP (pairs of columns that a work-item writes, a multiple of 16).

#define LANES 16
#define VECTORS (STRIP / LANES)
// A row of a strip with a vector before and two behind it.
#define STRIP_LINE (STRIP + 3 * LANES)

// The vector that starts one pair before `here`, which `before` precedes.
#define ONE_BACK(before, here)                                                                                         \
    ((float16)((before).sf, (here).s01234567, (here).s89ab, (here).scd, (here).se))

#if BOUNDARY == ZERO
INLINE float16 keep16(int index, int count, float16 v)
{
    int16 at = (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15) + index;
    return select((float16)(0.0f), v, (at >= 0) & (at < count));
}
#define KEEP16(index, count, v) keep16(index, count, v)
#else
#define KEEP16(index, count, v) (v)
#endif
