#!/usr/bin/env python3
"""Compares the profile pcwt with JPEG XR, both lossless: the tables 5.2 and 5.3 of Ao 2014 again.

For each picture the bytes and the times of `wavelet bench lossless`, measured now or read from a file of another machine (--csv), and
those of JxrEncApp and JxrDecApp (Debian's libjxr-tools), measured now: processor time of the whole program, which has one thread
and reads and writes in memory, the least of several runs. Needs pillow.
"""
import argparse
import csv
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

CATEGORIES = [(5, "2 to 5"), (10, "5 to 10"), (20, "10 to 20"), (float("inf"), "over 20")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pictures", type=Path, nargs="+", help=".png, .ppm or .pgm")
    parser.add_argument("--wavelet", default="wavelet", help="the program")
    parser.add_argument("--backend", default="cpu", help="back end to measure now")
    parser.add_argument("--csv", type=Path, action="append", help="a table of `wavelet bench lossless --csv` to read instead")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each program")
    args = parser.parse_args()
    folder = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        tables = args.csv or [measure_ours(args, Path(scratch) / "lossless.csv")]
        ours = [row for table in tables for row in csv.DictReader(table.open())]
        rivals = {picture.name: measure_rival(picture, Path(scratch), args.rounds) for picture in args.pictures}
    def kind_of(row):
        return tuple(row[column] for column in ("backend", "device", "profile", "joining"))

    for kind in sorted({kind_of(row) for row in ours}):
        rows = [row for row in ours if kind_of(row) == kind and row["picture"] in rivals]
        print_tables(kind, rows, rivals)


def measure_ours(args, table):
    subprocess.run(
        [args.wavelet, "bench", "lossless", "--backend", args.backend, "--runs", str(args.rounds), "--seconds", "60",
         "--csv", table, "--picture", *args.pictures],
        check=True, stdout=subprocess.DEVNULL,
    )
    return table


def measure_rival(path, scratch, rounds):
    from PIL import Image

    Image.MAX_IMAGE_PIXELS = None
    picture = Image.open(path)
    source, coded, back = scratch / "a.bmp", scratch / "a.jxr", scratch / "b.bmp"
    picture.save(source)
    encode = least(rounds, ["JxrEncApp", "-i", source, "-o", coded, "-q", "1"])
    decode = least(rounds, ["JxrDecApp", "-i", coded, "-o", back, "-c", "2" if picture.mode == "L" else "0"])
    if Image.open(back).convert(picture.mode).tobytes() != picture.tobytes():
        sys.exit(f"{path}: JPEG XR came back changed")
    return {"bytes": coded.stat().st_size, "encode": encode, "decode": decode, "raw": len(picture.tobytes())}


def least(rounds, command):
    """Milliseconds of processor time of a program, the least of some runs."""
    def spent():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return 1000 * (usage.ru_utime + usage.ru_stime)

    times = []
    for _ in range(rounds):
        before = spent()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        times.append(spent() - before)
    return min(times)


def print_tables(kind, rows, rivals):
    backend, device, profile, joining = kind
    print(f"\n{profile}: {backend}, {device}" + (f", elements joined {joining}" if joining != "-" else "") + "\n")
    print(f"| picture | size | raw bytes | {profile} | JPEG XR | size ratio | encode ms | JPEG XR | faster | decode ms | JPEG XR | faster |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    sums = {}
    for row in rows:
        rival, size = rivals[row["picture"]], int(row["bytes"])
        encode, decode = float(row["encode_ms"]), float(row["decode_ms"])
        width, height = map(int, row["size"].split("x"))
        print(
            f"| {row['picture']} | {row['size']} | {rival['raw']} | {size} | {rival['bytes']} | {size / rival['bytes']:.3f} "
            f"| {encode:.1f} | {rival['encode']:.0f} | {rival['encode'] / encode:.1f} "
            f"| {decode:.1f} | {rival['decode']:.0f} | {rival['decode'] / decode:.1f} |"
        )
        category = next(name for limit, name in CATEGORIES if width * height < limit * 1e6)
        weighted = [rival["raw"] / size, rival["raw"] / rival["bytes"], encode, rival["encode"], decode, rival["decode"]]
        total = sums.setdefault(category, [0.0] * 6)
        for at, value in enumerate(weighted):
            total[at] += width * height * value
    print("\nWeighted by pixels, as in table 5.3:\n")
    print("| megapixels | compression faster | decompression faster | size |\n|---|---|---|---|")
    for _, name in CATEGORIES:
        if name in sums:
            ratio, other_ratio, encode, other_encode, decode, other_decode = sums[name]
            print(f"| {name} | {other_encode / encode:.2f} | {other_decode / decode:.2f} | {other_ratio / ratio:.3f} |")


if __name__ == "__main__":
    main()
