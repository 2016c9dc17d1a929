"""Noise for whole numbers, on the host: nothing is compiled for it, and it is added in one place.

What a program leaves without its noise is private: it goes to :func:`with_noise` and nowhere else.
"""

from __future__ import annotations

import math

import numpy as np

from dpmcmc.mechanisms import stream
from dpmcmc.mechanisms.gaussian_sum import MOST_COORDINATES, WORDS, discrete_gaussian


def with_noise(key: np.ndarray, whole: np.ndarray, unit: float) -> np.ndarray:
    """``unit`` times (whole numbers + discrete Gaussian noise), float64; ``key`` is secret and used once.

    Guarantee: that of :class:`~dpmcmc.mechanisms.gaussian_sum.GaussianSum` for sums of its bound, of
    :class:`~dpmcmc.mechanisms.counts.Histograms` for counts of its weight.
    """
    key, whole = np.asarray(key), np.asarray(whole)
    if whole.dtype != np.int64 or key.dtype != np.uint64 or whole.size > MOST_COORDINATES:
        raise TypeError(
            f"noise is for up to {MOST_COORDINATES} 64-bit whole numbers and a key of 64-bit words, "
            f"got {whole.size} of {whole.dtype} and {key.dtype}"
        )
    words = stream.host_words(key, whole.size * math.prod(WORDS)).reshape(*whole.shape, *WORDS)
    return (whole + discrete_gaussian(words, np)).astype(np.float64) * np.float64(unit)
