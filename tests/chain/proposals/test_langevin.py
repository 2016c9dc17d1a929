"""DP-SGLD: the right drift has the posterior's variance, the published one half of it, and every step is charged."""

import math

import arviz as az
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpmcmc as dp
from dpmcmc import privacy
from dpmcmc.chain.acceptance import Always
from dpmcmc.chain.proposals import Langevin
from dpmcmc.mechanisms.gaussian_sum import CHARGED_STD
from dpmcmc.mechanisms.needs import drawn
from dpmcmc.posterior import Posterior
from dpmcmc.randomness import RandomSource


def run(kernel, records, steps=12_000, temperature=1.0, chains=8):
    model = dp.models.GaussianMean(1)
    release = dp.sample(
        model,
        records,
        epsilon=1e12,
        delta=1e-6,
        method=dp.Chain(kernel, warmup=1000),
        draws=steps - 1000,
        chains=chains,
        temperature=temperature,
        seed=7,
        progress=False,
    )
    return release, release.draws["theta"][:, release.warmup :, 0]


@pytest.mark.parametrize(("variant", "temperature"), [("right", 1.0), ("right", 0.3), ("heikkila2019", 1.0)])
def test_the_variance_of_either_drift(variant, temperature):
    """θ' = (1 − k η λ)θ + N(0, η) has variance 1/(λ (2k − k² η λ)), k the drift: 1/λ, or half of it, as η → 0."""
    records = np.random.default_rng(0).normal(1.0, 1.0, (30, 1))
    mean, variance = dp.models.GaussianMean(1).exact_posterior(records, temperature)
    step, k = 0.2 * variance, {"right": 0.5, "heikkila2019": 1.0}[variant]
    _, draws = run(dp.Kernel(Langevin(step, clip=4.0, variant=variant), Always()), records, temperature=temperature)
    euler = variance / (2 * k - k**2 * step / variance)
    assert abs(draws.mean() - mean[0]) < 4 * float(az.mcse(draws, method="mean"))
    assert abs(draws.var() / euler - 1) < 0.06
    assert abs(draws.var() / (variance / (2 * k)) - 1) < 0.17


def test_batches():
    """The batch's own noise comes on top: (k η n)² S²(1 − b/n)/b of variance a step, S² the sample variance."""
    records = np.random.default_rng(0).normal(1.0, 1.0, (30, 1))
    mean, variance = dp.models.GaussianMean(1).exact_posterior(records)
    step = 0.05 * variance
    proposal = Langevin(step, clip=4.0, batch=10)
    release, draws = run(dp.Kernel(proposal, Always()), records)
    batch = (step / 2 * 30) ** 2 * records.var(ddof=1) * (1 - 10 / 30) / 10
    euler = (1 + batch / step) * variance / (1 - step / variance / 4)
    assert abs(draws.mean() - mean[0]) < 4 * float(az.mcse(draws, method="mean"))
    assert abs(draws.var() / euler - 1) < 0.08
    event = release.receipts[0].event.event
    assert event == proposal.event(30, 1.0)
    assert isinstance(event, privacy.SubsampledGaussian)
    assert event.sampling == "without_replacement"
    assert release.sample_stats["accepted"].all()


@pytest.mark.parametrize(("variant", "batch"), [("right", None), ("right", 20), ("heikkila2019", None)])
def test_the_noise_charged_is_the_noise_of_the_step(variant, batch):
    """Measured on one step: its variance is the step's, and one record moves it by the sensitivity charged."""
    proposal = Langevin(0.01, clip=2.0, batch=batch, variant=variant)
    n, temperature, draws = 40, 0.05, 4000
    event = proposal.event(n, temperature)
    multiplier = event.noise_multiplier if batch is None else event.noise_multiplier / 2
    model = dp.models.GaussianMean(1, prior_std=1e6)
    with jax.enable_x64(True):
        words = drawn(RandomSource(1), proposal.random_words(n), (draws,))

        def moved(record):
            posterior = Posterior(model, jnp.full((n, 1), record), temperature)

            def step(words):
                return proposal.propose_privately(None, words, posterior, jnp.zeros(1), ()).position[0]

            return np.asarray(jax.jit(jax.vmap(step))(words))

        low, high = moved(-1e9), moved(1e9)
    assert abs(low.var() / 0.01 - 1) < 5 * math.sqrt(2 / draws)
    one_record = (high - low).mean() / (n if batch is None else batch)
    assert one_record == pytest.approx(math.sqrt(0.01) / multiplier, rel=1e-4)
    assert CHARGED_STD / (2 * multiplier) == pytest.approx(proposal._sum(n, temperature).bound)


def test_always_reads_nothing_and_stays_in_the_support():
    test = Always()
    assert test.event(10, 1.0) == privacy.Compose(())
    assert privacy.epsilon(test.event(10, 1.0), 1e-6) == 0
    with jax.enable_x64(True):
        for public, accepted in ((3.0, True), (-50.0, True), (-np.inf, False)):
            assert bool(test.decide({}, None, (), None, None, jnp.asarray(public)).accepted) == accepted


@pytest.mark.parametrize(
    ("settings", "says"),
    [({"step": -1.0}, "step"), ({"clip": 0.0}, "clip"), ({"batch": 0}, "batch"), ({"variant": "left"}, "variant")],
)
def test_public_mistakes_are_refused(settings, says):
    with pytest.raises(ValueError, match=says):
        Langevin(**{"step": 0.1, "clip": 1.0} | settings)


def test_a_step_whose_noise_is_too_small_to_be_private_is_refused():
    with pytest.raises(ValueError, match="below 1"):
        Langevin(1.0, clip=5.0).event(100, 1.0)
