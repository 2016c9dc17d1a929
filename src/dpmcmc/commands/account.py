"""``dpmcmc account``: what the papers' bounds allow and what dpmcmc's accounting allows, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from dpmcmc.privacy.catalogue import Accounting, Settings
    from dpmcmc.privacy.compare import Row

PICTURES = (".pdf", ".png", ".svg")


def account(
    algorithm: Annotated[str | None, typer.Argument(help="Which algorithm; left out, they are listed.")] = None,
    epsilon: Annotated[float, typer.Option(help="Privacy budget ε.")] = 1.0,
    delta: Annotated[float, typer.Option(help="Privacy budget δ.")] = 1e-6,
    steps: Annotated[int | None, typer.Option(help="Ask for the ε of this many steps instead.")] = None,
    shift: Annotated[float | None, typer.Option(help="Largest change of the log ratio by one record.")] = None,
    std: Annotated[float | None, typer.Option(help="Standard deviation of the penalty's noise.")] = None,
    n: Annotated[int | None, typer.Option(help="Number of records.")] = None,
    batch: Annotated[int | None, typer.Option(help="Records in a batch.")] = None,
    bound: Annotated[float | None, typer.Option(help="Largest log ratio of one record.")] = None,
    rate: Annotated[float | None, typer.Option(help="λ of the Poisson minibatch.")] = None,
    temperature: Annotated[float | None, typer.Option(help="Power of the likelihood, N0 / n.")] = None,
    gradient_noise: Annotated[float | None, typer.Option(help="Gradient noise over its sensitivity.")] = None,
    leapfrog: Annotated[int | None, typer.Option(help="Leapfrog steps of an iteration.")] = None,
    noise_multiplier: Annotated[float | None, typer.Option(help="Noise over the clip bound.")] = None,
    range: Annotated[float | None, typer.Option(help="Range of the change of utility over candidates.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="The standard cases of every algorithm.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")] = False,
    plot: Annotated[Path | None, typer.Option(dir_okay=False, help="Draw ε against steps into this file.")] = None,
) -> None:
    """Steps a budget allows, or the ε of a number of steps: the published bound and dpmcmc's, side by side."""
    from dpmcmc.algorithms import accounting, accountings, standard_cases

    given = {
        "shift": shift, "std": std, "n": n, "batch": batch, "bound": bound, "rate": rate, "temperature": temperature,
        "gradient_noise": gradient_noise, "leapfrog": leapfrog, "noise_multiplier": noise_multiplier, "range": range,
    }  # fmt: skip
    _check_together(algorithm, everything, {"steps": steps, **given}, {"json": json, "markdown": markdown}, plot)
    if algorithm is None and not everything:
        for known in accountings().values():
            typer.echo(f"{known.name:20}{known.about}\n{'':20}{_settings(known.defaults)}")
        return
    try:
        cases = standard_cases() if everything else [(accounting(algorithm or ""), given)]
        rows = [row for one, settings in cases for row in _compare(one, epsilon, delta, steps, settings)]
    except (ValueError, TypeError) as error:
        raise typer.BadParameter(str(error)) from error
    title = f"ε of {steps} steps at δ = {delta:g}" if steps else f"steps at ε = {epsilon:g}, δ = {delta:g}"
    if json:
        _print_json(rows, epsilon, delta, steps)
    elif markdown:
        typer.echo(markdown_table(rows))
    else:
        _print_table(rows, title)
    if plot is not None:
        from dpmcmc.commands.account_plot import draw

        typer.echo(f"Drawn: {draw(plot, accounting(algorithm or ''), delta, steps or _most(rows), given)}", err=True)


def _check_together(
    algorithm: str | None, everything: bool, settings: Settings, forms: dict[str, bool], plot: Path | None
) -> None:
    """Refuse options that say nothing beside each other: none is left out silently."""
    chosen = [f"--{name.replace('_', '-')}" for name, value in settings.items() if value is not None]
    printed = [f"--{name}" for name, value in forms.items() if value]
    if len(printed) > 1:
        raise typer.BadParameter(f"{' and '.join(printed)} are two forms of one answer: give one of them")
    if everything and algorithm is not None:
        raise typer.BadParameter(f"--all is for every algorithm, and {algorithm!r} is one: give one of the two")
    own = [option for option in chosen if option != "--steps"]
    if everything and own:
        raise typer.BadParameter(f"--all has standard cases, which {', '.join(own)} would not change")
    if algorithm is None and not everything and (chosen or printed):
        raise typer.BadParameter(f"{', '.join(chosen + printed)}: of which algorithm? Name it, or give --all")
    if plot is not None:
        if algorithm is None:
            raise typer.BadParameter(f"--plot {plot} draws one algorithm: name it")
        if plot.suffix not in PICTURES or not plot.absolute().parent.is_dir():
            raise typer.BadParameter(f"--plot {plot} must be a file ({', '.join(PICTURES)}) in a folder that there is")


def _compare(one: Accounting, epsilon: float, delta: float, steps: int | None, settings: Settings) -> list[Row]:
    from dpmcmc.privacy.compare import compare_epsilon, compare_steps

    if steps is None:
        return compare_steps(one, epsilon, delta, **settings)
    return compare_epsilon(one, steps, delta, **settings)


def _most(rows: list[Row]) -> int:
    return max(10, *(int(row.dpmcmc) for row in rows), *(int(row.published or 0) for row in rows))


def _settings(settings: Any) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {number(value)}" for name, value in settings.items())


def number(value: float | None) -> str:
    """A count in full with thin groups, an ε with four digits, nothing as a dash."""
    if value is None:
        return "—"
    if value == float("inf"):
        return "∞"
    return f"{value:,}".replace(",", " ") if isinstance(value, int) else f"{value:.4g}"


def cells(row: Row) -> tuple[str, ...]:
    """A row of any of the tables."""
    name = (row.published_name or "none") + (" (claim not valid)" if row.published_sound is False else "")
    ratio = row.dpmcmc / row.published if row.published and row.published_sound and row.dpmcmc else None
    gain = "—" if ratio is None else f"{number(round(ratio))}×" if ratio >= 100 else f"{ratio:.3g}×"
    method = row.method.split(" at order")[0]
    return (row.algorithm, _settings(row.settings), name, number(row.published), number(row.dpmcmc), gain, method)


HEADER = ("algorithm", "settings", "published bound", "published", "dpmcmc", "ratio", "method")


def markdown_table(rows: list[Row]) -> str:
    """The rows as a Markdown table."""
    lines = [HEADER, tuple("---" for _ in HEADER), *(cells(row) for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _print_table(rows: list[Row], title: str) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for name in HEADER:
        table.add_column(name, justify="right" if name in ("published", "dpmcmc", "ratio") else "left")
    for row in rows:
        table.add_row(*cells(row))
    Console().print(table)


def _print_json(rows: list[Row], epsilon: float, delta: float, steps: int | None) -> None:
    import json

    asked = {"epsilon": epsilon, "delta": delta} if steps is None else {"steps": steps, "delta": delta}
    answer = "steps" if steps is None else "epsilon"
    typer.echo(json.dumps({**asked, "answer": answer, "rows": [row.to_dict() for row in rows]}, indent=1))
