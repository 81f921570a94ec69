// What the forward and the inverse transform by sliding windows share. Boundaries are mapped as in boundary.cl.
//
// Zeros must be put in again after each step: KEEP does it.

#if BOUNDARY == ZERO
#define KEEP(index, count, value) ((index) >= 0 && (index) < (count) ? (value) : 0.0f)
#else
#define KEEP(index, count, value) (value)
#endif
