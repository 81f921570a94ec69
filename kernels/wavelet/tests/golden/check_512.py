#!/usr/bin/env python3
"""Compares `wavelet forward` and `wavelet inverse` on a grey 512x512 picture with PyWavelets.

    check_512.py [WAVELET [OPTION..]]        e.g. check_512.py target/release/wavelet --backend opencl

Prints the largest differences at 8-bit range, that is after division of a coefficient by the gain 2^level of its
band (f32 itself resolves the largest coefficients of this picture, 29387, no finer than 2e-3); exits 1 if one
reaches 1e-3.
"""

import subprocess
import sys
import tempfile

import numpy as np
from oracle import forward, gain
from PIL import Image
from skimage import data

wavelet, options = (sys.argv[1:2] or ["target/release/wavelet"])[0], sys.argv[2:]
camera = data.camera()
with tempfile.TemporaryDirectory() as folder:
    picture, coefficients, samples = f"{folder}/a.png", f"{folder}/a.npy", f"{folder}/b.npy"
    Image.fromarray(camera).save(picture)
    subprocess.run([wavelet, "forward", picture, coefficients, *options], check=True)
    subprocess.run([wavelet, "inverse", coefficients, samples, *options], check=True)
    exact = forward(camera, "smooth")
    differences = np.abs(np.load(coefficients)[0].astype(np.float64) - exact)
    ahead = (differences / gain(exact.shape[0])).max()
    back = np.abs(np.load(samples)[0].astype(np.float64) - camera).max()
print(f"forward and PyWavelets differ by at most {ahead:.2e} at 8-bit range ({differences.max():.2e} of {np.abs(exact).max():.0f})")
print(f"forward and inverse give the picture back within {back:.2e}")
sys.exit(not (ahead < 1e-3 and back < 1e-3))
