"""Running what was planned, the same way for every method: check, charge, run, store, settle, in this order.

With a ledger, the charge is on disk before the run begins, and the release is stored before the charge is settled.
Whatever happens in between, what was charged stays spent, and whoever sees the error is told so.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import jax

from dpmcmc.arguments import instance
from dpmcmc.files import locked
from dpmcmc.mechanisms.self_test import check_backend
from dpmcmc.method import NotBegun, RunFailed, posterior_of
from dpmcmc.models.base import PyTree
from dpmcmc.notebook import lines_as_html
from dpmcmc.posterior import Posterior
from dpmcmc.programs import kept_programs
from dpmcmc.randomness import RandomSource
from dpmcmc.receipts import Guarantee, Receipt
from dpmcmc.release import Release

if TYPE_CHECKING:  # a ledger needs a database library, which is an extra
    from dpmcmc.ledger import Booking, Ledger


class Result(Protocol):
    """What a run gives: it can be saved to a file."""

    def save(self, path: str | Path) -> Path: ...


class Planned(Protocol):
    """A frozen dataclass with what a run was charged, as a plan is."""

    @property
    def guarantee(self) -> Guarantee | None: ...
    @property
    def receipts(self) -> tuple[Receipt, ...]: ...


class RunsOnRecords:
    """How a plan meets records. A plan of yours inherits this, and says in :meth:`run` what it does.

    @dataclass(frozen=True)
    class MyPlan(RunsOnRecords):
        model: Any; n: int; temperature: float; guarantee: dp.Guarantee | None; receipts: tuple[dp.Receipt, ...]

        def run(self, posterior, source, progress): ...
    """

    def run(self, posterior: Posterior, source: RandomSource, progress: bool) -> Release:
        """What was planned, on the records, with the coins of ``source``."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        """The plan in a notebook: what it says when it is printed. The first time rehearses it."""
        return f"<div>{lines_as_html(str(self))}</div>"

    def check(self, posterior: Posterior) -> None:
        """Refuse public mistakes that only show with the records' types; nothing is charged yet."""

    def stored(self, release: Release) -> None:
        """The release is safe: what was kept in case of a crash can go."""

    def sample(
        self,
        data: PyTree,
        *,
        seed: int | None = None,
        progress: bool = True,
        ledger: Ledger | None = None,
        save_to: str | Path | None = None,
    ) -> Release:
        """Run the plan on ``data``.

        - ``seed`` makes the run repeatable, for tests and public data: no guarantee then, and no ledger.
        - ``ledger``: the ledger of the data set, charged before a record is read.
        - ``save_to``: a new ``.npz`` file for the release, written before this returns and before the charge is
          settled. Without it, a ledger keeps the release (``ledger.recover``).

        An error after the charge is a :class:`~dpmcmc.method.RunFailed`, which says what is spent.
        """
        source = RandomSource(seed)
        check_kept(ledger, save_to)
        posterior = posterior_of(self, data)  # type: ignore[arg-type]
        self.check(posterior)
        checkpoint = getattr(self, "checkpoint", None)
        with nullcontext() if checkpoint is None else locked(checkpoint):  # from before the charge until all is stored
            release: Release = run_paid(
                self,  # type: ignore[arg-type]
                posterior,
                source,
                lambda booked: booked.run(posterior, source, progress),
                ledger=ledger,
                save_to=save_to,
            )
            self.stored(release)
        return release


@kept_programs()
def run_paid(
    plan: Planned,
    posterior: Posterior,
    source: RandomSource,
    run: Callable[[Any], Any],
    *,
    ledger: Ledger | None = None,
    save_to: str | Path | None = None,
) -> Any:
    """What ``run`` makes of the plan, after it was charged to ``ledger``; stored there or in ``save_to``, and settled.

    Guarantee: ``run`` is called only when the charge is on disk, and with the plan as it was charged: its receipt
    carries the name of the ledger's entry.
    """
    check_backend()
    checkpoint = getattr(plan, "checkpoint", None)
    resumes = checkpoint is not None and os.path.lexists(checkpoint)
    file = None if save_to is None else check_new_file(save_to, may_exist=resumes)
    booking = None
    if ledger is not None:
        booking = reserve(plan, posterior, source, ledger, checkpoint)
        plan = replace(plan, receipts=(*plan.receipts[:-1], booking.receipt))  # type: ignore[type-var]
    try:
        result = run(plan)
    except Exception as error:
        if isinstance(error, NotBegun) and (booking is None or booking.resumed):
            raise
        if ledger is not None and booking is not None:
            ledger.fail(booking.number, error)
        raise RunFailed(plan, error, reproducible=source.reproducible) from _cause(error)
    except BaseException as stop:  # Ctrl-C, and whatever else ends the process
        if plan.guarantee is not None and not source.reproducible:
            stop.add_note(f"The run was stopped after it was charged: {_names(plan)} counts as spent, all of it")
        raise
    _store(plan, result, ledger, booking, file)
    return result


def reserve(
    plan: Planned, posterior: Posterior, source: RandomSource, ledger: Ledger, checkpoint: Path | None = None
) -> Booking:
    """Charge a plan to a ledger, after refusing what no budget covers."""
    check_kept(ledger)
    if source.reproducible:
        raise ValueError(
            "a run with seed= has no guarantee, whatever it is charged: its noise can be recomputed. Leave out seed=, "
            "or leave out ledger= where the records are public or simulated"
        )
    if plan.guarantee is None:
        raise ValueError("a ledger pays for private runs, and this plan has no guarantee: choose a private kernel")
    return ledger.reserve(plan.receipts, posterior, checkpoint)


def check_kept(ledger: Ledger | None, save_to: str | Path | None = None) -> None:
    """Refuse what is no ledger and no place for a result, before a record is looked at."""
    if ledger is not None:
        from dpmcmc.ledger import Ledger

        instance("ledger", ledger, Ledger, "a dp.Ledger")
    if save_to is not None:
        check_new_file(save_to, may_exist=True)


def check_new_file(path: str | Path, *, may_exist: bool = False) -> Path:
    """A path that a result can be saved to; mistakes are refused before anything is charged."""
    path = Path(instance("save_to", path, (str, os.PathLike), "the path of a new .npz file"))
    if path.suffix != ".npz":
        raise ValueError(f"save_to must be a .npz file, got {str(path)!r}")
    if not path.parent.is_dir():
        raise ValueError(f"save_to={str(path)!r}: there is no folder {str(path.parent)!r}; create it first")
    if path.exists() and not may_exist:
        raise ValueError(f"save_to={str(path)!r} exists already, and was perhaps paid for: choose another name")
    return path


def _store(plan: Planned, result: Result, ledger: Ledger | None, booking: Booking | None, file: Path | None) -> None:
    """Save the result, then settle. If that fails, the error holds what was paid for."""
    try:
        content = _content(result)
        if file is not None and file.exists() and file.read_bytes() != content:
            raise ValueError(f"save_to={str(file)!r} holds another release, which was perhaps paid for")
        if file is not None:
            result.save(file)
        if ledger is not None and booking is not None:
            ledger.settle(booking.number, content, file)
    except Exception as error:
        reproducible = getattr(result, "guarantee", None) is None
        raise RunFailed(plan, error, reproducible=reproducible, release=result) from error


def _content(result: Result) -> bytes:
    with tempfile.TemporaryDirectory(prefix="dpmcmc-") as folder:
        return result.save(Path(folder) / "release.npz").read_bytes()


def _names(plan: Planned) -> str:
    return repr(plan.receipts[-1].purpose)


def _cause(error: Exception) -> Exception | None:
    """What a compiled program raised may quote a record, and is not passed on."""
    return None if isinstance(error, jax.errors.JaxRuntimeError) else error
