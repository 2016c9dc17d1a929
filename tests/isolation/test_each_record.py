"""Programs of one record: what keeps records apart runs for all at once, what does not is serialised or refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import dpmcmc as dp
from dpmcmc.chain.acceptance.minibatch import batch_log_ratios
from dpmcmc.isolation import NotIsolated, each_record
from dpmcmc.isolation.primitives import KNOWN
from dpmcmc.isolation.records import kept_apart, traced
from dpmcmc.mechanisms.fixed_point import LEVELS, integer_sum
from dpmcmc.posterior import Posterior
from tests.isolation.substitution import N, bits, contributions, model_of, moved_by_another

WIDTH = 6
PUBLIC = np.random.default_rng(0).normal(size=(WIDTH, WIDTH)) + 3 * np.eye(WIDTH)


def until_small(x):
    """Newton's square root, as long as the record needs."""

    def step(carry):
        at, turns = carry
        return 0.5 * (at + x / at), turns + 1

    return jax.lax.while_loop(lambda c: (jnp.abs(c[0] ** 2 - x) > 1e-9 * x) & (c[1] < 60), step, (x + 1, 0))[0]


def square(x):
    return jnp.outer(x, x) + jnp.diag(jnp.abs(x) + 1)


STRUCTURES = {
    "a product with a vector": lambda theta, x: x @ (theta * PUBLIC[0]),
    "a product with a matrix": lambda theta, x: jnp.sum(jnp.tanh(x @ (theta * PUBLIC))),
    "a quadratic form": lambda theta, x: x @ PUBLIC @ x * theta,
    "a convolution": lambda theta, x: jnp.convolve(x, PUBLIC[0, :3] * theta)[2],
    "a Fourier transform": lambda theta, x: jnp.real(jnp.fft.fft(x * theta))[1],
    "sorting": lambda theta, x: jnp.sort(x)[2] * theta + jnp.argsort(x)[0] + jnp.median(x),
    "the largest": lambda theta, x: jax.lax.top_k(x, 2)[0][1] * theta + jnp.argmax(x),
    "cumulative sums": lambda theta, x: jnp.sum(jnp.cumsum(x) * jnp.cumprod(x)) * theta + jax.lax.cumlogsumexp(x)[2],
    "a log of a sum": lambda theta, x: jax.nn.logsumexp(x * theta) + jax.nn.log_softmax(x)[1],
    "places that a record says": lambda theta, x: (
        jnp.asarray(PUBLIC[0])[jnp.clip(x[0], 0, 5).astype(int)] * theta * x[1]
    ),
    "scattering": lambda theta, x: jnp.zeros(4).at[jnp.clip(x, 0, 9).astype(int)].add(x * theta)[1],
    "slices that a record places": lambda theta, x: jax.lax.dynamic_slice(x, (x[0].astype(int),), (2,))[1] * theta,
    "a loop as long as a record needs": lambda theta, x: until_small(jnp.abs(x[0]) * theta),
    "a loop of fixed length": lambda theta, x: jax.lax.scan(lambda c, y: (c * 0.5 + y * theta, c), 0.0, x)[0],
    "a branch that a record takes": lambda theta, x: jax.lax.cond(
        x[0] > 1, lambda: x[1] * theta, lambda: x[2] / x[0] * theta
    ),
    "a factorisation": lambda theta, x: jnp.sum(jnp.linalg.cholesky(square(x))) * theta,
    "solving for a record": lambda theta, x: jnp.sum(jnp.linalg.solve(PUBLIC * theta, x)),
    "a triangle solved for a record": lambda theta, x: jnp.sum(
        jax.scipy.linalg.solve_triangular(np.tril(PUBLIC), x * theta, lower=True)
    ),
    "a record's own equations": lambda theta, x: jnp.sum(jnp.linalg.solve(square(x), x)) * theta,
    "a determinant": lambda theta, x: jnp.linalg.slogdet(square(x))[1] * theta,
    "eigenvalues": lambda theta, x: jnp.sum(jnp.linalg.eigvalsh(square(x))) * theta,
    "singular values": lambda theta, x: jnp.linalg.svd(square(x), compute_uv=False)[0] * theta,
    "random draws": lambda theta, x: jax.random.normal(jax.random.key(x[0].astype(int))) * theta + x[1],
    "gamma draws": lambda theta, x: jax.random.gamma(jax.random.key(3), jnp.abs(x[0]) + 1) * theta,
    "remembered for gradients": lambda theta, x: jax.checkpoint(lambda y: jnp.sum(jnp.sin(y * theta)))(x),
}


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("dtype", [pytest.param(np.float32, marks=pytest.mark.slow), np.float64])
def test_one_record_changes_nothing_of_another(name, dtype):
    records = np.random.default_rng(1).uniform(0.1, 3.0, (N, WIDTH)).astype(dtype)
    with jax.enable_x64(True):
        assert moved_by_another(contributions(model_of(STRUCTURES[name])), records)[0] == set()


@pytest.mark.slow
@pytest.mark.parametrize("name", STRUCTURES)
def test_nor_do_its_derivatives(name):
    records = np.random.default_rng(1).uniform(0.1, 3.0, (N, WIDTH))
    if name in ("a loop as long as a record needs", "gamma draws"):  # no derivative, or of the key
        pytest.skip("not differentiable in reverse or forward mode")
    with jax.enable_x64(True):
        assert moved_by_another(contributions(model_of(STRUCTURES[name]), gradients=True), records)[0] == set()


@settings(max_examples=30, deadline=None)
@given(
    arrays.arrays(np.float64, (N, 3), elements=st.floats(-1e6, 1e6)),
    arrays.arrays(np.float64, (3,), elements=st.floats()),
    st.integers(0, N - 1),
)
def test_any_record_may_be_replaced_by_any_other(records, other, place):
    changed = records.copy()
    changed[place] = other
    with jax.enable_x64(True):
        before, after = (jax.device_get(_MIXED(jnp.asarray(each), jnp.float64(0.3)))[0] for each in (records, changed))
    differ = np.flatnonzero(np.any(bits(before) != bits(after), axis=1))
    assert set(differ) <= {place}


_MIXED = contributions(
    model_of(
        lambda theta, x: (
            jax.lax.lgamma(x[0]) + jnp.sin(x[2] * theta) + x @ jnp.array([1.0, 2.0, 3.0]) * jnp.exp(-theta * x[0] ** 2)
        )
    )
)


def log_betainc(theta, x):
    return jnp.log(jax.scipy.special.betainc(x, x + 1, jax.nn.sigmoid(theta)))


@pytest.mark.parametrize("n", [20_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_betainc_of_one_record_does_not_go_on_until_all_have_converged(n):
    """In single precision one record moved this sum by more than its sensitivity, through the others' last bits."""
    x = np.full(n, 2.0, np.float32)
    model, here, there, bound = model_of(log_betainc), np.float32(0.0), np.float32(0.001), np.float64(0.005)

    @jax.jit
    def run(records):
        posterior = Posterior(model, records)
        ratios = posterior.record_log_likelihoods(there) - posterior.record_log_likelihoods(here)
        return ratios, integer_sum(ratios, bound)

    with jax.enable_x64(True):
        changed = np.r_[np.float32(1e7), x[1:]]
        (before, total), (after, moved) = jax.device_get((run(jnp.asarray(x)), run(jnp.asarray(changed))))
    assert abs(int(moved) - int(total)) <= 2 * LEVELS
    assert np.array_equal(bits(before[1:]), bits(after[1:]))


@pytest.mark.parametrize("decided", ["together", "one by one"])
def test_nor_does_it_in_batches_of_chains_that_are_decided_together(decided):
    """Record 7 is in the second chain's batch alone; the first chain's log ratios must not see it."""
    x = np.full(8, 2.0, np.float32)
    batches = np.arange(8, dtype=np.uint32).reshape(2, 4)

    @jax.jit
    def run(records):
        posterior = Posterior(model_of(log_betainc), records)
        there = np.array([0.001, 0.002])
        return jax.lax.map(
            lambda chain: batch_log_ratios(posterior, chain[0], jnp.float64(0.0), chain[1]),
            (jnp.asarray(batches), jnp.asarray(there)),
            batch_size=2 if decided == "together" else None,
        )

    with jax.enable_x64(True):
        before, after = (np.asarray(run(jnp.asarray(each))) for each in (x, np.r_[x[:7], np.float32(1e7)]))
    assert np.array_equal(bits(before[0]), bits(after[0]))
    assert np.array_equal(bits(before[1, :3]), bits(after[1, :3]))
    assert before[1, 3] != after[1, 3]


def test_records_one_at_a_time_give_the_same_under_any_vmap_and_have_derivatives():
    x, thetas = jnp.array([[1.0, 2.0, 3.0], [0.5, 4.0, 2.0]]), jnp.array([0.1, -0.2])

    def rows(theta, records):
        return each_record(log_betainc, (theta,), records)

    one_by_one = np.array([[rows(theta, records) for records in x] for theta in thetas])
    inner = jax.vmap(jax.vmap(rows, (None, 0)), (0, None))(thetas, x)
    outer = jax.vmap(jax.vmap(rows, (0, None)), (None, 0))(thetas, x)
    np.testing.assert_allclose(inner, one_by_one, rtol=1e-5)
    np.testing.assert_allclose(np.swapaxes(outer, 0, 1), one_by_one, rtol=1e-5)
    slope = jax.grad(lambda theta: jnp.sum(rows(theta, x[0])))(0.1)
    alone = sum(float(jax.grad(log_betainc)(0.1, one)) for one in x[0])
    assert float(slope) == pytest.approx(alone, rel=1e-4)


def rows_by_custom_vmap():
    @jax.custom_batching.custom_vmap
    def centred(x):
        return x

    @centred.def_vmap
    def rule(axis_size, in_batched, x):
        return x - jnp.mean(x), True

    return lambda theta, x: centred(x) * theta


def printed(theta, x):
    jax.debug.print("{}", x)
    return x * theta


def called_back(theta, x):
    shape = jax.ShapeDtypeStruct((), jnp.float64)
    return theta * jax.pure_callback(lambda y: y - y.mean(), shape, x, vmap_method="expand_dims")


LEAKS = {
    "custom_vmap_call": rows_by_custom_vmap(),
    "debug": printed,
    "pure_callback": called_back,
    "rng_bit_generator": lambda theta, x: jax.random.normal(jax.random.key(x.astype(int), impl="rbg")) * theta,
}


@pytest.mark.parametrize("name", LEAKS)
@pytest.mark.parametrize("method", [None, dp.dp_barker(step=0.1, clip=0.1)])
def test_what_sees_all_records_at_once_is_refused_by_name_before_anything_is_charged(name, method):
    with pytest.raises(NotIsolated, match=f"{name}.*isolation.md"):
        dp.sample(model_of(LEAKS[name]), np.linspace(0, 1, 100), 1.0, 1e-6, method=method, progress=False)


def test_so_it_is_within_helpers_loops_and_rules_for_derivatives():
    @jax.custom_vjp
    def f(theta, x):
        return theta * x

    f.defvjp(lambda theta, x: (f(theta, x), x), lambda x, g: (g * called_back(1.0, x), 0.0))
    deep = jax.jit(lambda theta, x: jax.lax.scan(lambda c, _: (c + called_back(theta, x), 0.0), 0.0, None, 3)[0])
    with pytest.raises(NotIsolated, match="pure_callback"):
        dp.sample(model_of(deep), np.ones(100), 1.0, 1e-6, progress=False)
    for run in (
        lambda: dp.sample(model_of(f), np.ones(100), 99.0, 1e-3, method=dp.dp_sgld(0.01, 0.1), draws=2, chains=1),
        lambda: dp.dpvi(simulating(f), np.ones(100), 1.0, 1e-6, steps=2),
    ):
        with pytest.raises(NotIsolated, match="pure_callback"):
            run()


def simulating(log_likelihood):
    return dp.Model(lambda theta: -0.5 * theta**2, log_likelihood, 0.5, simulate=lambda key, theta, n: jnp.ones(n))


def test_a_primitive_that_nobody_has_looked_at_is_refused():
    from jax.extend.core import Primitive

    new = Primitive("brand_new")
    new.def_abstract_eval(lambda x: x)
    assert "brand_new" not in KNOWN
    with pytest.raises(NotIsolated, match=r"brand_new.*not known"):
        each_record(lambda x: new.bind(x), (), jnp.ones(3))


def test_ordinary_programs_run_for_all_records_at_once_and_betainc_one_by_one():
    one = jax.ShapeDtypeStruct((WIDTH,), np.float64)
    with jax.enable_x64(True):
        for name, function in STRUCTURES.items():
            assert kept_apart(traced(function, 0.3, one)[0]), name
        assert not kept_apart(traced(log_betainc, 0.3, jax.ShapeDtypeStruct((), np.float64))[0])


def test_each_record_is_vmap_with_public_values_and_trees():
    records = {"x": jnp.arange(6.0).reshape(3, 2), "k": jnp.arange(3)}

    def function(scale, record):
        return {"sum": jnp.sum(record["x"]) * scale["s"], "k": record["k"]}

    found = each_record(function, ({"s": 2.0},), records)
    assert found["sum"].tolist() == [2.0, 10.0, 18.0]
    assert found["k"].tolist() == [0, 1, 2]
