// The coefficient trees of the profile pcwt, shared by its encoder and decoder.
//
// Numbers from src/opencl/pcwt.rs:
//   PCWT_LSIZE     work-items in a group
//   MAX_LENGTH     most bits of a magnitude
//   SLOT_WORDS     words that hold any group's bits
//   BAND, GROUP    ints of a band's and of a group's description
// A band: column and row of its coefficients in the square, their columns and rows, columns and rows of its elements,
//   index of the first element, band of the parents, band of the children (-1: none).
// A group: its band, column and row of its first element in the band, columns and rows of its elements.

#define SYNC barrier(CLK_LOCAL_MEM_FENCE)

enum { BAND_X, BAND_Y, BAND_W, BAND_H, BAND_COLUMNS, BAND_ROWS, BAND_START, BAND_PARENT, BAND_CHILD };
enum { GROUP_BAND, GROUP_X, GROUP_Y, GROUP_COLUMNS, GROUP_ROWS };

// Index of element (x, y) of a band.
int element_at(__global const int *band, int x, int y)
{
    return band[BAND_START] + y * band[BAND_COLUMNS] + x;
}

// The maximum length of the parent of element (x, y), or of all.
int above(__global const int *bands, __global const int *band, int x, int y, __global const uchar *maxima, int peak)
{
    int parent = band[BAND_PARENT];
    return parent < 0 ? peak : maxima[element_at(bands + BAND * parent, x / 2, y / 2)];
}
