#!/usr/bin/env python3
"""Times our processor coder against OpenJPH's: 4:2:0 pictures in memory, so many bits per pixel, encode and decode.

OpenJPH (a checkout of github.com/aous72/OpenJPH) codes with the quantiser step that comes nearest to our bytes. All programs
run one after another in each round. Wall time is the best and the median of all runs; processor time is what a run of the
whole program takes, less one without measured runs, so that waiting threads and other work on the machine count little.
Pictures are whatever ffmpeg reads.
"""
import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from run import build_openjph, build_ours

DIRECTIONS = ["encode", "decode"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pictures", nargs="+", type=Path)
    parser.add_argument("--openjph", type=Path, default=os.environ.get("OPENJPH"), help="checkout of OpenJPH")
    parser.add_argument("--build", type=Path, default=Path(tempfile.gettempdir()) / "rivals", help="where to build it")
    parser.add_argument("--bpp", type=float, default=1, help="bits per luma pixel")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--runs", type=int, default=20, help="runs of each program in a round")
    args = parser.parse_args()
    if args.openjph is None or not Path(args.openjph).is_dir():
        sys.exit(f"no checkout of OpenJPH at --openjph {args.openjph or '(not given)'}")
    args.build.mkdir(parents=True, exist_ok=True)
    ours, theirs = build_ours(), build_openjph(Path(args.openjph), args.build, "openjph_codec.cpp")
    for picture in args.pictures:
        path, width, height = raw(picture, args.build)
        budget = int(args.bpp * width * height / 8)
        head = [path, str(width), str(height)]
        step = find_step(theirs, head, budget)
        programs = {
            "Duet, 1 thread": lambda direction, runs: [ours, "codec", *head, str(budget), direction, runs, "1"],
            "Duet, 2 threads": lambda direction, runs: [ours, "codec", *head, str(budget), direction, runs, "2"],
            "OpenJPH, 1 thread": lambda direction, runs: [theirs, *head, step, direction, runs],
        }
        results = {}
        for number in range(args.rounds):
            for name, command in programs.items():
                for direction in DIRECTIONS:
                    measure(results.setdefault((name, direction), {}), command, direction, args.runs)
            print(f"{picture.name}: round {number + 1} of {args.rounds}", file=sys.stderr)
        report(picture.name, width, height, results)


def raw(picture, build):
    """The first frame as 4:2:0 of 8 bits."""
    path = build / "picture.i420"
    probe = ["ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries", "stream=width,height", "-of", "csv=p=0"]
    size = subprocess.run([*probe, picture], check=True, capture_output=True, text=True).stdout.strip().split(",")
    convert = ["ffmpeg", "-v", "error", "-y", "-i", picture, "-frames:v", "1", "-pix_fmt", "yuv420p", "-f", "rawvideo", path]
    subprocess.run(convert, check=True)
    return path, int(size[0]), int(size[1])


def said(command):
    """What a program prints: bytes, PSNR and the milliseconds of each run."""
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    words = {word: rest for word, *rest in (line.split() for line in lines)}
    return int(words["bytes"][0]), float(words["psnr"][0]), [float(ms) for ms in words["times"]]


def find_step(theirs, head, budget):
    """The finest step found whose code fits the budget."""
    fine, coarse = 1e-4, 1.0
    for _ in range(20):
        middle = (fine * coarse) ** 0.5
        fits = said([theirs, *head, f"{middle:.6f}", "encode", "0"])[0] <= budget
        fine, coarse = (fine, middle) if fits else (middle, coarse)
    return f"{coarse:.6f}"


def processor_ms():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1e3 * (usage.ru_utime + usage.ru_stime)


def measure(result, command, direction, runs):
    start = processor_ms()
    said(command(direction, "0"))
    middle = processor_ms()
    result["bytes"], result["psnr"], times = said(command(direction, str(runs)))
    result.setdefault("wall", []).extend(times)
    result.setdefault("processor", []).append((processor_ms() - middle - (middle - start)) / runs)


def report(name, width, height, results):
    print(f"\n{name}, {width}x{height}; best wall, median wall and best processor time, ms; and how many times OpenJPH's\n")
    print("| | bytes | PSNR-Y | " + " | ".join(f"{d}: best | median | processor | times as fast" for d in DIRECTIONS) + " |")
    print("|---|---|---|" + "---|" * 4 * len(DIRECTIONS))
    for program in dict.fromkeys(program for program, _ in results):
        cells = [str(results[program, "encode"]["bytes"]), f"{results[program, 'encode']['psnr']:.2f}"]
        for direction in DIRECTIONS:
            own, other = (times(results[of, direction]) for of in (program, "OpenJPH, 1 thread"))
            cells += [f"{ms:.1f}" for ms in own] + [", ".join(f"{b / a:.2f}" for a, b in zip(own, other))]
        print(f"| {program} | " + " | ".join(cells) + " |")


def times(result):
    return min(result["wall"]), statistics.median(result["wall"]), min(result["processor"])


if __name__ == "__main__":
    main()
