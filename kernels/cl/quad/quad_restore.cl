// Coefficients to what a decoder makes of their code, without the code: what an encoder needs for the next frame.
//
// Maths: the integers that quad_encode.cl codes, and of these the coefficients of quad_decode.cl.
// Shapes: `bands`, `blocks` and `steps` as in quad_encode.cl; of `bands` the rectangles of the `count` blocks are read and then
//   written. Blocks from `fine_blocks` on use the step after `step`.
// NDRange: (groups), BLOCKS_PER_GROUP blocks to a group, BLOCK_LANES work-items to a block.

typedef struct {
    int quantised[SIDE * SIDE];
    uchar lengths[LENGTH_CELLS];
    uchar quads[QUAD_CELLS];
    // The largest bit-length, and the sum of all: of ones alone, how many.
    int peak, ones;
} Restoring;

BLOCK_GROUP __kernel void quad_restore(__global float *bands, int pitch, __global const BlockInfo *restrict blocks, int count,
                                       __global const StepValues *restrict steps, int step, uint fine_blocks)
{
    __local Restoring group[BLOCKS_PER_GROUP];
    __local Restoring *work = group + get_local_id(0) / BLOCK_LANES;
    int lane = get_local_id(0) % BLOCK_LANES;
    int number = get_group_id(0) * BLOCKS_PER_GROUP + get_local_id(0) / BLOCK_LANES;
    BlockInfo block = blocks[min(number, count - 1)];
    // What a group has too much writes nothing.
    if (number >= count)
        block.width = block.height = 0;
    bands += (size_t)block.y * pitch + block.x;
    for (int i = lane; i < QUAD_PITCH; i += BLOCK_LANES)
        work->quads[QUADS * QUAD_PITCH + i] = work->quads[i * QUAD_PITCH + QUADS] = 0;
    if (lane == 0)
        work->peak = work->ones = 0;
    step = min(step + ((uint)block.index >= fine_blocks), LAST_STEP);
    StepValues values = steps[min(step + block.coarser, LAST_STEP)];
    quantise_block(work->quantised, work->lengths, work->quads, bands, pitch, block, values, lane);
    int peak = 0, ones = 0;
    for (int y = 0; y < SIDE; y++) {
        for (int x = lane; x < SIDE; x += BLOCK_LANES) {
            int length = work->lengths[LENGTH_AT(y, x)];
            peak = max(peak, length);
            ones += length;
        }
    }
    atomic_max(&work->peak, peak);
    atomic_add(&work->ones, ones);
    SYNC;
    // A detail block of a few ones is not coded.
    bool sparse = work->peak == 1 && block.class > 0 && work->ones <= SPARSE_ONES;
    for (int y = 0; y < block.height; y++) {
        for (int x = lane; x < block.width; x += BLOCK_LANES) {
            int value = work->quantised[y * SIDE + x];
            uint sign = value < 0 ? 1u << 31 : 0;
            bands[(size_t)y * pitch + x] = value == 0 || sparse ? 0.0f : reconstructed(abs(value), sign, values);
        }
    }
}
