// One level in both directions at once, by two-dimensional filters: the same kernel forward and inverse.
//
// Maths: out[y][x] = sum over r and c of wy[y][r] wx[x][c] in[ay[y][r]][ax[x][c]], with the address tables (ay, wy) of
//   the columns and (ax, wx) of the rows; no intermediate result is shared, so there is no barrier.
// ROUNDED: the rounding formula of rows inside that of columns (forward; the other way round in the inverse).
// Shapes: width x height outputs; `in` and `out` are squares, address.cl says how.
// NDRange: groups of TILE x TILE_ROWS work-items for TILE x TILE outputs.

__kernel void convolve(SQUARE(in), SQUARE(out), int width, int height, __global const int *restrict x_at,
                       __global const REAL *restrict x_weight, __global const int *restrict y_at,
                       __global const REAL *restrict y_weight)
{
    int x = get_global_id(0), top = (int)get_group_id(1) * TILE, bottom = min(top + TILE, height);
    int columns[TERMS];
    REAL weights[TERMS];
    for (int c = 0; c < TERMS; c++) {
        columns[c] = x < width ? x_at[c * width + x] : 0;
        weights[c] = x < width ? x_weight[c * width + x] : 0;
    }
    for (int y = top + (int)get_local_id(1); y < bottom && x < width; y += TILE_ROWS) {
#ifdef ROUNDED
        int rows[TERMS], outer[TERMS], inner[TERMS];
        for (int r = 0; r < TERMS; r++)
            rows[r] = y_at[r * height + y];
#pragma unroll 1
        for (int i = 0; i < TERMS; i++) {
            for (int j = 0; j < TERMS; j++) {
                int row = INVERSE ? rows[j] : rows[i], column = INVERSE ? columns[i] : columns[j];
                inner[j] = row < 0 || column < 0 ? 0 : IN(row, column);
            }
            int lifted = rounded(INVERSE ? rows[0] : columns[0], inner);
            outer[i] = (INVERSE ? columns[i] : rows[i]) < 0 ? 0 : lifted;
        }
        REAL value = rounded(INVERSE ? columns[0] : rows[0], outer);
#else
        REAL value = 0;
#pragma unroll 1
        for (int r = 0; r < TERMS; r++) {
            int row = y_at[r * height + y];
            REAL sum = 0;
            for (int c = 0; c < TERMS; c++)
                sum = fma(weights[c], IN(row, columns[c]), sum);
            value = fma(y_weight[r * height + y], sum, value);
        }
#endif
        OUT(OUT_ROW(y), OUT_COLUMN(x)) = value;
    }
}
