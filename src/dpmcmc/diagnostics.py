"""Summaries and diagnostics of draws, by ArviZ's own functions of arrays; ArviZ itself is an extra.

``arviz_stats`` needs NumPy and SciPy alone, so that nothing that plots is installed with the library.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np

PROBABILITY = 0.9  # of intervals


@lru_cache(maxsize=1)
def arviz() -> Any:
    """ArviZ, for InferenceData; its announcement of a future version is not for our users."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            import arviz as az
    except ImportError:
        raise ImportError("InferenceData are ArviZ's: pip install 'dpmcmc[arviz]'") from None
    return az


class Stats:
    """Functions of arrays (chain, draw), as ArviZ defines them."""

    def __init__(self) -> None:
        from arviz_stats.base import array_stats

        self._stats = array_stats

    def ess(self, draws: Any, method: str = "bulk") -> float:
        """Effective sample size: of the bulk, the tail (5 and 95 %) or the mean."""
        more = {"prob": (0.05, 0.95)} if method == "tail" else {}
        return float(self._stats.ess(np.atleast_2d(draws), method=method, **more))

    def rhat(self, draws: Any) -> float:
        """Rank-normalised split R-hat."""
        return float(self._stats.rhat(np.atleast_2d(draws)))

    def mcse(self, draws: Any, method: str = "mean") -> float:
        """Monte Carlo standard error."""
        return float(self._stats.mcse(np.atleast_2d(draws), method=method))

    def hdi(self, draws: Any) -> np.ndarray:
        """The shortest interval that holds 90 % of the draws."""
        return np.asarray(self._stats.hdi(np.ravel(draws), prob=PROBABILITY))

    def psislw(self, log_weights: Any) -> tuple[np.ndarray, float]:
        """Pareto-smoothed log weights, normalised, and Pareto's k. (The library takes their negatives.)"""
        smoothed, tail = self._stats.psislw(-np.asarray(log_weights))
        return smoothed, float(tail)


@lru_cache(maxsize=1)
def stats() -> Stats:
    """The functions, loaded once."""
    return Stats()


@contextmanager
def quietly() -> Iterator[Stats]:
    """The functions, with log and warnings off: what a diagnostic cannot tell is NaN, and we say why ourselves."""
    log = logging.getLogger("arviz")
    before = log.level
    log.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            yield stats()
    finally:
        log.setLevel(before)


def summary(draws: Mapping[str, np.ndarray], diagnostics: tuple[str, ...] = ()) -> Any:
    """Mean, standard deviation, 90 % interval and ``diagnostics`` of each number, from draws (chain, draw, …).

    A data frame; what cannot be told of any number (R-hat of a single chain) has no column.
    """
    import pandas as pd

    rows = {}
    with quietly() as az:
        measures = {
            "ess_bulk": lambda each: az.ess(each, "bulk"),
            "ess_tail": lambda each: az.ess(each, "tail"),
            "r_hat": lambda each: az.rhat(each) if len(each) > 1 else np.nan,
        }
        for name, values in draws.items():
            flat = np.reshape(np.asarray(values, np.float64), (*np.shape(values)[:2], -1))
            for place, index in enumerate(np.ndindex(np.shape(values)[2:])):
                each = flat[..., place]
                label = f"{name}[{', '.join(map(str, index))}]" if index else name
                rows[label] = [each.mean(), each.std(ddof=1), *az.hdi(each), *(measures[d](each) for d in diagnostics)]
    table = pd.DataFrame.from_dict(rows, orient="index", columns=["mean", "sd", "hdi_5%", "hdi_95%", *diagnostics])
    return table.dropna(axis="columns", how="all")
