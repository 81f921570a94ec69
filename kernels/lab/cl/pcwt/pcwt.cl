// The coefficient trees of the profile pcwt, shared by its encoder and decoder.
//
// Bands and groups are described in src/pcwt/opencl/mod.rs.

#define SYNC barrier(CLK_LOCAL_MEM_FENCE)

// Index of element (x, y) of a band.
int element_at(__global const BandInfo *band, int x, int y)
{
    return band->start + y * band->columns + x;
}

// The maximum length of the parent of element (x, y), or of all.
int above(__global const BandInfo *bands, __global const BandInfo *band, int x, int y, __global const uchar *maxima, int peak)
{
    int parent = band->parent;
    return parent < 0 ? peak : maxima[element_at(bands + parent, x / 2, y / 2)];
}
