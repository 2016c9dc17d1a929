"""Noise for whole numbers, in a program of its own: compiled once for all sums of about the same width.

What a program leaves without its noise is private: it goes to :func:`with_noise` and nowhere else.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpmcmc.mechanisms import stream
from dpmcmc.mechanisms.gaussian_sum import MOST_COORDINATES, WORDS, discrete_gaussian, need_64_bits

LEAST_WIDTH = 256  # enough for most releases: they share one program


def padded(whole: np.ndarray) -> np.ndarray:
    """A vector of whole numbers with zeros up to the next power of two: few widths are compiled."""
    width = max(LEAST_WIDTH, 2 ** int(np.ceil(np.log2(max(whole.size, 1)))))
    return np.pad(whole, (0, width - whole.size))


@jax.jit
def with_noise(key: Array, whole: Array, unit: Array) -> Array:
    """``unit`` times (whole numbers + discrete Gaussian noise), float64; ``key`` is secret and used once.

    Guarantee: that of :class:`~dpmcmc.mechanisms.gaussian_sum.GaussianSum` for sums of its bound, of
    :class:`~dpmcmc.mechanisms.counts.Histograms` for counts of its weight: each coordinate has its own noise, so zeros
    added to the vector and dropped afterwards change nothing.
    """
    need_64_bits()
    if whole.dtype != jnp.int64 or key.dtype != jnp.uint64 or whole.size > MOST_COORDINATES:
        raise TypeError(
            f"noise is for up to {MOST_COORDINATES} 64-bit whole numbers and a key of 64-bit words, "
            f"got {whole.size} of {whole.dtype} and {key.dtype}"
        )
    words = stream.words(key, whole.size * int(np.prod(WORDS))).reshape(whole.size, *WORDS)
    return (whole + discrete_gaussian(words)).astype(jnp.float64) * unit
