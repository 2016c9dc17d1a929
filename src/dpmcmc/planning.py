"""Planning: from a public budget, n and model to a kernel and a number of steps. No record is read."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
from jax.flatten_util import ravel_pytree

from dpmcmc import privacy
from dpmcmc.algorithms import dp_barker
from dpmcmc.geometry import Geometry, check_simulates, geometry
from dpmcmc.kernel import KernelLike, State
from dpmcmc.likelihood import LikelihoodPlan, plan_likelihood
from dpmcmc.mechanisms.clip import DistanceClip, ModelClip
from dpmcmc.mechanisms.coin import RELATIVE_ERROR
from dpmcmc.mechanisms.gaussian_sum import TAIL
from dpmcmc.models.base import ModelLike, PyTree, Started
from dpmcmc.posterior import Posterior, check_data, check_temperature, start
from dpmcmc.privacy import Bound, Budget, RenyiFilter, Repeat, ZcdpFilter
from dpmcmc.proposals import RandomWalk
from dpmcmc.receipts import Guarantee, Receipt, receipts_of

TARGET_ESS = 120
"""Effective draws, all chains together, that the default plan tempers for."""

MOST_DECISIONS = 50_000
"""Private decisions that a default plan makes at most, whatever the budget would pay for."""

RESERVED = 10**7
"""Decisions that arithmetic is set aside for, whatever runs, when chains share a budget with earlier releases."""

LARGEST_BATCH_EPSILON = 9.0
"""Largest ε at which noisy sums over batches are proven in machine arithmetic (docs/theory/gaussian-sums.md)."""

STEP = 0.5  # scale of the default random walk times √d, in posterior standard deviations; short moves are cheap
KAPPA = 3.5  # default clip over the root mean square of a record's log ratio (benchmarks/clip_bias.py)
WARMUP = 0.25


@dataclass(frozen=True)
class Plan:
    """What will run and what it will cost. Printing it says what to expect."""

    kernel: KernelLike
    n: int
    chains: int
    steps: int
    warmup: int
    temperature: float
    budget: Budget | None
    guarantee: Guarantee | None
    receipt: Receipt
    expected_ess: float | None = None
    notes: tuple[str, ...] = ()
    before: tuple[Receipt, ...] = ()

    def __str__(self) -> str:
        most = "at most " if self.receipt.filter is not None else ""
        lines = [
            "No privacy guarantee." if self.guarantee is None else f"{self.guarantee}".capitalize() + ".",
            f"{self.chains} chains of {most}{self.steps} steps, {self.warmup} of them as warm-up.",
            f"{self.kernel.describe()}.",
            *self.notes,
        ]
        return "\n".join(lines)


def plan(
    model: ModelLike,
    n: int,
    budget: Budget | None,
    *,
    kernel: KernelLike | None = None,
    chains: int = 2,
    steps: int | None = None,
    warmup: int | None = None,
    temperature: float | None = None,
    init: PyTree | None = None,
    public_data: PyTree | None = None,
    method: str | None = None,
    after: Any = (),
    predict: bool = True,
) -> Plan | LikelihoodPlan:
    """Plan a run for ``n`` records within ``budget``; everything is paid for. No record is read.

    Without a ``kernel``, ``method`` is "likelihood": the log likelihood is released once as a function and draws from
    it are free (:mod:`dpmcmc.likelihood`); unless ``predict`` is False the plan says what to expect, by a rehearsal on
    simulated records or on ``public_data``, public records like those to come. The other ``method``, "chain", is a
    chain of private decisions: full-data Barker with a random walk scaled by the model's public geometry (see
    :mod:`dpmcmc.geometry`), tempered if the budget could not pay for a usable chain otherwise.

    ``init`` is a public starting point, or a function of a key that draws one, in place of the model's own.
    ``temperature`` below 1 tempers; ``steps`` are per chain; left out, the budget decides. ``budget`` is None for
    kernels that are not private, which get no guarantee.

    ``after`` is a fit (:mod:`dpmcmc.initialise`) or release made from the same records before, or several: the budget
    then pays for them and for the chains together, and so says the guarantee. Kernel and start may come from them; the
    budget may not, nor what a second fit costs come from the first: decide on both before.
    """
    _check(n, chains, steps, temperature)
    if init is not None:
        model = Started(model, init)
    if method not in (None, "likelihood", "chain"):
        raise ValueError(f'method must be "likelihood" or "chain", got {method!r}')
    if kernel is not None and method is not None:
        raise ValueError(f"a kernel is a method of its own; give kernel or method={method!r}, not both")
    before = receipts_of(after)
    if before and kernel is None:
        raise ValueError("after= is for chains that a fit can start and scale; give a kernel, made from it or not")
    if kernel is None and method != "chain":
        _check_budget(n, budget)
        assert budget is not None
        if warmup:
            raise ValueError(f'warmup={warmup}: draws of a released likelihood need none; method="chain" does')
        public_data = None if public_data is None else check_data(public_data)
        check_simulates(model, public_data)
        tau = 1.0 if temperature is None else temperature
        return plan_likelihood(
            model, n, budget, chains=chains, steps=steps, temperature=tau, public_data=public_data, predict=predict
        )
    notes: list[str] = []
    expected_ess = None
    guarantee: Guarantee | None
    if kernel is not None and not is_private(kernel, n, 1.0 if temperature is None else temperature):
        temperature = 1.0 if temperature is None else temperature
        steps, guarantee, receipt = _unprotected(kernel, n, chains, steps, temperature)
    else:
        _check_budget(n, budget)
        assert budget is not None
        if kernel is None:
            shape = geometry(model, public_data)
            kernel, temperature, expected_ess, reason = _default(model, shape, n, budget, temperature)
            notes.append(reason)
        temperature = 1.0 if temperature is None else temperature
        event = kernel.event(n, temperature)
        coins = kernel.coins(n)
        if before:
            steps, guarantee, receipt = _after(model, kernel, coins, budget, chains, steps, temperature, n, before)
        elif event is not None:
            steps, guarantee, receipt = _constant(event, coins, budget, chains, steps, temperature)
        else:
            steps, guarantee, receipt = _varying(model, kernel, coins, budget, chains, steps, temperature)
    warmup = int(WARMUP * steps) if warmup is None else warmup
    if not 0 <= warmup < steps:
        raise ValueError(f"warmup must lie between 0 and steps − 1 = {steps - 1}, got {warmup}")
    return Plan(
        kernel, n, chains, steps, warmup, temperature, budget, guarantee, receipt, expected_ess, tuple(notes), before
    )


def is_private(kernel: KernelLike, n: int, temperature: float) -> bool:
    """Whether any budget could pay for the kernel."""
    event = kernel.event(n, temperature)
    return event is None or not any(isinstance(part, privacy.NonPrivate) for part in privacy.parts(event))


def _check(n: int, chains: int, steps: int | None, temperature: float | None) -> None:
    if n < 1 or chains < 1 or (steps is not None and steps < 1):
        raise ValueError(f"n, chains and steps must be at least 1, got n={n}, chains={chains}, steps={steps}")
    if temperature is not None:
        check_temperature(temperature)


def _check_budget(n: int, budget: Budget | None) -> None:
    if not isinstance(budget, Budget):
        raise TypeError(f"budget must be a dp.Budget(epsilon, delta), got {budget!r}")
    if budget.delta >= 1 / n:
        warnings.warn(
            f"delta = {budget.delta:g} is not below 1/n = {1 / n:g}: it would allow releasing a whole record; "
            f"choose at most {0.1 / n:.1g}",
            stacklevel=3,
        )


def _unprotected(
    kernel: KernelLike, n: int, chains: int, steps: int | None, temperature: float
) -> tuple[int, None, Receipt]:
    """A kernel that is not private: nothing limits its steps and nothing is guaranteed."""
    if steps is None:
        raise ValueError("this kernel is not private, so no budget limits its steps; say how many: steps=1000")
    event = kernel.event(n, temperature)
    assert event is not None
    return steps, None, Receipt("chains", math.inf, 1.0, event=Repeat(event, steps * chains))


def _reserve(budget: Budget, decisions: int) -> Budget:
    """The budget left for ideal arithmetic when so many decisions have probabilities with a relative error.

    With γ that error, a transcript's probability is off by a factor within e^{±γ·decisions} on either data set:
    ideal (ε, δ) becomes (ε + 2γ·decisions, δ e^{γ·decisions}). A Gaussian release adds a tail of 2⁻⁶⁶ to δ, which is
    set aside for every decision. docs/theory/finite-precision.md, docs/theory/gaussian-sums.md
    """
    epsilon = (budget.epsilon - 2 * RELATIVE_ERROR * decisions) * (1 - 2**-50)
    if epsilon <= 0:
        raise ValueError(f"{decisions} decisions are too many for epsilon = {budget.epsilon:g} in float64")
    delta = budget.delta * math.exp(-RELATIVE_ERROR * decisions) * (1 - 2**-50) - TAIL * decisions
    if delta <= 0:
        raise ValueError(f"{decisions} decisions are too many for delta = {budget.delta:g} in float64")
    return Budget(epsilon, delta)


def _constant(
    event: privacy.Event, coins: int, budget: Budget, chains: int, steps: int | None, temperature: float
) -> tuple[int, Guarantee | None, Receipt]:
    """Steps that all cost the same: count them. No guarantee where the arithmetic is not proven at that cost."""
    decisions = coins * (MOST_DECISIONS if steps is None else steps * chains)
    ideal = _reserve(budget, decisions)
    if steps is None:
        most = privacy.max_steps(event, ideal.epsilon, ideal.delta)
        steps, method = min(most, MOST_DECISIONS) // chains, most.method
        spent = most < MOST_DECISIONS and steps > 0  # as much as the budget pays for: its cost is the budget
    else:
        spent = False
    whole = Repeat(event, max(steps, 1) * chains)
    cost = Bound(ideal.epsilon, method) if spent else privacy.epsilon(whole, ideal.delta)
    if steps == 0 or cost > ideal.epsilon:
        raise ValueError(_too_small(event, budget, chains, steps, float(cost), temperature))
    arithmetic = 2 * RELATIVE_ERROR * decisions
    total = min((float(cost) + arithmetic) * (1 + 2**-50), budget.epsilon)
    receipt = Receipt("chains", total, budget.delta, event=whole)
    if cost > LARGEST_BATCH_EPSILON and any(isinstance(p, privacy.SubsampledGaussian) for p in privacy.parts(event)):
        return steps, None, receipt
    return steps, Guarantee(total, budget.delta, whole.relation, cost.method, arithmetic), receipt


def _too_small(event: privacy.Event, budget: Budget, chains: int, steps: int, cost: float, temperature: float) -> str:
    """What would fit instead."""
    wanted = f"{max(steps, 1)} step{'s' if steps > 1 else ''} of {chains} chain{'s' if chains > 1 else ''}"
    fits = [f"epsilon = {cost:.3g}"]
    if steps > 1 and (most := int(privacy.max_steps(event, budget.epsilon, budget.delta)) // chains):
        fits.append(f"steps = {most}")
    if shift := getattr(event, "shift", None):
        smaller = privacy.calibrate(
            lambda small: Repeat(replace(event, shift=small), max(steps, 1) * chains),  # type: ignore[call-arg]
            budget,
            bracket=(1e-9 * shift, shift),
            tolerance=0.01,
        )
        fits.append(f"a clip of {smaller / (2 * temperature):.2g} (now {shift / (2 * temperature):.2g})")
    return (
        f"the budget (epsilon = {budget.epsilon:g}, delta = {budget.delta:g}) does not pay for {wanted}, "
        f"which cost epsilon = {cost:.3g}; what would fit: {', or '.join(fits)}, or a lower temperature"
    )


def _varying(
    model: ModelLike, kernel: KernelLike, coins: int, budget: Budget, chains: int, steps: int | None, temperature: float
) -> tuple[int, Guarantee, Receipt]:
    """Steps that cost what their move costs: a filter stops the chains before the budget is passed."""
    shift = _typical_shift(model, kernel, temperature)
    decisions = coins * (MOST_DECISIONS if steps is None else steps * chains)
    ideal = _reserve(budget, decisions)
    event = kernel.event_at(shift)
    rule: ZcdpFilter | RenyiFilter
    if isinstance(event, privacy.BarkerBit | privacy.Selection):
        rule = ZcdpFilter.for_budget(ideal.epsilon, ideal.delta)
    else:
        order = privacy.best_order(event, ideal.epsilon, ideal.delta)
        rule = RenyiFilter.for_budget(ideal.epsilon, ideal.delta, order=order)
    price = float(rule.price(event))
    if price * chains > rule.limit:
        cost = float(privacy.epsilon(Repeat(event, chains), ideal.delta))
        raise ValueError(_too_small(event, budget, chains, 1, cost, temperature))
    if steps is None:
        steps = int(min(2 * rule.limit / price, MOST_DECISIONS)) // chains
    arithmetic = 2 * RELATIVE_ERROR * decisions
    guarantee = Guarantee(budget.epsilon, budget.delta, event.relation, rule.epsilon(ideal.delta).method, arithmetic)
    return steps, guarantee, Receipt("chains", budget.epsilon, budget.delta, filter=rule)


def _after(
    model: ModelLike,
    kernel: KernelLike,
    coins: int,
    budget: Budget,
    chains: int,
    steps: int | None,
    temperature: float,
    n: int,
    before: tuple[Receipt, ...],
) -> tuple[int, Guarantee, Receipt]:
    """Chains after other releases, all within one budget of zCDP, which allows the kernel to depend on them.

    The limit depends on the budget alone, as a filter's must: arithmetic is set aside for ``RESERVED`` decisions.
    Earlier releases are Gaussian sums, with smaller errors than a coin's: each counts as one. docs/theory/filter.md.
    """
    earlier = [event for receipt in before for event in _gaussians(receipt)]
    ideal = _reserve(budget, RESERVED)
    whole = ZcdpFilter.for_budget(ideal.epsilon, ideal.delta)
    spent = privacy.zcdp(privacy.Compose(tuple(Repeat(event, count) for event, count in earlier)))
    if spent >= whole.limit:
        raise ValueError(f"what was released before costs {spent:.3g}-zCDP, all of the budget's {whole.limit:.3g}")
    rule = ZcdpFilter((whole.limit - spent) * (1 - 2**-50))
    event = kernel.event(n, temperature)
    each = kernel.event_at(_typical_shift(model, kernel, temperature)) if event is None else event
    relation = privacy.Compose((*(event for event, _ in earlier), each)).relation  # refused unless it is one
    price = rule.price(each)
    varying = 2 if event is None else 1  # moves shorter than typical cost less: a filter stops the chains in time
    most = int(min(varying * rule.limit / price * (1 - 2**-40), MOST_DECISIONS)) // chains if price > 0 else 0
    if most == 0 or (steps is not None and event is not None and steps > most):
        raise ValueError(
            f"after what was released before, {rule.limit:.3g}-zCDP is left, for {most} steps of {chains} chains of "
            f"this kernel ({price:.3g} each); take fewer steps, a larger epsilon, or a kernel whose steps have a zCDP"
        )
    steps = most if steps is None else steps
    decisions = coins * steps * chains + sum(count for _, count in earlier)
    if decisions > RESERVED:
        raise ValueError(f"{decisions} decisions, of {RESERVED} that the arithmetic is set aside for; take fewer steps")
    method = f"zCDP, {len(before)} earlier release{'s' if len(before) > 1 else ''} included"
    guarantee = Guarantee(budget.epsilon, budget.delta, relation, method, 2 * RELATIVE_ERROR * RESERVED)
    if event is None:
        return steps, guarantee, Receipt("chains", budget.epsilon, budget.delta, filter=rule)
    return steps, guarantee, Receipt("chains", budget.epsilon, budget.delta, event=Repeat(event, steps * chains))


def _gaussians(receipt: Receipt) -> list[tuple[privacy.Event, int]]:
    found = [] if receipt.event is None else list(privacy.parts(receipt.event).items())
    if not found or not all(isinstance(event, privacy.Gaussian) for event, _ in found):
        raise ValueError(f"after= takes fits and released likelihoods, that is Gaussian sums; got {receipt.purpose!r}")
    return found


def _typical_shift(model: ModelLike, kernel: KernelLike, temperature: float) -> float:
    """The root mean square shift of moves from the starting point (public)."""
    nothing = Posterior(model, None, temperature)  # where the cost varies, proposals read no records
    with jax.enable_x64(True):
        theta = start(model, jax.random.key(0), np.dtype(np.float64))
        state = State(theta, kernel.start(theta), ())

        def shift(key: Any) -> Any:
            move = kernel.propose(key, {}, nothing, state)
            return kernel.shift(model, temperature, state, move)

        shifts = np.asarray(jax.vmap(shift)(jax.random.split(jax.random.key(1), 256)))
    return float(np.sqrt(np.mean(shifts**2)))


def _default(
    model: ModelLike, shape: Geometry, n: int, budget: Budget, temperature: float | None
) -> tuple[KernelLike, float, float, str]:
    """Barker with a random walk and a clip in the model's own metric, and the temperature that the budget asks for.

    In the limit of small steps of scale s posterior standard deviations, Barker's random walk is an autoregression
    with coefficient 1 − s²/4, so its draws are worth s²/8 independent ones each.
    """
    worth = (1 - WARMUP) * STEP**2 / (8 * shape.dimension)
    limit = float(privacy.zcdp_limit(budget.epsilon, budget.delta))

    def kernel_at(tau: float) -> tuple[KernelLike, float]:
        root = STEP / math.sqrt(shape.dimension) * shape.posterior_root(tau * n)
        clip, square = _cheaper_clip(model, shape, root)
        cost = tau**2 * square / 2  # mean of (2 τ bound)² / 8
        return dp_barker(RandomWalk(root), clip), worth * min(limit / cost, MOST_DECISIONS)

    tau = 1.0 if temperature is None else temperature
    kernel, ess = kernel_at(tau)
    untempered = ess
    if temperature is None:
        for _ in range(8):  # decisions grow like 1/τ until the prior takes over: a few corrections settle it
            if ess >= TARGET_ESS or tau * n <= shape.dimension:
                break
            tau *= max(ess / TARGET_ESS, 0.1) * 0.99
            kernel, ess = kernel_at(tau)
    if tau < 1:
        reason = (
            f"Tempered: the {n} records count as {tau * n:.0f} (temperature {tau:.3g}), so intervals are about "
            f"{1 / math.sqrt(tau):.1f} times as wide as without privacy."
        )
        if temperature is None:
            reason += (
                f" Untempered, this budget would pay for about {untempered:.1f} effective draws; more records, a "
                "larger epsilon or fewer parameters would allow less tempering."
            )
    else:
        reason = f"Not tempered: about {ess:.0f} effective draws are expected of the ordinary posterior."
    return kernel, tau, ess, reason


def _cheaper_clip(model: ModelLike, shape: Geometry, root: np.ndarray) -> tuple[DistanceClip | ModelClip, float]:
    """A bound for moves of covariance root rootᵀ, and its mean square: the model's own, which is exact, if cheaper."""
    metric, square = DistanceClip(KAPPA, shape.fisher), KAPPA**2 * float(np.trace(root.T @ shape.fisher @ root))
    if getattr(model, "log_ratio_bound", None) is None:
        return metric, square
    with jax.enable_x64(True):
        here, unravel = ravel_pytree(shape.theta)
        there = here + jax.random.normal(jax.random.key(0), (1024, len(here))) @ root.T
        bounds = jax.vmap(lambda to: ModelClip().bound(model, shape.theta, unravel(to)))(there)
        proven = float(np.mean(np.asarray(bounds) ** 2))
    return (ModelClip(), proven) if 0 < proven < square else (metric, square)
