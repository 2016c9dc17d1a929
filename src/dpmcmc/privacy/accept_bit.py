"""The Rényi cost of one accept bit (first version)."""

from __future__ import annotations

import numpy as np


def barker_renyi(shift: float, orders: np.ndarray) -> np.ndarray:
    """α η²/8 (Lemma 2), never more than the pure cost η."""
    return np.minimum(orders * shift**2 / 8, shift) * (1 + 2**-50)


def penalty_renyi(shift: float, std: float, orders: np.ndarray) -> np.ndarray:
    """The Gaussian's own curve bounds that of the bit (post-processing)."""
    return orders * (shift / std) ** 2 / 2 * (1 + 2**-50)
