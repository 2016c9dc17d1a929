"""A checkpoint knows its run by the programs in it: another model, however well hidden, is another run."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpmcmc as dp
from dpmcmc.chain.fingerprint import fingerprint
from dpmcmc.posterior import Posterior

RECORDS = np.linspace(-1, 1, 40)
KEY = bytes(range(32))


def told(log_likelihood, kernel=None, log_prior=lambda theta: -0.5 * theta**2, records=RECORDS):
    """The fingerprint of a run of a model that was made anew."""
    model = dp.Model(log_prior, log_likelihood, 0.5)
    kernel = dp.dp_barker(step=0.1, clip=0.01) if kernel is None else kernel
    plan = dp.plan(model, len(records), dp.Budget(50.0, 1e-6), method=kernel, draws=10, chains=1)
    return fingerprint(plan, Posterior.check(model, records), KEY)


def closed_over_in_a_helper(table):
    helper = jax.jit(lambda theta, x: jnp.sum(jnp.asarray(table)) * theta * x)
    return lambda theta, x: helper(theta, x) - x**2


def closed_over_in_a_loop(table):
    def log_likelihood(theta, x):
        step = jax.jit(lambda c, y: (c + y * theta, jnp.max(jnp.asarray(table))))
        return jax.lax.scan(step, x, jnp.asarray(table))[0]

    return log_likelihood


def looked_up(table):
    return lambda theta, x: jax.lax.cond(x > 0, lambda: theta * jnp.asarray(table)[1], lambda: theta * x)


def with_a_rule(factor):
    """A log likelihood whose value does not show the factor; its derivative does."""

    @jax.custom_jvp
    def f(theta, x):
        return -((theta - x) ** 2)

    f.defjvp(lambda at, along: (f(*at), factor * along[0]))
    return f


@pytest.mark.parametrize("make", [closed_over_in_a_helper, closed_over_in_a_loop, looked_up])
def test_arrays_closed_over_anywhere_are_told_apart(make):
    one, same, other = (told(make(np.array(table))) for table in ([1.0, 2.0], [1.0, 2.0], [1.0, 2.0 + 2**-50]))
    assert one == same
    assert one != other


def test_rules_for_derivatives_are_told_apart_where_derivatives_are_taken():
    gradients = dp.dp_sgld(0.01, 1.0, 10)
    one, same, other = (told(with_a_rule(factor), gradients) for factor in (1.0, 1.0, 2.0))
    assert one == same
    assert one != other


def test_proposals_priors_and_prices_are_told_apart():
    def flat(theta, x):
        return -((theta - x) ** 2)

    def moving(by):
        return dp.Kernel(dp.Custom(lambda key, theta: theta + by), dp.Barker(0.01))

    assert told(flat, moving(0.1)) == told(flat, moving(0.1)) != told(flat, moving(0.2))
    assert told(flat) != told(flat, log_prior=lambda theta: -0.6 * theta**2)
    assert told(flat) != told(flat, records=RECORDS[::-1].copy())


def test_callbacks_are_refused_as_nothing_says_what_they_do():
    def log_prior(theta):
        return jax.pure_callback(lambda t: np.float64(-(t**2)), jax.ShapeDtypeStruct((), jnp.float64), theta)

    with pytest.raises(ValueError, match=r"checkpoint cannot tell.*pure_callback.*without"):
        told(lambda theta, x: theta * x, log_prior=log_prior)


def test_a_copied_checkpoint_is_not_resumed_by_a_model_that_differs_within_a_helper(tmp_path, monkeypatch):
    import dpmcmc.chain.run as running

    path = tmp_path / "chain.npz"

    def start(table):
        model = dp.Model(lambda theta: -0.5 * theta**2, closed_over_in_a_helper(np.array(table)), 0.5)
        method = dp.Chain(dp.dp_barker(step=0.1, clip=0.01), checkpoint=path)
        return dp.sample(model, RECORDS, 1.0, 1e-6, method=method, draws=100, chains=1, seed=1, progress=False)

    with monkeypatch.context() as patch:
        patch.setattr(running, "run_chunk", cut_off)
        with pytest.raises(KeyboardInterrupt):
            start([1.0, 2.0])
    assert path.exists()
    with pytest.raises(ValueError, match="another run"):
        start([1.0, 3.0])
    start([1.0, 2.0])


def cut_off(*arguments):
    raise KeyboardInterrupt


def test_what_else_decides_the_bits_is_told_apart(monkeypatch):
    """The same program draws other proposals from the same key under another setting of JAX, or another version."""
    before = told(lambda theta, x: theta * x)
    with jax.threefry_partitionable(not jax.config.jax_threefry_partitionable):
        assert told(lambda theta, x: theta * x) != before
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=true")
    assert told(lambda theta, x: theta * x) != before
    monkeypatch.undo()
    assert told(lambda theta, x: theta * x) == before
