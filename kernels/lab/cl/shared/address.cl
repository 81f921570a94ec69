// Shared by convolution.cl and rowcolumn.cl: where the numbers of a level lie, and what one output of one dimension is
// made of.
//
// Squares. A level's coefficients lie in two buffers: coordinates below `half` both ways in `low`, all others in
//   `rest`. Of a row, the first low_w items are low, of a column the first low_h; the others follow from `half` on.
//   Plain samples are a square whose low part has no end.
//
// Address table (Wong, Leung, Heng and Wang, 2007). Output o of a row or column of `n` outputs is made of TERMS
//   inputs: term k is at coordinate at[k n + o] and has the weight weight[k n + o]; terms that are not used have
//   weight 0. Boundaries, down- and upsampling and the choice between low- and high-pass filter are all in the table.
// ROUNDED (the reversible 5/3): no weights but TERMS = 7 inputs: `own`, then twice the two neighbours and the item of
//   a first lifting step; output by lift_first and lift_second. A negative coordinate stands for 0; where that of `own` is
//   FIRST, the first of the two items is the output.
//
// Defines: INVERSE (0 or 1), REAL (float, double, int), FP64 for double, ROUNDED for int, TERMS, FIRST, TILE and
// TILE_ROWS (outputs and
//   work-items of a group).

#pragma OPENCL FP_CONTRACT OFF
#ifdef FP64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

// Argument list of a square; its row at a coordinate, up to the column `half` and from there on; and the coordinates of
// row or column `i`.
#define SQUARE(name)                                                                                                   \
    __global REAL *name##_low, int name##_low_pitch, __global REAL *name##_rest, int name##_rest_pitch,                \
        int name##_half, int name##_low_w, int name##_low_h
#define LEFT(name, row)                                                                                                \
    ((row) < name##_half ? name##_low + (size_t)(row) * name##_low_pitch : RIGHT(name, row))
#define RIGHT(name, row) (name##_rest + (size_t)(row) * name##_rest_pitch)
#define ROW(name, i) ((i) < name##_low_h ? (i) : name##_half + (i) - name##_low_h)
#define COLUMN(name, i) ((i) < name##_low_w ? (i) : name##_half + (i) - name##_low_w)

// What is plain forward, the input, and in the inverse, the output, has no right part.
#if INVERSE
#define IN(row, column) (((column) < in_half ? LEFT(in, row) : RIGHT(in, row))[column])
#define OUT(row, column) (out_low[(size_t)(row) * out_low_pitch + (column)])
#define OUT_ROW(i) (i)
#define OUT_COLUMN(i) (i)
#else
#define IN(row, column) (in_low[(size_t)(row) * in_low_pitch + (column)])
#define OUT(row, column) (((column) < out_half ? LEFT(out, row) : RIGHT(out, row))[column])
#define OUT_ROW(i) ROW(out, i)
#define OUT_COLUMN(i) COLUMN(out, i)
#endif

#ifdef ROUNDED
// In unsigned arithmetic, which wraps around.
int lift_first(int left, int right, int own)
{
    uint sum = (uint)left + (uint)right;
    return (int)((uint)own - (uint)(INVERSE ? (int)(sum + 2) >> 2 : (int)sum >> 1));
}

int lift_second(int left, int right, int own)
{
    uint sum = (uint)left + (uint)right;
    return (int)((uint)own + (uint)(INVERSE ? (int)sum >> 1 : (int)(sum + 2) >> 2));
}

// The output that is made of these TERMS values; `own_at` is the coordinate of the first one.
int rounded(int own_at, const int *value)
{
    int first = lift_first(value[1], value[2], value[3]);
    if (own_at == FIRST)
        return first;
    return lift_second(first, lift_first(value[4], value[5], value[6]), value[0]);
}
#endif
