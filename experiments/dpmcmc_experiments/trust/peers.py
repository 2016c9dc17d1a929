"""Other private methods at the same ε, δ and neighbouring relation, as answers that rows can be made of.

``dpvi`` is the library's own; it and ``noise-aware-dpvi`` take their geometry from the model alone. ``dp-sgld`` is
given its step and clip from the exact posterior for free, as it has no way of its own to choose them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import dpmcmc as dp
from dpmcmc_experiments.trust.base import Problem
from dpmcmc_experiments.trust.density import density
from dpmcmc_experiments.trust.harness import DEFAULT, Answer, Method, default_release, raveled_draws
from dpmcmc_experiments.trust.reference import newton
from dpmcmc_experiments.trust.statistics_peers import noisy_linear, noisy_logistic
from dpmcmc_experiments.trust.variational_peers import noise_aware

STEP = 0.2  # in the variance of the narrowest direction
CLIP = 3.5  # in root mean squares of a record's gradient at the mode


def variational(problem: Problem, records: Any, epsilon: float, delta: float, seed: int) -> Answer:
    """A normal fitted with noisy gradients (Jälkö, Dikmen & Honkela 2017)."""
    fit = dp.dpvi(problem.model, records, epsilon, delta, seed=seed)
    return Answer.of_normal(np.asarray(fit.mean), np.sqrt(np.diag(fit.covariance)))


def langevin(problem: Problem, records: Any, epsilon: float, delta: float, seed: int) -> Answer:
    """A Langevin chain whose noise is the privacy noise, as long as the budget pays for."""
    made = density(problem)
    mode, hessian = newton(made, records, made.start)
    norms = np.linalg.norm(made.scores(mode, records), axis=1)
    kernel = dp.dp_sgld(STEP / float(np.linalg.eigvalsh(hessian)[-1]), CLIP * float(np.sqrt(np.mean(norms**2))))
    release = dp.sample(problem.model, records, epsilon, delta, method=kernel, chains=1, seed=seed, progress=False)
    return Answer.of_draws(raveled_draws(release))


METHODS: dict[str, Method] = {
    DEFAULT: default_release,
    "dpvi": variational,
    "noise-aware-dpvi": noise_aware,
    "dp-sgld": langevin,
    "noisy-linear": noisy_linear,
    "noisy-logistic": noisy_logistic,
}

_LOGISTIC = (
    "logistic-tiny-200",
    "mode-choice",
    "logistic-plain",
    "logistic-leverage",
    "logistic-ones-08",
    "fair-affair",
    "rand-visit",
    "census-8",
)
_LINEAR = ("linear-tiny-200", "linear-plain", "linear-shells", "linear-t2", "fair-rating")
_OTHERS = ("poisson-plain", "rand-poisson", "nb-plain", "rand-nb", "student-plain")
_ALL = (*_LOGISTIC, *_LINEAR, *_OTHERS)

PROBLEMS: dict[str, tuple[str, ...]] = {
    "dpvi": (*_ALL, "census-all"),
    "noise-aware-dpvi": (*_ALL, "census-all"),
    "dp-sgld": _ALL,
    "noisy-linear": _LINEAR,
    "noisy-logistic": _LOGISTIC,
}
"""Where each method is tried."""
