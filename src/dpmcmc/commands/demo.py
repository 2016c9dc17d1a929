"""``dpmcmc demo``: a private logistic regression on a real data set."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

BOUNDS = {
    "lncoins": (0.0, 4.6152),  # ln(coinsurance + 1), coinsurance between 0 and 100 %
    "disea": (0.0, 25.0),  # index of chronic diseases; larger values count as 25
    "hlthg": (0.0, 1.0),  # self-rated health is good (excellent is the base)
}
"""Public bounds of the covariates, from the study's documentation and not from the records."""


def demo(
    out: Annotated[Path, typer.Option(file_okay=False, help="Folder for draws and pictures.")] = Path("demo-output"),
    epsilon: Annotated[float, typer.Option(help="Privacy budget ε.")] = 1.0,
    delta: Annotated[float, typer.Option(help="Privacy budget δ.")] = 1e-6,
) -> None:
    """Any doctor visit in the year (RAND Health Insurance Experiment) on insurance and health, privately."""
    import numpy as np
    from statsmodels.datasets import randhie

    import dpmcmc as dp
    from dpmcmc.commands.pictures import demo_picture

    try:
        dp.Budget(epsilon, delta)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    table = randhie.load_pandas().data.assign(visit=lambda t: t["mdvis"] > 0)
    model = dp.models.LogisticRegression(BOUNDS)
    data = model.encode(table, outcome="visit")
    typer.echo(f"{len(table)} records: any doctor visit in the year ~ {' + '.join(BOUNDS)}\n")
    release = dp.sample(model, data, epsilon=epsilon, delta=delta)
    typer.echo(f"{release}\n")
    typer.echo(
        "Protected is one record: one year of one person. The study followed most persons for three or five years, and "
        "this table does not say which records are whose. With a column that does, dp.PerUnit(model, column, most=5) "
        "protects all years of a person together.\n"
    )

    # These records are public, so here (and only here) the answer without privacy can be shown beside the private one.
    mean, std = _without_privacy(np.c_[np.ones(len(table)), data["x"]], data["y"])
    summary = release.summary().loc[list(model.names)]
    away = np.abs(summary["mean"].to_numpy() - mean) / summary["sd"].to_numpy()
    typer.echo(
        f"Beside the posterior without privacy (these records are public, so it may be shown): the private means are "
        f"off by {away.mean():.2f} private posterior standard deviations on average, {away.max():.2f} at most."
    )
    out.mkdir(parents=True, exist_ok=True)
    draws = release.save(out / "draws.npz")
    picture = demo_picture(release, dict(zip(model.names, zip(mean, std, strict=True), strict=True)), out)
    typer.echo(f"Draws: {draws}\nPicture: {picture}")


def _without_privacy(x, y):  # type: ignore[no-untyped-def]
    """Mean and standard deviation of the ordinary posterior by Laplace's method (at this n, the same thing)."""
    from statsmodels.api import Logit

    fit = Logit(y.astype(float), x.astype(float)).fit(disp=0)
    return fit.params, fit.bse
