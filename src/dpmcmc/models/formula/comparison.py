"""How much a release speaks for terms of its model, against the model without them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.stats import multivariate_normal, norm


def named(terms: Sequence[str], coefficients: Sequence[str]) -> list[str]:
    """The coefficients of terms: "plan" has plan[basic], plan[full]; "age" has age alone, and not age:plan[full]."""
    if isinstance(terms, str):
        raise TypeError(f"give a list of terms, such as [{terms!r}], got the text {terms!r}")
    found: list[str] = []
    for term in terms:
        own = [name for name in coefficients if name == term or (name.startswith(f"{term}[") and ":" not in name)]
        if not own:
            raise ValueError(f"the model has no term {term!r}; its coefficients are {', '.join(coefficients)}")
        found += [name for name in own if name not in found]
    if not found:
        raise ValueError("without must name at least one term")
    return found


def log_savage_dickey(
    draws: Mapping[str, np.ndarray], priors: Mapping[str, tuple[float, float]], names: Sequence[str]
) -> float:
    """log p(β = 0) − log p(β = 0|release): the evidence for β over that for β = 0, of independent normal priors.

    With p(β, φ) = p(β)p(φ), p(D|β = 0) = ∫ p(D|β = 0, φ) p(φ) dφ = p(D) p(β = 0|D)/p(β = 0). The density of the draws
    is taken to be normal.

    Reference: Dickey (1971), The weighted likelihood ratio, linear hypotheses on normal location parameters.
    """
    table = np.stack([np.ravel(draws[name]) for name in names])
    means, stds = np.array([priors[name] for name in names], dtype=float).T
    before = float(np.sum(norm.logpdf(0.0, means, stds)))
    posterior = multivariate_normal(table.mean(axis=1), np.atleast_2d(np.cov(table)), allow_singular=True)
    return before - float(posterior.logpdf(np.zeros(len(names))))
