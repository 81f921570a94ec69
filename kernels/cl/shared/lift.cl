// Lifting of a window of pairs (even sample s, odd sample d) in registers.
//
// Maths: STEPS steps, predict and update in turn, of TAPS symmetric pairs of neighbours, nearest first:
//   predict  d[n] += sum of C[k] (s[n-k]   + s[n+1+k])        update  s[n] += sum of C[k] (d[n-1-k] + d[n+k])
//   then s *= LOW_SCALE, d *= HIGH_SCALE (of which one is the inverse of the other). REVERSIBLE (T is int): d[n] -= (s[n] + s[n+1]) >> 1,
//   s[n] += (d[n-1] + d[n] + 2) >> 2, no scale. The inverse takes the steps backwards with the opposite sign.
// Shapes: `pairs` pairs, of which the first has index `at` in a row of `ns` even and `nd` odd samples. Both results
//   are right from pair HALO to pair `pairs` - 1 - HALO; the others are used up.
// Defines: T, T2, T4 (element and its vectors), DOUBLE, STEPS (2 or 4), TAPS (1 or 2), REVERSIBLE, C_step_tap, LOW_SCALE,
//   HIGH_SCALE, BOUNDARY.
// Loops are unrolled, so that the arrays live in registers.

#if DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

// Pairs on both sides of a pair that its coefficients depend on.
#define HALO (STEPS / 2 * (2 * TAPS - 1))

#if BOUNDARY == ZERO
#define KEEP_AS(V, index, count, value) ((index) >= 0 && (index) < (count) ? (value) : (V)(0))
#else
#define KEEP_AS(V, index, count, value) (value)
#endif

#if REVERSIBLE
#define PREDICTED(V, i, c0, c1) (d[i] + (V)(c0) * ((s[i] + s[i + 1]) >> 1))
#define UPDATED(V, i, c0, c1) (s[i] + (V)(c0) * ((d[i - 1] + d[i] + 2) >> 2))
#define SCALED(value, scale) (value)
#elif TAPS == 1
#define PREDICTED(V, i, c0, c1) fma((V)(c0), s[i] + s[i + 1], d[i])
#define UPDATED(V, i, c0, c1) fma((V)(c0), d[i - 1] + d[i], s[i])
#define SCALED(value, scale) ((value) * (scale))
#else
#define PREDICTED(V, i, c0, c1) fma((V)(c1), s[i - 1] + s[i + 2], fma((V)(c0), s[i] + s[i + 1], d[i]))
#define UPDATED(V, i, c0, c1) fma((V)(c1), d[i - 2] + d[i + 1], fma((V)(c0), d[i - 1] + d[i], s[i]))
#define SCALED(value, scale) ((value) * (scale))
#endif

// The functions for windows of `V`: T, or T2 for two columns at a time.
#define WINDOW_FUNCTIONS(V, suffix)                                                                                    \
    INLINE void predict_##suffix(V *s, V *d, int from, int to, T c0, T c1, int at, int nd)                             \
    {                                                                                                                  \
        _Pragma("unroll") for (int i = from; i <= to; i++)                                                             \
            d[i] = KEEP_AS(V, at + i, nd, PREDICTED(V, i, c0, c1));                                                    \
    }                                                                                                                  \
    INLINE void update_##suffix(V *s, V *d, int from, int to, T c0, T c1, int at, int ns)                              \
    {                                                                                                                  \
        _Pragma("unroll") for (int i = from; i <= to; i++)                                                             \
            s[i] = KEEP_AS(V, at + i, ns, UPDATED(V, i, c0, c1));                                                      \
    }                                                                                                                  \
    INLINE void split_##suffix(V *s, V *d, int pairs, int at, int ns, int nd)                                          \
    {                                                                                                                  \
        int from = 0, to = pairs - 1;                                                                                  \
        _Pragma("unroll") for (int step = 0; step < STEPS; step += 2)                                                  \
        {                                                                                                              \
            T p0 = step == 0 ? C_0_0 : C_2_0, p1 = step == 0 ? C_0_1 : C_2_1;                                          \
            T u0 = step == 0 ? C_1_0 : C_3_0, u1 = step == 0 ? C_1_1 : C_3_1;                                          \
            predict_##suffix(s, d, from + TAPS - 1, to - TAPS, p0, p1, at, nd);                                        \
            from += 2 * TAPS - 1;                                                                                      \
            to -= 2 * TAPS - 1;                                                                                        \
            update_##suffix(s, d, from, to, u0, u1, at, ns);                                                           \
        }                                                                                                              \
        _Pragma("unroll") for (int i = HALO; i < pairs - HALO; i++)                                                    \
        {                                                                                                              \
            s[i] = SCALED(s[i], LOW_SCALE);                                                                            \
            d[i] = SCALED(d[i], HIGH_SCALE);                                                                           \
        }                                                                                                              \
    }                                                                                                                  \
    INLINE void merge_##suffix(V *s, V *d, int pairs, int at, int ns, int nd)                                          \
    {                                                                                                                  \
        int from = 0, to = pairs - 1;                                                                                  \
        _Pragma("unroll") for (int i = 0; i < pairs; i++)                                                              \
        {                                                                                                              \
            s[i] = SCALED(s[i], HIGH_SCALE);                                                                          \
            d[i] = SCALED(d[i], LOW_SCALE);                                                                         \
        }                                                                                                              \
        _Pragma("unroll") for (int step = STEPS - 2; step >= 0; step -= 2)                                             \
        {                                                                                                              \
            T p0 = step == 0 ? C_0_0 : C_2_0, p1 = step == 0 ? C_0_1 : C_2_1;                                          \
            T u0 = step == 0 ? C_1_0 : C_3_0, u1 = step == 0 ? C_1_1 : C_3_1;                                          \
            update_##suffix(s, d, from + TAPS, to - TAPS + 1, -u0, -u1, at, ns);                                       \
            from += 2 * TAPS - 1;                                                                                      \
            to -= 2 * TAPS - 1;                                                                                        \
            predict_##suffix(s, d, from, to, -p0, -p1, at, nd);                                                        \
        }                                                                                                              \
    }

WINDOW_FUNCTIONS(T, one)
WINDOW_FUNCTIONS(T2, two)

// Where position `i` of a row of `n` samples is found, as `mapped` has it, without a branch: right for what tiles and
// tails depend on, up to 2 HALO positions beyond the ends of rows of any length; some position of the row otherwise.
INLINE int mapped_near(int i, int n)
{
#if BOUNDARY == ZERO
    return i >= 0 && i < n ? i : -1;
#elif BOUNDARY == PERIODIC
    int at = i;
#pragma unroll
    for (int turn = 0; turn < HALO; turn++) {
        at = at < 0 ? at + n : at;
        at = at < n ? at : at - n;
    }
    return clamp(at, 0, n - 1);
#else
    int at = abs(i), period = 2 * (n - 1);
#pragma unroll
    for (int turn = 0; turn < HALO; turn++)
        at = at < n ? at : abs(period - at);
    return min(at, n - 1);
#endif
}
