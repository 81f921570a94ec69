// Boundary mapping, shared by all schemes.
//
// A row of `n` samples is interleaved low and high coefficients; positions outside 0..n stand for
//   SYMMETRIC  the mirrored sample (position -1 is 1, n is n - 2),
//   PERIODIC   the sample at the other end (even n only: dwt_line.cl takes odd n),
//   ZERO       zero, in every lifting step.
// Mirroring and wrapping the input gives bit-equal results to mirroring and wrapping in every lifting step,
// since both sides of a step are the same numbers in the other order. Zeros must be put in again after each step.

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
