"""Free checks: walls, contradictions and clipped records are said, and good releases are left alone."""

import json
from dataclasses import replace

import jax
import numpy as np
import pytest

import dpmcmc as dp
from dpmcmc.likelihood.checks import Edge, LikelihoodChecks, Stage, agreement, at_clip
from dpmcmc.likelihood.quality import CONTRADICTION, LikelihoodQuality
from dpmcmc.likelihood.regions import Normal
from dpmcmc.quality import NOT_USABLE, USABLE
from dpmcmc_experiments.figures import Settings, seed_of
from tests.likelihood.settings import cheap_sampler  # noqa: F401  (a fixture)
from tests.likelihood.test_basis import built

NORMAL = dp.models.GaussianMean(2)
GOOD = LikelihoodChecks(edge_share=0.0, edge_limit=0.02, agreement=0.5, at_clip=0.01, widened=0)
QUALITY = LikelihoodQuality(0.1, 0.1, 0.005, 0, 4, 1000, 1.0, checks=GOOD)


def stage_of(basis, sums, std):
    normal = Normal(np.zeros(2), np.eye(2))
    return Stage(basis, sums, std, normal, Edge(3.0, 0.001), np.inf, False, 0.0, 1.0)


@pytest.mark.parametrize(
    ("found", "word"),
    [
        ({"edge_share": 0.05}, "at the edge of the region"),
        ({"agreement": 1e-5}, "contradict those before them"),
        ({"at_clip": 0.9}, "most of them are clipped"),
    ],
)
def test_a_check_that_fails_makes_a_release_not_usable_and_says_what_to_do(found, word):
    bad = replace(QUALITY, checks=replace(GOOD, **found))
    assert (QUALITY.verdict, bad.verdict) == (USABLE, NOT_USABLE)
    assert word in bad.reason
    assert "Remedy: " in bad.reason


def test_a_quality_saved_before_there_were_checks_still_loads():
    saved = QUALITY.to_dict()
    assert dp.quality.Quality.from_dict(json.loads(json.dumps(saved))) == QUALITY
    old = {name: value for name, value in saved.items() if name not in ("failed", "checks")}
    loaded = dp.quality.Quality.from_dict(old)
    assert loaded == replace(QUALITY, checks=None)
    assert loaded.verdict == USABLE
    assert "have not been checked" in loaded.describe()


@pytest.mark.parametrize("trusted", [1.0, 0.95])
@pytest.mark.parametrize("dimension", [1, 10])
def test_the_edge_is_reached_by_few_draws_of_a_posterior_as_wide_as_its_region_and_by_those_at_a_wall(
    trusted, dimension
):
    """32 groups; the region as wide as the posterior is the worst case, where the prior decides."""
    rng = np.random.default_rng(0)
    distances = np.linalg.norm(rng.normal(size=(4000, dimension)), axis=1)
    edge, reach = Edge.of(distances, trusted), np.quantile(distances, trusted)
    fresh = np.linalg.norm(rng.normal(size=(4000, dimension)), axis=1)
    assert edge.share(fresh[fresh <= reach]) < edge.limit(32)
    assert edge.share(np.full(100, reach * (1.0 if trusted < 1 else 1.1))) == 1.0
    assert edge.limit(32) < 0.2


def test_sums_of_two_stages_agree_as_often_as_they_should():
    """Two bases over different regions, sums of the same records with noise: uniform probabilities, or larger.

    300 pairs; at 0.05, 4.5 standard errors. The tolerance of 0.1 nats only makes alarms rarer.
    """
    flat, wide, _ = built(NORMAL, width=0.05, seed=0)
    _, narrow, _ = built(NORMAL, width=0.02, seed=1)
    rng, n, noise = np.random.default_rng(2), 2000, (40.0, 10.0)
    with jax.enable_x64(True):
        data = np.asarray(NORMAL.simulate(jax.random.key(3), np.zeros(2), n))
        exact = [basis.features(np.asarray(flat.values(basis.anchors, data))).sum(0) for basis in (wide, narrow)]

        def probability(moved=0.0):
            first, second = (
                stage_of(basis, whole + std * rng.normal(size=len(whole)), std)
                for basis, whole, std in zip((wide, narrow), exact, noise, strict=True)
            )
            return agreement(flat, first, second._replace(sums=second.sums + moved), n, 1.0)

        found = np.array([probability() for _ in range(300)])
        contradicted = probability(moved=1000.0)
    assert np.mean(found < 0.05) < 0.05 + 4.5 * np.sqrt(0.05 * 0.95 / 300)
    assert np.mean(found < 0.05) > 0
    assert contradicted < CONTRADICTION


def test_records_that_are_all_clipped_alike_are_seen_in_the_sums_and_others_are_not():
    _, basis, rng = built(NORMAL)
    n, std = 1000, 5.0
    noise = std * rng.normal(size=(2, basis.size))
    alike = stage_of(basis, np.array([0.9 * n, 0.0]) + noise[0], std)
    usual = stage_of(basis, noise[1], std)
    assert at_clip(alike, n) == pytest.approx(0.9, abs=0.03)
    assert at_clip(usual, n) < 0.03


def test_weights_add_up_to_the_number_of_records_whatever_the_noise():
    _, basis, rng = built(dp.models.TiedMixture(), width=1.0, records=100.0)
    for n in (5000, 0):
        weights = basis.weights(n, 100 * rng.normal(size=(3, basis.size)))
        assert np.all(np.abs(weights.sum(axis=1) - n) < 1e-9 * np.abs(weights).sum(axis=1))


@pytest.mark.usefixtures("cheap_sampler")
def test_a_failure_after_the_first_sums_keeps_them(monkeypatch, tmp_path):
    from dpmcmc.likelihood import stages

    calls, real = [], stages.Basis.build

    def breaks_later(*arguments):
        calls.append(1)
        if len(calls) > 1:
            raise np.linalg.LinAlgError("SVD did not converge")
        return real(*arguments)

    monkeypatch.setattr(stages.Basis, "build", breaks_later)
    data = np.random.default_rng(0).normal(size=(2000, 2))
    release = dp.sample(NORMAL, data, 1.0, 1e-6, draws=50, progress=False)
    assert release.quality.failed
    assert release.quality.verdict == NOT_USABLE
    assert "ended early for numerical reasons" in str(release)
    assert release.guarantee is not None
    loaded = dp.Release.load(release.save(tmp_path / "failed.npz"))
    assert loaded.sums == release.sums


@pytest.mark.slow
def test_a_posterior_far_outside_the_prior_is_found_or_said_not_to_be():
    for prior_std, truth in ((1.0, 6.0), (1.0, 20.0), (0.1, 3.0)):
        model = dp.models.GaussianMean(2, prior_std=prior_std)
        data = np.random.default_rng(1).normal(size=(2000, 2)) + np.array([truth, 0.3 * prior_std])
        mean, _ = model.exact_posterior(data)
        release = dp.sample(model, data, 1.0, 1e-6, seed=0, progress=False)
        draws = release.draws["theta"].reshape(-1, 2)
        off = np.max(np.abs(draws.mean(0) - mean) / draws.std(0))
        assert off < 4.0 or release.quality.verdict == NOT_USABLE


@pytest.mark.slow
def test_the_mixture_is_found_where_noise_once_sent_it_far_away():
    """Records counting as 100 at ε = 0.25: two seeds whose draws were hundreds of standard deviations off."""
    from dpmcmc_experiments.utility.posteriors import target

    t = target("mixture", Settings(quick=False))
    for run in (2, 4):
        seed = seed_of("efficiency", "mixture", 0.25, run)
        release = dp.sample(t.model, t.data, 0.25, t.delta, temperature=t.temperature, seed=seed, progress=False)
        draws = release.draws["theta"].reshape(-1, 2)
        assert release.quality.verdict == USABLE
        assert np.all(np.abs(draws.mean(0) - t.mean) < 0.3 * np.sqrt(np.diag(t.covariance)))
