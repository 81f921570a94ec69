#!/usr/bin/env python3
"""Lets other programs read the files of JPEG 2000 that `wavelet encode` writes, and compares what they make of them.

Of each picture five files without and five with loss are read by OpenJPEG (opj_decompress), OpenJPH (ojph_expand), ffmpeg and
Pillow, as far as they are there and read such a file. Without loss every sample must come back, with loss the PSNR must be that
of `wavelet decode` within 0.01 dB. Needs pillow and numpy; that of PyPI has OpenJPEG 2.5, which reads Part 15.
"""
import argparse
import math
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

LOSSLESS = [("a.j2k", []), ("a.jp2", ["--progression", "quality"]), ("b.jp2", ["--code-block", "32"]), ("a.j2c", []), ("a.jph", [])]
LOSSY = [
    ("a.j2k", ["--bpp", "1"]),
    ("a.jp2", ["--bpp", "2", "--progression", "quality"]),
    ("b.jp2", ["--step", "4"]),
    ("a.j2c", ["--bpp", "1"]),
    ("a.jph", ["--step", "4"]),
]
MOST_DB = 0.01
# Files of Part 15.
HIGH_THROUGHPUT = [".j2c", ".jph"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pictures", type=Path, nargs="+", help=".png or .ppm, RGB of 8 bits")
    parser.add_argument("--wavelet", default="wavelet", help="the program")
    args = parser.parse_args()
    readers = {name: reader for name, reader in READERS.items() if reader.is_there()}
    print("readers:", ", ".join(f"{name} ({reader.version()})" for name, reader in readers.items()))
    counts, failures = {}, []
    with tempfile.TemporaryDirectory() as scratch:
        for picture in args.pictures:
            original = pixels(picture)
            for is_lossless, files in [(True, LOSSLESS), (False, LOSSY)]:
                for name, options in files:
                    coded, ours = Path(scratch) / name, Path(scratch) / "ours.ppm"
                    options = ["--lossless", *options] if is_lossless else options
                    run(args.wavelet, "encode", picture, coded, *options)
                    run(args.wavelet, "decode", coded, ours)
                    wanted = psnr(original, pixels(ours))
                    for reader_name, reader in readers.items():
                        key = (reader_name, coded.suffix, "without loss" if is_lossless else "with loss")
                        found = reader.read(coded, Path(scratch) / "theirs.ppm")
                        read, refused = counts.setdefault(key, [0, 0])
                        if found is None:
                            counts[key] = [read, refused + 1]
                            continue
                        counts[key] = [read + 1, refused]
                        difference = abs(psnr(original, found) - wanted) if not is_lossless else 0.0
                        if is_lossless and (found != original).any() or difference > MOST_DB:
                            failures.append(f"{picture.name}: {reader_name}, {name} {' '.join(options)}: {difference:.4f} dB")
    print("| reader | file | | read as it is | not read |\n|---|---|---|---|---|")
    for (reader, ending, loss), (read, refused) in sorted(counts.items()):
        print(f"| {reader} | {ending} | {loss} | {read} | {refused} |")
    if failures:
        sys.exit("\n".join(failures))


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True)


def pixels(path):
    import numpy
    from PIL import Image

    Image.MAX_IMAGE_PIXELS = None
    with Image.open(path) as image:
        return numpy.asarray(image.convert("RGB"), dtype=numpy.int32)


def psnr(one, other):
    error = float(((one - other) ** 2).mean())
    return math.inf if error == 0 else 10 * math.log10(255 * 255 / error)


class Program:
    """A program that turns a file into a PPM."""

    def __init__(self, name, arguments, version, endings, first=None):
        self.name, self.arguments, self.asked, self.endings, self.first = name, arguments, version, endings, first

    def is_there(self):
        return shutil.which(self.name) is not None

    def version(self):
        found = subprocess.run([self.name, *self.asked], capture_output=True, text=True)
        words = (found.stdout + found.stderr).split()
        return next((word.strip("v.,:") for word in words if word.strip("v.,:")[:1].isdigit() and "." in word), "?")

    def reads_high_throughput(self):
        """Older ones take the blocks for those of Part 1 and make noise of them."""
        found = [int(part) for part in self.version().split("-")[0].split(".")[:2] if part.isdigit()]
        return self.first is None or found >= self.first

    def read(self, coded, out):
        if coded.suffix not in self.endings or coded.suffix in HIGH_THROUGHPUT and not self.reads_high_throughput():
            return None
        out.unlink(missing_ok=True)
        done = subprocess.run([self.name, *self.arguments(coded, out)], capture_output=True)
        return pixels(out) if done.returncode == 0 and out.exists() and out.stat().st_size > 0 else None


class Pillow:
    def is_there(self):
        from PIL import features

        return features.check("jpg_2000")

    def version(self):
        import PIL
        from PIL import features

        return f"{PIL.__version__}, OpenJPEG {features.version('jpg_2000')}"

    def read(self, coded, _):
        try:
            return pixels(coded)
        except OSError:
            return None


READERS = {
    "OpenJPEG": Program("opj_decompress", lambda a, b: ["-i", a, "-o", b], ["-h"], [".j2k", ".jp2", ".j2c", ".jph"]),
    # It reads Part 15 only, and no boxes.
    "OpenJPH": Program("ojph_expand", lambda a, b: ["-i", a, "-o", b], [], [".j2c"]),
    "ffmpeg": Program(
        "ffmpeg",
        lambda a, b: ["-v", "error", "-xerror", "-f", "image2", "-c:v", "jpeg2000", "-i", a, "-pix_fmt", "rgb24", b],
        ["-version"],
        [".j2k", ".jp2", ".j2c", ".jph"],
        [6, 1],
    ),
    "Pillow": Pillow(),
}


if __name__ == "__main__":
    main()
