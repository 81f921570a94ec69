// Times OpenJPH's 9/7 line kernels (src/core/transform) in a plain loop on the planes that run.py gives to all programs:
// three square planes, full depth, one thread. Each row is split horizontally while it comes in; vertical lifting
// follows a few rows behind, in place. Built against a checkout: its static library and headers.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "ojph_mem.h"
#include "ojph_params.h"
#include "codestream/ojph_params_local.h"
#include "transform/ojph_transform.h"

using namespace ojph;
using namespace ojph::local;

static const size_t PAD = 16;

static double now_ms() {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Rows of floats that start on cache lines.
struct Plane {
    size_t pitch;
    float *data;
    Plane(size_t columns, size_t rows) : pitch(columns + 2 * PAD) {
        pitch = (pitch + 15) / 16 * 16;
        data = static_cast<float *>(std::aligned_alloc(64, 4 * pitch * rows));
        for (size_t i = 0; i < pitch * rows; i++) data[i] = 0;
    }
    float *row(size_t y) const { return data + y * pitch + PAD; }
};

static line_buf line(float *at) {
    line_buf buffer;
    buffer.f32 = at;
    return buffer;
}

// One level: n x n samples at `from`, rows `step` floats apart; both halves of each row go to rows of `low` and `high`.
struct Level {
    size_t n, step;
    float *from;
    Plane low, high;

    void vertical(const param_atk *atk, int number, long row, bool synthesis) const {
        if (row < 0 || row >= (long)n) return;
        long before = row == 0 ? 1 : row - 1, after = row + 1 == (long)n ? row - 1 : row + 1;
        for (const Plane *half : {&low, &high}) {
            line_buf a = line(half->row(before)), b = line(half->row(after)), to = line(half->row(row));
            irv_vert_step(atk->get_step(number), &a, &b, &to, (ui32)(n / 2), synthesis);
        }
    }
    void scale(float k, long row) const {
        if (row < 0 || row >= (long)n) return;
        for (const Plane *half : {&low, &high}) {
            line_buf to = line(half->row(row));
            irv_vert_times_K(k, &to, (ui32)(n / 2));
        }
    }
    void split(const param_atk *atk) const {
        for (long y = 0; y < (long)n + 6; y += 2) {
            for (long r = y; r < y + 2 && r < (long)n; r++) {
                line_buf l = line(low.row(r)), h = line(high.row(r)), s = line(from + r * step);
                irv_horz_ana(atk, &l, &h, &s, (ui32)n, true);
            }
            vertical(atk, 3, y - 1, false);
            vertical(atk, 2, y - 2, false);
            vertical(atk, 1, y - 3, false);
            vertical(atk, 0, y - 4, false);
            scale(1 / atk->get_K(), y - 4);
            scale(atk->get_K(), y - 5);
        }
    }
    void merge(const param_atk *atk) const {
        for (long y = 0; y < (long)n + 6; y += 2) {
            scale(atk->get_K(), y);
            scale(1 / atk->get_K(), y + 1);
            vertical(atk, 0, y, true);
            vertical(atk, 1, y - 1, true);
            vertical(atk, 2, y - 2, true);
            vertical(atk, 3, y - 3, true);
            for (long r = y - 5; r < y - 3; r++) {
                if (r < 0 || r >= (long)n) continue;
                line_buf l = line(low.row(r)), h = line(high.row(r)), d = line(from + r * step);
                irv_horz_syn(atk, &d, &l, &h, (ui32)n, true);
            }
        }
    }
};

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    size_t side = strtoul(argv[2], nullptr, 10);
    int runs = atoi(argv[3]);
    init_wavelet_transform_functions();
    param_atk store;
    const param_atk *atk = store.get_atk(0);
    FILE *file = fopen(argv[1], "rb");
    if (!file) return 1;
    std::vector<std::vector<Level>> planes;
    for (int c = 0; c < 3; c++) {
        Plane samples(side, side);
        for (size_t y = 0; y < side; y++)
            if (fread(samples.row(y), 4, side, file) != side) return 1;
        std::vector<Level> levels;
        float *from = samples.row(0);
        size_t step = samples.pitch;
        for (size_t n = side; n > 1; n /= 2) {
            levels.push_back(Level{n, step, from, Plane(n / 2, n), Plane(n / 2, n)});
            // The next level's rows are the even ones.
            from = levels.back().low.row(0);
            step = 2 * levels.back().low.pitch;
        }
        planes.push_back(levels);
    }
    fclose(file);
    std::vector<double> forward, inverse;
    for (int run = -1; run < runs; run++) {
        double start = now_ms();
        for (auto &levels : planes)
            for (auto &level : levels) level.split(atk);
        double middle = now_ms();
        for (auto &levels : planes)
            for (auto level = levels.rbegin(); level != levels.rend(); ++level) level->merge(atk);
        if (run >= 0) forward.push_back(middle - start), inverse.push_back(now_ms() - middle);
    }
    printf("forward");
    for (double ms : forward) printf(" %.3f", ms);
    printf("\ninverse");
    for (double ms : inverse) printf(" %.3f", ms);
    // So that a wrong loop is seen: the planes come back.
    double error = 0;
    file = fopen(argv[1], "rb");
    if (!file) return 1;
    std::vector<float> row(side);
    for (auto &levels : planes)
        for (size_t y = 0; y < side; y++) {
            if (fread(row.data(), 4, side, file) != side) return 1;
            for (size_t x = 0; x < side; x++) error = std::max(error, (double)std::abs(levels[0].from[y * levels[0].step + x] - row[x]));
        }
    fclose(file);
    printf("\n");
    if (!(error < 1e-1)) {
        fprintf(stderr, "the planes do not come back: %g\n", error);
        return 1;
    }
    return 0;
}
