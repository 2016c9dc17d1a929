"""The self-test of the device: it passes here, and fails where arithmetic is not what is proven."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpmcmc as dp
from dpmcmc.chain.acceptance import self_test as decisions
from dpmcmc.mechanisms import self_test
from dpmcmc.mechanisms.coin import COIN_ERROR
from dpmcmc.mechanisms.gaussian_sum import discrete_gaussian, whole_sum
from dpmcmc.mechanisms.self_test import WrongArithmetic, check_backend

PLAN = dict(n=1000, budget=dp.Budget(1.0, 1e-6))
RECORDS = np.zeros((1000, 1))


@pytest.fixture(autouse=True)
def forget():
    self_test._failures.cache_clear()
    decisions._failures.cache_clear()
    yield
    self_test._failures.cache_clear()
    decisions._failures.cache_clear()


def test_this_device_passes_with_a_fifth_of_gamma():
    check_backend()
    assert all(error <= COIN_ERROR / 5 for _, error in decisions.measured())


def narrowed_sum(terms, bound):
    return jnp.sum(jnp.round(jnp.nan_to_num(terms.astype(jnp.float32)) * 2**24), dtype=jnp.float32).astype(jnp.int64)


BROKEN = {
    "integer_sum": narrowed_sum,
    "whole_sum": lambda vectors, bound, unit: whole_sum(vectors, bound, unit) + 1,
    "flip": lambda bits, accept, reject: bits[..., 0] * 2.0**64 + bits[..., 1] < accept * 2.0**128,  # in float64
    "discrete_gaussian": lambda words, *on: discrete_gaussian(words ^ np.uint64(1), *on),
}


@pytest.mark.parametrize("name", BROKEN)
def test_arithmetic_that_is_off_by_a_bit_is_found_and_nothing_is_charged(name, monkeypatch):
    monkeypatch.setattr(self_test, name, BROKEN[name])
    with pytest.raises(WrongArithmetic, match=r"no guarantee is issued.*CPU"):
        dp.plan(dp.models.GaussianMean(1), **PLAN).sample(RECORDS, progress=False)
    with pytest.raises(WrongArithmetic, match="no guarantee is issued"):
        dp.dpvi(dp.models.GaussianMean(1), RECORDS, 1.0, 1e-6)


def test_probabilities_of_a_fast_but_inaccurate_device_are_refused(monkeypatch):
    def careless(t, std):
        accept = jax.scipy.special.ndtr((t / std).astype(jnp.float32)).astype(jnp.float64)
        return accept, 1 - accept

    monkeypatch.setattr(decisions, "penalty_probabilities", careless)
    with pytest.raises(WrongArithmetic, match=r"penalty test.*off by a relative"):
        dp.plan(dp.models.GaussianMean(1), method=dp.dp_barker(step=0.1, clip=0.1), **PLAN).sample(RECORDS)


def test_it_runs_once(monkeypatch):
    check_backend()
    monkeypatch.setattr(self_test, "_wrong", lambda: iter(["asked again"]))
    check_backend()
