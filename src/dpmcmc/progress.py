"""What a person sees while chains run, and how they stop them."""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from dpmcmc import privacy
from dpmcmc.planning import Plan
from dpmcmc.privacy import Repeat
from dpmcmc.privacy.convert import epsilon_at

_ORDERS = 1 + np.geomspace(0.01, 1e5, 50)


class Stop:
    """Whether the user has asked to stop."""

    asked = False


@contextmanager
def stop_on_interrupt() -> Iterator[Stop]:
    """Ctrl-C asks to stop after the present chunk; a second one stops at once."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def ask(number: int, frame: Any) -> None:
        if stop.asked:
            raise KeyboardInterrupt
        stop.asked = True

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


class ProgressBar:
    """Steps, ε spent so far and acceptance; all of it released or public."""

    def __init__(self, plan: Plan, show: bool) -> None:
        self.plan = plan
        columns = (
            TextColumn("{task.completed}/{task.total} steps"),
            BarColumn(),
            TextColumn("ε {task.fields[epsilon]:.3g} of {task.fields[budget]:g}  accepted {task.fields[rate]:.0%}"),
            TimeRemainingColumn(),
        )
        self.bar = Progress(*columns, console=Console(stderr=True), disable=not show)
        budget = math.inf if plan.budget is None else plan.budget.epsilon
        self.task = self.bar.add_task("", total=plan.steps, epsilon=0.0, budget=budget, rate=0.0)

    def __enter__(self) -> ProgressBar:
        self.bar.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self.bar.stop()

    def update(self, steps: int, spent: float, rate: float) -> None:
        self.bar.update(self.task, completed=steps, epsilon=self.epsilon(steps, spent), rate=rate)

    def epsilon(self, steps: int, spent: float) -> float:
        """ε of the steps so far by the Rényi way, for the eye; the guarantee is the plan's."""
        if self.plan.guarantee is None or self.plan.budget is None:
            return math.inf
        event, rule = self.plan.receipt.event, self.plan.receipt.filter
        orders = _ORDERS
        if isinstance(event, Repeat):
            curve = steps * self.plan.chains * privacy.renyi(event.event, orders)
        elif isinstance(rule, privacy.RenyiFilter):
            orders = np.atleast_1d(rule.order)
            curve = np.full(orders.shape, spent)
        else:
            curve = spent * orders
        return min(float(np.min(epsilon_at(orders, curve, self.plan.budget.delta))), self.plan.guarantee.epsilon)


class StageBar:
    """The stages of a likelihood release as they begin."""

    def __init__(self, stages: int, show: bool) -> None:
        columns = (TextColumn("stage {task.completed} of {task.total}"), BarColumn(), TimeRemainingColumn())
        self.bar = Progress(*columns, console=Console(stderr=True), disable=not show)
        self.task = self.bar.add_task("", total=stages)

    def __enter__(self) -> StageBar:
        self.bar.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self.bar.stop()

    def update(self, stage: int) -> None:
        self.bar.update(self.task, completed=stage + 1)
