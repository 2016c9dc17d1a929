"""What a release says when a function of the records raises: nothing of why."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpmcmc as dp
from dpmcmc.mechanisms.totals import Program, RecordsFailed, total
from dpmcmc.sources import Arrays


def refuses(x):
    """A likelihood that raises on a record, with the record's value in the message.

    In 32 bits: a callback may run in a thread of JAX's own, in which 64 bits are not enabled.
    """

    def check(value):
        if np.any(value == 0.125):
            raise ValueError(f"bad value {value}")
        return np.asarray(value, np.float32)

    return jax.pure_callback(check, jax.ShapeDtypeStruct(jnp.shape(x), jnp.float32), x, vmap_method="expand_dims")


def test_a_function_of_a_record_that_could_tell_it_in_an_error_is_refused_before_it_sees_one():
    model = dp.Model(
        log_prior=lambda theta: -0.5 * theta**2,
        log_likelihood=lambda theta, x: -0.5 * (theta - refuses(x)) ** 2,
        init=0.0,
        simulate=lambda key, theta, n: theta + jax.random.normal(key, (n,)),
    )
    data = np.append(np.linspace(-1, 1, 401), 0.125)
    with pytest.raises(ValueError, match="leaves the compiled program") as caught:
        dp.sample(model, data, 1.0, 1e-6, method=dp.ScoreRelease(), seed=0, progress=False)
    assert "0.125" not in str(caught.value)


class Raises(Program):
    def __call__(self, block, count, asked):
        raise FloatingPointError("0.125")


def test_what_is_raised_is_no_numerical_failure():
    program = Raises(lambda block, count, asked: jnp.sum(block).astype(jnp.int64))
    with pytest.raises(RecordsFailed) as caught:
        total(Arrays(np.zeros(3)), program, ())
    assert not isinstance(caught.value, (ArithmeticError, ValueError))
    assert caught.value.__context__ is None


def test_mistakes_of_shapes_are_told():
    with pytest.raises(TypeError, match="incompatible shapes"):
        total(Arrays(np.zeros(3)), Program(lambda block, count, asked: jnp.ones(2) + jnp.ones(3)), ())
    with pytest.raises(TypeError, match="64-bit whole numbers, got float64"):
        total(Arrays(np.zeros(3)), Program(lambda block, count, asked: block), ())
