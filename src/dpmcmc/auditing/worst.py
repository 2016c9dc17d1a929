"""Neighbours at which the worst case of the theory is attained: one record at two extremes, the others out of the way.

Each model is as simple as the worst case allows. The records are far beyond every clip, so what a record may do is what
the clip lets it do: a clip that is too wide is seen.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpmcmc.auditing.experiment import Neighbours
from dpmcmc.chain.proposals import Custom
from dpmcmc.models import Model

FAR = 1000.0
"""A log ratio beyond every clip."""

FLIP = Custom(lambda key, theta: 1 - theta, name="there and back")
"""From 0 to 1, and back: the same move at every step, which a record favours one way and disfavours the other."""


def two_states(
    public: float, records: int = 8, size: float = FAR, others: float = 0.0, bound: float = 1.0
) -> Neighbours:
    """θ ∈ {0, 1}, log p(x|θ) = x θ: the first record is ±``size``. ``public`` is log prior(1)/prior(0)."""
    model = Model(
        log_prior=lambda theta: public * jnp.asarray(theta, jnp.float64),
        log_likelihood=lambda theta, x: x * theta,
        init=0,
        log_ratio_bound=lambda here, there: jnp.float64(bound),
    )
    return _first_record(model, records, size, others)


UP = Custom(lambda key, theta: theta + 1, name="one up")


def staircase(drop: float = 2.0, records: int = 8) -> Neighbours:
    """A record is for every other step up and against those between, and each but the first is ``drop`` less likely.

    Steps with one coin would be told apart at once: what the second may do with a coin, the first has used up.
    """
    model = Model(
        lambda theta: -drop * jnp.maximum(theta - 1, 0).astype(jnp.float64), lambda theta, x: x * (theta % 2), init=0
    )
    return _first_record(model, records, FAR, 0.0)


def origin(public: float, records: int = 8) -> Neighbours:
    """A record is for or against leaving the origin, whichever way; after that it is indifferent."""

    def left(theta: Array, value: Array | float) -> Array:
        return jnp.where(theta == 0, 0.0, value)

    model = Model(lambda theta: left(theta, public), lambda theta, x: left(theta, x), init=0.0)
    return _first_record(model, records, FAR, 0.0)


def slope(public: float = 0.0, records: int = 8, others: float = 0.0) -> Neighbours:
    """log p(x|θ) = x θ: a record is for going up or for going down; ``public`` is the prior's for leaving 0."""
    model = Model(lambda theta: jnp.where(theta == 0, 0.0, public), lambda theta, x: x * theta, init=0.0)
    return _first_record(model, records, FAR, others)


def sides(public: float, init: float, records: int = 8) -> Neighbours:
    """A record is for one side of zero and against the other; ``public`` is the prior's log odds of the upper side."""
    model = Model(lambda theta: jnp.where(theta > 0, public, 0.0), lambda theta, x: x * jnp.sign(theta), init=init)
    return _first_record(model, records, FAR, 0.0)


EITHER_WAY = Custom(lambda key, theta: jnp.where(jax.random.bernoulli(key), 1, -1), name="to 1 or to −1")
"""Not symmetric, which a claim of privacy does not ask."""


def up_and_down(public: float, records: int = 8) -> Neighbours:
    """θ ∈ {−1, 0, 1}, from 0: a record is for one way and against the other; ``public`` are the log odds of up."""
    model = Model(
        lambda theta: jnp.where(theta > 0, public, 0.0),
        lambda theta, x: x * theta,
        init=0,
        log_ratio_bound=lambda here, there: jnp.float64(1.0),
    )
    return _first_record(model, records, FAR, 0.0)


def _first_record(model: Model, records: int, size: float, others: float) -> Neighbours:
    data = [np.r_[first, np.full(records - 1, others)] for first in (-size, size)]
    return Neighbours.of(model, *data)
