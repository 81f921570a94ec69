/* Times OpenJPEG's own 9/7 transform (src/lib/openjp2/dwt.c) on the planes that run.py gives to all programs:
 * three square planes, full depth, in place, one thread. Built against a checkout: its static library and headers. */
#include "opj_includes.h"
#include <stdio.h>
#include <time.h>

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    int side = atoi(argv[2]), runs = atoi(argv[3]), levels = 0;
    while ((1 << levels) < side) levels++;
    size_t count = (size_t)side * (size_t)side;
    opj_tcd_resolution_t resolutions[32] = {0};
    for (int r = 0; r <= levels; r++) {
        resolutions[r].x1 = resolutions[r].y1 = side >> (levels - r);
        resolutions[r].win_x1 = resolutions[r].win_y1 = (OPJ_UINT32)(side >> (levels - r));
    }
    opj_tcd_t tcd = {0};
    tcd.thread_pool = opj_thread_pool_create(0);
    tcd.whole_tile_decoding = OPJ_TRUE;
    opj_tcd_tilecomp_t planes[3] = {0};
    FILE *file = fopen(argv[1], "rb");
    if (!file) return 1;
    for (int c = 0; c < 3; c++) {
        planes[c].x1 = planes[c].y1 = side;
        planes[c].numresolutions = planes[c].minimum_num_resolutions = (OPJ_UINT32)levels + 1;
        planes[c].resolutions = resolutions;
        planes[c].data = (OPJ_INT32 *)opj_image_data_alloc(4 * count);
        if (fread(planes[c].data, 4, count, file) != count) return 1;
    }
    fclose(file);
    double forward[1000], inverse[1000];
    for (int run = -1; run < runs; run++) {
        double start = now_ms();
        for (int c = 0; c < 3; c++) if (!opj_dwt_encode_real(&tcd, &planes[c])) return 1;
        double middle = now_ms();
        for (int c = 0; c < 3; c++) if (!opj_dwt_decode_real(&tcd, &planes[c], (OPJ_UINT32)levels + 1)) return 1;
        if (run >= 0 && run < 1000) forward[run] = middle - start, inverse[run] = now_ms() - middle;
    }
    printf("forward");
    for (int run = 0; run < runs && run < 1000; run++) printf(" %.3f", forward[run]);
    printf("\ninverse");
    for (int run = 0; run < runs && run < 1000; run++) printf(" %.3f", inverse[run]);
    printf("\n");
    return 0;
}
