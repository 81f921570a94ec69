// The filter in the loop, one channel: a state with some of its squares smoothed, and what smoothing each of them gains.
//
// Maths: a sample s becomes s + ((sum + 2^(SUM_BITS - 1) - (sum < 0 ? 1 : 0)) >> SUM_BITS); the sum goes over the neighbours n of TAPS
//   (to the right, below, weight) of weight * sign(d) min(2 |d|, max(strength - |d|, 0)) with d = n - s. Beyond its ends a plane
//   goes on with its outermost samples. The gain with a strength is the squared error of the square so filtered, less that of the
//   square as it is, over its first row and every GAINS_STEP-th one from it.
// Shapes: `from`, `to` and `source` hold width x height samples; `strengths` one byte, 0 where nothing is filtered, for each of
//   `columns` squares of `side` samples a row; `gains` a number for each of these and of STRENGTHS.
// NDRange: (columns, rows) groups, one for each square.
// Defines: TAPS, TAP_COUNT, STRENGTHS, STRENGTH_COUNT, SUM_BITS, GAINS_STEP (src/opencl/motion/params.rs).

INLINE int level_at(__global const uchar *from, int width, int height, int x, int y)
{
    return from[(size_t)clamp(y, 0, height - 1) * width + clamp(x, 0, width - 1)];
}

INLINE int constrained(int difference, int strength)
{
    int size = (int)abs(difference);
    int most = min(2 * size, max(strength - size, 0));
    return difference < 0 ? -most : most;
}

INLINE int moved_by(int sum)
{
    return (sum + (1 << (SUM_BITS - 1)) - (sum < 0 ? 1 : 0)) >> SUM_BITS;
}

GROUP __kernel void dering(__global const uchar *restrict from, __global uchar *restrict to, int width, int height,
                           __global const uchar *restrict strengths, int columns, int side)
{
    int left = get_group_id(0) * side, top = get_group_id(1) * side;
    int across = min(side, width - left), down = min(side, height - top);
    int strength = strengths[get_group_id(1) * columns + get_group_id(0)];
    for EACH(i, 0, across * down) {
        int x = left + i % across, y = top + i / across;
        int own = level_at(from, width, height, x, y), sum = 0;
        if (strength > 0) {
            for (int tap = 0; tap < TAP_COUNT; tap++) {
                int other = level_at(from, width, height, x + TAPS[3 * tap], y + TAPS[3 * tap + 1]);
                sum += TAPS[3 * tap + 2] * constrained(other - own, strength);
            }
        }
        to[(size_t)y * width + x] = (uchar)(own + moved_by(sum));
    }
}

GROUP __kernel void dering_gains(__global const uchar *restrict from, __global const uchar *restrict source, int width,
                                 int height, __global int *restrict gains, int columns, int side)
{
    __local int group[STRENGTH_COUNT];
    int left = get_group_id(0) * side, top = get_group_id(1) * side;
    int across = min(side, width - left), down = (min(side, height - top) + GAINS_STEP - 1) / GAINS_STEP;
    for EACH(i, 0, STRENGTH_COUNT)
        group[i] = 0;
    SYNC;
    int own_gains[STRENGTH_COUNT];
    for (int k = 0; k < STRENGTH_COUNT; k++)
        own_gains[k] = 0;
    for EACH(i, 0, across * down) {
        int x = left + i % across, y = top + GAINS_STEP * (i / across);
        int own = level_at(from, width, height, x, y), wanted = source[(size_t)y * width + x];
        int sums[STRENGTH_COUNT];
        for (int k = 0; k < STRENGTH_COUNT; k++)
            sums[k] = 0;
        for (int tap = 0; tap < TAP_COUNT; tap++) {
            int difference = level_at(from, width, height, x + TAPS[3 * tap], y + TAPS[3 * tap + 1]) - own;
            for (int k = 0; k < STRENGTH_COUNT; k++)
                sums[k] += TAPS[3 * tap + 2] * constrained(difference, STRENGTHS[k]);
        }
        for (int k = 0; k < STRENGTH_COUNT; k++) {
            int by = moved_by(sums[k]);
            own_gains[k] += by * (2 * (own - wanted) + by);
        }
    }
    for (int k = 0; k < STRENGTH_COUNT; k++)
        atomic_add(&group[k], own_gains[k]);
    SYNC;
    gains += STRENGTH_COUNT * ((size_t)get_group_id(1) * columns + get_group_id(0));
    for EACH(i, 0, STRENGTH_COUNT)
        gains[i] = group[i];
}
