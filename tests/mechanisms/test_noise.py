"""What a release says when a function of the records raises: nothing of why."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpmcmc as dp
from dpmcmc.mechanisms import stream
from dpmcmc.mechanisms.gaussian_sum import WORDS, discrete_gaussian
from dpmcmc.mechanisms.noise import with_noise
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


@given(seed=st.integers(0, 2**32 - 1), size=st.sampled_from([1, 37]), unit=st.floats(1e-12, 1e12))
def test_noise_on_the_host_is_that_of_compiled_programs(seed, size, unit):
    """The same words, the same whole numbers, to the last bit."""
    rng = np.random.default_rng(seed)
    key, whole = rng.integers(0, 2**64, 4, np.uint64), rng.integers(-(2**60), 2**60, size)
    with jax.enable_x64(True):
        words = stream.words(jnp.asarray(key), size * int(np.prod(WORDS))).reshape(size, *WORDS)
        expected = (whole + np.asarray(discrete_gaussian(words))).astype(np.float64) * unit
    np.testing.assert_array_equal(with_noise(key, whole, unit), expected)


@pytest.mark.parametrize(
    ("key", "whole"),
    [
        (np.zeros(4, np.uint32), np.zeros(2, np.int64)),
        (np.zeros(4, np.uint64), np.zeros(2)),
        (np.zeros(4, np.uint64), np.zeros(2**14 + 1, np.int64)),
    ],
)
def test_noise_is_refused_for_other_numbers(key, whole):
    with pytest.raises(TypeError, match="64-bit whole numbers"):
        with_noise(key, whole, 1.0)
