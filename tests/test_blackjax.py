"""Chains in a BlackJAX loop are those of the library's own runner, and every decision is charged before it is made."""

import warnings

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpmcmc as dp
from dpmcmc.blackjax import as_sampling_algorithm
from dpmcmc.chain.run import chunk_length
from dpmcmc.privacy import Repeat
from dpmcmc.randomness import RandomSource

N = 300
RECORDS = np.random.default_rng(0).normal(0.3, 1.0, N)
MODEL = dp.Model(
    log_prior=lambda t: -0.5 * t**2,
    log_likelihood=lambda t, x: -0.5 * (x - t) ** 2,
    init=0.1,
    log_ratio_bound=lambda here, there: 2.0 * jnp.abs(there - here),
)
BUDGET = dp.Budget(5.0, 1e-6)
BARKER = dp.dp_barker(step=0.05, clip=0.02)
VARYING = dp.dp_barker(step=0.02, clip=dp.ModelClip())
KERNELS = {
    "barker, two chains": (BARKER, 2),
    "barker, varying cost": (VARYING, 1),
    "penalty, guided": (dp.algorithms.dp_penalty_guided(step=0.05, clip=0.01), 1),
    "penalty on batches": (dp.algorithms.dp_penalty_minibatch(step=0.02, batch=100, clip=0.002), 1),
    "hmc": (dp.dp_hmc(0.02, 2, gradient_clip=1.0, noise_multiplier=40.0, clip=0.01), 1),
}


def planned(kernel=BARKER, chains=1, draws=60):
    return dp.plan(MODEL, N, BUDGET, method=dp.Chain(kernel, warmup=0), chains=chains, draws=draws)


def runners_keys(plan, seed):
    """The keys of proposals (step, chain) that ``plan.sample`` draws with this seed."""
    source, length = RandomSource(seed), chunk_length(plan.steps)
    chunks = []
    for _ in range(-(-plan.steps // length)):
        chunks.append(source.random_words("proposal", (length, plan.chains, 2), np.uint32))
        source.advance()
    return np.concatenate(chunks)[: plan.steps]


def loop(algorithm, keys, states):
    """A BlackJAX loop over keys (step, chain): all states and infos."""

    def one_step(states, keys):
        states, infos = jax.vmap(algorithm.step)(keys, states)
        return states, (states, infos)

    return jax.jit(lambda states, keys: jax.lax.scan(one_step, states, keys))(states, keys)[1]


@pytest.mark.parametrize(
    ("kernel", "chains"),
    [
        pytest.param(*case, id=name, marks=[] if "barker" in name else pytest.mark.slow)
        for name, case in KERNELS.items()
    ],
)
def test_a_loop_gives_the_draws_of_the_runner_with_the_same_coins(kernel, chains):
    plan = planned(kernel, chains)
    release = plan.sample(RECORDS, seed=3, progress=False)
    algorithm = as_sampling_algorithm(plan, RECORDS, seed=3)
    with jax.enable_x64(True), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a filter may stop the chains
        keys = jax.random.wrap_key_data(jnp.asarray(runners_keys(plan, 3)))
        states = jax.vmap(algorithm.init)(jnp.full(chains, MODEL.init))
        states, infos = jax.device_get(loop(algorithm, keys, states))
    made = release.count
    np.testing.assert_array_equal(states.position[:made].T, release.draws["theta"])
    np.testing.assert_array_equal(infos.is_accepted[:made].T, release.sample_stats["accepted"])
    assert 0 < infos.is_accepted.mean() < 1
    assert infos.is_paid[:made].all()
    assert not infos.is_paid[made:].any()
    assert algorithm.decisions == made * chains


def test_a_filter_stops_a_loop_where_it_stops_the_runner():
    plan = dp.plan(MODEL, N, dp.Budget(0.5, 1e-6), method=VARYING, chains=1)
    release = plan.sample(RECORDS, seed=1, progress=False)
    assert release.count < plan.steps
    algorithm = as_sampling_algorithm(plan, RECORDS, seed=1)
    with jax.enable_x64(True):
        keys = jax.random.wrap_key_data(jnp.asarray(runners_keys(plan, 1)))
        states = jax.vmap(algorithm.init)(jnp.full(1, MODEL.init))
        with pytest.warns(UserWarning, match="budget is spent after"):
            jax.block_until_ready(loop(algorithm, keys, states))
    assert algorithm.decisions == release.count
    assert algorithm._meter.spent <= plan.filter.limit


def test_what_is_made_is_what_is_charged_and_no_more():
    plan = planned(draws=20)
    algorithm = as_sampling_algorithm(plan, RECORDS)
    charged = plan.receipts[-1].event
    assert isinstance(charged, Repeat)
    with jax.enable_x64(True), pytest.warns(UserWarning, match="budget is spent after 20 decisions"):
        _, (states, infos) = jax.device_get(
            blackjax.util.run_inference_algorithm(
                jax.random.key(0), algorithm, num_steps=30, initial_position=MODEL.init
            )
        )
    assert algorithm.decisions == infos.is_paid.sum() == charged.count == 20
    np.testing.assert_array_equal(states.position[20:], states.position[19])
    assert not infos.is_accepted[20:].any()


def test_starting_again_does_not_make_decisions_free():
    """From one state and key, eight times: eight decisions with eight coins, which do not all fall alike."""
    algorithm = as_sampling_algorithm(planned(draws=200), RECORDS, seed=0)
    step = jax.jit(algorithm.step)
    with jax.enable_x64(True):
        state, key = algorithm.init(0.3), jax.random.key(1)
        accepted = [bool(step(key, state)[1].is_accepted) for _ in range(8)]
        assert algorithm.decisions == 8
        assert 0 < np.mean(accepted) < 1
        jax.block_until_ready(jax.jit(lambda s: (algorithm.step(key, s), algorithm.step(key, s)))(state))
        assert algorithm.decisions == 10  # no compiler takes two decisions for one
        jax.block_until_ready(jax.jit(jax.vmap(algorithm.step, (0, None)))(jax.random.split(key, 3), state))
        assert algorithm.decisions == 13


def test_chains_side_by_side_have_coins_of_their_own():
    """64 chains with one key from one state decide on the same move; with a shared coin they would all agree."""
    plan = planned(chains=64, draws=2)
    algorithm = as_sampling_algorithm(plan, RECORDS, seed=0)
    with jax.enable_x64(True):
        states = jax.vmap(algorithm.init)(jnp.full(64, 0.3))
        _, infos = jax.jit(jax.vmap(algorithm.step, (None, 0)))(jax.random.key(1), states)
    assert 0 < np.mean(infos.is_accepted) < 1
    assert algorithm.decisions == 64


def test_states_and_infos_are_public_and_the_program_holds_no_record():
    algorithm = as_sampling_algorithm(planned(), RECORDS)
    with jax.enable_x64(True):
        state = algorithm.init(MODEL.init)
        compiled = jax.jit(algorithm.step).lower(jax.random.key(0), state)
        for leaf in jax.tree.leaves(jax.eval_shape(algorithm.step, jax.random.key(0), state)):
            assert leaf.shape == ()  # a position and two bits: nothing that is there for each record
        program = compiled.as_text()
    assert f"{N}xf64" in program
    assert 'dense<"0x' not in program
    assert RECORDS[:2].tobytes().hex().upper() not in program.upper()
    jaxpr = jax.make_jaxpr(lambda x: x + jnp.asarray(RECORDS))(0.0)
    assert np.size(jaxpr.consts[0]) == N  # what a closed-over record would look like
    with jax.enable_x64(True):
        assert all(np.size(c) < N for c in jax.make_jaxpr(algorithm.step)(jax.random.key(0), state).consts)


def test_the_guarantee_is_the_plans_and_can_be_shared():
    plan = planned(draws=5)
    algorithm = as_sampling_algorithm(plan, RECORDS)
    assert isinstance(algorithm, blackjax.base.SamplingAlgorithm)
    assert algorithm.guarantee == plan.guarantee
    after = dp.plan(MODEL, N, BUDGET, method=BARKER, chains=1, draws=5, spent=algorithm)
    assert after.receipts[0] == plan.receipts[0]
    seeded = as_sampling_algorithm(plan, RECORDS, seed=0)
    assert seeded.guarantee is None
    assert "seed=" in seeded.no_guarantee


def test_two_algorithms_share_no_coins():
    plan = planned(chains=1, draws=60)
    runs = []
    for _ in range(2):
        algorithm = as_sampling_algorithm(plan, RECORDS)
        with jax.enable_x64(True):
            keys = jax.random.split(jax.random.key(0), (60, 1))
            runs.append(loop(algorithm, keys, jax.vmap(algorithm.init)(jnp.full(1, MODEL.init)))[1].is_accepted)
    assert np.any(runs[0] != runs[1])


def test_mistakes_are_refused():
    plan = planned()
    with pytest.raises(TypeError, match="that of a chain"):
        as_sampling_algorithm(dp.plan(dp.models.GaussianMean(1), 10, BUDGET), np.zeros((10, 1)))
    with pytest.raises(ValueError, match="n = 300 records, the data hold 5"):
        as_sampling_algorithm(plan, RECORDS[:5])
    saved = dp.plan(MODEL, N, BUDGET, method=dp.Chain(BARKER, checkpoint="a.npz"), draws=5)
    with pytest.raises(ValueError, match="writes no checkpoint"):
        as_sampling_algorithm(saved, RECORDS)
    algorithm = as_sampling_algorithm(plan, RECORDS)
    with pytest.raises(RuntimeError, match="64 bits"):
        algorithm.init(MODEL.init)


def test_another_process_cannot_go_on_with_the_same_coins(monkeypatch):
    plan = planned()
    meter = as_sampling_algorithm(plan, RECORDS)._meter
    assert meter.pay(0.0)[0]
    monkeypatch.setattr("os.getpid", lambda: -1)
    with pytest.raises(RuntimeError, match="belongs to the process"):
        meter.pay(0.0)
    assert meter.made == 1


def test_records_that_are_not_arrays_are_refused_before_they_are_charged(tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = {"x": np.linspace(-1, 1, 100), "y": np.arange(100) % 2}
    parquet.write_table(arrow.table(rows), tmp_path / "a.parquet")
    schema = dp.Schema(x=dp.Number(-1, 1), y=dp.Boolean({1: True, 0: False}))
    model = dp.regression("y ~ x", schema, family="logistic")
    plan = dp.plan(model, 100, dp.Budget(1.0, 1e-5), method=dp.dp_barker(step=0.1, clip=0.1), chains=1)
    ledger = dp.Ledger.create(tmp_path / "ledger.db", dataset="a", budget=dp.Budget(2.0, 1e-4))
    for data in (tmp_path / "a.parquet", dp.Files(tmp_path / "a.parquet", model.encode)):
        with pytest.raises(TypeError, match="reads arrays"):
            as_sampling_algorithm(plan, data, ledger=ledger)
    assert len(ledger.book.reservations) == 0
