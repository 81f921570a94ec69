// Times OpenJPH's encoder or decoder (HTJ2K, CDF 9/7, 64 x 64 code-blocks, five levels) on a 4:2:0 picture of 8 bits in memory,
// one thread. Built against a checkout: its static library and public headers.
//
//   openjph_codec PICTURE.i420 WIDTH HEIGHT QSTEP encode|decode RUNS
//
// Prints the bytes of the code, PSNR of luma and the milliseconds of each run. Its codestream is used again and again, as it is
// meant to be in a stream of pictures.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "ojph_arch.h"
#include "ojph_codestream.h"
#include "ojph_file.h"
#include "ojph_mem.h"
#include "ojph_params.h"

using namespace ojph;

static double now_ms() {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Picture {
    ui32 width, height;
    std::vector<ui8> samples;
    ui32 columns(ui32 c) const { return c == 0 ? width : (width + 1) / 2; }
    ui32 rows(ui32 c) const { return c == 0 ? height : (height + 1) / 2; }
    size_t bytes() const { return (size_t)columns(0) * rows(0) + 2 * (size_t)columns(1) * rows(1); }
    ui8 *plane(ui32 c) {
        size_t luma = (size_t)columns(0) * rows(0), chroma = (size_t)columns(1) * rows(1);
        return samples.data() + (c == 0 ? 0 : luma + (c - 1) * chroma);
    }
};

static void encode(codestream &stream, Picture &picture, float qstep, mem_outfile &out) {
    stream.restart();
    param_siz siz = stream.access_siz();
    siz.set_image_extent(point(picture.width, picture.height));
    siz.set_num_components(3);
    for (ui32 c = 0; c < 3; c++) siz.set_component(c, c == 0 ? point(1, 1) : point(2, 2), 8, false);
    siz.set_image_offset(point(0, 0));
    siz.set_tile_size(size(0, 0));
    siz.set_tile_offset(point(0, 0));
    param_cod cod = stream.access_cod();
    cod.set_num_decomposition(5);
    cod.set_block_dims(64, 64);
    cod.set_progression_order("RPCL");
    cod.set_color_transform(false);
    cod.set_reversible(false);
    stream.access_qcd().set_irrev_quant(qstep);
    stream.set_planar(true);
    out.open((size_t)1 << 20);
    stream.write_headers(&out);
    ui32 next;
    line_buf *line = stream.exchange(nullptr, next);
    for (ui32 c = 0; c < 3; c++)
        for (ui32 y = 0; y < picture.rows(c); y++) {
            const ui8 *from = picture.plane(c) + (size_t)y * picture.columns(c);
            for (ui32 x = 0; x < picture.columns(c); x++) line->i32[x] = from[x];
            line = stream.exchange(line, next);
        }
    stream.flush();
}

static void decode(codestream &stream, const std::vector<ui8> &code, Picture &out) {
    mem_infile file;
    file.open(code.data(), code.size());
    stream.restart();
    stream.read_headers(&file);
    stream.set_planar(true);
    stream.create();
    ui32 c;
    for (ui32 plane = 0; plane < 3; plane++)
        for (ui32 y = 0; y < out.rows(plane); y++) {
            line_buf *line = stream.pull(c);
            ui8 *to = out.plane(c) + (size_t)y * out.columns(c);
            for (ui32 x = 0; x < out.columns(c); x++) to[x] = (ui8)(line->i32[x] < 0 ? 0 : line->i32[x] > 255 ? 255 : line->i32[x]);
        }
}

int main(int argc, char **argv) {
    if (argc != 7) return 2;
    Picture picture{(ui32)atoi(argv[2]), (ui32)atoi(argv[3]), {}};
    picture.samples.resize(picture.bytes());
    FILE *file = fopen(argv[1], "rb");
    if (!file || fread(picture.samples.data(), 1, picture.bytes(), file) != picture.bytes()) return 1;
    fclose(file);
    float qstep = strtof(argv[4], nullptr);
    bool encodes = strcmp(argv[5], "encode") == 0;
    int runs = atoi(argv[6]);
    codestream encoder, decoder;
    mem_outfile out;
    std::vector<double> times;
    for (int run = encodes ? -1 : 0; run < (encodes ? runs : 1); run++) {
        double start = now_ms();
        encode(encoder, picture, qstep, out);
        if (encodes && run >= 0) times.push_back(now_ms() - start);
    }
    std::vector<ui8> code(out.get_data(), out.get_data() + out.get_used_size());
    Picture decoded = picture;
    std::fill(decoded.samples.begin(), decoded.samples.end(), 0);
    for (int run = -1; run < (encodes ? 0 : runs); run++) {
        double start = now_ms();
        decode(decoder, code, decoded);
        if (run >= 0) times.push_back(now_ms() - start);
    }
    double squares = 0, count = (double)picture.width * picture.height;
    for (size_t i = 0; i < (size_t)count; i++) squares += pow((double)picture.samples[i] - decoded.samples[i], 2);
    printf("bytes %zu\npsnr %.3f\ntimes", code.size(), 10 * log10(255 * 255 * count / squares));
    for (double ms : times) printf(" %.3f", ms);
    printf("\n");
    return 0;
}
