// Samples of a picture to planes on their side, and squares to quantised code-blocks, for JPEG 2000.
//
// Maths: of three components that are mixed, with REVERSIBLE (ISO/IEC 15444-1, annex G.2): Y = floor((R + 2G + B) / 4), U = B - G,
//   V = R - G; without (G.3): Y = KR R + KG G + KB B, Cb = (B - Y) PER_BLUE, Cr = (R - Y) PER_RED. A coefficient c becomes
//   m = min(trunc(|c| inverse), LARGEST), with REVERSIBLE m = |c| 2^DIGITS, and NEGATIVE if c < 0.
// Shapes: components are width x height SAMPLEs, centred, without gaps; planes have a row of height ELEMENTs for each of their
//   columns, `pitch` apart. Blocks are coded column by column of the picture, each where the one before ends.
// NDRange: planes: a group for each COLUMNS columns, (LSIZE, ceil(width / COLUMNS)); blocks: a group each, (LSIZE, blocks).

GROUP __kernel void jpeg2000_plane(__global const SAMPLE *restrict in, __global ELEMENT *restrict out, int pitch, int width,
                                   int height)
{
    int first = get_group_id(1) * COLUMNS, last = min(first + COLUMNS, width);
    for EACH(y, 0, height)
        for (int x = first; x < last; x++)
            out[(size_t)x * pitch + y] = in[(size_t)y * width + x];
}

GROUP __kernel void jpeg2000_mixed(__global const SAMPLE *restrict red, __global const SAMPLE *restrict green,
                                   __global const SAMPLE *restrict blue, __global ELEMENT *restrict first_out,
                                   __global ELEMENT *restrict second_out, __global ELEMENT *restrict third_out, int pitch,
                                   int width, int height)
{
    int first = get_group_id(1) * COLUMNS, last = min(first + COLUMNS, width);
    for EACH(y, 0, height)
        for (int x = first; x < last; x++) {
            size_t from = (size_t)y * width + x, to = (size_t)x * pitch + y;
            ELEMENT r = red[from], g = green[from], b = blue[from];
#ifdef REVERSIBLE
            first_out[to] = (r + 2 * g + b) >> 2;
            second_out[to] = b - g;
            third_out[to] = r - g;
#else
            float light = KR * r + KG * g + KB * b;
            first_out[to] = light;
            second_out[to] = (b - light) * PER_BLUE;
            third_out[to] = (r - light) * PER_RED;
#endif
        }
}

GROUP __kernel void jpeg2000_blocks(__global const ELEMENT *restrict bands, int pitch, __global const FrontBlock *restrict blocks,
                                    __global CODED *restrict out)
{
    FrontBlock block = blocks[get_group_id(1)];
    bands += (size_t)block.row * pitch + block.column;
    out += block.start;
    for (int x = 0; x < block.width; x++, bands += pitch, out += block.height)
        for EACH(y, 0, block.height) {
            ELEMENT value = bands[y];
#ifdef REVERSIBLE
            uint magnitude = min(abs(value) << DIGITS, (uint)LARGEST);
#else
            uint magnitude = min(convert_uint_sat_rtz(fabs(value) * block.inverse), (uint)LARGEST);
#endif
            out[y] = magnitude | (value < 0 ? NEGATIVE : 0);
        }
}
