"""Enumeration shared by the tests of soundness."""

import math

import numpy as np
import pytest


def _tree_delta(depth, epsilon, pairs):
    """The largest δ(ε) over adaptive trees: at every node the adversary picks one pair of laws (log P, log Q)."""
    if depth == 0:
        return np.maximum(0.0, -np.expm1(np.minimum(epsilon, 0.0)))
    best = _tree_delta(depth - 1, epsilon, pairs)
    for log_p, log_q in pairs:
        value = sum(
            math.exp(p) * _tree_delta(depth - 1, epsilon - (p - q), pairs) for p, q in zip(log_p, log_q, strict=True)
        )
        best = np.maximum(best, value)
    return best


@pytest.fixture(scope="session")
def tree_delta():
    return _tree_delta
