"""From the outcomes of runs to findings: choose a test on some runs, count it on the others, compare with the claim."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from dpmcmc.auditing import bounds
from dpmcmc.auditing.bounds import Guess, Trials
from dpmcmc.auditing.claims import Claim
from dpmcmc.auditing.experiment import Experiment, View
from dpmcmc.auditing.findings import Attained, Finding

SHOWN = 0.05
"""One minus the confidence of the bounds that are shown."""

NO_CLAIM_DELTA = 1e-6
"""The δ at which a mechanism is shown that claims nothing."""

Sides = tuple[np.ndarray, np.ndarray]


def tests_of(view: View) -> int:
    """How many claims are tested: an ε, and a μ where there is one."""
    return 0 if view.claim is None else 2 if view.claim.mu is not None else 1


def judge(experiment: Experiment, view: View, outcomes: Sides, error: float) -> Finding:
    """The finding of one view; each of its claims is called exceeded wrongly with probability ``error`` at most."""
    chosen, counted = zip(*(bounds.halves(side) for side in outcomes), strict=True)
    tests = bounds.trials(chosen, error)
    if not len(tests.thresholds):  # every run released the same
        return _nothing(experiment, view, outcomes)
    mu = None if view.claim is None else view.claim.mu
    delta, epsilon = _epsilon(view.claim, tests, counted, error)
    return Finding(
        experiment.name,
        view.name,
        len(outcomes[0]),
        delta,
        epsilon,
        None if mu is None else _mu(mu, tests, counted, error),
        bounds.mu_estimate(outcomes) if mu is not None and view.normal else None,
        experiment.about,
    )


def _epsilon(claim: Claim | None, tests: Trials, counted: Sides, error: float) -> tuple[float, Attained]:
    """At the δ, among those for which an ε is claimed, where most of it will be seen."""
    claimed = _claimed(claim)
    best: tuple[float, float, Guess] | None = None
    for delta, epsilon in claimed.items():
        test, gain = bounds.choose(tests, partial(bounds.epsilon_bound, delta=delta))
        share = gain / max(epsilon, 1e-3) if epsilon is not None else gain
        if best is None or share > best[0]:
            best = share, delta, test
    assert best is not None
    _, delta, test = best
    return delta, _attained(claimed[delta], test, counted, error, partial(bounds.epsilon_bound, delta=delta))


def _claimed(claim: Claim | None) -> Mapping[float, float | None]:
    """ε by δ; None where nothing is claimed."""
    if claim is None:
        return {NO_CLAIM_DELTA: None}
    if not claim.epsilons:
        raise ValueError(f"{claim} claims no finite epsilon at any delta that is tried, so there is nothing to audit")
    return claim.epsilons


def _mu(claimed: float, tests: Trials, counted: Sides, error: float) -> Attained:
    test, _ = bounds.choose(tests, bounds.mu_bound)
    return _attained(claimed, test, counted, error, bounds.mu_bound)


def _attained(
    claimed: float | None,
    test: Guess,
    counted: Sides,
    error: float,
    bound: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> Attained:
    count = test.count(counted)
    shown, certain = (float(bound(*count.bounds(level))) for level in (SHOWN, error))
    return Attained(claimed, shown, certain)


def _nothing(experiment: Experiment, view: View, outcomes: Sides) -> Finding:
    claimed = _claimed(view.claim)
    delta = next(iter(claimed))
    return Finding(
        experiment.name, view.name, len(outcomes[0]), delta, Attained(claimed[delta], 0.0, 0.0), about=experiment.about
    )
