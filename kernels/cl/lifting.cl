// What the forward and the inverse transform by sliding windows share. Boundaries are mapped as in boundary.cl.
//
// Zeros must be put in again after each step: KEEP does it.

#if BOUNDARY == ZERO
#define KEEP(index, count, value) ((index) >= 0 && (index) < (count) ? (value) : 0.0f)
#else
#define KEEP(index, count, value) (value)
#endif

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
