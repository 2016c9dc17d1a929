"""``dpmcmc new``: a study file to fill in, from the header of a table."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated

import typer

from dpmcmc.commands.endings import endings


def new(
    table: Annotated[Path, typer.Argument(help="A table with a header: .csv or .parquet.")],
    out: Annotated[Path, typer.Option(dir_okay=False, help="The study file to write, a new one.")] = Path("study.toml"),
    separator: Annotated[str, typer.Option(help="What stands between cells of a CSV file.")] = ",",
    decimal: Annotated[str, typer.Option(help="The decimal sign of a CSV file.")] = ".",
    encoding: Annotated[str, typer.Option(help="The encoding of a CSV file.")] = "utf-8",
    dates: Annotated[
        str, typer.Option(help="How a CSV file writes 2020-12-31: 31.12.2020, 31/12/2020 or 12/31/2020.")
    ] = "2020-12-31",
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Write a study file to fill in. Only the names of the columns are read, and no value."""
    with endings():
        from dpmcmc.records import CSV
        from dpmcmc.study.skeleton import new_study

        separator = separator.replace("\\t", "\t")
        written = CSV(table, separator=separator, decimal=decimal, encoding=encoding, dates=dates)
        usual = written == CSV(table) and table.suffix.lower() in (".csv", ".parquet")
        text = new_study(table if usual else written, out)
        names = tomllib.loads(text).get("columns", {})
        if any(name.replace(",", ".").replace(".", "", 1).lstrip("-").isdigit() for name in names):
            typer.echo(
                "Warning: columns are called by numbers. If the table has no header, its first record is now in the "
                f"study file: delete {out}, and give the table a header.",
                err=True,
            )
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
        if json:
            from json import dumps

            typer.echo(dumps({"study": str(out)}))
            return
        typer.echo(
            f'Written: {out}. Fill in every "..." that the formula needs, from public knowledge. '
            f"Then: dpmcmc plan {out}, dpmcmc fit {out}"
        )
