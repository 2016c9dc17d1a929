"""The tables of the study's page: ``python -m dpmcmc_experiments.utility.page docs/results``.

Reads ``utility/*.csv`` under the folder and rewrites what lies between the marks of ``utility.md`` there.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from dpmcmc_experiments.raisa2021.problems import SETTINGS
from dpmcmc_experiments.utility import curves, efficiency, mixture, posteriors, recipes

MARK = re.compile(r"(<!-- (\w+): begin -->\n).*?(<!-- \2: end -->)", re.DOTALL)


def rewritten(folder: Path) -> str:
    """The page with its tables made again."""

    def filled(found: re.Match[str]) -> str:
        return found[1] + TABLES[found[2]](folder / "utility") + found[3]

    return MARK.sub(filled, (folder / "utility.md").read_text())


def markdown(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _curves(start: str) -> Callable[[Path], str]:
    def table(folder: Path) -> str:
        boxes = curves.quartiles(pd.read_csv(folder / "curves.csv"))
        boxes = boxes[boxes["start"] == start].set_index(["model", "epsilon"])
        epsilons = sorted(curves.EPSILONS)
        rows = []
        for name, setting in SETTINGS.items():
            value, at = curves.best_published(name)
            row = [setting.title, f"{value:.3f} ({at:g})"]
            for epsilon in epsilons:
                if (name, epsilon) not in boxes.index:
                    row.append("not run")
                    continue
                box = boxes.loc[(name, epsilon)]
                row.append(f"{box['median']:.3f} ({box['q1']:.3f}, {box['q3']:.3f})")
            rows.append(row)
        return markdown(["", "best published (at ε)", *(f"ε = {epsilon:g}" for epsilon in epsilons)], rows)

    return table


def _predictions(folder: Path) -> str:
    ratios = curves.prediction_ratios(pd.read_csv(folder / "curves.csv")).reset_index()
    rows = []
    for name, setting in SETTINGS.items():
        part = ratios[ratios["model"] == name]
        row = [setting.title]
        for what in curves.PREDICTED:
            near = curves.is_near(part[what])
            row.append(f"{near.sum()} of {len(part)} ({part[what].min():.2f} to {part[what].max():.2f})")
        rows.append(row)
    return markdown(["found over expected, within a factor of two (range)", *curves.PREDICTED], rows)


def _mixture(folder: Path) -> str:
    found = pd.read_csv(folder / "mixture.csv")
    theirs = mixture.published()
    names = [f"{what}_error" for what in ("mean", "variance")]
    rows = [["1.2 (published)", "100", *(_pair(theirs[f"{n}_1"], theirs[f"{n}_2"]) for n in names), "", ""]]
    for (epsilon, count), part in found.groupby(["epsilon", "counts_as"], sort=False):
        mean = part.mean(numeric_only=True)
        cells = [_pair(mean[f"{n}_1"], mean[f"{n}_2"]) for n in (*names, "mean_off", "spread_ratio")]
        rows.append([f"{epsilon:g}", f"{count:,.0f}", *cells])
    header = ["ε", "records count as", "error of means of θ₁; θ₂", "of variances", "means off, in sd", "sd over exact"]
    return markdown(header, rows)


def _pair(one: float, other: float) -> str:
    return f"{one:.2g}; {other:.2g}"


def _regression(folder: Path) -> str:
    found = pd.read_csv(folder / "regression.csv")
    titles = {"rand": "RAND", "adult": "census"}
    rows = []
    for (name, epsilon), part in found.groupby(["data", "epsilon"], sort=False):
        real, simulated = (part[part["kind"] == kind] for kind in ("real", "simulated"))
        expected = part.loc[part["kind"] == "foreseen", "expected_mean_error"].mean()
        covered = "not run"
        if len(simulated):
            error = simulated["covered"].std() / np.sqrt(len(simulated))
            covered = f"{simulated['covered'].mean():.1%} ± {error:.1%} ({len(simulated)})"
        rows.append(
            [
                f"{titles[str(name)]}, ε = {epsilon:g}",
                f"{real['off'].mean():.2f} ({real['off'].max():.2f})",
                f"{np.sqrt((real['mean_error'] ** 2).mean()):.2f}",
                f"{expected:.2f}",
                f"{real['log_loss'].mean():+.3%}",
                covered,
            ]
        )
    header = ["", "means off (worst release)", "root mean square", "expected by the plan", "log loss"]
    header.append("coverage of 90 % intervals (data sets)")
    return markdown(header, rows)


def _efficiency(folder: Path) -> str:
    rates = efficiency.rates(pd.read_csv(folder / "efficiency.csv"))
    targets = [name for name in posteriors.TITLES if name in set(rates["target"])]
    cells = rates.set_index(["algorithm", "target"])
    rows = []
    for algorithm in (*efficiency.DEFAULT.values(), *recipes.RECIPES):
        row = [f"`{algorithm}`" if algorithm in recipes.RECIPES else f"**{algorithm}**"]
        for name in targets:
            cell = cells.loc[(algorithm, name)] if (algorithm, name) in cells.index else None
            if cell is None or np.isnan(cell["rate"]):
                row.append("–")
            else:
                row.append(f"{cell['rate']:,.3g}{'*' if cell['off'] else ''}{'?' if cell['few'] else ''}")
        rows.append(row)
    return markdown(["", *(posteriors.TITLES[name] for name in targets)], rows)


TABLES: dict[str, Callable[[Path], str]] = {
    "guess": _curves("guess"),
    "prior": _curves("prior"),
    "predictions": _predictions,
    "mixture": _mixture,
    "regression": _regression,
    "efficiency": _efficiency,
}


def main() -> int:
    folder = Path(sys.argv[1])
    (folder / "utility.md").write_text(rewritten(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
