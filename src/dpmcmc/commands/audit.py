"""``dpmcmc audit``: what mechanisms give away on neighbouring data sets, beside what they claim."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from dpmcmc.auditing import AuditReport


def audit(
    algorithm: Annotated[
        str | None, typer.Argument(help="Which algorithm or mechanism, or all; left out, they are listed.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer runs: minutes for all.")] = False,
    runs: Annotated[int | None, typer.Option(help="Runs on each of two data sets, in place of the usual.")] = None,
    relation: Annotated[
        str, typer.Option(help="How the data sets differ: substitution, or zero-out (one record is missing).")
    ] = "substitution",
    seed: Annotated[int, typer.Option(help="Another seed tries other coins.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")] = False,
) -> None:
    """Run a mechanism on two data sets that differ in one record, thousands of times, and compare what that tells with
    what is claimed. Ends with an error if a claim is exceeded. No audit proves privacy: it bounds the loss from below.
    """
    from rich.console import Console

    from dpmcmc.auditing.entry import audit as run
    from dpmcmc.auditing.entry import guaranteed, names

    if algorithm is None:
        for name in names():
            typer.echo(name if name in guaranteed() else f"{name:24}no guarantee")
        return
    shown = Console(stderr=True)
    with shown.status("auditing") as status:
        try:
            report = run(
                algorithm,
                quick=quick,
                relation=relation,
                runs=runs,
                seed=seed,
                progress=lambda found: status.update(f"{found.mechanism}, {found.view}: {found.verdict}"),
            )
        except ValueError as error:
            raise typer.BadParameter(str(error)) from error
    if json:
        _print_json(report)
    elif markdown:
        typer.echo(report.markdown())
    else:
        _print_table(report)
    if not report.passed:
        raise typer.Exit(1)


def _print_json(report: AuditReport) -> None:
    import json

    typer.echo(json.dumps(report.to_dict(), indent=1))


def _print_table(report: AuditReport) -> None:
    from rich.console import Console
    from rich.table import Table

    from dpmcmc.auditing.findings import HEADER, LIMITS

    table = Table(title="claimed, and attained at 95 %", title_justify="left")
    for name in HEADER:
        table.add_column(name, justify="right" if name in ("claimed", "attained", "share") else "left")
    for row in report.rows():
        table.add_row(*row)
    console = Console()
    console.print(table)
    console.print(f"{report.conclusion}\n{LIMITS}\n{report.seconds:.0f} s.", highlight=False)
