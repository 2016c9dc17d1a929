"""The corrected Barker test: what it computes, what it leaks, what it samples."""

import itertools
from fractions import Fraction

import arviz as az
import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

import dpmcmc as dp
from dpmcmc import privacy
from dpmcmc.chain.acceptance.corrected_barker import CorrectedBarker
from dpmcmc.mechanisms.coin import COIN_ERROR, RAREST
from dpmcmc.mechanisms.moments import levels_for, sum_and_spread, whole_terms
from dpmcmc.privacy.correction import optimal_correction
from tests.chain.acceptance.helpers import EXTREMES, ORDERS, divergence, enumerated, frequency, gaussian


@pytest.fixture(autouse=True)
def _x64():
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("batch", [1, 7, 1000, 2**14, 20_000])
def test_sums_and_spreads_are_exact(batch):
    levels = levels_for(batch)
    assert batch * levels**2 <= 2**62
    rng = np.random.default_rng(batch)
    for whole in (
        rng.integers(-levels, levels + 1, batch),
        np.full(batch, levels),
        np.full(batch, -levels) + rng.integers(0, 2, batch),
        levels * rng.choice([-1, 1], batch),
    ):
        total, spread = sum_and_spread(jnp.asarray(whole, jnp.int64))
        exact_total = sum(map(int, whole))
        exact = sum(int(q) ** 2 for q in whole) - Fraction(exact_total**2, batch)
        assert int(total) == exact_total
        assert abs(Fraction(float(spread)) - exact) <= Fraction(1, 2**51) * max(exact, batch)


@pytest.mark.parametrize(("variance", "batch"), [(1.1, 3), (2.0, 1), (2.0, 40), (3.0, 500)])
def test_probabilities_have_the_stated_relative_error(variance, batch):
    """From log ratios to both probabilities, against 60 digits; where nothing rounds but the machine."""
    test, n, levels = CorrectedBarker(batch, variance, clamp=40.0), 1000, levels_for(batch)
    correction, rng, worst = test.resolved(), np.random.default_rng(1), 0.0
    compute = jax.jit(lambda r, public: test.probabilities(r, n, 0.5, public))
    with mpmath.workdps(60):
        unit = 1 / (mpmath.sqrt(batch) * levels)
        for public in np.concatenate([np.linspace(-40, 40, 41), rng.uniform(-12, 12, 60)]):
            ratios = test.clip(n, 0.5) * rng.choice([-1.0, 1.0, 0.3], batch) * rng.choice([1.0, 2.0, 0.1])
            whole = [int(q) for q in np.asarray(whole_terms(jnp.asarray(ratios), test.clip(n, 0.5), levels))]
            public_units = mpmath.nint(mpmath.mpf(float(public)) / unit)
            delta = max(min(unit * (sum(whole) + public_units), 40), -40)
            mean = mpmath.mpf(sum(whole)) / batch
            v = variance - sum((q - mean) ** 2 for q in whole) / (batch * mpmath.mpf(levels) ** 2)
            for computed, sign in zip(compute(ratios, public), (1, -1), strict=True):
                right = sum(w * mpmath.erfc(-sign * (delta + a) / mpmath.sqrt(2 * v)) / 2 for a, w in correction.pairs)
                if right >= RAREST / 2:
                    worst = max(worst, abs(float(float(computed) / right - 1)))
                else:
                    assert computed <= RAREST
    assert worst <= COIN_ERROR / 10


def definition(event, batch, public):
    """(accept, reject) of the event on one batch of terms in [−1, 1], written from its docstring."""
    delta = np.clip(np.sum(batch) / np.sqrt(event.batch) + public, -event.clamp, event.clamp)
    std = mpmath.sqrt(event.noise_variance - np.var(batch))
    return np.array([float(sum(w * mpmath.ncdf(s * (delta + a) / std) for a, w in event.correction)) for s in (1, -1)])


@pytest.mark.parametrize(("n", "batch", "correction"), [(6, 3, "optimal"), (5, 2, "ridge"), (4, 4, "optimal")])
def test_the_decision_is_the_events_on_all_batches(n, batch, correction):
    temperature = 0.3
    test = CorrectedBarker(batch, correction=correction)
    event = test.event(n, temperature)
    records = np.random.default_rng(2).normal(scale=1.5 * test.clip(n, temperature), size=n)  # some are clipped
    terms = np.clip(records / test.clip(n, temperature), -1, 1)
    law = enumerated(test, temperature, n)
    for public in (-6.0, 3.0, 0.4):
        p = np.mean([definition(event, terms[list(s)], public) for s in itertools.combinations(range(n), batch)], 0)
        np.testing.assert_allclose(law(records, public), p, rtol=1e-6)  # rounding of y
    rate, coins = frequency(test, temperature, records, public)
    assert abs(rate - p[0]) < 4.5 * np.sqrt(p[0] * p[1] / coins)


@pytest.mark.parametrize(
    ("n", "batch", "temperature", "clamp"), [(6, 2, 1.0, 8.0), (6, 3, 0.05, 20.0), (4, 4, 1.0, 20.0), (5, 1, 0.5, 5.0)]
)
def test_worst_neighbours_differ_by_no_more_than_the_event_claims(n, batch, temperature, clamp):
    test = CorrectedBarker(batch, clamp=clamp)
    claimed = privacy.renyi(test.event(n, temperature), ORDERS)
    law = enumerated(test, temperature, n)
    clip, rng, worst = test.clip(n, temperature), np.random.default_rng(0), 0.0
    for others in (np.zeros(n - 1), np.full(n - 1, clip), clip * rng.choice([-1, 1], n - 1), rng.normal(size=n - 1)):
        for public in (-50.0, -8.0, -3.0, -1.0, 0.0, 1.0, 3.0, 8.0, 50.0):
            seen = [law([x, *others], public) for x in [*EXTREMES, clip, -clip]]
            for p, q in itertools.permutations(seen, 2):
                costs = divergence(p, q)
                assert np.all(costs <= claimed + 1e-11)
                worst = max(worst, float(np.max(costs[:3] / claimed[:3])))
    assert worst > 0.15  # the search comes near the claim


@pytest.mark.slow
def test_recovers_a_tempered_gaussian_within_its_error():
    """N₀ = 40 of 4000 records, batches of 1000: bias of the mean and of the variance within a tenth."""
    n, temperature = 4000, 0.01
    model, records, mean, variance = gaussian(n, temperature)
    kernel = dp.Kernel(dp.RandomWalk(0.15), CorrectedBarker(1000))
    release = dp.sample(
        model,
        records,
        epsilon=1e9,
        delta=1e-6,
        method=dp.Chain(kernel, warmup=100),
        draws=3900,
        chains=4,
        temperature=temperature,
        seed=1,
        progress=False,
    )
    draws = release.draws["theta"][:, release.warmup :]
    assert abs(draws.mean() - mean) < 0.1 * np.sqrt(variance) + 4 * float(az.mcse(draws, method="mean"))
    assert abs(draws.var() / variance - 1) < 0.1 + 4 * np.sqrt(2 / float(az.ess(draws)))
    assert release.receipts[0].event == privacy.Repeat(kernel.event(n, temperature), 16_000)


def test_the_event_names_the_correction_that_is_used():
    own = optimal_correction(1.5)
    event = CorrectedBarker(10, 1.5, own).event(100, 0.1)
    assert event == privacy.SubsampledBarkerBit(100, 10, 1.5, 20.0, own.pairs)
    assert privacy.Event.from_dict(event.to_dict()) == event


def test_public_mistakes_are_refused():
    for wrong in (
        lambda: CorrectedBarker(0),
        lambda: CorrectedBarker(10, 1.0),
        lambda: CorrectedBarker(10, 2.0, "best"),
        lambda: CorrectedBarker(10, 2.0, optimal_correction(1.5)),
        lambda: CorrectedBarker(10, clamp=0.0),
        lambda: CorrectedBarker(10).event(9, 1.0),
    ):
        with pytest.raises(ValueError, match=r"batch|variance|correction|clamp"):
            wrong()
