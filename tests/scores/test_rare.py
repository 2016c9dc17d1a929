"""Values that may be no record's: what rests on them is taken away, and nothing else."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpmcmc as dp
from dpmcmc.scores.marginals import Marginals, first_edges
from dpmcmc.scores.picture import Simulated, picture
from dpmcmc.scores.quality import MANY_UNSEEN, ScoreQuality
from dpmcmc.scores.rare import as_far_as_seen, unseen_rows
from dpmcmc.scores.step import Knowledge

N = 20_000


def counted(levels, *counts, std=50.0):
    """Marginals of covariates with these counts in their first bins, or at their bounds."""
    edges = first_edges(levels)
    table = np.zeros((len(levels), edges.shape[1] - 1))
    for row, own, count in zip(table, counts, levels, strict=True):
        where = slice(0, count) if count else [0, -1]
        row[where] = own
    return Marginals.from_counts(edges, table, std, N, levels)


def test_levels_and_rare_values_with_counts_like_noise_are_not_seen():
    found = counted((3, 2, 0, 0), (19_000, 140, 860), (100, 19_900), (19_990, 10), (15_000, 5000))
    assert found.unseen == ((0.0,), (-1.0,), (1.0,), ())
    x = np.array([[-1, 1, -1, 1], [0, 1, -1, 1], [1, -1, -1, 1], [1, 1, 0.9, 1], [1, 1, -1, -1]], float)
    assert unseen_rows(x, found).tolist() == [False, True, True, True, False]
    assert found[2:].unseen == ((1.0,), ())


def pictured(scores):
    information = scores.T @ scores / len(scores)
    return picture(Simulated(np.zeros(3), scores, information, np.eye(3), np.zeros(3)), np.eye(3), N)


def test_what_only_unseen_records_tell_is_taken_away_and_the_rest_stays():
    """Two groups of records, each with parameters of its own."""
    scores = np.random.default_rng(0).normal(size=(4000, 3))
    scores[:3800, 2], scores[3800:, :2] = 0.0, 0.0
    here = pictured(scores)
    said = Knowledge(N * here.information, N * here.information @ np.array([1.0, -2.0, 3.0]))
    seen = scores[:3800].T @ scores[:3800] / 4000
    found = as_far_as_seen(said, here, seen)
    np.testing.assert_allclose(found.precision[:2, :2], said.precision[:2, :2], rtol=1e-6)
    assert found.precision[2, 2] < 1e-6 * said.precision[2, 2]
    np.testing.assert_allclose(np.linalg.solve(found.precision[:2, :2], found.weighted[:2]), [1, -2], rtol=1e-6)
    assert as_far_as_seen(said, here, None) is said
    assert as_far_as_seen(said, here, here.information) is said


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.0, 1.0))
def test_precision_is_never_added(seed, share):
    """Whatever is seen: along every direction of the information's own, no more is known than before."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(500, 3)) * rng.lognormal(size=3)
    here, rows = pictured(scores), rng.random(500) < share
    found = as_far_as_seen(Knowledge(here.information, np.ones(3)), here, scores[rows].T @ scores[rows] / 500)
    values = np.linalg.eigvalsh(here.information - found.precision)
    assert values.min() > -1e-8 * np.trace(here.information)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.0, 0.05])
def test_an_effect_that_no_record_shows_has_the_priors_width(share):
    """A 0/1 column that is 0 in all records: without privacy its sd is 2.5/√2, by its prior and the intercept's."""
    rng = np.random.default_rng(1)
    table = {"age": rng.uniform(-1, 1, N), "group": 1.0 * (rng.random(N) < share)}
    table["y"] = rng.poisson(np.exp(0.3 + 0.5 * table["age"] + 0.5 * table["group"]))
    model = dp.models.PoissonRegression({"age": (-1, 1), "group": (0, 1)}, most=50)
    release = dp.sample(model, model.encode(table, "y"), 1.0, 1e-6, seed=1, progress=False)
    spread = release.draws["group"].std()
    if share:
        assert release.quality.unseen == 0
        assert spread < 0.1
    else:
        assert release.quality.unseen == 1
        assert release.quality.verdict != "usable"
        assert "so rare that the noise hides" in release.quality.reason
        assert spread == pytest.approx(2.5 / np.sqrt(2), rel=0.25)
    assert abs(release.draws["age"].mean() - 0.5) < 5 * release.draws["age"].std()


def test_so_many_unseen_values_that_others_stand_in_for_them_are_said_to_be_too_many():
    few, many = (_quality(unseen=count) for count in (MANY_UNSEEN, MANY_UNSEEN + 1))
    assert (few.verdict, many.verdict) == ("wide", "not usable")
    assert "intervals are as wide" in few.reason
    bent = replace(few, bend=2.0)
    assert bent.verdict == "not usable"
    assert "cannot be relied on" in bent.reason
    assert f"{MANY_UNSEEN + 1} covariates" in many.reason
    assert "do not allow for" in many.reason


def _quality(unseen):
    good = {"mean_error": 0.2, "surprise": 0.5, "information_error": 0.02, "worst_information": 0.1, "bend": 0.0}
    good |= {"like_prior": 0.1, "least_error": 0.1, "telling": 1000.0, "clipped": 0.01, "stages": 4, "failed": False}
    return ScoreQuality(**good, n=1000, temperature=1.0, widening=1.1, unseen=unseen)
