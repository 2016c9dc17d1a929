"""NumPyro models go in unchanged: densities, prior, simulator and posterior are NumPyro's."""

import subprocess
import sys
from functools import lru_cache

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.flatten_util import ravel_pytree
from numpyro.handlers import reparam, scale
from numpyro.infer import MCMC, NUTS
from numpyro.infer.reparam import LocScaleReparam
from numpyro.infer.util import potential_energy

import dpmcmc as dp
from dpmcmc.diagnostics import arviz
from dpmcmc.models.contracts import check_model
from tests.models.numpyro_models import PROBLEMS, arguments_of, model_of, table_of

RECORDS = 7


@lru_cache
def densities(name):
    """(positions by site, records) → our log density, and NumPyro's."""
    model, names = model_of(name), model_of(name).program.sites.position_names

    def ours(positions, records):
        theta = {names[site]: position for site, position in positions.items()}
        return model.log_prior(theta) + jnp.sum(jax.vmap(model.log_likelihood, (None, 0))(theta, records))

    def numpyros(positions, records):
        return -potential_energy(PROBLEMS[name].model, (), arguments_of(name, records), positions)

    return jax.jit(lambda positions, records: (ours(positions, records), numpyros(positions, records)))


#: One model in the quick suite, the others in the slow one.
QUICK = [name if name == "hierarchical" else pytest.param(name, marks=pytest.mark.slow) for name in PROBLEMS]


@pytest.mark.parametrize("name", QUICK)
@settings(deadline=None, max_examples=10)
@given(data=st.data())
def test_the_log_density_is_numpyros_wherever_it_is_looked_at(name, data):
    """Constants included: prior, Jacobian and likelihood, at any position and for any records within the bounds."""
    model = model_of(name)
    flat, unravel = ravel_pytree({s: model.init[p] for s, p in model.program.sites.position_names.items()})
    positions = data.draw(st.lists(st.floats(-3, 3), min_size=len(flat), max_size=len(flat)))
    table = {}
    for column, declared in model.schema.items():
        low, high = declared.bounds
        values = st.integers(0, int(high)).map(float) if declared.labels else st.floats(low, high)
        table[column] = np.array(data.draw(st.lists(values, min_size=RECORDS, max_size=RECORDS)))
    with jax.enable_x64(True):
        records = model.program.arguments.encode(table)
        ours, numpyros = densities(name)(unravel(jnp.asarray(positions)), records)
    np.testing.assert_allclose(ours, numpyros, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", QUICK)
@settings(deadline=None, max_examples=10)
@given(at=st.integers(0, RECORDS - 1), seed=st.integers(1, 1000))
def test_the_log_likelihood_of_a_record_is_a_function_of_that_record(name, at, seed):
    """All other records replaced: the same number, to the last bit."""
    model = model_of(name)
    one, other = (model.encode(table_of(name, RECORDS, s)) for s in (0, seed))
    changed = {key: np.where(_rows(other[key]) == at, one[key], other[key]) for key in one}
    rows = rows_of(name)
    with jax.enable_x64(True):
        before, after = np.asarray(rows(model.init, one)), np.asarray(rows(model.init, changed))
        alone = rows(model.init, {key: values[at : at + 1] for key, values in one.items()})
    assert before[at] == after[at]
    assert np.any(before != after)
    np.testing.assert_allclose(alone[0], before[at], rtol=1e-12)


def _rows(values):
    return np.arange(RECORDS).reshape(-1, *(1,) * (values.ndim - 1))


@lru_cache
def rows_of(name):
    return jax.jit(jax.vmap(model_of(name).log_likelihood, (None, 0)))


@pytest.mark.slow
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_numpyro_model_keeps_the_contract_of_models(name):
    """Simulator, prior draws, covariates and response are those of the densities."""
    model = model_of(name)
    check_model(model, model.unconstrained(PROBLEMS[name].truth))


def nuts(model, data, draws):
    """Draws of the posterior that our log density has, by BlackJAX, as the model gives them back."""
    flat, unravel = ravel_pytree(jax.tree.map(jnp.asarray, model.init))

    def log_density(at):
        theta = unravel(at)
        return model.log_prior(theta) + jnp.sum(jax.vmap(model.log_likelihood, (None, 0))(theta, data))

    warm_key, key = jax.random.split(jax.random.key(3))
    adapted, _ = blackjax.window_adaptation(blackjax.nuts, log_density).run(warm_key, flat, 600)
    step = blackjax.nuts(log_density, **adapted.parameters).step

    def one(state, key):
        state, _ = step(key, state)
        return state, model.values(unravel(state.position))

    return jax.jit(lambda: jax.lax.scan(one, adapted.state, jax.random.split(key, draws))[1])()


@pytest.mark.slow
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_posterior_is_that_of_numpyros_nuts(name):
    """300 records, no privacy: means and spreads of all sites within 5 standard errors of the two runs.

    About 30 averages are compared, at a false alarm of one in two million each.
    """
    model, data = model_of(name), model_of(name).encode(table_of(name, 300))
    with jax.enable_x64(True):
        ours = jax.device_get(nuts(model, data, 2000))
        numpyros = MCMC(NUTS(PROBLEMS[name].model), num_warmup=600, num_samples=2000, progress_bar=False)
        numpyros.run(jax.random.key(4), **arguments_of(name, data))
        theirs = jax.device_get(numpyros.get_samples())
    assert theirs.keys() == ours.keys()
    for site in ours:
        for power in (1, 2):
            centre = theirs[site].mean(axis=0)
            pair = [(draws[site] - (power == 2) * centre) ** power for draws in (ours, theirs)]
            errors = [arviz().mcse(arviz().convert_to_dataset({"x": v[None]})).x.values for v in pair]
            np.testing.assert_array_less(
                np.abs(pair[0].mean(axis=0) - pair[1].mean(axis=0)), 5 * np.hypot(*errors), err_msg=f"{site} {power}"
            )


@pytest.mark.slow
def test_arguments_are_as_declared_and_later_outcomes_follow_earlier_ones():
    """Booleans, whole numbers or real ones; a cost is that of simulated visits, though the model names the argument."""
    seen = {}

    def two_outcomes(age, smoker, plan, visits=None, cost=None):
        seen.update(age=age.dtype.kind, smoker=smoker.dtype.kind, plan=plan.dtype.kind, visits=visits.dtype.kind)
        price = numpyro.sample("price", dist.LogNormal(0, 1))
        with numpyro.plate("plans", 3):
            effect = numpyro.sample("effect", dist.Normal(0, 1))
        with numpyro.plate("people", len(age)):
            numpyro.sample("visits", dist.Geometric(logits=effect[plan] - ~smoker), obs=visits)
            numpyro.sample("cost", dist.Normal(price * visits + age / 100, 1.0), obs=cost)

    schema = dp.Schema(
        age=dp.Number(0, 100),
        smoker=dp.Boolean(),
        plan=dp.Category(["free", "basic"], missing="level"),
        visits=dp.Number.count(50),
        cost=dp.Number(-1e6, 1e6),
    )
    model = dp.from_numpyro(two_outcomes, schema, plate="people")
    assert seen == {"age": "f", "smoker": "b", "plan": "i", "visits": "i"}
    assert "covariates age, smoker, plan; outcomes visits, cost" in str(model)
    assert model.levels == (0, 2, 3)
    assert model.response is None  # there are two
    table = {"age": [3.0, 120.0], "smoker": [True, False], "plan": ["basic", None], "visits": [2, 99], "cost": [1, 2]}
    data = model.encode(table)
    np.testing.assert_array_equal(data["plan"], [1, 2])
    np.testing.assert_array_equal(data["age"], [3, 100])
    np.testing.assert_array_equal(data["visits"], [2, 50])
    theta = model.unconstrained({"effect": np.array([0.5, 1.0, 2.0]), "price": 2.0})
    with jax.enable_x64(True):
        records = jax.device_get(model.simulate(jax.random.key(0), theta, 4000))
    left = records["cost"] - 2.0 * records["visits"] - records["age"] / 100
    assert abs(np.std(left) - 1) < 5 / np.sqrt(2 * 4000)
    assert abs(np.mean(left)) < 5 / np.sqrt(4000)


@pytest.mark.slow
def test_handlers_of_numpyro_may_be_around_a_model():
    """A reparametrised hierarchy has standardised deviations for parameters, and its own effects come out."""

    def centred(school, score=None):
        spread = numpyro.sample("spread", dist.HalfNormal(1.0))
        with numpyro.plate("schools", 3):
            effect = numpyro.sample("effect", dist.Normal(1.0, spread))
        with numpyro.plate("records", len(school)):
            numpyro.sample("score", dist.Normal(effect[school], 0.5), obs=score)

    schema = dp.Schema(school=dp.Category(["a", "b", "c"]), score=dp.Number(-5, 5))
    model = dp.from_numpyro(reparam(centred, config={"effect": LocScaleReparam(0)}), schema)
    assert model.names == ("spread_unconstrained", "effect_decentered")
    theta = {"spread_unconstrained": jnp.log(0.7), "effect_decentered": jnp.array([1.0, 0.0, -2.0])}
    np.testing.assert_allclose(model.values(theta)["effect"], 1 + 0.7 * np.array([1.0, 0.0, -2.0]), rtol=1e-6)
    record = {"school": 2.0, "score": 0.3}
    expected = dist.Normal(1 - 1.4, 0.5).log_prob(0.3)
    np.testing.assert_allclose(model.log_likelihood(theta, record), expected, rtol=1e-5)


def test_scales_and_factors_of_records_are_part_of_their_likelihood():
    def weighted(w, y):
        mean = numpyro.sample("mean", dist.Normal(0, 1))
        with numpyro.plate("records", len(y)), scale(scale=w):
            numpyro.sample("y", dist.Normal(mean, 1.0), obs=y)
            numpyro.factor("more", -((y - mean) ** 4))

    model = dp.from_numpyro(weighted, dp.Schema(w=dp.Number(0, 3), y=dp.Number(-2, 2)))
    expected = 2.5 * (dist.Normal(0.3, 1.0).log_prob(1.0) - 0.7**4)
    found = model.log_likelihood({"mean": 0.3}, {"w": 2.5, "y": 1.0})
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert model.simulate is None  # a factor says nothing of how to draw
    assert model.covariates is None


def test_positions_and_values_are_each_others_images():
    for name, problem in PROBLEMS.items():
        model = model_of(name)
        with jax.enable_x64(True):
            values = jax.device_get(model.values(model.unconstrained(problem.truth)))
        for site, value in problem.truth.items():
            np.testing.assert_allclose(values[site], value, rtol=1e-9)
    with pytest.raises(ValueError, match="each of the latent sites level, slope, sigma, got level"):
        model_of("linear").unconstrained({"level": 1.0})


def test_handlers_and_threads_of_others_do_not_reach_a_model():
    model = model_of("linear")
    with numpyro.handlers.seed(rng_seed=0), numpyro.handlers.trace() as outer:
        inside = model.log_prior(model.init)
    assert not outer
    assert inside == model.log_prior(model.init)


def test_numpyro_is_loaded_when_a_model_is_given_and_no_sooner():
    code = (
        "import sys; import dpmcmc as dp; dp.sample; dp.models; dp.from_numpyro; assert 'numpyro' not in sys.modules\n"
        "sys.modules['numpyro'] = None\n"
        "try: dp.from_numpyro(print, dp.Schema(a=dp.Number(0, 1)))\n"
        "except ImportError as error: print(error)"
    )
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert said == "from_numpyro needs NumPyro: pip install 'dpmcmc[numpyro]'\n"
