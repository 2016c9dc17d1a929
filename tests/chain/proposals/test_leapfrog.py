"""DP-HMC: exact whatever the gradients' noise and clipping are, and charged for every gradient."""

import itertools

import arviz as az
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpmcmc as dp
from dpmcmc import privacy
from dpmcmc.chain.proposals import Leapfrog
from dpmcmc.chain.proposals.base import PrivateProposal
from dpmcmc.mechanisms.gaussian_sum import CHARGED_STD
from dpmcmc.posterior import Posterior
from dpmcmc.randomness import RandomSource

AMPLE = {"epsilon": 1e12, "delta": 1e-6}


def run(model, records, kernel, steps=20_000, **options):
    options = {"warmup": 500, "chains": 4} | options
    method = dp.Chain(kernel, warmup=options.pop("warmup"))
    return dp.sample(
        model, records, **AMPLE, method=method, draws=steps - method.warmup, seed=7, progress=False, **options
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("test", "reuse", "mass", "temperature"),
    [
        (dp.Penalty(100.0, 1.0), False, None, 1.0),
        (dp.Barker(100.0), False, (2.0, 0.8), 0.5),
        (dp.Penalty(100.0, 1.0), True, ((2.0, 0.6), (0.6, 1.0)), 1.0),
    ],
    ids=["penalty, fresh", "barker, fresh, diagonal mass", "penalty, reused, dense mass"],
)
def test_recovers_a_conjugate_gaussian(test, reuse, mass, temperature):
    records = np.random.default_rng(0).normal([1.0, -0.5], 1.0, (30, 2))
    model = dp.models.GaussianMean(2)
    mean, variance = model.exact_posterior(records, temperature)
    proposal = Leapfrog(0.15, 3, clip=3.0, noise_multiplier=1.5, mass=mass, reuse_gradient=reuse)
    release = run(model, records, dp.Kernel(proposal, test), steps=5000, temperature=temperature)
    draws = release.draws["theta"][:, release.warmup :]
    for j in range(2):
        one = draws[..., j]
        assert abs(one.mean() - mean[j]) < 4 * float(az.mcse(one, method="mean"))
        assert abs(one.var() / variance - 1) < 0.1


def double_well():
    """Forty records, a two-humped posterior on the line, and its probabilities in ten cells by quadrature."""
    records = np.random.default_rng(2).normal(0.0, 1.0, 40)

    def log_likelihood(theta, x):
        return jnp.logaddexp(-((x - theta) ** 2), -((x + theta) ** 2)) / 20 - 0.02 * (theta - 1.0) ** 2 * x**2

    model = dp.Model(log_prior=lambda theta: -(theta**4) / 8, log_likelihood=log_likelihood, init=0.5)
    grid = np.linspace(-5, 5, 20_001)
    with jax.enable_x64(True):
        posterior = Posterior(model, jnp.asarray(records), 1.0)
        log_density = np.asarray(
            jax.vmap(lambda t: posterior.record_log_likelihoods(t).sum() + model.log_prior(t))(jnp.asarray(grid))
        )
    weights = np.exp(log_density - log_density.max())
    cumulative = np.cumsum(weights) / weights.sum()
    edges = np.interp(np.linspace(0, 1, 11)[1:-1], cumulative, grid)
    return model, records, edges


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reuse", "clip", "multiplier"),
    [(False, 0.02, 60.0), (False, 1.0, 2.0), (True, 1.0, 2.0)],
    ids=["fresh, clipped hard", "fresh, noisy", "reused, noisy"],
)
def test_strong_noise_and_hard_clipping_leave_the_target_alone(reuse, clip, multiplier):
    """Noise several times the gradient, and gradients clipped to nothing: still exact, and in detailed balance."""
    model, records, edges = double_well()
    proposal = Leapfrog(0.25, 3, clip=clip, noise_multiplier=multiplier, reuse_gradient=reuse)
    release = run(model, records, dp.Kernel(proposal, dp.Barker(20.0)), steps=6000)
    cells = np.digitize(release.draws["theta"][:, release.warmup :], edges)
    assert 0.02 < release.sample_stats["accepted"].mean() < 0.95
    for cell in range(10):
        visits = (cells == cell).astype(float)
        assert abs(visits.mean() - 0.1) < 4.5 * float(az.mcse(visits, method="mean"))
    flow = np.zeros((10, 10))
    np.add.at(flow, (cells[:, :-1].ravel(), cells[:, 1:].ravel()), 1)
    assert np.all(np.abs(flow - flow.T) <= 5 * np.sqrt(flow + flow.T + 1))


def test_a_path_backwards_along_the_same_gradients_comes_back():
    """The map of (θ, p) for given gradients is the leapfrog: written out here a second time, and reversed."""
    rng = np.random.default_rng(1)
    mass = np.array([[2.0, 0.3], [0.3, 0.5]])
    gradients, q0, p0, h = rng.normal(size=(5, 2)), rng.normal(size=2), rng.normal(size=2), 0.3

    def path(q, p, along):
        for before, after in itertools.pairwise(along):
            p = p + h / 2 * before
            q = q + h * np.linalg.solve(mass, p)
            p = p + h / 2 * after
        return q, p

    q, p = path(q0, p0, gradients)
    back, minus = path(q, -p, gradients[::-1])
    assert np.allclose(back, q0)
    assert np.allclose(minus, -p0)


@pytest.mark.parametrize("reuse", [False, True])
def test_the_path_is_the_leapfrog(reuse):
    """Against a leapfrog written out with exact gradients, at noise too small to see."""
    records = np.random.default_rng(0).normal([1.0, -0.5], 1.0, (400, 2))
    model, mass, h, steps = dp.models.GaussianMean(2, prior_std=2.0), np.array([300.0, 700.0]), 0.4, 4
    proposal = Leapfrog(h, steps, clip=8.0, noise_multiplier=1.0, mass=mass, reuse_gradient=reuse)
    with jax.enable_x64(True):
        posterior = Posterior(model, jnp.asarray(records), 0.5)
        key, here = jax.random.key(3), jnp.asarray([0.2, 0.1])
        bits = {k: RandomSource(1).random_words(k, s) for k, s in proposal.random_words(400).items()}
        memory = proposal.init(here)
        if reuse:
            memory = {"gradient": jnp.asarray(_gradient(records, np.asarray(here))), "known": jnp.asarray(True)}
        move = proposal.propose_privately(key, bits, posterior, here, memory)
        z = np.asarray(jax.random.normal(key, (2,), jnp.float64))
    q, p = np.asarray(here), np.sqrt(mass) * z
    start = np.sum(p**2 / mass) / 2
    for _ in range(steps):
        p = p + h / 2 * _gradient(records, q)
        q = q + h * p / mass
        p = p + h / 2 * _gradient(records, q)
    # a gradient's noise, 0.5·16, moves p by up to 0.4·8 of its 20 and q by a hundredth
    assert np.allclose(move.position, q, atol=0.04)
    assert abs(float(move.log_correction) - (start - np.sum(p**2 / mass) / 2)) < 1.5
    if reuse:
        assert np.allclose(move.memory_if_accepted["gradient"], _gradient(records, q), atol=60)
        assert np.array_equal(move.memory_if_rejected["gradient"], memory["gradient"])


def _gradient(records, q):
    return 0.5 * (records - q).sum(0) - q / 4


def test_every_gradient_is_charged():
    fresh = Leapfrog(0.1, 4, clip=1.0, noise_multiplier=5.0)
    reused = Leapfrog(0.1, 4, clip=1.0, noise_multiplier=5.0, reuse_gradient=True)
    assert isinstance(fresh, PrivateProposal)
    for proposal, releases in ((fresh, 5), (reused, 4)):
        event = proposal.event(100, 0.3)
        assert event.count == releases == proposal.inexact_draws(100)
        assert 5.0 <= event.event.noise_multiplier < 5.0 * (1 + 1e-5)
        assert CHARGED_STD / (2 * event.event.noise_multiplier) == pytest.approx(proposal._sum().bound)
    kernel = dp.Kernel(fresh, dp.Barker(0.1))
    records = np.random.default_rng(0).normal(size=(50, 2))
    release = run(dp.models.GaussianMean(2), records, kernel, steps=20, chains=3, warmup=0)
    assert release.receipts[0].event == privacy.Repeat(
        privacy.Compose((fresh.event(50, 1.0), privacy.BarkerBit(0.2))), 60
    )


def test_the_first_reused_path_starts_by_a_gradient():
    """One leapfrog step less, and nothing of the memory's blank gradient in it."""
    model, records = dp.models.GaussianMean(1), np.zeros((20, 1))
    proposal = Leapfrog(0.1, 1, clip=1.0, noise_multiplier=2.0, reuse_gradient=True)
    with jax.enable_x64(True):
        posterior, here = Posterior(model, jnp.asarray(records), 1.0), jnp.asarray([0.5])
        bits = {k: RandomSource(1).random_words(k, s) for k, s in proposal.random_words(20).items()}
        move = proposal.propose_privately(jax.random.key(0), bits, posterior, here, proposal.init(here))
    assert np.array_equal(move.position, here)  # with one step, the first path stays where it is
    assert float(move.log_correction) == 0.0
    assert bool(move.memory_if_rejected["known"])
    assert np.array_equal(move.memory_if_accepted["gradient"], move.memory_if_rejected["gradient"])
    assert abs(float(move.memory_if_rejected["gradient"][0]) + 10) < 5 * 4


def test_records_beyond_all_bounds_do_no_harm():
    model = dp.Model(log_prior=lambda t: -0.5 * t**2, log_likelihood=lambda t, x: x * t**3, init=0.1)
    proposal = Leapfrog(0.1, 3, clip=1.0, noise_multiplier=1.0)
    with jax.enable_x64(True):
        posterior = Posterior(model, jnp.asarray([np.inf, np.nan, 1e300, -1e300, 0.0]), 1.0)
        bits = {k: RandomSource(1).random_words(k, s) for k, s in proposal.random_words(5).items()}
        move = proposal.propose_privately(jax.random.key(0), bits, posterior, jnp.asarray(0.1), ())
    assert np.isfinite(move.position)
    assert np.isfinite(move.log_correction)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"step": 0.0}, "step"),
        ({"steps": 0}, "steps"),
        ({"noise_multiplier": 0.1}, "below 1"),
        ({"mass": [1.0, -1.0]}, "positive"),
        ({"mass": [[1.0, 2.0], [0.0, 1.0]]}, "symmetric"),
    ],
)
def test_public_mistakes_are_refused(settings, says):
    with pytest.raises(ValueError, match=says):
        Leapfrog(**{"step": 0.1, "steps": 3, "clip": 1.0, "noise_multiplier": 2.0} | settings)


def test_a_mass_of_the_wrong_size_is_refused():
    with pytest.raises(ValueError, match="3 entries for 2"):
        Leapfrog(0.1, 2, 1.0, 2.0, mass=[1.0, 1.0, 1.0]).init(jnp.zeros(2))
