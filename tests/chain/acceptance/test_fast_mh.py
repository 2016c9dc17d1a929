"""DP-Fast MH as published: it runs as published, leaks more than it claims, and is given no guarantee."""

import math
import runpy
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm, poisson

import dpmcmc as dp
from dpmcmc import privacy
from dpmcmc.chain.acceptance.fast_mh import VARIANTS, PublishedFastMH, PublishedFastMHFull
from dpmcmc.posterior import Posterior
from dpmcmc.privacy.published import zhang2023
from dpmcmc.randomness import RandomSource

C = 0.3
fast_mh_leak = SimpleNamespace(
    **runpy.run_path(str(Path(__file__).parents[3] / "docs" / "scripts" / "fast_mh_leak.py"))
)

MODEL = dp.Model(log_prior=lambda theta: 0.0, log_likelihood=lambda theta, x: C * x * theta, init=0.0)
HERE, THERE = 0.0, 1.0  # a move of length 1: the bound is C for records in [−1, 1]


def rejections(test, *data, public=0.0, steps=20_000):
    """How often a move from HERE to THERE is refused, for each data set."""
    bits = {"batch": RandomSource(0).random_words("batch", (steps, 1))}
    with jax.enable_x64(True):

        @jax.jit
        def accepted(b, records):
            posterior = Posterior(MODEL, records, 1.0)
            here, move = jnp.float64(HERE), dp.Move(jnp.float64(THERE))
            cache = test.prepare(posterior, here)
            return jax.vmap(lambda b: test.decide(b, posterior, cache, here, move, jnp.float64(public)).accepted)(b)

        return [1 - float(np.mean(accepted(bits, jnp.asarray(records)))) for records in data]


def near(seen, p, steps=20_000):
    return abs(seen - p) <= 4.5 * math.sqrt(p * (1 - p) / steps)


@pytest.mark.slow
def test_a_rejection_gives_the_record_away():
    """Neighbours on which the published test never rejects, and rejects with the probability of the exact sums.

    With K = 5 every fifth step takes all records.
    """
    test = PublishedFastMH(C, epsilon=1e5, delta=1e-5, rate=2.0, largest_batch=5.0)
    setting = {"constant": C, "n": 4, "rate": 2.0}
    up, down = (fast_mh_leak.rejection(sign, 1.0, 5.0, **setting) for sign in (1, -1))
    assert up == 0
    assert fast_mh_leak.delta_needed(10.0, 1.0, 5.0, **setting) == pytest.approx(down)
    seen = rejections(test, [1.0, 0.0, 0.0, 0.0], [-1.0, 0.0, 0.0, 0.0])
    assert seen[0] == 0
    assert near(seen[1], down)
    always_small = fast_mh_leak.rejection(-1, 1.0, 100.0, **setting)
    assert always_small == pytest.approx(-math.expm1(-C), rel=1e-12)


def test_the_sums_agree_with_all_counts_of_all_records():
    """The benchmark's sum for one record against a brute-force sum over the draws of every record, B < K and beyond."""
    n, rate, batch, a = 3, 2.0, 6.0, 2.0 / 3
    for sign in (1, -1):
        total = 0.0
        for b in range(40):
            mass = poisson.pmf(b, rate + n * C)
            if b >= batch:
                total += mass * (0.0 if sign > 0 else -math.expm1(-C))
                continue
            reject = 0.0
            places = [0.0 if sign > 0 else C, C / 2, C / 2]
            for outcome in product(range(2 * n), repeat=b) if b <= 4 else []:
                chance, log_ratio = 1.0, 0.0
                for o in outcome:
                    phi, kept = places[o // 2], o % 2
                    keep = (a + phi) / (a + C)
                    chance *= (keep if kept else 1 - keep) / n
                    log_ratio += kept * math.log((a + C - phi) / (a + phi))
                reject += chance * -math.expm1(min(0.0, log_ratio))
            if b > 4:  # the same, by the record's own count
                hit = ((a + places[0]) / (a + C)) / n
                reject = sum(
                    math.comb(b, s)
                    * hit**s
                    * (1 - hit) ** (b - s)
                    * -math.expm1(min(0.0, s * sign * math.log1p(C / a)))
                    for s in range(b + 1)
                )
            total += mass * reject
        assert fast_mh_leak.rejection(sign, 1.0, batch, constant=C, n=n, rate=rate) == pytest.approx(total, abs=1e-12)


def test_exceeds_what_it_claims_in_the_authors_own_setting():
    for distance, batch in ((0.015, 60.0), (0.075, 60.0), (0.015, 222.0)):
        assert fast_mh_leak.is_free(distance, batch)
        claim = zhang2023.theorem2(
            fast_mh_leak.EPSILON,
            fast_mh_leak.DELTA,
            2 * math.log1p(fast_mh_leak.N * fast_mh_leak.CONSTANT * distance / fast_mh_leak.RATE),
            largest_batch=batch,
            total=fast_mh_leak.N * fast_mh_leak.CONSTANT,
            largest_constant=fast_mh_leak.CONSTANT,
        )
        assert claim.noise_std == 0
        needed = fast_mh_leak.delta_needed(claim.epsilon, distance, batch)
        assert needed > 20 * claim.delta


def test_the_page_holds_the_numbers_of_the_script():
    assert fast_mh_leak.table() in fast_mh_leak.PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("variant", VARIANTS[:2])
def test_full_batch_noise_is_as_published(variant):
    """With noise: min(1, e^t) averaged over N(0, s²) − s²/2 in the text, over U(0, s) − s²/2 in the code."""
    records, epsilon = [0.4, -1.0, 0.2, -0.3], 0.5
    std = math.sqrt(2 * math.log(1.25 / 0.1)) / epsilon * 2 * C
    test = PublishedFastMHFull(C, epsilon=epsilon, delta=0.1, variant=variant)
    t = C * sum(records) + 1.5
    u = (np.arange(200_000) + 0.5) / 200_000
    noise = std * (norm.ppf(u) if variant == "text" else u) - std**2 / 2
    p = float(np.mean(np.exp(np.minimum(0, t + noise))))
    assert near(rejections(test, records, public=1.5)[0], 1 - p)


def test_without_noise_the_text_still_subtracts_the_penalty_and_the_code_does_not():
    std = math.sqrt(2 * math.log(1.25 / 0.1)) / 1.0 * 2 * C
    for variant, penalty in (("text", std**2 / 2), ("as_coded", 0.0)):
        test = PublishedFastMHFull(C, epsilon=1.0, delta=0.1, variant=variant)
        assert near(rejections(test, [0.5, -0.7])[0], -math.expm1(-0.2 * C - penalty))


@pytest.mark.slow
def test_no_guarantee_is_issued():
    for test in (PublishedFastMHFull(C, variant="as_coded_logistic"), PublishedFastMH(C)):
        kernel = dp.Kernel(dp.RandomWalk(0.5), test)
        event = kernel.event(4)
        assert isinstance(event, privacy.NonPrivate)
        assert "claim (0.05, 1e-05)" in event.reason
    release = dp.sample(MODEL, np.zeros(4), method=dp.Chain(kernel, warmup=12), draws=38, chains=1, progress=False)
    assert release.guarantee is None


def test_public_mistakes_are_refused():
    for wrong in ({"epsilon": 0.0}, {"delta": 1.0}, {"variant": "fast"}, {"rate": -1.0}, {"largest_batch": math.inf}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))} must"):
            PublishedFastMH(C, **wrong)
