"""Full CDF 9/7 decomposition with PyWavelets, laid out and scaled as kernels/MATHEMATICS.md says.

PyWavelets' `bior4.4` filters start two samples before ours and its high band has the other sign; its whole-sample
mirror is called `reflect`. A row of one sample passes unchanged.
"""

import numpy as np
import pywt

OFFSET = 128.0


def step(x, axis):
    """One level along `axis`: the low half and the high half, which is empty for one sample."""
    n = x.shape[axis]
    if n <= 1:
        return x, np.take(x, [], axis=axis)
    low, high = pywt.dwt(x, "bior4.4", "reflect", axis=axis)
    return np.take(low, np.arange(2, 2 + (n + 1) // 2), axis=axis), -np.take(high, np.arange(2, 2 + n // 2), axis=axis)


def forward(samples, padding):
    """The square of coefficients of 8-bit `samples`; padding is 'zero' or 'smooth', all levels."""
    plane = samples.astype(np.float64) - OFFSET
    side = 1 << (max(plane.shape) - 1).bit_length()
    if padding == "zero":
        plane = np.pad(plane, [(0, side - plane.shape[0]), (0, side - plane.shape[1])])
    square = np.zeros((side, side))
    half = side
    while half > 1:
        half //= 2
        left, right = step(plane, 1)
        (plane, lh), (hl, hh) = step(left, 0), step(right, 0)
        for band, y, x in [(hl, 0, half), (lh, half, 0), (hh, half, half)]:
            square[y : y + band.shape[0], x : x + band.shape[1]] = band
    square[: plane.shape[0], : plane.shape[1]] = plane
    return square


def gain(side):
    """What a sample's range grows to in each coefficient: 2^level for the bands of a level."""
    square = np.empty((side, side))
    level = 0
    while side >> level > 1:
        level += 1
        square[: side >> (level - 1), : side >> (level - 1)] = 2.0**level
    square[0, 0] = 2.0**level
    return square
