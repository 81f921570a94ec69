#!/usr/bin/env python3
"""Times our processor transform against others: CDF 9/7, three float32 planes, full depth, forward and inverse.

All programs get the same planes and run one after another in each round, so that what else the machine does falls on
all of them. Needs numpy and PyWavelets (`pip install numpy pywavelets`); for OpenJPEG and OpenJPH, checkouts of
github.com/uclouvain/openjpeg and github.com/aous72/OpenJPH, a C++ compiler and cmake. What is absent is left out.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[3]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--openjpeg", type=Path, default=os.environ.get("OPENJPEG"), help="checkout of OpenJPEG")
    parser.add_argument("--openjph", type=Path, default=os.environ.get("OPENJPH"), help="checkout of OpenJPH")
    parser.add_argument("--build", type=Path, default=Path(tempfile.gettempdir()) / "rivals", help="where to build them")
    parser.add_argument("--side", type=int, default=2048)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--runs", type=int, default=5, help="runs of each program in a round")
    args = parser.parse_args()
    args.build.mkdir(parents=True, exist_ok=True)

    ours = build_ours()
    programs = {f"Duet, {count} thread{'s' * (count > 1)}": ([ours, "transform"], [str(count)]) for count in (1, 2)}
    for name, checkout, build in [
        ("OpenJPEG", args.openjpeg, build_openjpeg),
        ("OpenJPH", args.openjph, lambda *paths: build_openjph(*paths, "openjph_transform.cpp")),
    ]:
        if checkout is None or not Path(checkout).is_dir():
            print(f"{name} is left out: no checkout at --{name.lower()} {checkout or '(not given)'}")
        else:
            programs[name] = ([build(Path(checkout), args.build)], [])
    wavelets = import_pywavelets()

    import numpy

    planes = make_planes(numpy, args.side)
    path = args.build / "planes.f32"
    planes.tofile(path)
    times = {}
    for number in range(args.rounds):
        for name, (program, rest) in programs.items():
            output = subprocess.run(
                [*program, path, str(args.side), str(args.runs), *rest], check=True, capture_output=True, text=True
            ).stdout
            for line in output.splitlines():
                direction, *values = line.split()
                times.setdefault((name, direction), []).extend(map(float, values))
        if wavelets:
            time_pywavelets(wavelets, planes, times)
        print(f"round {number + 1} of {args.rounds}", file=sys.stderr)
    report(times)


def build_ours():
    command = ["cargo", "bench", "--locked", "-p", "duet-lab", "--bench", "rivals", "--no-run", "--message-format=json"]
    output = subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.PIPE, text=True).stdout
    artefacts = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return [a["executable"] for a in artefacts if a.get("executable") and a["target"]["name"] == "rivals"][-1]


def cmake(checkout, build, target, options):
    flags = ["-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=OFF", *options]
    subprocess.run(["cmake", "-S", checkout, "-B", build, *flags], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", build, "--target", target], check=True, stdout=subprocess.DEVNULL)
    return next(build.rglob(f"lib{target}.a"))


def build_openjpeg(checkout, build):
    build = build / "openjpeg"
    library = cmake(checkout, build, "openjp2", ["-DCMAKE_C_FLAGS=-O3 -march=native", "-DBUILD_CODEC=OFF"])
    program = build / "rival"
    includes = [checkout / "src/lib/openjp2", build / "src/lib/openjp2"]
    compile_against("cc", HERE / "openjpeg.c", includes, library, program)
    return program


def build_openjph(checkout, build, source):
    build = build / "openjph"
    options = ["-DOJPH_BUILD_EXECUTABLES=OFF", "-DOJPH_ENABLE_TIFF_SUPPORT=OFF", "-DCMAKE_CXX_FLAGS=-w"]
    library = cmake(checkout, build, "openjph", options)
    program = build / Path(source).stem
    compile_against("c++", HERE / source, [checkout / "src/core/openjph", checkout / "src/core"], library, program)
    return program


def compile_against(compiler, source, includes, library, program):
    flags = ["-O3", "-march=native", *(f"-I{directory}" for directory in includes)]
    subprocess.run([compiler, *flags, source, library, "-lm", "-lpthread", "-o", program], check=True)


def import_pywavelets():
    try:
        import pywt
    except ImportError:
        print("PyWavelets is left out: pip install pywavelets")
        return None
    return pywt


def make_planes(numpy, side):
    """Gradients and noise: arithmetic takes the same time for all data but zeros and denormals."""
    y, x = numpy.mgrid[0:side, 0:side].astype(numpy.float32) / side
    noise = numpy.random.default_rng(1).normal(0, 4, (3, side, side))
    return (100 * numpy.sin(3 * x + 5 * y) + noise).astype(numpy.float32)


def time_pywavelets(pywt, planes, times):
    """`periodization` halves each level exactly, so that the depth and the number of coefficients are the same."""
    levels = planes.shape[1].bit_length() - 1
    start = time.perf_counter()
    squares = [pywt.wavedec2(plane, "bior4.4", "periodization", levels) for plane in planes]
    middle = time.perf_counter()
    for square in squares:
        pywt.waverec2(square, "bior4.4", "periodization")
    end = time.perf_counter()
    times.setdefault(("PyWavelets", "forward"), []).append(1e3 * (middle - start))
    times.setdefault(("PyWavelets", "inverse"), []).append(1e3 * (end - middle))


def report(times):
    directions = ["forward", "inverse"]
    ours = {direction: times["Duet, 1 thread", direction] for direction in directions}
    print("| | forward best, ms | median | times ours (best, median) | inverse best, ms | median | times ours |")
    print("|---|---|---|---|---|---|---|")
    for name in dict.fromkeys(name for name, _ in times):
        cells = []
        for direction in directions:
            values = times[name, direction]
            best, median = min(values), statistics.median(values)
            ratio = f"{best / min(ours[direction]):.2f}, {median / statistics.median(ours[direction]):.2f}"
            cells += [f"{best:.1f}", f"{median:.1f}", ratio]
        print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
