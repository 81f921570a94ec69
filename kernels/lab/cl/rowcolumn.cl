// One dimension of one level: filters lines and transposes, through local memory, so that reads and writes are both of
// neighbours in memory (Eskildsen et al., 2012, section 5.2). Twice in a row it is a whole level.
//
// Maths: output i of line l is the sum over k of weight[i][k] in[l][at[i][k]], by the address table.
//   Forward, lines are rows of `in`, and output i is row i of `out`: out[i][l].
//   In the inverse, lines are columns, and line l becomes row l: out[l][i] from in[at][l]. It is the transpose of the
//   forward kernel, so that the last step forward, the columns, is the first one taken back.
// ROUNDED: by the rounding formula instead of the sum.
// Shapes: `outputs` of each of `lines` lines; `in` and `out` are squares, address.cl says how.
// NDRange: groups of TILE x TILE_ROWS work-items for TILE x TILE of (outputs, lines), in the inverse (lines, outputs).

__kernel void filter_transposed(SQUARE(in), SQUARE(out), int outputs, int lines, __global const int *restrict at,
                                __global const REAL *restrict weight)
{
    __local REAL tile[TILE][TILE + 1];
    int across = get_local_id(0);
    int left = (int)get_group_id(0) * TILE, top = (int)get_group_id(1) * TILE;
    int width = INVERSE ? lines : outputs, height = INVERSE ? outputs : lines;
    for (int down = get_local_id(1); down < TILE; down += TILE_ROWS) {
        int x = left + across, y = top + down;
        if (x >= width || y >= height)
            continue;
        int i = INVERSE ? y : x, line = INVERSE ? COLUMN(in, x) : y;
#ifdef ROUNDED
        int value[TERMS];
        for (int k = 0; k < TERMS; k++) {
            int from = at[k * outputs + i];
            value[k] = from < 0 ? 0 : INVERSE ? IN(from, line) : IN(line, from);
        }
        tile[down][across] = rounded(at[i], value);
#else
        REAL sum = 0;
        for (int k = 0; k < TERMS; k++) {
            int from = at[k * outputs + i];
            sum = fma(weight[k * outputs + i], INVERSE ? IN(from, line) : IN(line, from), sum);
        }
        tile[down][across] = sum;
#endif
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int down = get_local_id(1); down < TILE; down += TILE_ROWS) {
        int x = left + down, y = top + across;
        if (x < width && y < height)
            OUT(OUT_ROW(x), OUT_COLUMN(y)) = tile[across][down];
    }
}
