"""Selection: the right probabilities, the right target, no more leaked than the event says."""

import itertools
from fractions import Fraction

import arviz as az
import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import chi2

import dpmcmc as dp
from dpmcmc import privacy
from dpmcmc.chain.proposals import Candidates, GuidedWalk, HiddenCentre, Orbit, Sphere
from dpmcmc.chain.selection import Select
from dpmcmc.mechanisms import choice
from dpmcmc.mechanisms.coin import CLAMP, COIN_ERROR
from dpmcmc.posterior import Posterior
from dpmcmc.randomness import RandomSource
from tests.contracts.problems import cycle_problem, gaussian_problem

AMPLE = {"epsilon": 1e12, "delta": 1e-6, "progress": False}


def utilities(rng, count, unit):
    """Whole numbers of units whose values differ by tens, by little, and not at all."""
    spread = rng.choice([0.0, 0.1, 3.0, 30.0, 60.0])
    return np.round(rng.normal(scale=spread, size=count) / unit).astype(np.int64)


def exact_probabilities(units, unit):
    with mpmath.workdps(60):
        u = [mpmath.mpf(int(k)) * mpmath.mpf(float(unit)) for k in units]
        weights = [mpmath.exp(max(value, max(u) - CLAMP)) for value in u]
        return [weight / mpmath.fsum(weights) for weight in weights]


@pytest.mark.parametrize("count", [3, 16, 64, 300])
def test_every_probability_has_a_small_relative_error(count):
    """What the machine does, the likeliest candidate's remainder included, against sixty digits."""
    rng, worst = np.random.default_rng(count), 0.0
    with jax.enable_x64(True):
        for unit in (2.0**-47, 0.05 / 2**24, 1e-3, 1e4):
            for _ in range(1 + 9 // count):
                units = utilities(rng, count, unit)
                computed = np.asarray(choice.probabilities(units, unit, np.ones(count, bool)))
                parts = [Fraction(float(p)) for p in computed]
                likeliest = int(np.argmax(computed))
                parts[likeliest] += 1 - sum(parts)
                for part, exact in zip(parts, exact_probabilities(units, unit), strict=True):
                    error = abs(mpmath.mpf(part.numerator) / part.denominator / exact - 1)
                    worst = max(worst, float(error))
    assert worst < COIN_ERROR * choice.comparisons(count) / 4


@pytest.mark.parametrize("count", [3, 7, 300])
def test_intervals_of_the_choice_are_exact(count):
    """At both ends of every candidate's interval of 128-bit integers the choice changes where it must."""
    rng = np.random.default_rng(count)
    with jax.enable_x64(True):
        draw = jax.jit(jax.vmap(choice.choose, in_axes=(0, None)))
        for _ in range(5):
            p = np.asarray(choice.probabilities(utilities(rng, count, 1e-6), 1e-6, np.ones(count, bool)))
            likeliest = int(np.argmax(p))
            parts = [0 if k == likeliest else Fraction(float(q)) * 2**128 for k, q in enumerate(p)]
            assert all(Fraction(part).denominator == 1 for part in parts)
            ends = [int(end) for end in itertools.accumulate(parts)]
            words, expected = [], []
            for k in range(count):
                if k != likeliest:
                    words += [ends[k] - int(parts[k]), ends[k] - 1]
                    expected += [k, k]
            words += [ends[-1], 2**128 - 1]
            expected += [likeliest, likeliest]
            bits = np.array([[word >> 64, word & (2**64 - 1)] for word in words], np.uint64)
            assert np.array_equal(draw(bits, p), expected)


def test_frequencies_of_the_choice():
    with jax.enable_x64(True):
        p = choice.probabilities(np.array([0, 1, -2, 3, 2, 0]), 0.7, np.array([True, True, True, False, True, True]))
        draws = 100_000
        chosen = jax.vmap(choice.choose, in_axes=(0, None))(RandomSource(1).random_words("choice", (draws, 2)), p)
        p, counts = np.asarray(p), np.bincount(chosen, minlength=6)
    assert p[3] == counts[3] == 0
    expected = draws * np.delete(p, 3)
    assert np.sum((np.delete(counts, 3) - expected) ** 2 / expected) < chi2.isf(1e-5, 4)


def kernels():
    _, _, mean, variance = gaussian_problem()
    std = np.sqrt(variance)
    return {
        "orbit": Select(Orbit(mean + 0.3 * std, 1.3 * std, 3), 100.0),
        "hidden centre": Select(HiddenCentre(0.25, 8), 100.0),
        "hidden centre, fixed base": Select(HiddenCentre(0.25, 8, base=1.0), 100.0),
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", kernels())
def test_recovers_a_conjugate_gaussian(name):
    model, records, mean, variance = gaussian_problem()
    release = dp.sample(
        model, records, **AMPLE, method=dp.Chain(kernels()[name], warmup=100), draws=4900, chains=4, seed=7
    )
    draws = release.draws["theta"][:, release.warmup :]
    assert abs(draws.mean() - mean) < 4 * float(az.mcse(draws, method="mean"))
    assert abs(draws.var() / variance - 1) < 0.1


@pytest.mark.slow
def test_recovers_a_gaussian_in_several_dimensions_of_one_precision():
    """A fit that is off, a matrix root, records in single precision, parameters in a mapping; and steps on a sphere."""
    rng = np.random.default_rng(2)
    records = rng.normal([1.0, -1.0, 0.0], 1.0, (20, 3)).astype(np.float32)
    model = dp.Model(
        log_prior=lambda theta: -0.5 * (theta["a"] ** 2 + jnp.sum(theta["b"] ** 2)) / 100,
        log_likelihood=lambda theta, x: -0.5 * ((x[0] - theta["a"]) ** 2 + jnp.sum((x[1:] - theta["b"]) ** 2)),
        init={"a": 0.0, "b": np.zeros(2)},
    )
    mean, std = records.sum(0) / 20.01, 20.01**-0.5
    root = std * (1.2 * np.eye(3) + 0.2 * rng.normal(size=(3, 3)))
    fit = {"a": mean[0] + 0.2 * std, "b": mean[1:] - 0.2 * std}
    for candidates in (Orbit(fit, root, 6), HiddenCentre(Sphere(0.2), 6)):
        kernel = Select(candidates, 100.0)
        release = dp.sample(model, records, **AMPLE, method=dp.Chain(kernel, warmup=100), draws=2900, chains=4, seed=1)
        draws = np.concatenate([release.draws["a"][..., None], release.draws["b"]], axis=-1)[:, 100:]
        assert draws.dtype == np.float64
        for j in range(3):
            assert abs(draws[..., j].mean() - mean[j]) < 4 * float(az.mcse(draws[..., j], method="mean"))
            assert abs(draws[..., j].var() / std**2 - 1) < 0.1


def test_hidden_centre_on_a_finite_space():
    model, records, proposal, target = cycle_problem()
    kernel = Select(HiddenCentre(proposal, 4), 1.0)
    release = dp.sample(model, records, **AMPLE, method=dp.Chain(kernel, warmup=0), draws=5000, chains=4, seed=3)
    states = release.draws["theta"]
    for state in range(5):
        visits = (states == state).astype(float)
        assert abs(visits.mean() - target[state]) < 5 * float(az.mcse(visits, method="mean"))


def test_an_unsymmetric_proposal_is_corrected_for():
    """Steps drawn on the log scale: q(θ'|θ) ∝ 1/θ', so log q(here|there) − log q(there|here) = log θ' − log θ."""
    model = dp.Model(
        log_prior=lambda theta: jnp.where(theta > 0, -theta, -jnp.inf), log_likelihood=lambda theta, x: 0 * x, init=1.0
    )

    def step(key, theta):
        move = 0.7 * jax.random.normal(key)
        return theta * jnp.exp(move), move

    kernel = Select(HiddenCentre(dp.Custom(step, symmetric=False), 8), 1.0)
    release = dp.sample(model, np.zeros(2), **AMPLE, method=dp.Chain(kernel, warmup=100), draws=5900, chains=4, seed=3)
    draws = release.draws["theta"][:, 100:]
    for power, moment in ((1, 1.0), (2, 2.0)):
        assert abs((draws**power).mean() - moment) < 4 * float(az.mcse(draws**power, method="mean"))


@pytest.mark.parametrize("candidates", [Orbit(1.2, 0.4, 8), HiddenCentre(0.4, 8, base=1.2)])
def test_clipped_at_a_fixed_base_the_target_is_the_clipped_posterior(candidates):
    model = dp.Model(
        log_prior=lambda theta: -0.5 * ((theta - 1) / 0.4) ** 2,
        log_likelihood=lambda theta, x: -0.5 * (x - theta) ** 2,
        init=1.0,
    )
    records, clip = np.random.default_rng(0).normal(1.0, 1.0, 30), 0.2
    grid = np.linspace(-3, 5, 20_001)
    terms = -0.5 * (records[:, None] - grid) ** 2 + 0.5 * (records[:, None] - 1.2) ** 2
    log_density = -0.5 * ((grid - 1) / 0.4) ** 2 + np.clip(terms, -clip, clip).sum(0)
    density = np.exp(log_density - log_density.max())
    mean = np.average(grid, weights=density)
    variance = np.average((grid - mean) ** 2, weights=density)
    assert variance * (30 + 0.4**-2) > 1.2  # the clip does matter
    kernel = Select(candidates, clip)
    release = dp.sample(model, records, **AMPLE, method=dp.Chain(kernel, warmup=100), draws=5900, chains=4, seed=11)
    draws = release.draws["theta"][:, 100:]
    assert abs(draws.mean() - mean) < 4 * float(az.mcse(draws, method="mean"))
    assert abs(draws.var() / variance - 1) < 0.1


def test_with_a_fixed_base_the_choice_does_not_depend_on_where_it_is_made():
    """The same set seen from another of its members: the same probabilities, to the last bit."""
    model, records, _, _ = gaussian_problem()
    kernel = Select(Orbit(1.0, 0.2, 5), 0.3)
    with jax.enable_x64(True):
        posterior = Posterior(model, jnp.asarray(records), 0.7)
        state = kernel.init(posterior, jnp.float64(1.3), ())
        move = kernel.propose(jax.random.key(0), {}, posterior, state)
        p = kernel.probabilities(posterior, state, move)
        for member in range(1, 5):
            turned = Candidates(*(jnp.roll(part, -member) for part in move))
            there = kernel.init(posterior, turned.positions[0], ())
            assert np.array_equal(np.roll(kernel.probabilities(posterior, there, turned), member), p)


def test_an_orbit_turned_is_the_same_orbit_and_the_same_weights():
    orbit = Orbit([1.0, 2.0], [[1.0, 0.0], [0.5, 2.0]], 7)
    with jax.enable_x64(True):
        here = jnp.array([1.5, -2.0])
        points, log_corrections = orbit.draw(jax.random.key(3), here)
        root = np.array(orbit.root)
        normal = -0.5 * np.sum(np.linalg.solve(root, (np.asarray(points) - [1.0, 2.0]).T) ** 2, axis=0)
    assert np.array_equal(points[0], here)
    np.testing.assert_allclose(log_corrections, -normal, rtol=1e-12)
    angle, x = 2 * np.pi / 7, np.asarray(points) - [1.0, 2.0]
    z = (x[1] - x[0] * np.cos(angle)) / np.sin(angle)
    turned = z * np.cos(3 * angle) - x[0] * np.sin(3 * angle)  # the z that belongs to the third point
    np.testing.assert_allclose(x[3] * np.cos(angle) + turned * np.sin(angle), x[4], rtol=1e-12)


@pytest.mark.parametrize("temperature", [1.0, 0.1])
@pytest.mark.parametrize("base", [None, 0.0])
def test_worst_neighbours_differ_by_no_more_than_the_event_claims(temperature, base):
    model = dp.Model(log_prior=lambda theta: 0.0 * theta, log_likelihood=lambda theta, x: x * theta, init=0.0)
    kernel = Select(HiddenCentre(1.0, 5, base=base), 0.05)
    extremes = [np.inf, -np.inf, np.nan, 1e30, -1e30, 0.05, -0.05, 0.0]
    orders = np.array([1.5, 2.0, 8.0, 32.0])
    claimed = privacy.renyi(kernel.event(21, temperature), orders)
    others = np.random.default_rng(0).normal(scale=0.1, size=20)
    worst, count = 0.0, 0
    with jax.enable_x64(True):

        @jax.jit
        def probabilities(records, log_corrections):
            posterior = Posterior(model, records, temperature)
            state = kernel.init(posterior, jnp.float64(0.0), ())
            move = Candidates(jnp.array([0.0, 1.0, -1.0, 0.3, -2.0]), log_corrections)
            return kernel.probabilities(posterior, state, move)

        tilts = [-50.0, -39.95, -3.0, 0.0, 0.5, 2.0, 45.0]
        for up, still in itertools.product(tilts, (-60.0, -20.0, 0.0, 39.97)):
            public = jnp.array([still, up, 0.0, still, 0.0])
            seen = np.stack([probabilities(np.array([x, *others]), public) for x in extremes])
            for p, q in itertools.permutations(seen, 2):
                log_p, log_q = np.log(p)[:, None], np.log(q)[:, None]
                divergence = logsumexp(orders * log_p + (1 - orders) * log_q, axis=0) / (orders - 1)
                assert np.all(divergence <= claimed + 1e-11)
                worst, count = max(worst, float(np.max(divergence / claimed))), count + 1
    assert count > 1000
    assert worst > 0.9  # the search comes near the claim


def test_what_no_prior_allows_is_never_chosen_and_records_never_stop_the_chain():
    model = dp.Model(
        log_prior=lambda theta: jnp.where(theta > 0, -theta, jnp.where(theta < -1, jnp.nan, -jnp.inf)),
        log_likelihood=lambda theta, x: x * theta,
        init=0.5,
    )
    for x in (np.inf, np.nan, -np.inf):
        kernel = Select(HiddenCentre(1.0, 6), 0.1)
        with jax.enable_x64(True):
            posterior = Posterior(model, jnp.array([x, x, 1.0]), 1.0)
            state = kernel.init(posterior, jnp.float64(0.5), ())
            move = Candidates(jnp.array([0.5, -0.5, 2.0, -2.0, jnp.inf, jnp.nan]), jnp.zeros(6))
            p = np.asarray(kernel.probabilities(posterior, state, move))
        assert np.array_equal(p > 0, [True, False, True, False, False, False])
        assert abs(p.sum() - 1) < 1e-15


def test_costs_are_what_ran():
    model, records, _, _ = gaussian_problem()
    kernel = Select(Orbit(1.0, 0.2, 16), 0.05)
    assert kernel.event(30, 0.5) == privacy.Selection(4 * 0.5 * 0.05)
    release = dp.sample(
        model, records, epsilon=9.0, delta=1e-6, method=dp.Chain(kernel, warmup=12), draws=38, chains=2, progress=False
    )
    assert release.receipts[0].event == privacy.Repeat(privacy.Selection(0.2), 100)
    assert release.sample_stats["accepted"].shape == (2, 50)
    assert release.guarantee is not None
    several = [Select(Orbit(1.0, 0.2, count), 0.05).inexact_draws(30) for count in (3, 64, 1000)]
    assert several[:2] == [1, 1]
    assert several[2] > 100


def test_a_bound_that_the_model_proves_is_charged_as_it_arises():
    model, records, _, _ = gaussian_problem()
    kernel = Select(HiddenCentre(0.02, 4), dp.ModelClip())
    assert kernel.event(30) is None
    with jax.enable_x64(True):
        posterior = Posterior(model, jnp.asarray(records), 0.5)
        state = kernel.init(posterior, jnp.float64(1.0), ())
        move = kernel.propose(jax.random.key(0), {}, posterior, state)
        shift = float(kernel.shift(model, 0.5, state, move))
        assert shift == pytest.approx(4 * 0.5 * 20 * np.abs(np.asarray(move.positions) - 1.0).max(), rel=1e-12)
        u = 0.5 * (-0.5 * (records[:, None] - np.asarray(move.positions)) ** 2).sum(0) - move.positions**2 / 200
        np.testing.assert_allclose(kernel.probabilities(posterior, state, move), jax.nn.softmax(u), rtol=1e-5)
    assert kernel.event_at(shift) == privacy.Selection(shift)


def test_many_records_are_taken_a_few_candidates_at_a_time(monkeypatch):
    model, records, _, _ = gaussian_problem()
    kernel = Select(HiddenCentre(0.25, 7), 0.1)
    with jax.enable_x64(True):
        posterior = Posterior(model, jnp.asarray(records), 1.0)
        state = kernel.init(posterior, jnp.float64(1.0), ())
        move = kernel.propose(jax.random.key(0), {}, posterior, state)
        together = kernel.probabilities(posterior, state, move)
        monkeypatch.setattr("dpmcmc.chain.selection._AT_ONCE", 60)
        assert np.array_equal(kernel.probabilities(posterior, state, move), together)


def test_public_mistakes_are_refused():
    for make in (lambda k: Orbit(0.0, 1.0, k), lambda k: HiddenCentre(1.0, k)):
        for count in (2, 2.5, 10**6):
            with pytest.raises(ValueError, match="count"):
                make(count)
    with pytest.raises(ValueError, match="invertible"):
        Orbit([0.0, 0.0], [[1.0, 1.0], [1.0, 1.0]], 4)
    with pytest.raises(ValueError, match="finite"):
        Orbit(np.nan, 1.0, 4)
    with pytest.raises(ValueError, match="positive"):
        Select(Orbit(0.0, 1.0, 4), -1.0)
    with pytest.raises(ValueError, match="2 entries for 1"):
        Select(Orbit([0.0, 0.0], 1.0, 4), 1.0).start(jnp.zeros(()))
    with pytest.raises(TypeError, match="integer"):
        Select(Orbit(0.0, 1.0, 4), 1.0).start(jnp.asarray(0))
    with pytest.raises(TypeError, match="memory"):
        Select(HiddenCentre(GuidedWalk(1.0), 4), 1.0).start(jnp.zeros(1))
    with pytest.raises(ValueError, match="lattice"):
        Select(HiddenCentre(Sphere(1.0), 4), 1.0).start(jnp.zeros(1))
