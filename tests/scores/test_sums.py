"""Draws from released sums: right for normal priors, for others, and again with another prior."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate

import dpmcmc as dp
from dpmcmc.raveled import RaveledModel
from dpmcmc.scores import sums as sums_module
from dpmcmc.scores.sums import ScoreSums, Target
from tests.scores.problems import LINEAR, flat_draws, release_of

COUNT = 4096


def sums_of(precision, mean, centre=None):
    precision = np.asarray(precision, float)
    return ScoreSums(
        tuple(map(tuple, precision.tolist())),
        tuple((precision @ mean).tolist()),
        tuple(np.zeros(len(mean)) if centre is None else centre),
    )


def with_prior(log_prior, init=0.0):
    return dp.Model(log_prior=log_prior, log_likelihood=lambda theta, x: 0.0 * x, init=init)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])
@pytest.mark.parametrize("prior_std", [0.1, 2.5])
def test_a_normal_prior_gives_the_closed_form(scale, prior_std):
    """Means and covariances of 4096 draws within 4.5 standard errors, the weights' loss of draws allowed for."""
    model = dp.models.GaussianMean(3, prior_std=prior_std)
    root = np.random.default_rng(0).normal(size=(3, 3))
    precision, mean = scale * root @ root.T, np.array([0.5, -1.0, 2.0])
    made = sums_of(precision, mean).draws(model, 2, COUNT // 2, seed=1).reshape(COUNT, 3)
    covariance = np.linalg.inv(precision + np.eye(3) / prior_std**2)
    white = (made - covariance @ precision @ mean) @ np.linalg.cholesky(np.linalg.inv(covariance))
    assert np.all(np.abs(white.mean(axis=0)) < 4.5 * np.sqrt(2 / COUNT))
    assert np.abs(np.cov(white.T) - np.eye(3)).max() < 4.5 * np.sqrt(2 * 2 / COUNT)


PRIORS = {
    "skewed": (lambda theta: 2 * theta - jnp.exp(2 * theta), (1.0, 0.5)),
    "wall": (lambda theta: jnp.where(theta > 0.4, -theta, -jnp.inf), (1.0, 0.0)),
    "heavy": (lambda theta: -2 * jnp.log1p(theta**2), (0.05, 4.0)),
    "two peaks": (
        lambda theta: jnp.logaddexp(jnp.log(0.3) - (theta + 1) ** 2 / 0.32, jnp.log(0.7) - (theta - 1) ** 2 / 0.32),
        (0.3, 0.2),
    ),
}


@pytest.mark.parametrize("walk", [False, True], ids=["weights", "walk"])
@pytest.mark.parametrize("name", PRIORS)
def test_other_priors_against_quadrature(name, walk, monkeypatch):
    """In one dimension: mean, spread and three quantiles, 4.5 standard errors with half of the draws worth one each.

    By importance weights where they are good, and by Metropolis steps, as where they are not.
    """
    if walk:
        monkeypatch.setattr(sums_module, "GOOD_TAIL", -np.inf)
    log_prior, (precision, mean) = PRIORS[name]
    sums = sums_of([[precision]], np.array([mean]), centre=(1.0,))
    made = sums.draws(with_prior(log_prior, 1.0), 1, COUNT, seed=2).ravel()
    grid = np.linspace(-12, 12, 200_001)
    target = Target(RaveledModel.of(with_prior(log_prior, 1.0)), sums)
    with jax.enable_x64(True):
        log_density = target.log_density(grid[:, None])
    density = np.exp(log_density - log_density.max())
    density /= integrate.trapezoid(density, grid)
    exact_mean = integrate.trapezoid(grid * density, grid)
    exact_std = np.sqrt(integrate.trapezoid((grid - exact_mean) ** 2 * density, grid))
    worth = COUNT / 2
    assert abs(made.mean() - exact_mean) < 4.5 * exact_std / np.sqrt(worth)
    cumulated = integrate.cumulative_trapezoid(density, grid, initial=0)
    for rank in (0.1, 0.5, 0.9):
        below = np.mean(made < np.interp(rank, cumulated, grid))
        assert abs(below - rank) < 4.5 * np.sqrt(rank * (1 - rank) / worth)
    assert made.std() == pytest.approx(exact_std, rel=4.5 * np.sqrt(1.5 / worth))


def test_draws_are_the_same_for_a_seed_and_new_for_another():
    sums = sums_of(np.eye(2), np.ones(2))
    model = dp.models.GaussianMean(2)
    one, two, three = (sums.draws(model, 2, 50, seed) for seed in (0, 0, 1))
    assert one.shape == (2, 50, 2)
    assert np.array_equal(one, two)
    assert not np.any(one == three)


def test_another_prior_is_drawn_from_the_same_sums_at_no_cost():
    """A closed form again, 4.5 standard errors; receipts, guarantee and sums stay as they were."""
    release = release_of("linear")
    precision, weighted = np.array(release.sums.precision), np.array(release.sums.weighted)
    for prior_std in (0.01, 0.2, 2.5):
        again = release.redraw(replace(LINEAR, prior_std=prior_std), draws=COUNT, chains=1, seed=5)
        covariance = np.linalg.inv(precision + np.eye(3) / prior_std**2)
        away = flat_draws(again).mean(axis=0) - covariance @ weighted
        assert np.all(np.abs(away) / np.sqrt(np.diag(covariance)) < 4.5 * np.sqrt(2 / COUNT))
        assert {name: values.shape for name, values in again.draws.items()} == dict.fromkeys(LINEAR.names, (1, COUNT))
        assert again.settings["draws"] == COUNT
        assert (again.receipts, again.guarantee, again.sums) == (release.receipts, release.guarantee, release.sums)
    same = release.redraw(LINEAR)
    assert {name: values.shape for name, values in same.draws.items()} == {
        name: values.shape for name, values in release.draws.items()
    }


def test_the_release_is_drawn_from_its_sums():
    release = release_of("linear")
    made, again = flat_draws(release), flat_draws(release.redraw(LINEAR, draws=COUNT, chains=1))
    spread = made.std(axis=0)
    assert np.all(np.abs(made.mean(axis=0) - again.mean(axis=0)) / spread < 4.5 * np.sqrt(2 / len(made) + 2 / COUNT))


def test_sums_survive_saving(tmp_path):
    release = release_of("linear")
    loaded = dp.Release.load(release.save(tmp_path / "sums.npz"))
    assert loaded.sums == release.sums
    assert (loaded.quality, loaded.settings, str(loaded)) == (release.quality, release.settings, str(release))
    one, two = (x.redraw(replace(LINEAR, prior_std=0.1), seed=3) for x in (loaded, release))
    assert all(np.array_equal(one.draws[name], two.draws[name]) for name in LINEAR.names)
