"""One table of what is gained over all papers: ``python -m dpmcmc_experiments.gains docs/results``.

Reads ``<paper>/gains.csv`` of every paper under the folder and writes ``gains.md`` there. A gain is a factor, above 1
where ours is better: more steps for the same ε, less ε for the same steps, a smaller distance or error.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from dpmcmc_experiments.figures import PAPERS

MORE_IS_BETTER = ("length", "effective draws", "records the posterior counts")
TITLES = {"heikkila2019": "Heikkilä et al. (2019)", "raisa2021": "Räisä (2021)", "zhang2023": "Zhang & Zhang (2023)"}
ABOUT = """# What is gained, figure by figure

Made by `python -m dpmcmc_experiments.gains docs/results` from the table `gains.csv` of each paper. *Published* is the
published algorithm with its published accounting. *Ours* is the same chain with dpmcmc's accounting, or the better
alternative that the setting names. *Gain* is the factor by which ours is better: ours over published where more is
better (length, effective draws), published over ours elsewhere (ε, MMD, errors, records read). **Below 1, ours is
worse;** 0 means that not even one step fits the budget. Where a setting gives our ε beside a published one, the two
runs have these different ε.

What is compared, where it is not the same thing twice:

- *different targets*: the two runs sample different posteriors (tempered differently, other prior, other covariates).
  Such a row shows what the same budget buys, not a better sampler of one posterior.
- *error of a moment* (Heikkilä et al.): the published error is against the paper's own baseline, one non-private chain,
  ours against exact moments.
- *correction error*: published is our evaluation of the tables that the authors fitted, not a printed number.
- *length* and *ε at equal length* of Räisä: published lengths are recomputed from the published settings; the thesis
  draws the curves of Figure 6.1 and prints no length.
- Zhang & Zhang: no published guarantee is valid. *Claim at its best* is what (0.05, 10⁻⁵) a step would add up to if
  every step were pure 0.05-DP, composed optimally.

## In short

Medians are over settings that differ widely; the smallest and the largest gain show by how much.

| paper | measure | rows | ours worse | median gain | least | greatest |
|---|---|---|---|---|---|---|
"""
ALL = """
## Every setting

| paper | figure | setting | measure | published | ours | gain |
|---|---|---|---|---|---|---|
"""


def gain(measure: str, published: float, ours: float) -> float:
    """The factor by which ours is better."""
    better = any(measure.startswith(kind) for kind in MORE_IS_BETTER)
    over, under = (ours, published) if better else (published, ours)
    return over / under if under else float("nan")


def table(folder: Path) -> str:
    """The Markdown page."""
    found = [folder / paper / "gains.csv" for paper in PAPERS if (folder / paper / "gains.csv").exists()]
    if not found:
        raise FileNotFoundError(f"no gains.csv under {folder}; run dpmcmc reproduce first")
    rows = pd.concat([pd.read_csv(path) for path in found], ignore_index=True)
    rows["gain"] = [gain(r.measure, r.published, r.ours) for r in rows.itertuples()]
    rows["figure"] = rows["figure"].astype(str).str.removeprefix("fig")
    rows = rows.sort_values(["paper", "figure"], kind="stable")
    return ABOUT + "".join(_summary(rows, folder)) + ALL + "".join(_lines(rows))


def _summary(rows: pd.DataFrame, folder: Path) -> list[str]:
    lines = []
    for (paper, measure), part in rows.groupby(["paper", "measure"], sort=False):
        title = TITLES.get(paper, paper)
        name = f"[{title}]({paper}.md)" if (folder / f"{paper}.md").exists() else title
        gains = part["gain"].dropna()
        spread = " | ".join(f"{_number(value)}" for value in (gains.median(), gains.min(), gains.max()))
        lines.append(f"| {name} | {_spoken(measure)} | {len(part)} | {int((gains < 1).sum())} | {spread} |\n")
    return lines


def _lines(rows: pd.DataFrame) -> list[str]:
    lines = []
    for r in rows.itertuples():
        numbers = f"{_number(r.published, 4)} | {_number(r.ours, 4)} | {_number(r.gain)}"
        named = f"{TITLES.get(r.paper, r.paper)} | {r.figure} | {r.setting} | {_spoken(r.measure)}"
        lines.append(f"| {named} | {numbers}{' **worse**' if r.gain < 1 else ''} |\n")
    return lines


def _spoken(measure: str) -> str:
    return measure.replace("epsilon", "ε")


def _number(value: float, digits: int = 3) -> str:
    if not np.isfinite(value):
        return "–"
    if value < 1000:
        return f"{value:.{digits}g}"
    whole = f"{float(f'{value:.{digits}g}'):,.0f}"
    return whole.replace(",", " " if value >= 1e4 else "")


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/results")
    (folder / "gains.md").write_text(table(folder))


if __name__ == "__main__":
    main()
