"""``dpmcmc reproduce``: the published figures and tables, run again and drawn beside the published values."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

NOT_INSTALLED = (
    "The experiments are not part of this installation; get the source repository of dpmcmc and install its folder "
    "`experiments`: pip install ./experiments"
)


def reproduce(
    paper: Annotated[
        str, typer.Argument(help="heikkila2019, raisa2021, zhang2023, or utility or trust (the default methods).")
    ],
    figure: Annotated[str | None, typer.Option(help="One figure, by its name (fig3); all of them if left out.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Small data and few chains: minutes, not hours.")] = False,
    out: Annotated[
        Path, typer.Option(file_okay=False, help="Folder for tables and pictures; what it holds is not run again.")
    ] = Path("results"),
    data: Annotated[
        Path | None,
        typer.Option(exists=True, file_okay=False, help="Folder of data sets that are not generated (mnist79.npz)."),
    ] = None,
) -> None:
    """Run the experiments of a paper: tables, pictures, and checks against the published values."""
    from importlib import import_module

    from rich.console import Console

    try:
        from dpmcmc_experiments.figures import STUDIES, Settings
        from dpmcmc_experiments.figures import reproduce as run
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "dpmcmc_experiments":
            raise
        typer.echo(NOT_INSTALLED, err=True)
        raise typer.Exit(2) from None

    if paper not in STUDIES:
        raise typer.BadParameter(f"no study {paper!r}; there are {', '.join(STUDIES)}")
    figures = import_module(f"dpmcmc_experiments.{paper}").FIGURES
    if figure is not None and figure not in figures:
        raise typer.BadParameter(f"{paper} has no figure {figure!r}; there are {', '.join(figures)}")
    console, settings, failed = Console(), Settings(quick, data), 0
    for name in figures if figure is None else [figure]:
        try:
            checks = run(paper, name, figures[name], out, settings, console)
        except FileNotFoundError as error:
            raise typer.BadParameter(str(error)) from error
        console.print(f"{name}: {figures[name].title}", highlight=False)
        for check in checks:
            failed += not check.holds
            console.print(
                f"  {'ok ' if check.holds else 'NOT'} {check.claim}: {check.found}", highlight=False, markup=False
            )
    console.print(f"Tables and pictures: {out / paper}", highlight=False, markup=False)
    if failed:
        console.print(f"{failed} claims do not hold; docs/results says what is known of each.", highlight=False)
        raise typer.Exit(1)
