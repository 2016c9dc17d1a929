"""``dpmcmc report`` and ``dpmcmc predict``: what a saved release says, again and for new rows, at no cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpmcmc.commands.endings import endings

if TYPE_CHECKING:
    from dpmcmc.release import Release
    from dpmcmc.study.study import Study

Saved = Annotated[Path, typer.Argument(help="A saved release (.npz).")]
Key = Annotated[Path | None, typer.Option(help="The custodian's public key: the release must be signed by it.")]


def loaded(path: Path, key: Path | None) -> tuple[Release, Study | None]:
    """The release, with the model of the study that it keeps, and the study."""
    import dpmcmc as dp
    from dpmcmc.study.study import study_of

    release = dp.Release.load(path, trusted=key)
    study = study_of(release)
    return (release, None) if study is None else (release.with_model(study.regression), study)


def report(
    release: Saved,
    out: Annotated[
        Path | None, typer.Option(dir_okay=False, help="A new .html file; beside the release if left out.")
    ] = None,
    ledger: Annotated[str | None, typer.Option(help="The ledger that paid, to say what is left.")] = None,
    dataset: Annotated[str | None, typer.Option(help="Which data set, where the ledger has several.")] = None,
    key: Key = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Write the report of a release: one HTML file that needs no network."""
    with endings():
        from dpmcmc.reporting.page import report as write

        found, study = loaded(release, key)
        file = release.with_suffix(".html") if out is None else out
        if file.exists():
            raise FileExistsError(f"{file} exists already, and is not overwritten: choose another name with --out")
        paid = None
        if ledger is not None:
            from dpmcmc.ledger import Ledger

            paid = Ledger(ledger, dataset)
        write(found, file, title=study.title if study else release.stem, ledger=paid)
        if json:
            from json import dumps

            typer.echo(dumps({"report": str(file), "verdict": found.quality.verdict}))
        else:
            typer.echo(f"Verdict: {found.quality.verdict}. Report: {file}")


def predict(
    release: Saved,
    rows: Annotated[Path, typer.Argument(help="A public table of rows to predict for: .csv or .parquet.")],
    out: Annotated[Path | None, typer.Option(dir_okay=False, help="A new .csv file; printed if left out.")] = None,
    key: Key = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """The expected outcome of each row of a public table, with 90 % intervals. The rows need no outcome.

    Predictions for private rows show them, and are not covered by the guarantee.
    """
    with endings():
        found, study = loaded(release, key)
        if study is None:
            raise ValueError(
                f"{release} was not made by `dpmcmc fit` and keeps no study: predict in Python, with its model"
            )
        from dpmcmc.records import CSV

        how = study.table
        if isinstance(how, CSV):
            settings = {name: getattr(how, name) for name in ("separator", "decimal", "encoding", "missing", "dates")}
            how = CSV(rows, **settings)
        table = found.predict(how if isinstance(how, CSV) else rows)
        table.index.name = table.index.name or ("row" if table.index.nlevels == 1 else None)
        if json:
            typer.echo(table.reset_index().to_json(orient="records"))
        elif out is not None:
            with out.open("x", encoding="utf-8") as file:
                table.to_csv(file)
            typer.echo(f"Written: {out}")
        else:
            typer.echo(table.to_string(float_format=lambda value: f"{value:.4g}"))
            typer.echo(
                f"Expected {study.regression.outcome} of each row, with 90 % intervals. "
                f"Verdict of the release: {found.quality.verdict}. {found.guarantee or 'No guarantee'}.",
                err=True,
            )
