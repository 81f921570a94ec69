#!/usr/bin/env python3
"""Makes the pictures and coefficients in this folder from scikit-image's `camera` picture.

Needs numpy, PyWavelets, scikit-image. Writes NAME.pgm and NAME.PADDING.npy (float64, shape (1, N, N)).
"""

import os

import numpy as np
from oracle import forward
from skimage import data

HERE = os.path.dirname(os.path.abspath(__file__))
camera = data.camera()
for name, picture in {"camera_64x64": camera[100:164, 180:244], "camera_37x21": camera[90:111, 210:247]}.items():
    with open(f"{HERE}/{name}.pgm", "wb") as file:
        file.write(b"P5\n%d %d\n255\n" % picture.shape[::-1] + picture.tobytes())
    for padding in ["smooth", "zero"]:
        np.save(f"{HERE}/{name}.{padding}.npy", forward(picture, padding)[None])
