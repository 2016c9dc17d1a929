"""Predicted probabilities of a 0/1 outcome against what happened, on held-out public records."""

from __future__ import annotations

import numpy as np


def accuracy(probabilities: np.ndarray, outcomes: np.ndarray) -> float:
    """Share of outcomes on the side of one half that was predicted."""
    return float(np.mean((probabilities > 0.5) == (outcomes > 0.5)))


def log_loss(probabilities: np.ndarray, outcomes: np.ndarray) -> float:
    """Mean negative log probability of what happened."""
    p = np.clip(probabilities, 1e-15, 1 - 1e-15)
    return float(-np.mean(np.where(outcomes > 0.5, np.log(p), np.log1p(-p))))


def calibration_error(probabilities: np.ndarray, outcomes: np.ndarray, bins: int = 10) -> float:
    """Expected calibration error: |mean prediction − frequency| in ``bins`` equal bins, weighted by their size."""
    which = np.minimum((np.asarray(probabilities) * bins).astype(int), bins - 1)
    gaps = [abs(np.sum((outcomes - probabilities)[which == b])) for b in range(bins)]
    return float(np.sum(gaps) / len(probabilities))
