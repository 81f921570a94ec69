#!/usr/bin/env python3
"""Times `wavelet subbands` against PyWavelets: three channels of float32, the finest level of both made weaker.

Ours is the whole command, with its start and both files; PyWavelets' the transform, the change and the way back with both files,
without Python's start. Both in turn in each round; best and median of all rounds. Needs numpy and pywavelets.
"""
import argparse
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

GAIN = 0.5


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wavelet", default="wavelet", help="the program")
    parser.add_argument("--backend", action="append", help="back ends of it [default: cpu]")
    parser.add_argument("--sides", type=int, nargs="+", default=[512, 1024, 2048, 4096])
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    print("| side | program | best, ms | median, ms | times ours |\n|---:|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as scratch:
        for side in args.sides:
            measure(args, Path(scratch), side)


def measure(args, scratch, side):
    import numpy

    y, x = numpy.mgrid[0:side, 0:side].astype(numpy.float32) / side
    noise = numpy.random.default_rng(1).normal(0, 4, (3, side, side))
    source, out = scratch / "in.npy", scratch / "out.npy"
    numpy.save(source, (100 * numpy.sin(3 * x + 5 * y) + noise).astype(numpy.float32))
    backends = args.backend or ["cpu"]
    times = {}
    for _ in range(args.rounds):
        for backend in backends:
            command = [args.wavelet, "subbands", source, out, "--gain", f"1={GAIN}", "--backend", backend]
            start = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            times.setdefault(f"wavelet subbands, {backend}", []).append(1e3 * (time.perf_counter() - start))
        times.setdefault("PyWavelets", []).append(1e3 * of_pywavelets(source, out))
    ours = times[f"wavelet subbands, {backends[0]}"]
    for name, values in times.items():
        best, median = min(values), statistics.median(values)
        print(f"| {side} | {name} | {best:.1f} | {median:.1f} | {best / min(ours):.2f}, {median / statistics.median(ours):.2f} |")


def of_pywavelets(source, out):
    import numpy
    import pywt

    start = time.perf_counter()
    planes = numpy.load(source)
    levels = planes.shape[1].bit_length() - 1
    results = []
    for plane in planes:
        square = pywt.wavedec2(plane, "bior4.4", "periodization", levels)
        square[-1] = tuple(GAIN * band for band in square[-1])
        results.append(pywt.waverec2(square, "bior4.4", "periodization"))
    numpy.save(out, numpy.stack(results))
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
