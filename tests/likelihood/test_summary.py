"""Regressions learn their covariates' moments first: what that costs, what it gives, and how wide regions are kept."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpmcmc as dp
from dpmcmc import privacy
from dpmcmc.likelihood import smc
from dpmcmc.likelihood.features import release_features, release_summary
from dpmcmc.likelihood.method import SUMMARISED_SHARES
from dpmcmc.likelihood.raveled import RaveledModel
from dpmcmc.likelihood.regions import Normal
from dpmcmc.likelihood.run import draw
from dpmcmc.likelihood.stages import NOISE_SPREAD, Draws
from dpmcmc.mechanisms.gaussian_sum import GaussianSum
from dpmcmc.posterior import Posterior
from dpmcmc.randomness import RandomSource
from tests.likelihood.settings import cheap_sampler  # noqa: F401  (a fixture)

MODEL = dp.models.LogisticRegression({"a": (-1, 1), "b": (-1, 1), "c": (-1, 1)})


def correlated(n, seed=0):
    """Covariates far from uniform: one nearly constant, one rare, two alike."""
    rng = np.random.default_rng(seed)
    a = np.clip(0.2 + 0.1 * rng.normal(size=n), -1, 1)
    b = np.where(rng.random(n) < 0.1, 1.0, -1.0)
    c = np.clip(0.5 * b + 0.3 * rng.normal(size=n), -1, 1)
    x = np.stack([a, b, c], axis=1)
    y = rng.random(n) < 1 / (1 + np.exp(-(0.3 + x @ [1.0, -0.5, 0.8])))
    return {"x": x.astype(np.float32), "y": y.astype(np.float32)}


@pytest.mark.parametrize("strange", [np.nan, np.inf, 1e30, -1.0])
@pytest.mark.parametrize("n", [50, 1100])
def test_one_record_moves_the_description_by_twice_the_clip_at_most(strange, n):
    flat, total, key = RaveledModel.of(MODEL), GaussianSum.of_multiplier(1.0, 4.0), np.arange(4, dtype=np.uint64)
    data = correlated(n)
    found = []
    for value in (strange, 1.0):
        x = data["x"].copy()
        x[0] = value
        with jax.enable_x64(True):
            found.append(
                n * release_summary(flat, Posterior(MODEL, {**data, "x": x}), total, key)
            )  # the same secret noise
    assert np.all(np.isfinite(found))
    assert np.linalg.norm(found[0] - found[1]) <= 2.0 * (1 + 1e-9)


@pytest.mark.usefixtures("cheap_sampler")
def test_everything_that_reads_records_is_on_the_receipt(monkeypatch):
    made = dp.plan(MODEL, 3000, dp.Budget(1.0, 1e-6))
    ran = []

    def spy(name, real, at):
        def run(*given):
            ran.append((given[at], tuple(given[at + 1])))
            return real(*given)

        monkeypatch.setattr(f"dpmcmc.likelihood.run.{name}", run)

    spy("release_summary", release_summary, 2)
    spy("release_features", release_features, 3)
    draw(made, Posterior(MODEL, correlated(3000)), RandomSource(0))
    assert [total.event(3000) for total, _ in ran] == list(made.receipts[-1].event.events)
    assert len({key for _, key in ran}) == 1 + len(SUMMARISED_SHARES)  # no noise is used twice
    assert float(privacy.epsilon(made.receipts[-1].event, 1e-6)) <= 1.0
    assert float(made.guarantee.epsilon) == pytest.approx(1.0, abs=1e-5)


def test_public_records_make_the_description_unnecessary():
    assert (
        dp.plan(MODEL, 3000, dp.Budget(1.0, 1e-6), method=dp.LikelihoodRelease(public_data=correlated(500))).summary
        is None
    )


def test_records_like_a_description_have_its_moments():
    data = correlated(20_000)
    with jax.enable_x64(True):
        description = np.mean(np.asarray(jax.vmap(MODEL.record_summary)(data)), axis=0)
        like = MODEL.simulate_like(jax.random.key(0), dict.fromkeys(MODEL.names, 0.0), 20_000, description)
        again = np.mean(np.asarray(jax.vmap(MODEL.record_summary)(like)), axis=0)
    assert np.all(np.abs(np.asarray(like["x"])) <= 1)
    assert np.abs(again - description).max() * np.sqrt(len(again)) < 0.2  # moved by the bounds, which normals overstep
    assert np.linalg.norm(np.asarray(jax.vmap(MODEL.record_summary)(data)), axis=1).max() <= 1 + 1e-12


@pytest.mark.slow
def test_a_regression_on_uneven_covariates_is_right_within_its_noise():
    """n = 20 000 at ε = 4: each mean within one standard deviation of the posterior without privacy."""
    data = correlated(20_000)
    release = dp.sample(MODEL, data, 4.0, 1e-6, seed=1, progress=False)
    draws = np.column_stack([release.draws[name].ravel() for name in MODEL.names])
    x = np.column_stack([np.ones(20_000), data["x"]]).astype(float)
    theta = np.zeros(4)
    for _ in range(20):
        p = 1 / (1 + np.exp(-x @ theta))
        hessian = (x.T * (p * (1 - p))) @ x + np.eye(4) / MODEL.prior_std**2
        theta = theta + np.linalg.solve(hessian, x.T @ (data["y"] - p) - theta / MODEL.prior_std**2)
    sd = np.sqrt(np.diag(np.linalg.inv(hessian)))
    assert np.all(np.abs(draws.mean(0) - theta) / sd < 1.0)  # a one-shot release would be off by about 0.2
    assert np.all(draws.std(0) / sd < 1.5)
    assert np.all(draws.std(0) / sd > 0.8)


def test_a_region_is_as_wide_as_the_noise_in_every_direction():
    """A normal posterior in 12 dimensions that 16 pairs of noises move: W + spread² V G Gᵀ V, found within a third."""
    rng = np.random.default_rng(0)
    scales = np.geomspace(0.1, 1.0, 12)
    turned, _ = np.linalg.qr(rng.normal(size=(12, 12)))
    gradients = 3 * turned / scales[:, None]  # of the effects of the noises, each of three standard deviations
    half = rng.normal(size=(16, 12))
    shifts = (np.stack([half, -half], axis=1).reshape(32, 12) @ gradients.T) * scales**2
    theta = shifts[:, None] + scales * rng.normal(size=(32, 64, 12))
    found = Draws(theta, theta @ gradients).normal()
    response = gradients * scales[:, None] ** 2
    truth = np.diag(scales**2) + NOISE_SPREAD**2 * response @ response.T
    ratios = np.linalg.eigvals(np.linalg.solve(truth, found.root @ found.root.T)).real
    assert ratios.min() > 0.67
    assert ratios.max() < 1.5
    by_groups = np.linalg.eigvals(np.linalg.solve(truth, np.cov(theta.reshape(-1, 12).T))).real
    assert by_groups.min() < 0.1  # what the spread of the groups' means would have said


@pytest.mark.usefixtures("cheap_sampler")
def test_no_record_is_read_but_for_the_sums(monkeypatch):
    """With both sums replaced by noise the run needs no records at all."""
    made = dp.plan(MODEL, 200, dp.Budget(0.1, 1e-6))
    rng = np.random.default_rng(0)
    monkeypatch.setattr("dpmcmc.likelihood.run.release_summary", lambda *given: rng.normal(size=9))
    monkeypatch.setattr("dpmcmc.likelihood.run.release_features", lambda *given: rng.normal(size=given[2].size))
    assert np.all(np.isfinite(draw(made, Posterior(MODEL, ()), RandomSource(0)).theta))


def test_nothing_lies_beyond_the_reach():
    """A likelihood that rises without bound outside: the sampler stays where it is told to."""
    model = dp.Model(lambda t: 0.0, lambda t, x: x * jnp.sum(t**2), init=np.zeros(2))
    normal = Normal(np.array([1.0, 0.0]), np.array([[1.0, 0.0], [0.5, 0.3]]))
    with jax.enable_x64(True):
        begin = normal.evenly(jax.random.key(0), 8 * 64, 2.0)
        assert normal.distances(begin).max() <= 2.0 + 1e-12
        problem = smc.Problem(
            records=np.ones(1),
            weights=jnp.ones((8, 1)),
            power=jnp.asarray(5.0),
            centre=jnp.asarray(normal.centre),
            root=jnp.asarray(normal.root),
            reach=jnp.asarray(2.0),
            from_prior=jnp.asarray(False),
        )
        draws, _ = smc.sample(RaveledModel.of(model), problem, begin.reshape(8, 64, 2), jax.random.key(1))
    assert normal.distances(draws.reshape(-1, 2)).max() <= 2.0 + 1e-9
