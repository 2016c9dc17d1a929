"""How many steps of a chain a budget pays for, and their charge. No record is read."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import numpy as np

from dpmcmc import privacy
from dpmcmc.chain.kernel import KernelLike, State
from dpmcmc.charge import OverBudget, Purse, of_draws
from dpmcmc.models.base import ModelLike
from dpmcmc.models.units import unit_of
from dpmcmc.posterior import Posterior, start
from dpmcmc.privacy import Bound, Budget, Event, RenyiFilter, Repeat, ZcdpFilter
from dpmcmc.privacy.arithmetic import Arithmetic
from dpmcmc.privacy.convert import epsilon_from_renyi
from dpmcmc.receipts import Guarantee, Receipt

MOST_DECISIONS = 50_000
"""Private decisions that a chain makes at most where the number of draws is left to the budget."""

PURPOSE = "chains"


@dataclass(frozen=True)
class Request:
    """Chains that are asked for; ``steps`` of each, or as many as the budget pays for."""

    model: ModelLike
    kernel: KernelLike
    n: int
    chains: int
    temperature: float
    steps: int | None

    @property
    def event(self) -> Event | None:
        """What a step costs, or None where that depends on the move."""
        return self.kernel.event(self.n, self.temperature)

    @property
    def is_private(self) -> bool:
        """Whether any budget could pay for the kernel."""
        event = self.event
        return event is None or not any(isinstance(part, privacy.NonPrivate) for part in privacy.parts(event))

    def purse(self, budget: Budget, steps: int | None, earlier: tuple[Receipt, ...] = ()) -> Purse:
        """The budget with what the arithmetic of so many steps takes, or of ``MOST_DECISIONS`` decisions."""
        decisions = MOST_DECISIONS if steps is None else steps * self.chains
        return Purse(budget, of_draws(self.kernel.inexact_draws(self.n) * decisions), earlier, unit_of(self.model))


class Charged(NamedTuple):
    """Steps of each chain, what they were charged, and a note where the budget ends them before or pays for more."""

    steps: int
    guarantee: Guarantee | None
    receipt: Receipt
    note: str = ""


def charge_steps(request: Request, budget: Budget, earlier: tuple[Receipt, ...]) -> Charged:
    """Charge the budget for the chains, after what was spent from it before."""
    if earlier:
        return _shared(request, budget, earlier)
    event = request.event
    return _varying(request, budget) if event is None else _constant(request, event, budget)


def unprotected(request: Request) -> Charged:
    """A kernel that is not private: nothing limits its steps and nothing is guaranteed."""
    if request.steps is None:
        raise ValueError("this kernel is not private, so no budget limits its length; say how many draws: draws=1000")
    event = request.event
    assert event is not None
    return Charged(
        request.steps,
        None,
        Receipt(PURPOSE, math.inf, 1.0, Arithmetic(), event=Repeat(event, request.steps * request.chains)),
    )


def _constant(request: Request, event: Event, budget: Budget) -> Charged:
    """Steps that all cost the same: count them. No guarantee where the arithmetic is not proven at that cost."""
    purse, steps, cost = request.purse(budget, request.steps), request.steps, None
    ideal = purse.ideal
    if steps is None:
        most = privacy.max_steps(event, ideal.epsilon, ideal.delta)
        steps = min(most, MOST_DECISIONS) // request.chains
        if most < MOST_DECISIONS:  # as much as the budget pays for: its cost is the budget
            cost = Bound(ideal.epsilon, most.method)
    if steps == 0:
        step = Repeat(event, request.chains)
        one = float(epsilon_from_renyi(lambda orders: privacy.renyi(step, orders), ideal.delta)[0])  # at once
        raise OverBudget(_too_small(request, event, budget, 0, one), one)
    try:
        guarantee, receipt = purse.charge(PURPOSE, Repeat(event, steps * request.chains), cost=cost)
    except OverBudget as error:
        raise OverBudget(_too_small(request, event, budget, steps, error.cost), error.cost) from None
    note = ""
    if request.steps is None and cost is None:
        note = f"The budget would pay for more than {steps} steps; draws= asks for more."
    return Charged(steps, guarantee, receipt, note)


def _varying(request: Request, budget: Budget) -> Charged:
    """Steps that cost what their move costs: a filter stops the chains before the budget is passed."""
    purse = request.purse(budget, request.steps)
    ideal, event = purse.ideal, typical_event(request)
    rule: ZcdpFilter | RenyiFilter
    if privacy.range_of(event) is not None:
        rule = ZcdpFilter.for_budget(ideal.epsilon, ideal.delta, budget.relation)
    else:
        order = privacy.best_order(event, ideal.epsilon, ideal.delta)
        rule = replace(RenyiFilter.for_budget(ideal.epsilon, ideal.delta, order=order), relation=budget.relation)
    price = float(rule.price(event))
    if price * request.chains > rule.limit:
        one = float(privacy.epsilon(Repeat(event, request.chains), ideal.delta))
        raise OverBudget(_too_small(request, event, budget, 1, one), one)
    steps = request.steps
    if steps is None:
        steps = int(min(2 * rule.limit / price, MOST_DECISIONS)) // request.chains
    return Charged(steps, *purse.charge(PURPOSE, rule=rule), _shortfall(request, rule.limit / price))


def _shortfall(request: Request, decisions: float) -> str:
    """Where more steps were asked for than moves of a typical cost allow: how many to expect."""
    expected = int(decisions) // request.chains
    if request.steps is None or expected >= request.steps:
        return ""
    return (
        f"The cost of a step depends on its move; the budget is expected to pay for about {expected} of the "
        f"{request.steps} steps of each chain."
    )


def _shared(request: Request, budget: Budget, earlier: tuple[Receipt, ...]) -> Charged:
    """Chains after other releases, all within one budget of zCDP, so that the kernel may depend on them."""
    purse = request.purse(budget, request.steps, earlier)
    left = ZcdpFilter(purse.zcdp, budget.relation)
    event, chains = request.event, request.chains
    price = left.price(typical_event(request) if event is None else event)
    varying = 2 if event is None else 1  # moves shorter than typical cost less: a filter stops the chains in time
    most = int(min(varying * left.limit / price * (1 - 2**-40), MOST_DECISIONS)) // chains if price > 0 else 0
    if most == 0 or (request.steps is not None and event is not None and request.steps > most):
        raise OverBudget(
            f"after what was spent before, {left.limit:.3g}-zCDP is left, for {most} steps of {chains} chains of this "
            f"kernel ({price:.3g} each); take fewer draws, a larger epsilon, or a kernel whose steps have a zCDP"
        )
    steps = most if request.steps is None else request.steps
    purse = request.purse(budget, steps, earlier)
    if event is None:
        return Charged(steps, *purse.charge(PURPOSE, rule=left), _shortfall(request, left.limit / price))
    return Charged(steps, *purse.charge(PURPOSE, Repeat(event, steps * chains)))


def _too_small(request: Request, event: Event, budget: Budget, steps: int, cost: float) -> str:
    """What would fit instead."""
    chains, temperature = request.chains, request.temperature
    wanted = f"{max(steps, 1)} step{'s' if steps > 1 else ''} of {chains} chain{'s' if chains > 1 else ''}"
    fits = [f"epsilon = {cost:.3g}"]
    if steps > 1 and (most := int(privacy.max_steps(event, budget.epsilon, budget.delta)) // chains):
        fits.append(f"steps = {most} (draws and warm-up together)")
    price = privacy.zcdp(event) * max(steps, 1) * chains
    if (shift := getattr(event, "shift", None)) and math.isfinite(price):
        smaller = shift * math.sqrt(privacy.zcdp_limit(budget.epsilon, budget.delta) / price)  # zCDP is as its square
        clips = privacy.reach(budget.relation) * temperature
        fits.append(f"a clip of {smaller / clips:.2g} (now {shift / clips:.2g})")
    return (
        f"the budget (epsilon = {budget.epsilon:g}, delta = {budget.delta:g}) does not pay for {wanted}, "
        f"which cost epsilon = {cost:.3g}; what would fit: {', or '.join(fits)}, or a lower temperature. "
        "A smaller clip changes the target where it clips"
    )


def typical_event(request: Request) -> Event:
    """What a move of typical length costs."""
    return request.kernel.event_at(typical_shift(request))


def typical_shift(request: Request) -> float:
    """The root mean square shift of moves from the starting point (public)."""
    kernel, model, temperature = request.kernel, request.model, request.temperature
    nothing = Posterior(model, None, temperature)  # where the cost varies, proposals read no records
    with jax.enable_x64(True):
        theta = start(model, jax.random.key(0))
        state = State(theta, kernel.start(theta), ())

        def shift(key: Any) -> Any:
            move = kernel.propose(key, {}, nothing, state)
            return kernel.shift(model, temperature, state, move)

        shifts = np.asarray(jax.vmap(shift)(jax.random.split(jax.random.key(1), 256)))
    return float(np.sqrt(np.mean(shifts**2)))


def epsilon_for(request: Request, budget: Budget, steps: int) -> float:
    """The ε at which a budget of the same δ pays for so many steps: about, where their cost depends on the move."""
    ideal = request.purse(budget, None).ideal
    event = request.event
    repeated = Repeat(typical_event(request) if event is None else event, steps * request.chains)
    return float(privacy.epsilon(repeated, ideal.delta)) + budget.epsilon - ideal.epsilon
