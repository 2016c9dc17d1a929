"""The experiments of every registered algorithm: settings and neighbours at which its claim is attained, or nearly.

An algorithm of your own joins by :func:`register_audit`. One that is registered as an algorithm and not here is audited
by its contracts' kernels on :func:`~dpmcmc.auditing.worst.two_states`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc import algorithms
from dpmcmc.algorithms import ALGORITHMS, Algorithm
from dpmcmc.auditing import worst
from dpmcmc.auditing.chains import Released, experiment_of, signs
from dpmcmc.auditing.claims import Claim
from dpmcmc.auditing.experiment import Experiment
from dpmcmc.auditing.worst import FAR, FLIP
from dpmcmc.chain.acceptance import Barker, ProportionalMinibatchPenalty
from dpmcmc.chain.kernel import Kernel
from dpmcmc.chain.proposals import Leapfrog
from dpmcmc.mechanisms.clip import ModelClip
from dpmcmc.privacy import SUBSTITUTION, ZERO_OUT, check_relation

RARE = -1.5
"""Public log odds at which a bit of Barker's, or a choice, of range 2 tells most of what 2·10⁴ runs can see."""

LIKELY = 1.0
"""The same for the penalty's bit of shift 2 and noise 1: a rejection tells most."""

Experiments = Callable[[], list[Experiment]]

AUDITS: dict[str, Experiments] = {}
"""By the name of the algorithm."""

EMPTIED: dict[str, Experiments] = {}
"""The same under zero-out: one record, or its slot empty."""


def register_audit(name: str, relation: str = SUBSTITUTION) -> Callable[[Experiments], Experiments]:
    """The experiments of the algorithm called ``name``, under a neighbouring relation."""

    def add(experiments: Experiments) -> Experiments:
        (AUDITS if check_relation("relation", relation) == SUBSTITUTION else EMPTIED)[name] = experiments
        return experiments

    return add


def experiments_of(algorithm: Algorithm, relation: str = SUBSTITUTION) -> list[Experiment]:
    """Those that are registered, or one for each contract."""
    if relation != SUBSTITUTION:
        if algorithm.name not in EMPTIED:
            raise ValueError(f"{algorithm.name} has no audit under {relation}; there is one for: {', '.join(EMPTIED)}")
        return EMPTIED[algorithm.name]()
    if algorithm.name in AUDITS:
        return AUDITS[algorithm.name]()
    return [
        experiment_of(name, contract.make(FLIP, 1.0), worst.two_states(RARE), about="one record for or against moving")
        for name, contract in algorithm.named_contracts.items()
    ]


@register_audit("dp_barker")
def _() -> list[Experiment]:
    make, about = algorithms.dp_barker, "a rare move, one record for or against it"
    apart = "one record for the first step and against the second, which is less likely"
    return [
        experiment_of("dp_barker", make(FLIP, 1.0), worst.two_states(RARE), about=about),
        experiment_of("dp_barker, varying cost", make(FLIP, ModelClip()), worst.two_states(RARE), about=about),
        experiment_of("dp_barker, steps that differ", make(worst.UP, 1.0), worst.staircase(), about=apart),
    ]


@register_audit("dp_barker_subsampled")
def _() -> list[Experiment]:
    kernel = algorithms.dp_barker_subsampled(FLIP, 1)
    about = "1 of 2 records, the other for the move; with larger batches the accounting is looser"
    return [experiment_of("dp_barker_subsampled", kernel, worst.two_states(1.1, 2, others=FAR), about=about)]


@register_audit("dp_barker_minibatch")
def _() -> list[Experiment]:
    about = "a rare move, one record for or against it, the others indifferent"
    kernel = algorithms.dp_barker_minibatch(FLIP, 1.0)
    return [experiment_of("dp_barker_minibatch", kernel, worst.two_states(RARE), about=about)]


@register_audit("dp_penalty")
def _() -> list[Experiment]:
    make, about = algorithms.dp_penalty, "a likely move, one record for or against it"
    at = worst.two_states(LIKELY)
    return [
        experiment_of("dp_penalty", make(FLIP, 1.0), at, about=about),
        experiment_of("dp_penalty, std 0.5", make(FLIP, 0.5, std=0.5), worst.two_states(0.5), about=about),
        experiment_of("dp_penalty, varying cost", make(FLIP, ModelClip(), std=1.0), at, about=about),
        experiment_of(
            "dp_penalty, proportional noise",
            make(FLIP, 1.0, noise_multiplier=1.0),
            worst.two_states(2.0),
            about="the bit alone is released, and the noisy log ratio is charged",
        ),
    ]


@register_audit("dp_penalty_one_component")
def _() -> list[Experiment]:
    kernel = algorithms.dp_penalty_one_component(0.35, 1.0)
    about = "one record for or against leaving the start; after that it is indifferent"
    return [experiment_of("dp_penalty_one_component", kernel, worst.origin(LIKELY), about=about)]


@register_audit("dp_penalty_guided")
def _() -> list[Experiment]:
    kernel = algorithms.dp_penalty_guided(0.35, 1.0)
    about = "a likely first move, one record for going up or for going down"
    return [experiment_of("dp_penalty_guided", kernel, worst.slope(LIKELY), about=about)]


@register_audit("dp_penalty_minibatch")
def _() -> list[Experiment]:
    batch, clip, n = 4, 0.25, 8
    # the others are all for the move, so that one against it also raises the variance: the largest change of λ
    at = worst.two_states(2.5 - n * clip, n, others=FAR)
    about = "4 of 8 records, all others for the move"
    return [
        experiment_of("dp_penalty_minibatch", algorithms.dp_penalty_minibatch(FLIP, batch, clip), at, about=about),
        experiment_of(
            "dp_penalty_minibatch, proportional noise",
            Kernel(FLIP, ProportionalMinibatchPenalty(batch, clip, 1.0)),
            at,
            about="the bit alone is released, and the noisy log ratio is charged",
        ),
    ]


@register_audit("dp_hmc")
def _() -> list[Experiment]:
    about = "one record with opposite gradients; the last gradient of a path shows in the test alone"
    kernels = {
        "dp_hmc": algorithms.dp_hmc(0.001, 3, 1.0, 1.0, 0.05),
        "dp_hmc, gradient reused": Kernel(Leapfrog(0.001, 4, 1.0, 1.0, reuse_gradient=True), Barker(0.05)),
    }
    return [
        experiment_of(name, kernel, worst.slope(4.0), about=about, steps=1, outcome=_force(kernel.proposal))
        for name, kernel in kernels.items()
    ]


def _force(paths: Any) -> Callable[[Released], np.ndarray]:
    """How far noisy gradients pushed the first path: where it ended, less where its momentum would have taken it."""
    length = paths.step * (paths.gradients - 1)  # a first path begins by a gradient

    def outcome(released: Released) -> np.ndarray:
        with jax.enable_x64(True):
            keys = jax.random.wrap_key_data(jnp.asarray(released.keys[:, 0]), impl="threefry2x32")
            momenta = np.asarray(jax.vmap(lambda key: jax.random.normal(key, (1,), jnp.float64))(keys))[:, 0]
        pushed = released.positions[:, -1] - released.starts - length * momenta
        pushed_: np.ndarray = np.where(released.accepted[:, 0], pushed, 0.0) / paths.step**2
        return pushed_

    return outcome


@register_audit("dp_sgld")
def _() -> list[Experiment]:
    n, batch, clip = 8, 4, 1.0
    full, half = (
        algorithms.dp_sgld((1 / multiplier) ** 2, clip, size) for multiplier, size in ((1.0, None), (2.0, batch))
    )
    about = "one record with opposite gradients"
    return [
        experiment_of("dp_sgld", full, worst.slope(), about=about),
        experiment_of("dp_sgld, batches", half, worst.slope(records=n, others=FAR), about=f"{about}, 4 of 8 records"),
    ]


@register_audit("dp_orbit")
def _() -> list[Experiment]:
    about = "one record for one side of the fit's mean and against the other, which is rare"
    kernel = algorithms.dp_orbit(0.0, 1.0, 4, 0.5)
    return [experiment_of("dp_orbit", kernel, worst.sides(RARE, init=-1.0), about=about, outcome=signs)]


@register_audit("dp_hidden_centre")
def _() -> list[Experiment]:
    about = "64 candidates, one record for those above and against those below"
    kernel = algorithms.dp_hidden_centre(worst.EITHER_WAY, 64, 0.5)
    return [experiment_of("dp_hidden_centre", kernel, worst.up_and_down(RARE), about=about, outcome=signs)]


@register_audit("metropolis")
def _() -> list[Experiment]:
    at = worst.two_states(-1.0, size=1.0)
    return [experiment_of("metropolis", algorithms.metropolis(FLIP), at, about="not private: a record of log ratio ±1")]


@register_audit("published_fast_mh")
def _() -> list[Experiment]:
    """A rejection is impossible on one side: where the sensitivity 2c is below ε, the published test adds no noise."""
    epsilon, delta, c = 0.1, 1e-5, 0.04
    kernel = algorithms.published_fast_mh(FLIP, c, full_batch=True, epsilon=epsilon, delta=delta, variant="as_coded")
    at, about = worst.two_states(-c, size=c), "the branch without noise; the claim is the paper's, for one step"
    claim = Claim(point=(epsilon, delta))
    return [experiment_of("published_fast_mh", kernel, at, claim=claim, steps=1, about=about)]


EMPTY = "one record for the move, or its slot empty"


@register_audit("dp_barker", ZERO_OUT)
def _() -> list[Experiment]:
    make, at = algorithms.dp_barker, worst.two_states(RARE).emptied()
    return [
        experiment_of("dp_barker", make(FLIP, 2.0), at, about=EMPTY),
        experiment_of("dp_barker, varying cost", make(FLIP, ModelClip()), at, about=EMPTY),
    ]


@register_audit("dp_penalty", ZERO_OUT)
def _() -> list[Experiment]:
    make, at = algorithms.dp_penalty, worst.two_states(0.0).emptied()
    return [
        experiment_of("dp_penalty", make(FLIP, 2.0), at, about=EMPTY),
        experiment_of("dp_penalty, proportional noise", make(FLIP, 1.0, noise_multiplier=1.0), at, about=EMPTY),
    ]


@register_audit("dp_sgld", ZERO_OUT)
def _() -> list[Experiment]:
    kernel = algorithms.dp_sgld(4.0, 1.0)
    return [experiment_of("dp_sgld", kernel, worst.slope().emptied(), about="one gradient, or an empty slot")]


@register_audit("dp_orbit", ZERO_OUT)
def _() -> list[Experiment]:
    about = "one record for one side of the fit's mean and against the other, or its slot empty"
    kernel = algorithms.dp_orbit(0.0, 1.0, 4, 1.0)
    at = worst.sides(RARE, init=-1.0).emptied()
    return [experiment_of("dp_orbit", kernel, at, about=about, outcome=signs)]


@register_audit("dp_hidden_centre", ZERO_OUT)
def _() -> list[Experiment]:
    about = "64 candidates, one record for those above and against those below, or its slot empty"
    kernel = algorithms.dp_hidden_centre(worst.EITHER_WAY, 64, 1.0)
    at = worst.up_and_down(RARE).emptied()
    return [experiment_of("dp_hidden_centre", kernel, at, about=about, outcome=signs)]


def registered() -> tuple[str, ...]:
    """The algorithms that can be audited by name."""
    return tuple(ALGORITHMS)
