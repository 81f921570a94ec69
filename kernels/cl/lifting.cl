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

// A row of a strip in local memory: its pairs with a halo of two on both sides.
#define LINE (STRIP + 4)
