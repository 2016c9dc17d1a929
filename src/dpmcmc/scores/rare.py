"""Values of a covariate that are too rare to be seen: what only records with them would tell is left to the prior.

The count of a rare level may be no larger than its noise. Whether a hundred records have it or none then cannot be
told, and neither can how much is known of its effect. So nothing is: of what the sums say, the part that rests on
simulated records with such values is taken away.

Reference: docs/theory/score-release.md, "Values that cannot be seen".
"""

from __future__ import annotations

import numpy as np

from dpmcmc.scores import matrices
from dpmcmc.scores.marginals import Marginals
from dpmcmc.scores.picture import Picture, root_of
from dpmcmc.scores.step import Knowledge

MOSTLY = 0.5  # of the information along a direction; where records without unseen values have more, it is as it was


def unseen_rows(x: np.ndarray, marginals: Marginals) -> np.ndarray:
    """Which of the covariates (n, k) have a value that was not seen."""
    rows = np.zeros(len(x), bool)
    for column, values, count in zip(x.T, marginals.unseen, marginals.levels, strict=True):
        for value in values:
            rows |= np.abs(column - value) < 0.5 / max(count - 1, 1)
    return rows


def as_far_as_seen(said: Knowledge, here: Picture, seen: np.ndarray | None) -> Knowledge:
    """What the sums say, without what rests on values that were not seen.

    ``seen`` is the information of one record if those with such values had none, by simulated records; None if all
    values were seen. With information LLᵀ and ``seen`` = LQ diag(λ) QᵀLᵀ the precision P becomes TᵀPT,
    T = L⁻ᵀQ diag(c)^½ QᵀLᵀ, where c is 1 where λ > ½ and λ elsewhere: if P is in proportion to the information, it is
    so to the part of it that is seen.
    """
    if seen is None:
        return said
    lower = root_of(here.some_information)
    inverse = np.linalg.inv(lower)
    shares, axes = np.linalg.eigh(matrices.symmetric(inverse @ here.of_real(seen) @ inverse.T))
    if np.all(shares > MOSTLY):
        return said
    kept = np.where(shares > MOSTLY, 1.0, np.clip(shares, 0.0, 1.0))
    change = inverse.T @ (axes * np.sqrt(kept)) @ axes.T @ lower.T
    precision = matrices.symmetric(change.T @ said.precision @ change)
    return Knowledge(precision, precision @ matrices.power(said.precision, -1, 1e-14) @ said.weighted)
