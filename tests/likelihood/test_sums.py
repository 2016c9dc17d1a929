"""The released function is kept: drawn from again, with another prior, after saving."""

from functools import lru_cache

import numpy as np
import pytest

import dpmcmc as dp
from dpmcmc.likelihood.sums import LikelihoodSums, PlainArray, packed, unpacked
from dpmcmc.release import Sums

NORMAL = dp.models.GaussianMean(2)
NARROW = dp.models.GaussianMean(2, prior_std=0.03)  # as narrow as the likelihood
RECORDS = np.random.default_rng(0).normal(size=(128, 2))
N = 500  # records that the function counts
COUNT = 2048


def kept():
    """A function without noise: 128 records that count as 500, over a region three posterior widths wide."""
    width = 3 / np.sqrt(N)
    return LikelihoodSums(
        packed(RECORDS),
        PlainArray.of(np.full((8, 128), N / 128)),
        temperature=1.0,
        centre=tuple(RECORDS.mean(0).tolist()),
        root=PlainArray.of(width * np.eye(2)),
        edge=(3.7, 0.001),
        reach=37.0,
        confined=False,
    )


@pytest.mark.slow
def test_draws_are_of_the_closed_form_with_another_prior_and_after_saving():
    """Means and spreads within 4.5 standard errors of half as many independent draws."""
    loaded = Sums.from_dict(kept().to_dict())
    assert loaded == kept()
    made = loaded.draws(NARROW, 2, COUNT // 2, seed=1)
    assert made.shape == (2, COUNT // 2, 2)
    precision = N + NARROW.prior_std**-2
    white = (made.reshape(COUNT, 2) - N * RECORDS.mean(0) / precision) * np.sqrt(precision)
    assert np.all(np.abs(white.mean(0)) < 4.5 * np.sqrt(2 / COUNT))
    assert np.all(np.abs(white.std(0) - 1) < 4.5 * np.sqrt(1 / COUNT))


def test_draws_at_the_edge_of_the_region_are_warned_of():
    elsewhere = LikelihoodSums(**{**vars(kept()), "centre": (1.5, 0.0)})
    with pytest.warns(UserWarning, match="these draws may be far off: they lie at the edge"):
        elsewhere.draws(NARROW, 2, COUNT // 2, seed=1)


def test_records_of_usual_containers_are_kept_and_others_refused():
    tree = {"x": np.arange(6.0).reshape(3, 2), "more": (np.array([True, False, True]), [np.arange(3, dtype=np.int32)])}
    found = unpacked(packed(tree))
    assert (found["x"].shape, found["more"][0].dtype, found["more"][1][0].dtype) == ((3, 2), np.bool_, np.int32)
    assert np.array_equal(found["x"], tree["x"])
    with pytest.raises(TypeError, match="cannot be kept"):
        packed({1: np.zeros(2)})


@lru_cache(maxsize=1)
def release():
    data = np.random.default_rng(0).normal(size=(20_000, 2)) + np.array([0.3, -0.2])
    return dp.sample(NORMAL, data, 1.0, 1e-6, seed=5, progress=False)


@pytest.mark.slow
def test_a_release_is_drawn_again_at_no_cost(tmp_path):
    """Means within 4.5 standard errors: the groups have the same noise, so only the sampler's chance differs."""
    loaded = dp.Release.load(release().save(tmp_path / "sums.npz"))
    assert loaded.sums == release().sums
    again = loaded.redraw(NORMAL, draws=COUNT, chains=1, seed=3)
    first, second = (made.draws["theta"].reshape(-1, 2) for made in (release(), again))
    assert again.draws["theta"].shape == (1, COUNT, 2)
    assert np.all(np.abs(first.mean(0) - second.mean(0)) < 4.5 * first.std(0) * np.sqrt(2 / COUNT))
    assert np.allclose(first.std(0), second.std(0), rtol=0.12)
    assert (again.receipts, again.sums, again.quality) == (release().receipts, release().sums, release().quality)
