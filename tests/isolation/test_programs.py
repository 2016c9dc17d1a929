"""Programs are known by what they compute now, and types of parameters by nothing that records say."""

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import dpmcmc as dp
from dpmcmc.isolation import NotTold, digest_of, traced
from dpmcmc.posterior import check_data
from dpmcmc.raveled import RaveledModel, compiled_values


class Scaled:
    """A model with an attribute that can be changed."""

    def __init__(self, scale):
        self.scale, self.init = scale, 0.0

    def log_prior(self, theta):
        return -0.5 * (theta / 10) ** 2

    def log_likelihood(self, theta, x):
        return -0.5 * ((x - theta) / self.scale) ** 2 - jnp.log(self.scale)

    def simulate(self, key, theta, n):
        return theta + self.scale * jax.random.normal(key, (n,))


RECORDS = np.random.default_rng(0).normal(0.3, 1.0, 3000)


@pytest.mark.slow
@pytest.mark.parametrize("method", [dp.ScoreRelease(), dp.LikelihoodRelease()])
def test_a_model_whose_attribute_was_changed_is_sampled_with_the_new_one(method):
    def std(model):
        release = dp.sample(model, RECORDS, 50.0, 1e-6, method=method, draws=400, chains=1, seed=2, progress=False)
        return float(release.draws["theta"].std())

    model = Scaled(1.0)
    before = std(model)
    model.scale = 10.0
    assert std(model) == std(Scaled(10.0)) > 4 * before


def test_programs_of_a_model_are_compiled_anew_once_its_attribute_was_changed():
    with jax.enable_x64(True):
        model, at, record = Scaled(1.0), np.zeros((1, 1)), jnp.ones(1)
        before = float(compiled_values(RaveledModel.of(model))(at, record)[0, 0])
        model.scale = 10.0
        after = float(compiled_values(RaveledModel.of(model))(at, record)[0, 0])
    assert (before, after) == (-0.5, pytest.approx(-0.005 - np.log(10)))


def test_equal_programs_are_shared_and_others_are_not():
    model = Scaled(1.0)
    first = RaveledModel.of(model)
    assert RaveledModel.of(model) == first
    assert hash(RaveledModel.of(model)) == hash(first)
    model.scale = 2.0
    assert RaveledModel.of(model) != first
    same = {dp.models.LogisticRegression({"age": (0, 1)}): 1, dp.models.LogisticRegression({"age": (0, 1)}): 2}
    assert len({RaveledModel.of(each) for each in same}) == 1


def test_an_array_that_was_changed_in_place_is_another_program():
    table = np.array([1.0, 2.0])
    model = dp.Model(lambda theta: -(theta**2), lambda theta, x: theta * jnp.sum(x * jnp.asarray(table)), 0.0)
    first = RaveledModel.of(model, np.ones(3))
    table[0] = 5.0
    assert RaveledModel.of(model, np.ones(3)) != first


def test_rules_for_derivatives_are_part_of_a_model():
    def of(factor):
        @jax.custom_jvp
        def f(theta, x):
            return theta * x

        f.defjvp(lambda at, along: (f(*at), factor * along[0]))
        return dp.Model(lambda theta: -(theta**2), f, 0.0)

    one, other = RaveledModel.of(of(1.0), np.ones(3)), RaveledModel.of(of(2.0), np.ones(3))
    assert one.program != other.program
    assert one.program == RaveledModel.of(of(1.0), np.ones(3)).program


def test_what_calls_back_is_like_nothing_else():
    def called(x):
        return jax.pure_callback(np.sin, jax.ShapeDtypeStruct((), jnp.float32), x)

    with pytest.raises(NotTold, match="pure_callback"):
        digest_of(traced(called, 1.0)[0])
    model = dp.Model(called, lambda theta, x: theta * x, 0.0)
    assert RaveledModel.of(model, np.ones(3)) != RaveledModel.of(model, np.ones(3))


@pytest.mark.parametrize(
    "records",
    [
        np.arange(40.0, dtype=np.float32),
        pd.DataFrame({"x": np.arange(40)}),
        pd.DataFrame({"x": [*range(39), 1.5]}),
    ],
    ids=["float32", "whole numbers in a frame", "one 1.5 among them"],
)
def test_draws_are_float64_whatever_the_records_are(records):
    def log_likelihood(theta, record):
        return -0.5 * (jnp.asarray(record["x"] if isinstance(record, dict) else record, jnp.float32) - theta) ** 2

    model = dp.Model(lambda theta: -0.5 * theta**2, log_likelihood, np.float32(0.0))
    kernel = dp.dp_barker(step=0.1, clip=0.01)
    release = dp.sample(model, records, 1.0, 1e-6, method=kernel, draws=20, chains=1, seed=1, progress=False)
    assert release.draws["theta"].dtype == np.float64


def test_the_type_of_a_column_does_not_depend_on_one_of_its_values():
    frames = [pd.DataFrame({"x": values, "b": [True, False, True]}) for values in ([1, 2, 3], [1, 2, 1.5])]
    for one, other in zip(*(jax.tree.leaves(check_data(frame)) for frame in frames), strict=True):
        assert one.dtype == other.dtype == np.float64
