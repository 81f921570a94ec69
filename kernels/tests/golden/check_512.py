#!/usr/bin/env python3
"""Compares `wavelet forward` and `wavelet inverse` on a grey 512x512 picture with PyWavelets.

    check_512.py [WAVELET [OPTION..]]        e.g. check_512.py target/release/wavelet --backend opencl

Prints the largest differences in units of an 8-bit sample; exits 1 if one reaches 1e-3.
"""

import subprocess
import sys
import tempfile

import numpy as np
from oracle import forward
from PIL import Image
from skimage import data

wavelet, options = (sys.argv[1:2] or ["target/release/wavelet"])[0], sys.argv[2:]
camera = data.camera()
with tempfile.TemporaryDirectory() as folder:
    picture, coefficients, samples = f"{folder}/a.png", f"{folder}/a.npy", f"{folder}/b.npy"
    Image.fromarray(camera).save(picture)
    subprocess.run([wavelet, "forward", picture, coefficients, *options], check=True)
    subprocess.run([wavelet, "inverse", coefficients, samples, *options], check=True)
    ahead = np.abs(np.load(coefficients)[0].astype(np.float64) - forward(camera, "smooth")).max()
    back = np.abs(np.load(samples)[0].astype(np.float64) - camera).max()
print(f"{camera.shape[1]}x{camera.shape[0]}: forward differs from PyWavelets by at most {ahead:.2e}, there and back by {back:.2e}")
sys.exit(not (ahead < 1e-3 and back < 1e-3))
