#!/usr/bin/env python3
"""Clips at constant bytes a frame, as a call has them: Bjontegaard rates by PSNR-Y, SSIM and SSIMULACRA2.

  clips.py [--bpp 0.02,0.05,0.12,0.3] [--frames 60] [--every 10] --codec 'NAME=ENC;DEC' [--codec ..] CLIP.y4m..

ENC reads {in}, a 4:2:0 Y4M, and writes {out} with {bytes} a frame ({bpp} bit per pixel of luma); DEC makes a Y4M of it, e.g.
  'duet=wavelet encode {in} {out} --bytes-per-frame {bytes} --prediction on;wavelet decode {in} {out}'
Others are compared with the first one; the last one is always x264 veryfast, P frames, zero latency, with a buffer of one frame, without
AQ and psychovisual decisions. Whole clip, and its second half. SSIMULACRA2 is that of one frame in --every. The files' size counts,
alike for each frame; of x264 the frames' own. Needs ffmpeg with libx264, and from PyPI numpy, pillow and ssimulacra2.
"""
import argparse, os, re, subprocess, tempfile
import numpy as np
from PIL import Image
from ssimulacra2 import compute_ssimulacra2

METRICS = ["PSNR-Y", "SSIM", "SSIMULACRA2"]
X264 = (
    "ffmpeg -y -i {in} -c:v libx264 -preset veryfast -tune zerolatency -threads 1 -b:v {rate} -maxrate {rate} -bufsize {bits} "
    "-x264-params aq-mode=0:no-psy=1:keyint=9999:scenecut=0 {out}.mkv;ffmpeg -y -i {in}.mkv -vsync 0 -pix_fmt yuv420p -f yuv4mpegpipe {out}"
)


def run(command):
    return subprocess.run(command, shell=True, check=True, capture_output=True, text=True)


def read(path, frames):
    with open(path, "rb") as file:
        words = file.readline().decode().split()[1:]
        width, height = (int(next(word[1:] for word in words if word[0] == key)) for key in "WH")
        rate = next((word[1:] for word in words if word[0] == "F"), "30:1")
        half = (width + 1) // 2, (height + 1) // 2
        sizes = [(height, width), half[::-1], half[::-1]]
        out = []
        while len(out) < frames and file.readline():
            out.append([np.frombuffer(file.read(h * w), np.uint8).reshape(h, w) for h, w in sizes])
        return width, height, rate, out


def write(path, width, height, rate, frames):
    with open(path, "wb") as file:
        file.write(f"YUV4MPEG2 W{width} H{height} F{rate} Ip A1:1 C420jpeg\n".encode())
        for planes in frames:
            file.write(b"FRAME\n" + b"".join(plane.tobytes() for plane in planes))


def png(path, planes):
    y, cb, cr = (Image.fromarray(plane) for plane in planes)
    size = y.size
    Image.merge("YCbCr", [y, cb.resize(size, Image.BILINEAR), cr.resize(size, Image.BILINEAR)]).convert("RGB").save(path)


def figures(folder, wanted, found, every):
    """Of each frame: squared error, SSIM as ffmpeg has it, and SSIMULACRA2 or none."""
    errors = [np.mean((a[0].astype(float) - b[0]) ** 2) for a, b in zip(wanted, found)]
    run(f"ffmpeg -y -i {folder}/found.y4m -i {folder}/in.y4m -lavfi ssim=stats_file={folder}/ssim -f null -")
    ssim = [float(number) for number in re.findall(r"Y:([\d.]+)", open(f"{folder}/ssim").read())]
    perceptual = []
    for at, (a, b) in enumerate(zip(wanted, found)):
        if at % every == every - 1:
            png(f"{folder}/a.png", a), png(f"{folder}/b.png", b)
            perceptual.append(compute_ssimulacra2(f"{folder}/a.png", f"{folder}/b.png"))
        else:
            perceptual.append(None)
    return list(zip(errors, ssim, perceptual))


def quality(rows):
    errors, ssim, perceptual = zip(*rows)
    perceptual = [value for value in perceptual if value is not None]
    return [10 * np.log10(255**2 / max(np.mean(errors), 1e-9)), -10 * np.log10(max(1 - np.mean(ssim), 1e-9)), np.mean(perceptual)]


def points(folder, codec, clip, options):
    """Bits and quality at each rate, of the whole clip and of its second half."""
    width, height, rate, wanted = clip
    encode, decode = codec.split(";")
    numerator, denominator = map(int, rate.split(":"))
    out = []
    for bpp in map(float, options.bpp.split(",")):
        size = round(bpp * width * height / 8)
        words = {"in": f"{folder}/in.y4m", "out": f"{folder}/coded", "bpp": bpp, "bytes": size, "bits": 8 * size}
        run(encode.format(**words, rate=8 * size * numerator // denominator))
        run(decode.format(**{"in": f"{folder}/coded", "out": f"{folder}/found.y4m"}))
        if codec == X264:
            packets = run(f"ffprobe -v error -show_entries packet=size -of csv=p=0 {folder}/coded.mkv").stdout
            sizes = [int(line.strip(",")) for line in packets.split()]
        else:
            sizes = [os.path.getsize(f"{folder}/coded") / len(wanted)] * len(wanted)
        found = read(f"{folder}/found.y4m", options.frames)[3]
        assert len(found) == len(wanted) == len(sizes), f"{codec}: {len(found)} of {len(wanted)} pictures"
        rows = figures(folder, wanted, found, options.every)
        half = len(wanted) // 2
        out.append([(np.mean(sizes[start:]), quality(rows[start:])) for start in (0, half)])
    return out


def bjontegaard(anchor, test, part, metric):
    curves = [[(point[part][1][metric], np.log(point[part][0])) for point in points] for points in (anchor, test)]
    least, most = max(min(curve)[0] for curve in curves), min(max(curve)[0] for curve in curves)
    if least >= most:
        return float("nan")
    areas = []
    for curve in curves:
        fit = np.polyint(np.polyfit(*zip(*curve), min(3, len(curve) - 1)))
        areas.append(np.polyval(fit, most) - np.polyval(fit, least))
    return 100 * (np.exp((areas[1] - areas[0]) / (most - least)) - 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bpp", default="0.02,0.05,0.12,0.3")
    parser.add_argument("--frames", type=int, default=60)
    parser.add_argument("--every", type=int, default=10)
    parser.add_argument("--codec", action="append", required=True)
    parser.add_argument("clips", nargs="+")
    options = parser.parse_args()
    codecs = [codec.split("=", 1) for codec in options.codec] + [["x264", X264]]
    print("| clip | | against | " + " | ".join(f"{metric}: whole, second half" for metric in METRICS) + " |", flush=True)
    print("|---|---|---|" + "---|" * len(METRICS))
    for path in options.clips:
        with tempfile.TemporaryDirectory() as folder:
            clip = read(path, options.frames)
            write(f"{folder}/in.y4m", *clip)
            results = [(name, points(folder, codec, clip, options)) for name, codec in codecs]
        pairs = [(first, other) for at, first in enumerate(results) for other in results[:at]]
        for (anchor, of_anchor), (name, found) in pairs:
            cells = (", ".join(f"{bjontegaard(of_anchor, found, part, metric):+.1f} %" for part in (0, 1)) for metric in range(3))
            print(f"| {os.path.basename(path)} | {name} | {anchor} | " + " | ".join(cells) + " |", flush=True)


main()
