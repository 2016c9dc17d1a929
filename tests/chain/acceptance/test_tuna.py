"""TunaMH: exact on a space where every count can be enumerated, and never mistaken for private."""

import itertools

import arviz as az
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpmcmc as dp
from dpmcmc import privacy
from dpmcmc.chain.acceptance.tuna import TunaMH
from dpmcmc.posterior import Posterior
from dpmcmc.randomness import RandomSource
from tests.chain.acceptance.poisson_enumeration import (
    LOG_PRIOR,
    MODEL,
    RECORDS,
    TARGET,
    accept_probability,
    counts,
    cycle,
    metropolis,
    places,
)

MOVES = list(itertools.permutations(range(3), 2))
EQUAL = np.full(3, 0.4)
OWN = np.ptp(RECORDS, axis=1) + 0.01  # each record's own constant; states are at distances 1 and 2


def setting(constants, chi, here, there, rate=None):
    """aᵢ and the bound of every record for a move."""
    length = abs(there - here)
    total = constants.sum()
    return (chi * total**2 * length**2 if rate is None else rate) * constants / total, constants * length


@pytest.mark.parametrize("rate", [None, 1.5], ids=["chi", "fixed rate"])
@pytest.mark.parametrize("constants", [EQUAL, OWN], ids=["equal", "own"])
def test_detailed_balance_given_the_counts(constants, rate):
    for here, there in MOVES:
        a, bound = setting(constants, 3.0, here, there, rate)
        sides = []
        for x, y in ((here, there), (there, here)):
            weight, log_ratio = counts(places(x, y, bound), a, 45, bound)
            sides.append(TARGET[x] * weight * metropolis(log_ratio + LOG_PRIOR[y] - LOG_PRIOR[x]))
        big = sides[0] > 1e-30
        assert np.max(np.abs(sides[0][big] / sides[1][big] - 1)) < 1e-12


@pytest.mark.parametrize("given", [{"chi": 3.0}, {"rate": 1.5}], ids=["chi", "fixed rate"])
def test_accepts_as_often_as_the_enumeration_says(given):
    test, steps = TunaMH(lambda record: jnp.max(record) - jnp.min(record) + 0.01, **given), 12_000
    bits = {"batch": RandomSource(1).random_words("batch", (steps, 1))}
    with jax.enable_x64(True):
        posterior = Posterior(MODEL, jnp.asarray(RECORDS), 1.0)
        cache = test.prepare(posterior, 0)

        @jax.jit
        @jax.vmap
        def accepted(b, here, there):
            public = jnp.asarray(LOG_PRIOR)[there] - jnp.asarray(LOG_PRIOR)[here]
            return test.decide(b, posterior, cache, here, dp.Move(there), public).accepted

        pairs = np.array(MOVES)[np.arange(steps) % 6]
        seen = np.asarray(accepted(bits, pairs[:, 0], pairs[:, 1]))
    for i, (here, there) in enumerate(MOVES):
        a, bound = setting(OWN, 3.0, here, there, given.get("rate"))
        p = accept_probability(places(here, there, bound), a, LOG_PRIOR[there] - LOG_PRIOR[here], metropolis, 45, bound)
        mine = seen[i::6]
        assert abs(mine.mean() - p) < 4.5 * np.sqrt(p * (1 - p) / len(mine))


def test_visits_a_finite_space_as_often_as_the_posterior_says_and_claims_nothing():
    kernel = dp.Kernel(dp.Custom(cycle, name="cycle"), TunaMH(0.4, chi=1.0))
    release = dp.sample(MODEL, RECORDS, method=dp.Chain(kernel, warmup=0), draws=2500, chains=4, seed=3, progress=False)
    for state in range(3):
        visits = (release.draws["theta"] == state).astype(float)
        assert abs(visits.mean() - TARGET[state]) < 5 * float(az.mcse(visits, method="mean"))
    assert isinstance(kernel.event(3), privacy.NonPrivate)
    assert release.guarantee is None


def test_public_mistakes_are_refused():
    with pytest.raises(ValueError, match="chi must be positive"):
        TunaMH(1.0, chi=0.0)
    with pytest.raises(ValueError, match="rate must be positive"):
        TunaMH(1.0, rate=-1.0)
    with pytest.raises(ValueError, match=r"chi or rate, not both, got chi = 0\.1 and rate = 2\.0"):
        TunaMH(1.0, chi=0.1, rate=2.0)
