"""Predicted probabilities of a 0/1 outcome against what happened, on held-out public records."""

from __future__ import annotations

import numpy as np

from dpmcmc.arguments import numbers, whole


def accuracy(probabilities: np.ndarray, outcomes: np.ndarray) -> float:
    """Share of outcomes on the side of one half that was predicted."""
    p, y = _checked(probabilities, outcomes)
    return float(np.mean((p > 0.5) == (y > 0.5)))


def log_loss(probabilities: np.ndarray, outcomes: np.ndarray) -> float:
    """Mean negative log probability of what happened."""
    p, y = _checked(probabilities, outcomes)
    p = np.clip(p, 1e-15, 1 - 1e-15)
    return float(-np.mean(np.where(y > 0.5, np.log(p), np.log1p(-p))))


def calibration_error(probabilities: np.ndarray, outcomes: np.ndarray, bins: int = 10) -> float:
    """Expected calibration error: |mean prediction − frequency| in ``bins`` equal bins, weighted by their size."""
    p, y = _checked(probabilities, outcomes)
    which = np.minimum((p * whole("bins", bins)).astype(int), bins - 1)
    gaps = [abs(np.sum((y - p)[which == b])) for b in range(bins)]
    return float(np.sum(gaps) / len(p))


def _checked(probabilities: np.ndarray, outcomes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One probability and one outcome, 0 or 1, for each record."""
    p = numbers("probabilities", probabilities, "be numbers from 0 to 1")
    y = numbers("outcomes", np.asarray(outcomes) * 1 if _truths(outcomes) else outcomes, "be 0 or 1")
    if not np.all((p >= 0) & (p <= 1)):
        raise ValueError(f"probabilities must be numbers from 0 to 1, got one of {p.min():g} and one of {p.max():g}")
    if not np.all((y == 0) | (y == 1)):
        raise ValueError("outcomes must be 0 or 1, got other numbers")
    if p.ndim != 1 or p.shape != y.shape:
        raise ValueError(f"probabilities and outcomes must be one for each record, got shapes {p.shape} and {y.shape}")
    return p, y


def _truths(outcomes: np.ndarray) -> bool:
    return np.asarray(outcomes).dtype == bool
