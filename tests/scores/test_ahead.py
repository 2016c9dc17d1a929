"""What is compiled ahead is what the stages use, so that they compile nothing; and it sees no record."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmcmc.models import LogisticRegression, Model
from dpmcmc.posterior import Posterior
from dpmcmc.privacy import GaussianFilter
from dpmcmc.raveled import RaveledModel
from dpmcmc.scores import radius, vectors
from dpmcmc.scores.ahead import NoRecords, Types, reads_ahead, simulations_ahead
from dpmcmc.scores.foresight import SimulatedRecords
from dpmcmc.scores.picture import _quadratic, picture
from dpmcmc.scores.reader import Reader


@pytest.fixture
def compiled():
    """How many programs were compiled, or loaded, so far."""
    count = []
    name = "/jax/core/compile/backend_compile_duration"
    listener = lambda event, seconds, **about: count.append(event) if event == name else None  # noqa: E731
    jax.monitoring.register_event_duration_secs_listener(listener)
    yield lambda: len(count)
    jax.monitoring.unregister_event_duration_listener(listener)


def test_stages_compile_nothing_more(compiled):
    rng = np.random.default_rng(0)
    model = LogisticRegression({f"a name of this test {j}": (-1.0, 1.0) for j in range(3)}, prior_std=1.7)
    data = {"x": rng.uniform(-1, 1, (700, 3)), "y": (rng.random(700) < 0.4).astype(float)}
    posterior = Posterior.check(model, data)
    raveled = RaveledModel.of(model, posterior.data)
    simulations_ahead(raveled, 2048, 3)
    reads_ahead(raveled, Types(posterior.types))
    with jax.enable_x64(True):
        key = jax.random.key(0)
        keys = rng.integers(0, 2**63, (8, 4)).astype(np.uint64)
        before = compiled()
        assert before > 5
        foresight = SimulatedRecords(raveled, key, rng.uniform(-1, 1, (2048, 3)))
        theta, ratio = rng.normal(size=4), np.eye(4)
        here = picture(foresight.at(theta), ratio, 700)
        foresight.clipped(here, theta / 2, 2.0)
        foresight.bent(here, theta / 2, 2.0)
        expected = foresight.curved((theta, theta / 2), ratio).numbers(ratio)
        reader = Reader(raveled, posterior, GaussianFilter.of_mu(1.0, 8), keys)
        for kind, rows in ((vectors.scores, here.features), (vectors.curvatures, expected)):
            edges = radius.norm_edges(np.linalg.norm(rows, axis=1))
            reader.norm_counts(kind, (theta, here.root), edges, 0.1)
            reader.total(kind, (theta, here.root), 1.3, rows.shape[1], 0.1)
    assert compiled() == before


def test_nothing_is_read():
    """The source that stands for records gives as many as it has."""
    seen = []
    nothing = NoRecords({"x": jax.ShapeDtypeStruct((2,), np.float64)})
    nothing.total(lambda block, count, arguments: seen.append((block, count)), ())
    ((block, count),) = seen
    assert count == 0
    assert not np.any(block["x"])


def _of_prior(log_prior):
    return RaveledModel.of(Model(log_prior, lambda theta, x: -((x - theta[0]) ** 2), np.zeros(2)))


@settings(max_examples=4)
@given(st.floats(-4, 4), st.floats(-1, 1))
def test_normal_priors_of_all_scales_are_quadratic_and_others_are_not(log_scale, correlation):
    scale = 10**log_scale
    with jax.enable_x64(True):
        assert _quadratic(_of_prior(lambda t: -(t[0] ** 2 - correlation * t[0] * t[1] + t[1] ** 2) / scale**2))
        assert not _quadratic(_of_prior(lambda t: -2.5 * jax.numpy.sum(jax.numpy.log1p((t / scale) ** 2 / 4))))
        assert not _quadratic(_of_prior(lambda t: -(t[0] ** 2) / scale**2 - (t[1] ** 2) * jax.numpy.exp(-t[0] / scale)))
