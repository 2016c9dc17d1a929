"""What a plan of chains is worth, in words, and what would be worth more: from rehearsals and the accounting."""

from __future__ import annotations

import math

from dpmcmc.chain.acceptance import FullDataTest
from dpmcmc.chain.default import WARMUP
from dpmcmc.chain.kernel import KernelLike
from dpmcmc.chain.length import Request, epsilon_for
from dpmcmc.chain.plan import PlannedChains
from dpmcmc.chain.quality import ENOUGH, FEWEST_STEPS, RehearsedQuality
from dpmcmc.chain.rehearsal import DECISIONS, SIGNAL, laplace_of, quality_of, rehearsal_of, run_trial
from dpmcmc.chain.scan import compile_chunk
from dpmcmc.chain.selection import Select
from dpmcmc.models.base import has
from dpmcmc.privacy import Budget
from dpmcmc.quality import NOT_USABLE, USABLE

_SHORTER = 0.75  # a length tried next to the one before
_LARGE = 1e4  # epsilons and numbers of records beyond which a remedy is none


def prediction(plan: PlannedChains, trials: tuple[RehearsedQuality, ...], expected: RehearsedQuality) -> str:
    """The verdict to expect and the figures behind it, each with its range over the rehearsals."""
    source = "simulated records" if plan.public_data is None else "the public records"
    lines = [
        f"Expected, from {len(trials)} rehearsals on {source}: {expected.verdict}. {_draws(trials)}; R-hat "
        f"{_range([trial.r_hat for trial in trials], 2)}; {_off(trials)}."
    ]
    rehearsal = rehearsal_of(plan, plan.steps)
    assert rehearsal is not None
    if plan.filter is not None:
        lines.append(f"About {expected.steps} steps of each chain fit into the budget.")
    if rehearsal.steps < expected.steps:
        lines.append(
            f"Only the first {rehearsal.steps} of the {expected.steps} steps were rehearsed; effective draws are "
            "extrapolated from them."
        )
    if plan.public_data is None:
        lines.append(f"The records are simulated {_where(plan)}; a posterior farther from the start takes more steps.")
    return " ".join([*lines, "Real records unlike these can do worse."])


def _where(plan: PlannedChains) -> str:
    if has(plan.model, "sample_prior"):
        return f"at {SIGNAL:g} of the way from the start to draws of the prior"
    return "where the model's init draws" if callable(plan.model.init) else "at the start"


def _draws(trials: tuple[RehearsedQuality, ...]) -> str:
    known = [trial.effective_draws for trial in trials if math.isfinite(trial.effective_draws)]
    return f"{_range(known, 0)} effective draws" if known else "Too few draws, or moves, for effective draws"


def _off(trials: tuple[RehearsedQuality, ...]) -> str:
    known = [trial for trial in trials if math.isfinite(trial.posterior_error)]
    if not known:
        return "the distance to the posterior is not known, as it is far from normal or has several modes"
    return (
        f"means off by {_range([trial.posterior_error for trial in known], 2)} posterior standard deviations, draws "
        f"{_range([trial.widening for trial in known], 2)} times as wide as the posterior"
    )


def _range(values: list[float], digits: int) -> str:
    known = [value for value in values if math.isfinite(value)]
    if not known:
        return "not known"
    low, high = (f"{value:,.{digits}f}" for value in (min(known), max(known)))
    return low if low == high else f"{low} to {high}"


def unrehearsed(plan: PlannedChains, why: str) -> str:
    """What the number of steps alone can tell."""
    draws = plan.chains * (plan.steps - plan.warmup)
    text = f"Not rehearsed: {why}. Effective draws are {draws:,} at most, and usually far fewer."
    if plan.steps >= FEWEST_STEPS and draws >= ENOUGH:
        return text + " Try the kernel on simulated records with seed= first."
    needed = max(4 * FEWEST_STEPS, 4 * ENOUGH)
    return (
        f"{text}\nThis plan is of no use: {plan.steps} steps cannot leave the start behind and then describe a "
        f"posterior. {_remedies(plan, needed, least=True)}"
    )


def advice(plan: PlannedChains, expected: RehearsedQuality) -> str:
    """Where a plan is not usable: whether more steps would help, and what would pay for them."""
    if expected.verdict == USABLE:
        return ""
    no_use = "This plan is of no use: " if expected.verdict == NOT_USABLE else ""
    needed, at_length = steps_needed(plan)
    if needed is None:
        return f"{no_use}{expected.reason} {_hopeless(at_length)}"
    return f"{no_use}{expected.reason} {_remedies(plan, needed)}"


def steps_needed(plan: PlannedChains) -> tuple[int | None, RehearsedQuality]:
    """Steps of each chain after which a rehearsal without a budget is usable, None where no number is; and its end.

    Lengths are tried from the longest down; beyond it, effective draws grow with the steps.
    """
    longest = max(DECISIONS // plan.chains, FEWEST_STEPS)
    rehearsal = rehearsal_of(plan, longest)
    assert rehearsal is not None
    laplace = laplace_of(rehearsal)
    path = run_trial(rehearsal, compile_chunk(rehearsal.kernel, None), seed=0)

    def at(steps: int) -> RehearsedQuality:
        return quality_of(rehearsal, path, laplace, steps)

    last = at(rehearsal.steps)
    if last.verdict != USABLE:
        if last.bent or not math.isfinite(last.effective_draws):
            return None, last
        return math.ceil(rehearsal.steps * max(ENOUGH / max(last.effective_draws, 1.0), 1 / _SHORTER)), last
    steps = rehearsal.steps
    while (fewer := int(_SHORTER * steps)) >= FEWEST_STEPS and at(fewer).verdict == USABLE:
        steps = fewer
    return steps, last


def _hopeless(at_length: RehearsedQuality) -> str:
    """More steps are no remedy: the step or the clip is."""
    return (
        f"More steps are no remedy: after {at_length.steps:,} with no budget to stop them, means are off by "
        f"{at_length.posterior_error:.2f} posterior standard deviations and draws {at_length.widening:.2f} times as "
        "wide as the posterior. Take another step or a larger clip, dp.Chain(), which chooses them, or the default "
        "method (no method=)."
    )


def _remedies(plan: PlannedChains, needed: int, least: bool = False) -> str:
    """What would pay for ``needed`` steps of each chain."""
    needed = _two_digits(needed)
    budget = plan.budget
    ways = []
    if budget is None:  # nothing but draws= limits a kernel that is not private
        ways.append(f"draws={_two_digits(needed - WARMUP * needed)}")
    elif plan.guarantee is not None and len(plan.receipts) == 1:
        ways += _ways(plan, budget, needed)
    if has(plan.model, "simulate"):
        ways.append("the default method (no method=)")
    about = "at least" if least else "about"
    if not ways:
        return f"It takes {about} {needed:,} steps of each chain."
    return f"It takes {about} {needed:,} steps of each chain. Any one of these is a remedy: {'; '.join(ways)}."


def _ways(plan: PlannedChains, budget: Budget, needed: int) -> list[str]:
    request = Request(plan.model, plan.kernel, plan.n, plan.chains, plan.temperature, None)
    more = needed / plan.steps
    ways = []
    if (epsilon := epsilon_for(request, budget, needed)) <= budget.epsilon:
        return [f"draws={_two_digits(needed - WARMUP * needed)}, for which this budget pays as well"]
    if epsilon < _LARGE:
        ways.append(f"epsilon near {epsilon:.2g}")
    if _by_sums(plan.kernel) and more < _LARGE:
        # steps, clips and the way from the start shrink like the posterior, and what a step costs with their square
        records, smaller = _two_digits(plan.n * more), math.sqrt(more)
        ways.append(
            f"about {records:,} records, with a step and a clip {smaller:.2g} times smaller and a start (init=) as "
            "many times nearer"
        )
    tempered = plan.temperature / more  # steps cost as its square, and the posterior's variance takes 1/τ more of them
    if request.event is None or request.event != plan.kernel.event(plan.n, plan.temperature / 2):
        ways.append(f"temperature={tempered:.2g}, where the records count as {plan.n * tempered:,.0f}")
    return ways


def _two_digits(number: float) -> int:
    return int(float(f"{number:.1e}"))


def _by_sums(kernel: KernelLike) -> bool:
    return isinstance(kernel, Select) or isinstance(getattr(kernel, "acceptance", None), FullDataTest)
