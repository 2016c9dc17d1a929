"""What every kernel must do: sample the right thing, report what it ran, and leak no more than it reports.

    from dpmcmc.algorithms import contracts

    CASES = contracts.cases(my_algorithm)  # without arguments: of every registered algorithm

    @pytest.mark.parametrize("check", CASES.values(), ids=CASES)
    def test_keeps_its_contract(check):
        check()

A check raises AssertionError where the contract is broken. Seeds are fixed; a bound of 4 or 5 standard errors means a
false-alarm rate of 6e-5 or 6e-7 a comparison if the seed were drawn anew.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial, singledispatch
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import logsumexp

from dpmcmc import privacy
from dpmcmc.algorithms.problems import Problem, cycle, gaussian
from dpmcmc.algorithms.registry import ALGORITHMS, Algorithm, Contract
from dpmcmc.chain.kernel import Kernel, KernelLike, public_log_ratio
from dpmcmc.chain.method import Chain
from dpmcmc.chain.pricing import PriceTable
from dpmcmc.chain.proposals import Move, RandomWalk
from dpmcmc.chain.scan import compile_chunk, run_chunk, start_chains
from dpmcmc.diagnostics import stats
from dpmcmc.mechanisms import coin
from dpmcmc.mechanisms.clip import ModelClip
from dpmcmc.mechanisms.needs import drawn
from dpmcmc.models import Model
from dpmcmc.posterior import Posterior
from dpmcmc.privacy import accept_bit
from dpmcmc.randomness import RandomSource
from dpmcmc.release import Release

Check = Callable[[Contract], None]

CHECKS: dict[Check, dict[str, bool]] = {}
"""Every check, and the flags of the contracts that it is for."""

CHAINS = 32  # many chains of few steps: a step of 32 chains takes hardly longer than one of 4


def cases(*algorithms: Algorithm) -> dict[str, Callable[[], None]]:
    """The checks that apply to these algorithms, or to every registered one, ready to be called."""
    return {
        f"{check.__name__}-{name}": partial(check, contract)
        for check, flags in CHECKS.items()
        for algorithm in algorithms or ALGORITHMS.values()
        for name, contract in algorithm.named_contracts.items()
        if all(getattr(contract, flag) == wanted for flag, wanted in flags.items())
    }


def check_algorithm(algorithm: Algorithm) -> None:
    """All of them, one after the other."""
    for check in cases(algorithm).values():
        check()


def _for(**flags: bool) -> Callable[[Check], Check]:
    def add(check: Check) -> Check:
        CHECKS[check] = flags
        return check

    return add


def _run(
    contract: Contract, problem: Problem, draws: int, *, chains: int = CHAINS, warmup: int = 0, seed: int | None = None
) -> Release:
    """The contract's kernel on the problem, with a budget that pays for anything; none if it is not private."""
    budget = privacy.Budget(1e16, 1e-6) if contract.private else None
    method = Chain(problem.kernel(contract), warmup=warmup)
    plan = method.plan(problem.model, len(problem.records), budget, draws=draws, chains=chains)
    return plan.sample(problem.records, seed=seed, progress=False)


def _demand(holds: Any, broken: str) -> None:
    if not holds:
        raise AssertionError(broken)


def _near(found: np.ndarray, truth: float, errors: float, most: float, what: str) -> None:
    """The mean of draws (chain, draw) is the truth to so many Monte Carlo standard errors, each of ``most`` at most."""
    error = stats().mcse(found, method="mean")
    _demand(error < most, f"{what} is known to {error:.2g} only, not {most:.2g}: the chains mix too slowly")
    _demand(abs(found.mean() - truth) < errors * error, f"{what} {found.mean():.5g} ± {error:.2g} is not {truth:.5g}")


@_for(exact=True)
def recovers_a_conjugate_gaussian(contract: Contract) -> None:
    """Mean to four standard errors, each of 0.02 posterior standard deviations at most; variance to a tenth."""
    problem = gaussian()
    precision = len(problem.records) + 1 / 100
    release = _run(contract, problem, 2300, warmup=200, seed=7)
    draws = release.draws["theta"][:, release.warmup :]
    _near(draws, problem.records.sum() / precision, 4, 0.02 / precision**0.5, "posterior mean")
    _demand(abs(draws.var() * precision - 1) < 0.1, f"variance {draws.var():.4g} is not {1 / precision:.4g}")


@_for(exact=True, uses_proposal=True)
def is_reversible_on_a_finite_space(contract: Contract) -> None:
    """Every state as often as it should be, and as many moves there as back, to five standard errors.

    Those of a state's share are 0.01 at most.
    """
    problem = cycle()
    states = _run(contract, problem, 2500, seed=3).draws["theta"]
    target = np.exp(0.1 * np.arange(5) + problem.records.sum(0))
    for state, share in enumerate(target / target.sum()):
        _near((states == state).astype(float), share, 5, 0.01, f"share of state {state}")
    flow = np.zeros((5, 5))
    np.add.at(flow, (states[:, :-1].ravel(), states[:, 1:].ravel()), 1)
    for here, there in itertools.combinations(range(5), 2):
        go, back = flow[here, there], flow[there, here]
        _demand(abs(go - back) <= 5 * np.sqrt(go + back), f"{go:.0f} moves {here} → {there}, {back:.0f} the other way")


@_for()
def pays_for_every_chain_and_step_before_it_runs(contract: Contract) -> None:
    """A guarantee where the algorithm is private, none where it is not, and a receipt for every decision."""
    problem, chains, steps = gaussian(), 3, 10
    release = _run(contract, problem, steps, chains=chains)
    _demand(release.sample_stats["accepted"].shape == (chains, steps), "not every step ran")
    _demand((release.guarantee is not None) == contract.private, f"private={contract.private}: {release.guarantee}")
    _demand_receipt(problem.kernel(contract), release, len(problem.records), chains * steps)


@_for()
def the_same_key_gives_the_same_chain(contract: Contract) -> None:
    """And another key another one."""
    problem, length, chains = gaussian(), 10, 3
    kernel, posterior = problem.kernel(contract), problem.posterior()
    chunk = compile_chunk(kernel, None)

    def run(seed: int) -> np.ndarray:
        source = RandomSource(seed)
        state = start_chains(kernel, posterior, chains, source)
        positions: np.ndarray = run_chunk(chunk, kernel, posterior, state, source, length, length)[1].positions
        return positions

    one, same, other = run(5), run(5), run(6)
    _demand(np.array_equal(one, same), "two runs with one key differ")
    _demand(not np.array_equal(one, other), "two runs with different keys are the same")


@_for(one_bit=True)
def reports_the_event_that_it_ran(contract: Contract) -> None:
    """The receipt counts every coin that was drawn, and the coin's probability is the one the event describes.

    Frequencies of 40 000 coins agree to 4.5 standard errors, a false-alarm rate of 7e-6 each.
    """
    problem, coins = cycle(), 40_000
    kernel, n = problem.kernel(contract), len(problem.records)
    release = _run(contract, problem, 50, seed=1)
    _demand(release.sample_stats["accepted"].shape == (CHAINS, 50), "not every step ran")
    _demand_receipt(kernel, release, n, CHAINS * 50)
    words = drawn(RandomSource(2), kernel.random_words(n), (coins,))
    with jax.enable_x64(True):
        posterior = Posterior(problem.model, jnp.asarray(problem.records), 1.0)
        state = kernel.init(posterior, jnp.asarray(1), ())
        decide = jax.jit(jax.vmap(lambda w, there: kernel.decide(w, posterior, state, Move(there))[1], (0, None)))
        for there in (0, 2, 3):
            accepted = float(decide(words, jnp.asarray(there)).mean())
            t = 0.1 * (there - 1) + (problem.records[:, there] - problem.records[:, 1]).sum()
            shift = float(kernel.shift(problem.model, 1.0, state, Move(jnp.asarray(there))))
            p = np.exp(log_accept(kernel.event_at(shift), t))
            error = 4.5 * np.sqrt(p * (1 - p) / coins)
            _demand(abs(accepted - p) < error, f"at {t:.3g}, {accepted:.4f} of the moves are accepted, not {p:.4f}")


def _demand_receipt(kernel: KernelLike, release: Release, n: int, decisions: int) -> None:
    receipt, event = release.receipts[0], kernel.event(n, 1.0)
    if event is None:
        _demand(receipt.event is None and receipt.filter is not None, f"a varying cost needs a filter: {receipt}")
    else:
        _demand(receipt.event == privacy.Repeat(event, decisions), f"{decisions} decisions ran, charged: {receipt}")


@singledispatch
def log_accept(event: privacy.Event, t: float) -> float:
    """log P(accept) at the statistic t, by the event that is charged; register one for an event of your own."""
    raise TypeError(f"one_bit needs the law of {type(event).__name__}: register it with contracts.log_accept.register")


@log_accept.register
def _(event: privacy.BarkerBit, t: float) -> float:
    return float(accept_bit.barker_log_accept(np.asarray(t)))


@log_accept.register
def _(event: privacy.PenaltyBit, t: float) -> float:
    return float(accept_bit.penalty_log_accept(np.asarray(t), event.std))


@_for(one_bit=True)
def worst_neighbours_differ_by_no_more_than_the_event_claims(contract: Contract) -> None:
    """Records that are as bad as records can be: infinite, NaN, far beyond the clip."""
    model = Model(
        log_prior=lambda theta: 0.0,
        log_likelihood=lambda theta, x: x * theta,
        init=0.0,
        log_ratio_bound=lambda here, there: 0.05 * jnp.abs(there - here),
    )
    kernel: Any = contract.make(RandomWalk(1.0), 0.05)
    for temperature in (1.0, 0.1):
        worst = _worst_neighbours(kernel, model, temperature)
        # the search does come near the claim, so a claim that is too small would be seen
        _demand(worst > 0.7, f"at temperature {temperature}, the worst that was found is only {worst:.2g} of the claim")


def _worst_neighbours(kernel: Any, model: Model, temperature: float) -> float:
    """The largest Rényi divergence of a bit on neighbouring records, in units of what its event claims."""
    extremes = [np.inf, -np.inf, np.nan, 1e30, -1e30, 0.05, -0.05, 0.0]
    others = np.random.default_rng(0).normal(scale=0.1, size=20)
    records = np.array([[extreme, *others] for extreme in extremes])
    theres, publics = np.array([1.0, -1.0, 0.3]), np.array([-50.0, -6.0, -2.0, -0.5, 0.0, 0.5, 2.0, 6.0, 50.0])

    def bit(records: Any, there: Any, public: Any) -> Any:
        posterior = Posterior(model, records, temperature)
        state = kernel.init(posterior, jnp.float64(0.0), ())
        move = Move(there, public)
        public = public_log_ratio(posterior, state.position, move)
        t, _ = kernel.acceptance.statistic(posterior, state.cache, state.position, move, public)
        probabilities = jnp.maximum(jnp.stack(kernel.acceptance.probabilities(t)), coin.RAREST)  # as the coin does
        return jnp.log(probabilities), kernel.shift(model, temperature, state, move)

    with jax.enable_x64(True):
        every = jax.vmap(jax.vmap(jax.vmap(bit, (None, None, 0)), (None, 0, None)), (0, None, None))
        log_p, shifts = (np.asarray(found) for found in jax.jit(every)(records, theres, publics))
    orders = np.array([1.5, 2.0, 8.0, 32.0])
    worst = 0.0
    for j in range(len(theres)):
        claimed = privacy.renyi(kernel.event_at(float(shifts[0, j, 0])), orders)
        for p, q in itertools.permutations(log_p[:, j], 2):  # one row for each public part
            terms = orders * p[..., None] + (1 - orders) * q[..., None]
            divergences = logsumexp(terms, axis=1) / (orders - 1)
            excess = np.max(divergences - claimed)
            _demand(excess <= 1e-11, f"a bit diverges by {excess:.3g} more than its event claims")
            worst = max(worst, float(np.max(divergences / claimed)))
    return worst


@_for(one_bit=True)
def a_filter_stops_before_the_budget_is_passed(contract: Contract) -> None:
    """Costs that depend on the move are paid as they arise; no step runs that would pass the limit."""
    problem, length = gaussian()._replace(proposal=RandomWalk(0.005)), 400
    kernel: Any = _varying(problem.kernel(contract))
    plan = Chain(kernel).plan(problem.model, len(problem.records), privacy.Budget(5.0, 1e-6), chains=2, draws=length)
    rule = plan.filter
    assert rule is not None
    source, posterior = RandomSource(4), problem.posterior()
    state = start_chains(kernel, posterior, 2, source)
    chunk = compile_chunk(kernel, PriceTable.of(kernel, rule))
    after, trace = run_chunk(chunk, kernel, posterior, state, source, length, length)
    ran = len(trace.accepted)
    _demand(not after.alive and 0 < ran < length, f"{ran} steps ran, and the filter did not stop them")

    # again by hand from what was released: the proposals (same keys) and the positions; the bound is 20 |θ' − θ|
    keys = source.random_words("proposal", (length, 2, 2), np.uint32)[: ran + 1]
    here = np.concatenate([np.asarray(state.positions)[None], trace.positions])
    with jax.enable_x64(True):
        propose = jax.vmap(jax.vmap(lambda k, h: kernel.proposal.propose(jax.random.wrap_key_data(k), h, ()).position))
        there = np.asarray(jax.jit(propose)(keys, here))
    prices = [sum(float(rule.price(kernel.event_at(2 * 20 * far))) for far in step) for step in abs(there - here)]
    spent, charged = sum(prices[:-1]), float(after.spent)
    _demand(
        spent <= charged <= rule.limit, f"charged {charged:.5g} for moves that cost {spent:.5g} of {rule.limit:.5g}"
    )
    _demand(charged < 1.06 * spent, f"charged {charged:.5g} for moves that cost only {spent:.5g}")
    _demand(charged + 1.06 * prices[-1] > rule.limit, f"stopped at {charged:.5g} of {rule.limit:.5g}")


def _varying(kernel: Any) -> Kernel:
    """The same test with the model's own bound for a clip."""
    return Kernel(kernel.proposal, type(kernel.acceptance)(**vars(kernel.acceptance) | {"clip": ModelClip()}))
