"""The truncated mixture: its bound, its quadrature, its draws."""

import jax
import numpy as np
import pytest

import dpmcmc as dp
from dpmcmc_experiments.targets import TruncatedMixture


def test_no_gradient_is_steeper_than_the_slope():
    model = TruncatedMixture()
    rng = np.random.default_rng(0)
    thetas, records = rng.uniform(-3, 3, (20_000, 2)), rng.choice([-3.0, 3.0], 20_000)
    with jax.enable_x64(True):
        gradients = jax.vmap(jax.grad(model.log_likelihood))(thetas, records)
    steepest = float(np.linalg.norm(gradients, axis=1).max())
    assert 3.5 < steepest < model.slope < 4.25  # published: 8.75


@pytest.mark.parametrize(("variance", "largest_record", "box"), [(0.05, 1.0, 1.0), (20.0, 1.0, 0.5), (2.0, 3.0, 3.0)])
def test_log_ratios_keep_their_bound(variance, largest_record, box):
    model = TruncatedMixture(variance, largest_record, box)
    rng = np.random.default_rng(1)
    here = rng.uniform(-box, box, (20_000, 2))
    there = np.clip(here + rng.normal(scale=0.1 * box, size=here.shape), -box, box)
    records = rng.uniform(*model.ends, len(here))
    with jax.enable_x64(True):
        change = jax.vmap(model.log_likelihood)(there, records) - jax.vmap(model.log_likelihood)(here, records)
        bound = jax.vmap(model.log_ratio_bound)(here, there)
    assert np.all(np.abs(change) <= bound)


def test_quadrature_is_the_sum_over_records():
    model = TruncatedMixture()
    records = np.asarray(model.simulate(jax.random.key(0), np.array([0.0, 1.0]), 3000))
    assert np.abs(records).max() <= 3
    points = np.array([[0.0, 1.0], [1.0, -1.0], [0.3, 0.4], [2.0, 0.5]])
    with jax.enable_x64(True):
        direct = [float(jax.vmap(model.log_likelihood, (None, 0))(point, records).sum()) / 30 for point in points]
    by_nodes = model.log_density(records, points, 1 / 30)
    assert np.diff(by_nodes) == pytest.approx(np.diff(direct), abs=2e-3)


@pytest.mark.slow
def test_exact_draws_agree_with_a_long_chain():
    model = TruncatedMixture()
    records = np.asarray(model.simulate(jax.random.key(0), np.array([0.0, 1.0]), 2000), np.float64)
    exact = model.exact_draws(np.random.default_rng(0), records, 20_000, 0.05)
    method = dp.Chain(dp.algorithms.metropolis(0.5), warmup=500)
    chains = dp.sample(model, records, method=method, draws=5500, chains=8, temperature=0.05, seed=0, progress=False)
    draws = chains.draws["theta"][:, chains.warmup :].reshape(-1, 2)
    assert draws.mean(0) == pytest.approx(exact.mean(0), abs=0.08)  # 0.34 and 0.62 over √ESS, four of them
    assert draws.std(0) == pytest.approx(exact.std(0), rel=0.1)
    middle, mass = model.exact_density(records, 0.05)
    assert mass.sum() == pytest.approx(1)
    assert middle @ mass.sum(1) == pytest.approx(exact[:, 0].mean(), abs=0.02)


def test_no_parameter_outside_the_box():
    model = TruncatedMixture()
    assert model.log_prior(np.array([3.1, 0.0], np.float32)) == -np.inf
    with pytest.raises(ValueError, match="positive"):
        TruncatedMixture(variance=0.0)
