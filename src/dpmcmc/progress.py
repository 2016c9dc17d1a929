"""What a person sees while a plan runs, and how they stop it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn


class Bar:
    """A progress bar on standard error, or in the cell of a notebook.

    ``about`` and ``after`` are templates over the fields given to ``update``.
    """

    def __init__(self, total: int, show: bool, about: str, after: str = "", **fields: Any) -> None:
        console = Console(stderr=True)
        self.line = Line(total) if show and console.is_jupyter and find_spec("ipywidgets") is None else None
        columns: list[ProgressColumn] = [TextColumn(about), BarColumn()]
        columns += [TextColumn(after)] if after else []
        shown = show and self.line is None
        self.bar = Progress(*columns, TimeRemainingColumn(), console=console, disable=not shown)
        self.task = self.bar.add_task("", total=total, **fields)

    def __enter__(self) -> Bar:
        self.bar.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self.bar.stop()

    def update(self, completed: int, **fields: Any) -> None:
        self.bar.update(self.task, completed=completed, **fields)
        if self.line is not None:
            self.line.update(completed)


class Line:
    """A line of text in a notebook's cell that changes in place: for notebooks without ipywidgets, which rich needs."""

    def __init__(self, total: int) -> None:
        from IPython.display import display

        self.total, self.before = max(total, 1), -1
        self.handle = display({"text/plain": "  0 %"}, raw=True, display_id=True)

    def update(self, completed: int) -> None:
        share = min(100 * completed // self.total, 100)
        if share != self.before and self.handle is not None:
            self.handle.update({"text/plain": f"{share:3d} %  {'█' * (share // 5)}"}, raw=True)
        self.before = share


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
