"""With every function that JAX has, one record changes nothing that is computed of another, to the last bit."""

import jax
import numpy as np
import pytest

from dpmcmc.isolation import NotIsolated
from dpmcmc.isolation.primitives import FREEZING
from dpmcmc.isolation.records import traced
from dpmcmc.isolation.walk import equations
from tests.isolation.functions import MODULES, found, with_orders
from tests.isolation.substitution import (
    BEARABLE,
    EXTREMES,
    NOT_FINITE,
    N,
    contributions,
    model_of,
    moved_by_another,
    of_numbers,
)

DISTRIBUTIONS = [name for name in MODULES if name.startswith("jax.scipy.stats.")]
PARTS = [["jax.scipy.special"], ["jax.lax"], ["jax.nn"], ["jax.numpy"], DISTRIBUTIONS]
LEAST = {"jax.scipy.special": 45, "jax.lax": 60, "jax.nn": 25, "jax.numpy": 150, DISTRIBUTIONS[0]: 80}
"""How many functions must be found at least, so that a search that finds none does not pass."""


def records(count, dtype):
    return np.random.default_rng(count).uniform(0.05, 3.0, (N, count)).astype(dtype)


def loops(function, count):
    """Whether a function has loops without an end that is known beforehand."""
    program, _ = traced(function, *[jax.ShapeDtypeStruct((), np.float64)] * count)
    return any(equation.primitive.name in FREEZING | {"while", "random_gamma"} for equation in equations(program))


def coupled(functions, dtype, gradients):
    """Those of the functions with which a record changed others, or moved the sum by more than its sensitivity."""
    wrong = {}
    for name, (function, count) in functions.items():
        run = contributions(model_of(of_numbers(function, count)), gradients)
        extremes = BEARABLE if loops(function, count) else np.r_[EXTREMES, NOT_FINITE]
        try:
            others, most = moved_by_another(run, records(count, dtype), extremes=extremes)
        except (TypeError, NotImplementedError, ValueError) as error:  # no derivative
            if not gradients or isinstance(error, NotIsolated):
                raise
            continue
        if others or most > 1:
            wrong[name] = (sorted(others), most)
    return wrong


@pytest.mark.slow
@pytest.mark.parametrize("modules", PARTS, ids=lambda part: part[0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_function_lets_one_record_change_another(modules, dtype):
    functions = found(modules)
    assert len(functions) >= LEAST[modules[0]]
    with jax.enable_x64(True):
        assert coupled(functions, dtype, gradients=False) == {}


@pytest.mark.slow
@pytest.mark.parametrize("modules", PARTS, ids=lambda part: part[0])
def test_no_derivative_lets_one_record_change_another(modules):
    with jax.enable_x64(True):
        assert coupled(found(modules), np.float64, gradients=True) == {}


def test_functions_with_loops_let_no_record_change_another():
    """The quick part of the above: functions whose evaluation goes on until something has converged."""
    special = jax.scipy.special
    functions = {
        "betainc": (special.betainc, 3),
        "gammainc": (special.gammainc, 2),
        "gammaincc": (special.gammaincc, 2),
        "hyp1f1": (special.hyp1f1, 3),
        "zeta": (special.zeta, 2),
    }
    with jax.enable_x64(True):
        assert coupled(functions, np.float32, gradients=False) == {}


@pytest.mark.slow
def test_functions_with_an_order_let_no_record_change_another():
    with jax.enable_x64(True):
        assert coupled(with_orders(), np.float64, gradients=True) == {}


def test_the_test_sees_a_record_that_changes_others():
    """``jax.vmap`` of betainc, which iterates until all records have converged, is caught."""
    run = jax.jit(lambda x, theta: (jax.vmap(lambda x: jax.scipy.special.betainc(*x))(x)[:, None], 0))
    data = records(3, np.float32)
    data[:, 2] /= 3.1
    assert moved_by_another(run, data)[0]
