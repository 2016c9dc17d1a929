"""What a person sees while a plan runs, and how they stop it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn


class Bar:
    """A progress bar on standard error. ``about`` and ``after`` are templates over the fields given to ``update``."""

    def __init__(self, total: int, show: bool, about: str, after: str = "", **fields: Any) -> None:
        columns: list[ProgressColumn] = [TextColumn(about), BarColumn()]
        columns += [TextColumn(after)] if after else []
        self.bar = Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), disable=not show)
        self.task = self.bar.add_task("", total=total, **fields)

    def __enter__(self) -> Bar:
        self.bar.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self.bar.stop()

    def update(self, completed: int, **fields: Any) -> None:
        self.bar.update(self.task, completed=completed, **fields)


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
