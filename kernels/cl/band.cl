// How dwt_tile.cl and dwt_tail.cl store coefficients of the square: as they are, or QUANTISED (T is float): integers,
// sign(c) min(trunc(|c| * inverse), 2^24 - 1).

#if QUANTISED
#define BAND int
#define BAND2 int2
#define BAND_PARAMETERS , float inverse
INLINE int quantised(float c, float inverse)
{
    int m = (int)min(fabs(c) * inverse, 16777215.0f);
    return c < 0 ? -m : m;
}
#define BAND_OF(c) quantised(c, inverse)
#define BAND_OF2(c) (int2)(quantised((c).x, inverse), quantised((c).y, inverse))
#else
#define BAND T
#define BAND2 T2
#define BAND_PARAMETERS
#define BAND_OF(c) (c)
#define BAND_OF2(c) (c)
#endif
