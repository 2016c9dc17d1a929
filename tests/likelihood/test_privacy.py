"""What the release of feature sums costs is what it says, for any records."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpmcmc as dp
from dpmcmc import privacy
from dpmcmc.likelihood.features import release_features
from dpmcmc.likelihood.method import SHARES
from dpmcmc.likelihood.run import draw
from dpmcmc.mechanisms.gaussian_sum import GaussianSum
from dpmcmc.posterior import Posterior
from dpmcmc.privacy.events import Gaussian
from dpmcmc.randomness import RandomSource
from tests.likelihood.settings import cheap_sampler  # noqa: F401  (a fixture)
from tests.likelihood.test_basis import built

MODEL = dp.models.GaussianMean(3)
BUDGET = dp.Budget(1.0, 1e-6)


def plan(n=2000, **more):
    return dp.plan(MODEL, n, BUDGET, **more)


def posterior(records):
    return Posterior(MODEL, jax.tree.map(jnp.asarray, records))


@pytest.mark.parametrize("strange", [np.nan, np.inf, -np.inf, 1e30, -1e300, 7.0])
def test_one_record_moves_the_sum_by_twice_the_clip_at_most_whatever_it_holds(strange):
    flat, basis, _ = built(MODEL)
    total = GaussianSum.of_multiplier(1.0, 4.0)
    key = np.arange(4, dtype=np.uint64)
    with jax.enable_x64(True):
        data = np.asarray(MODEL.simulate(jax.random.key(1), np.zeros(3), 50))
        far = data.copy()
        far[0] = 1e6
        near = data.copy()
        near[0] = strange
        moved = release_features(flat, posterior(far), basis, total, key) - release_features(
            flat, posterior(near), basis, total, key
        )  # the same secret noise, so only the records differ
    assert np.all(np.isfinite(moved))
    assert np.linalg.norm(moved) <= 2.0 * (1 + 1e-9)


def test_opposite_records_reach_the_claimed_sensitivity():
    """The claim is not loose: two far records on opposite sides move the sum by nearly twice the clip."""
    flat, basis, _ = built(MODEL)
    total = GaussianSum.of_multiplier(1.0, 4.0)
    key = np.arange(4, dtype=np.uint64)
    with jax.enable_x64(True):
        data = np.zeros((50, 3))
        sums = [release_features(flat, posterior(np.r_[[[x, 0, 0]], data[1:]]), basis, total, key) for x in (-1e6, 1e6)]
    assert np.linalg.norm(sums[0] - sums[1]) > 1.99


def test_the_noise_has_the_standard_deviation_that_is_paid_for():
    """200 releases of one sum: sample variance within 4.5 standard errors of the claim, and no bias."""
    flat, basis, _ = built(MODEL)
    total = GaussianSum.of_multiplier(1.0, 4.0)
    source = RandomSource(3)
    with jax.enable_x64(True):
        data = posterior(np.zeros((20, 3)))
        draws = np.stack(
            [release_features(flat, data, basis, total, key) for key in source.random_words("noise", (200, 4))]
        )
    count = draws.size
    away = draws - draws.mean(0)
    assert abs(away.var() / total.std**2 - 1) < 4.5 * np.sqrt(2 / count) + 1 / 200


@pytest.mark.slow
@pytest.mark.usefixtures("cheap_sampler")
def test_the_receipt_is_the_composition_of_what_runs_and_fits_the_budget(monkeypatch):
    made = plan()
    ran = []
    real = release_features
    monkeypatch.setattr(
        "dpmcmc.likelihood.run.release_features",
        lambda flat, data, basis, total, key: ran.append((total, tuple(key))) or real(flat, data, basis, total, key),
    )
    draw(made, posterior(np.zeros((2000, 3))), RandomSource(0))
    assert [total.event(2000) for total, _ in ran] == list(made.receipts[-1].event.events)
    assert len({key for _, key in ran}) == len(SHARES)  # no noise is used twice
    assert float(privacy.epsilon(made.receipts[-1].event, BUDGET.delta)) <= BUDGET.epsilon
    assert float(privacy.epsilon(made.receipts[-1].event, BUDGET.delta)) > 0.99 * BUDGET.epsilon
    multipliers = [event.noise_multiplier for event in made.receipts[-1].event.events]
    together = sum(m**-2 for m in multipliers) ** -0.5
    assert float(privacy.epsilon(Gaussian(together), BUDGET.delta)) == pytest.approx(1.0, rel=1e-3)
    assert 1 - 1e-5 < made.guarantee.epsilon <= 1.0


@pytest.mark.usefixtures("cheap_sampler")
def test_planning_reads_no_record_and_running_reads_them_only_in_the_sums(monkeypatch):
    """With the sums replaced by numbers, a run never touches the data: an object that cannot be read goes through."""
    made = plan()
    monkeypatch.setattr(
        "dpmcmc.likelihood.run.release_features", lambda flat, data, basis, total, key: np.zeros(basis.size)
    )
    draws = draw(made, posterior(()), RandomSource(0))
    assert np.all(np.isfinite(draws.theta))


@pytest.mark.usefixtures("cheap_sampler")
def test_a_seed_issues_no_guarantee_and_repeats():
    data = np.random.default_rng(0).normal(size=(500, 3))
    one, two = (dp.sample(MODEL, data, 1.0, 1e-6, seed=4, progress=False) for _ in range(2))
    assert one.guarantee is None
    assert np.array_equal(one.draws["theta"], two.draws["theta"])
