"""What holds records, or keys of their noise, is never written anywhere by a pickle, and does not print them."""

import copy
import pickle

import numpy as np
import pytest

import dpmcmc as dp
from dpmcmc.mechanisms import stream
from dpmcmc.posterior import Posterior
from dpmcmc.privacy import GaussianFilter
from dpmcmc.randomness import RandomSource
from dpmcmc.raveled import RaveledModel
from dpmcmc.records.cells import of_array
from dpmcmc.scores.reader import Reader

SECRET = 731.25
RECORDS = np.full((4, 1), SECRET)


def reader():
    posterior = Posterior(dp.models.GaussianMean(), RECORDS)
    keys = RandomSource(1).random_words("noise", (2, *stream.KEY_SHAPE))
    return Reader(RaveledModel.of(posterior.model, RECORDS), posterior, GaussianFilter.of_mu(1.0, 2), keys)


HOLDERS = {
    "posterior": lambda: Posterior(dp.models.GaussianMean(), RECORDS),
    "reader": reader,
    "cells": lambda: of_array(RECORDS[:, 0], "x"),
    "source": lambda: RandomSource(1),
}


@pytest.mark.parametrize("make", HOLDERS.values(), ids=HOLDERS)
def test_what_holds_records_is_not_pickled_and_does_not_print_them(make):
    holder = make()
    for write in (pickle.dumps, copy.deepcopy, lambda value: pickle.dumps({"a": [value]})):
        with pytest.raises(TypeError, match=r"cannot be.* pickled"):
            write(holder)
    assert "731" not in repr(holder)


def test_a_plan_and_a_release_hold_none(monkeypatch):
    """They are what is passed on."""
    plan = dp.plan(dp.models.GaussianMean(), 4, dp.Budget(1.0, 1e-6), method=dp.dp_barker(0.1, 0.01), draws=4)
    release = plan.sample(RECORDS, progress=False)
    needle = np.float64(SECRET).tobytes()
    for value in (plan, release):
        assert needle not in pickle.dumps(value)
