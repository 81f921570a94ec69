// What dwt_tile.cl and idwt_tile.cl share: the geometry of a tile.
//
// Defines: TILE_W, TILE_H (pairs of columns and rows of a tile), TILE_SEGMENT (pairs that a work-item lifts along a
//   column), TILE_BATCH (units of four pairs along a row that it loads at once), TILE_LSIZE (work-items of a group).

// Vectors of two pairs on both sides of a unit that hold its halo.
#define SIDE_VECTORS ((HALO + 1) / 2)
#define UNIT_VECTORS (2 + 2 * SIDE_VECTORS)
#define UNIT_PAIRS (2 * UNIT_VECTORS)
// Where the unit's own pairs start in its window.
#define AT (2 * SIDE_VECTORS)
#define UNITS (TILE_W / 4)
#define TILE_ROWS (2 * (TILE_H + 2 * HALO) - 1)
#define WINDOW (TILE_SEGMENT + 2 * HALO)
