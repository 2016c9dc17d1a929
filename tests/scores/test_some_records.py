"""Scouts that read some blocks lead to where those that read all do, whatever the order of the records; at no cost."""

import numpy as np
import pytest

import dpmcmc as dp
from dpmcmc.scores import stages
from dpmcmc.scores.stages import Stages
from dpmcmc.sources import base
from tests.scores.problems import LINEAR, LOGISTIC, laplace_posterior, linear_posterior, linear_records

N, ROWS, EVERY = 40_960, 512, 10  # 80 blocks, of which scouts read 8
EPSILON, DELTA = 20.0, 1e-6  # noise of a hundredth of a posterior standard deviation


@pytest.fixture
def all_records(monkeypatch):
    monkeypatch.setattr(base, "LARGEST_BLOCK", ROWS)


@pytest.fixture
def some(all_records, monkeypatch):
    """What scouts read, in order."""
    monkeypatch.setattr(stages, "SOME", N // EVERY)
    monkeypatch.setattr(stages, "NOISE_OF_SOME", 1.0)
    read, real = [], Stages._moved

    def noted(self, state, *asked):
        read.append(self.reader.every)
        return real(self, state, *asked)

    monkeypatch.setattr(Stages, "_moved", noted)
    return read


def ordered(how):
    data = linear_records(N, seed=8)
    order = {"as they come": np.arange(N), "by outcome": np.argsort(data["y"])}[how]
    return {name: values[order] for name, values in data.items()}


def rare():
    """Of 4 % of the records the outcome is 1, and they come last: no scout reads any of them."""
    rng = np.random.default_rng(3)
    x = rng.uniform(-1, 1, (N, 1))
    y = (rng.random(N) < 1 / (1 + np.exp(3.4 - x[:, 0]))).astype(float)
    order = np.argsort(y, kind="stable")
    return {"x": x[order], "y": y[order]}


def released(model, data, **settings):
    return dp.sample(model, data, EPSILON, DELTA, seed=0, progress=False, **settings)


def compared(model, release, exact):
    """Errors of means in exact standard deviations, and standard deviations over those."""
    draws = np.column_stack([np.ravel(release.draws[name]) for name in model.names])
    std = np.sqrt(np.diag(exact[1]))
    return (draws.mean(axis=0) - exact[0]) / std, draws.std(axis=0) / std


@pytest.mark.parametrize("how", ["as they come", "by outcome"])
def test_a_release_is_as_near_the_exact_posterior(how, some):
    """Means within a quarter of a standard deviation, and those within 8 %: four times what 4000 draws and the noise
    leave open (0.02 each, and 0.02 of the information is never taken to be known better)."""
    data = ordered(how)
    release = released(LINEAR, data)
    print(some, compared(LINEAR, release, linear_posterior(data)), release.quality)
    assert some[:-3] == [EVERY] * (len(some) - 3)
    assert (some[-3:], len(some) > 3, release.quality.verdict) == ([1, 1, 1], True, "usable")
    errors, widths = compared(LINEAR, release, linear_posterior(data))
    assert np.all(np.abs(errors) < 0.25)
    assert np.all(np.abs(widths - 1) < 0.08)


@pytest.mark.parametrize("how", ["as they come", "by outcome"])
def test_without(how, all_records):
    data = ordered(how)
    release = released(LINEAR, data)
    print(compared(LINEAR, release, linear_posterior(data)), release.quality)

def test_scouts_that_are_misled_are_sent_again_over_all_records(some):
    release = released(LOGISTIC, rare())
    print(some, compared(LOGISTIC, release, laplace_posterior(LOGISTIC, rare())), release.quality)
