// What the forward and the inverse transform share: boundary mapping.
//
// A row of `n` samples is interleaved low and high coefficients; positions outside 0..n stand for
//   SYMMETRIC  the mirrored sample (position -1 is 1, n is n - 2),
//   PERIODIC   the sample at the other end (even n only: dwt_line.cl takes odd n),
//   ZERO       zero, in every lifting step.
// Mirroring and wrapping the input gives bit-equal results to mirroring and wrapping in every lifting step,
// since both sides of a step are the same numbers in the other order. Zeros must be put in again after each
// step: KEEP does it.

#if BOUNDARY == ZERO
#define KEEP(index, count, value) ((index) >= 0 && (index) < (count) ? (value) : 0.0f)
#else
#define KEEP(index, count, value) (value)
#endif

// Where position `i` of a row of `n` samples is found; -1: nowhere, it is zero.
int mapped(int i, int n)
{
#if BOUNDARY == ZERO
    return i >= 0 && i < n ? i : -1;
#else
    if (i >= 0 && i < n)
        return i;
    if (n == 1)
        return 0;
#if BOUNDARY == PERIODIC
    i %= n;
    return i < 0 ? i + n : i;
#else
    int period = 2 * (n - 1);
    i %= period;
    i = i < 0 ? i + period : i;
    return i < n ? i : period - i;
#endif
#endif
}

// Sample `i` of a row of `n` of which the first `visible` are stored and the others are zero.
float sample_at(__global const float *row, int i, int n, int visible)
{
    int at = mapped(i, n);
    return at >= 0 && at < visible ? row[at] : 0.0f;
}

// A row of a strip in local memory: its pairs with a halo of two on both sides. A single work-item lifts whole
// vectors of 16 beyond both ends instead, into room that is left there; what it finds there is never used.
#define PAIRS (STRIP + 4)
#if LSIZE == 1
#define LINE ((PAIRS + 15) / 16 * 16)
#define EACH_PAIR(c, from, to) (int c = 0; c < LINE; c++)
#else
#define LINE PAIRS
#define EACH_PAIR(c, from, to) EACH(c, from, to)
#endif
#define LINE_PITCH (LINE + 16)
