"""``dpmcmc ledger``: what was spent on a data set. Exit codes: 0 all is well, 1 the ledger is damaged, 2 a mistake."""

from __future__ import annotations

import json as json_format
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from dpmcmc.ledger import Ledger
    from dpmcmc.ledger.book import Book

DAMAGED, MISTAKE = 1, 2

ledger = typer.Typer(
    help="The ledger of a data set: what was spent on it, and what is left. Exit codes: 0 all is well, 1 the ledger is "
    "damaged, 2 a mistake in the call.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Where = Annotated[str, typer.Argument(help="A SQLite file, or postgresql://user@host/database.")]
Dataset = Annotated[str | None, typer.Option(help="Which data set, where there are several.")]


@contextmanager
def _mistakes() -> Iterator[None]:
    """Errors as one line and an exit code."""
    try:
        from dpmcmc.ledger import LedgerDamaged
    except ImportError as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(MISTAKE) from None
    try:
        yield
    except LedgerDamaged as error:
        typer.echo(f"DAMAGED: {error}", err=True)
        raise typer.Exit(DAMAGED) from None
    except (ValueError, TypeError, OSError) as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(MISTAKE) from None


def _opened(where: str, dataset: str | None) -> Ledger:
    from dpmcmc.ledger import Ledger

    return Ledger(where, dataset)


@ledger.command()
def init(
    where: Where,
    dataset: Annotated[str, typer.Option(help="What the custodian calls the data set.")],
    epsilon: Annotated[float, typer.Option(help="ε of everything that will ever be charged.")],
    delta: Annotated[float, typer.Option(help="δ of everything that will ever be charged.")],
    unit: Annotated[str, typer.Option(help="Whom it protects: record, or the column of dp.PerUnit.")] = "record",
    relation: Annotated[
        str, typer.Option(help="What is protected: substitution (a record's values) or zero-out (whether it is there).")
    ] = "substitution",
) -> None:
    """Create a ledger. Its budget, unit and relation cannot be changed later."""
    with _mistakes():
        from dpmcmc.ledger import Ledger
        from dpmcmc.privacy import Budget

        budget = Budget(epsilon, delta, relation)
        typer.echo(str(Ledger.create(where, dataset=dataset, budget=budget, unit=unit)))


@ledger.command()
def show(
    where: Where,
    dataset: Dataset = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """What was spent, by whom and for what, and what is left."""
    with _mistakes():
        from dpmcmc.ledger.report import summary

        found = _opened(where, dataset)
        typer.echo(json_format.dumps(summary(found.book), indent=1) if json else str(found))


@ledger.command()
def verify(
    where: Annotated[str, typer.Argument(help="A SQLite file, postgresql://..., or a file that `export` wrote.")],
    dataset: Dataset = None,
    head: Annotated[
        str | None, typer.Option(help="A head that was kept: the entries must still be those, and may be more.")
    ] = None,
) -> None:
    """Check every entry against the chain of digests, and say which is the first that is wrong.

    It prints the head. Keep it where the ledger's owner cannot change it: without a head that was kept, a ledger that
    was put back to an earlier state cannot be told from one that never went on.
    """
    with _mistakes():
        from dpmcmc.ledger.rules import check_head

        exported = _export(where)
        if exported is None:
            typer.echo(f"All entries are as they were written. Head: {_opened(where, dataset).verify(head)}")
            return
        if head is not None:
            check_head(exported, head)
        typer.echo(f"All exported entries are as they were written. Head: {exported.head}")


@ledger.command()
def export(
    where: Where,
    dataset: Dataset = None,
    out: Annotated[Path | None, typer.Option(help="A new file; standard output if left out.")] = None,
) -> None:
    """All entries with their digests, as JSON: enough to verify them elsewhere. The key of fingerprints is left out."""
    with _mistakes():
        text = json_format.dumps(_opened(where, dataset).export(), indent=1)
        if out is None:
            typer.echo(text)
        else:
            with out.open("x") as file:
                file.write(text)


@ledger.command()
def recover(
    where: Where,
    entry: Annotated[int, typer.Argument(help="The number of the charge, as `show` lists it.")],
    out: Annotated[Path, typer.Argument(help="A new .npz file.")],
    dataset: Dataset = None,
) -> None:
    """Write a release that the ledger keeps to a file."""
    with _mistakes():
        typer.echo(f"Written: {_opened(where, dataset).recover(entry, out)}")


def _export(where: str) -> Book | None:
    """What `export` wrote, verified; None if it is something else."""
    from dpmcmc.ledger import LedgerDamaged, LedgerError
    from dpmcmc.ledger.book import verified

    if "://" in where or not Path(where).is_file():
        return None
    with Path(where).open("rb") as file:
        if file.read(1) != b"{":
            return None
    try:
        given: Any = json_format.loads(Path(where).read_text())
        lines = [(entry["line"], entry["digest"]) for entry in given["entries"]]
        head = given["head"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise LedgerError(f"{where} is not what `dpmcmc ledger export` writes") from None
    book = verified(lines)
    if head != book.head:
        raise LedgerDamaged(f"the export ends with entry {book.number}, and says that its head is {head!r}")
    return book
