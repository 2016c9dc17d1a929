"""``dpmcmc demo``: a study of real records, from the table to the report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpmcmc.commands.endings import endings

if TYPE_CHECKING:
    import numpy as np

    from dpmcmc.release import Release

STUDY = """\
# Any doctor visit in the year, on insurance and health: RAND Health Insurance Experiment.
# Bounds are from the study's documentation, and not from the records.
title = "Who saw a doctor?"
table = "visits.csv"

[model]
formula = "visit ~ log_coinsurance + chronic_diseases + good_health"
family = "bernoulli"

[privacy]
protects = "record"
epsilon = {epsilon!r}
delta = {delta!r}

[ledger]
file = "ledger.db"
dataset = "rand"
epsilon = {most!r}
delta = {delta!r}

[output]
release = "release.npz"
report = "report.html"

[columns.visit]
type = "boolean"

[columns.log_coinsurance]  # ln(coinsurance + 1), coinsurance between 0 and 100 %
type = "number"
bounds = [0, 4.6152]

[columns.chronic_diseases]  # an index; larger values count as 25
type = "number"
bounds = [0, 25]

[columns.good_health]  # self-rated; excellent is the base
type = "boolean"
"""
FILES = ("study.toml", "visits.csv", "ledger.db", "release.npz", "report.html", "forest.png")
LABELS = {
    "log_coinsurance": "Paying all of it oneself, not nothing",
    "chronic_diseases": "Ten more chronic diseases (an index)",
    "good_health[true]": "In good health, not excellent",
}
REACH = {"log_coinsurance": 4.6152, "chronic_diseases": 10.0, "good_health[true]": 1.0}
ODDS = (0.6, 0.8, 1.0, 1.25, 1.5, 2.0)


def demo(
    out: Annotated[Path, typer.Option(file_okay=False, help="Folder for study, release, report and picture.")] = Path(
        "demo-output"
    ),
    epsilon: Annotated[float, typer.Option(help="Privacy budget ε.")] = 1.0,
    delta: Annotated[float, typer.Option(help="Privacy budget δ.")] = 1e-6,
) -> None:
    """Any doctor visit in the year (RAND Health Insurance Experiment) on insurance and health, privately."""
    with endings():
        from dpmcmc.commands.fit import costs
        from dpmcmc.privacy import Budget
        from dpmcmc.reporting.page import check_installed, report
        from dpmcmc.study.running import opened_ledger, prepared
        from dpmcmc.study.study import Study

        Budget(epsilon, delta)
        check_installed()
        table = _table(out)
        (out / "study.toml").write_text(STUDY.format(epsilon=epsilon, delta=delta, most=3 * epsilon), encoding="utf-8")
        study = Study.read(out / "study.toml")
        ready = prepared(study)
        typer.echo(f"{costs(ready)}\n")
        release = ready.run(progress=True)
        report(release, study.report, title=study.title, ledger=opened_ledger(study))
        typer.echo(f"{release.on_original_scale()}\n")
        # These records are public, so here (and only here) the answer without privacy can be shown beside the private.
        names, mean, std = _without_privacy(table)
        typer.echo(_compared(release, names, mean, std))
        picture = _picture(release, names, mean, std, out)
        typer.echo(
            "\nProtected is one record: one year of one person. The experiment followed most persons for three or five "
            "years, and this table does not say which records are whose; with a column that does, protects = "
            '"person" protects all years of a person together.\n\n'
            f"Study:   {out / 'study.toml'}\nReport:  {study.report}  (open it in a browser)\n"
            f"Release: {study.release}\nPicture: {picture}"
        )


def _table(out: Path) -> Any:
    """The records as a data frame, and in a CSV file as a user has them; what an earlier demo left is removed."""
    try:
        from statsmodels.datasets import randhie
    except ImportError:
        raise ImportError("the demo's records come with statsmodels: pip install 'dpmcmc[demo]'") from None
    data = randhie.load_pandas().data
    columns = {"log_coinsurance": "lncoins", "chronic_diseases": "disea", "good_health": "hlthg"}
    table = data[list(columns.values())].set_axis(list(columns), axis=1)
    table.insert(0, "visit", (data["mdvis"] > 0).astype(int))
    table["good_health"] = table["good_health"].astype(int)
    out.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        (out / name).unlink(missing_ok=True)
    table.to_csv(out / "visits.csv", index=False)
    return table


def _without_privacy(table: Any) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Mean and standard deviation of the ordinary posterior by Laplace's method (at this n, the same thing)."""
    import numpy as np
    from statsmodels.api import Logit

    x = table.drop(columns="visit").to_numpy(dtype=float)
    clipped = np.clip(x, [0, 0, 0], [4.6152, 25, 1])
    fit = Logit(table["visit"].to_numpy(dtype=float), np.c_[np.ones(len(x)), clipped]).fit(disp=0)
    return ["intercept", *LABELS], fit.params, fit.bse


def _compared(release: Release, names: list[str], mean: np.ndarray, std: np.ndarray) -> str:
    summary = release.on_original_scale().summary().loc[names]
    away = abs(summary["mean"].to_numpy() - mean) / summary["sd"].to_numpy()
    wider = summary["sd"].to_numpy() / std
    return (
        f"Beside the posterior without privacy (these records are public, so it may be shown): the private means are "
        f"off by {away.mean():.2f} private posterior standard deviations on average, {away.max():.2f} at most, and the "
        f"private intervals are {wider.min():.2f} to {wider.max():.2f} times as wide."
    )


def _picture(release: Release, names: list[str], mean: np.ndarray, std: np.ndarray, out: Path) -> Path:
    """A forest of the effects, with and without privacy side by side."""
    import numpy as np

    from dpmcmc.drawing import Interval, forest
    from dpmcmc.receipts import round_up

    draws = release.on_original_scale().draws
    normal = np.array([-1.645, -0.674, 0.0, 0.674, 1.645])
    private = [Interval.of(LABELS[name], REACH[name] * draws[name]) for name in LABELS]
    plain = [
        Interval(LABELS[name], tuple(REACH[name] * (mean[at] + std[at] * normal)))
        for at, name in enumerate(names)
        if name in LABELS
    ]
    guarantee = release.guarantee
    name = "private" if guarantee is None else f"private, ε = {round_up(guarantee.epsilon, 3)}"
    figure = forest(
        private,
        plain,
        names=(name, "without privacy"),
        axis_label=f"odds of a doctor visit in the year; 50 and 90 % intervals\n"
        f"RAND Health Insurance Experiment, {release.settings['n']:,} person-years",
        title="Who saw a doctor?",
    )
    figure.axes[0].set_xticks([float(np.log(odds)) for odds in ODDS], [f"×{odds:g}" for odds in ODDS])
    figure.savefig(out / "forest.png", dpi=220)
    return out / "forest.png"
