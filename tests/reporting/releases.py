"""Releases to report on, with draws that are made here: a report does not depend on who drew them."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
from typer.testing import CliRunner

from dpmcmc.charge import Purse, of_releases
from dpmcmc.cli import app
from dpmcmc.privacy import GaussianFilter
from dpmcmc.release import Release, issued
from dpmcmc.scores.quality import ScoreQuality
from dpmcmc.study import Study
from tests.study.studies import GOOD

FIGURES = {
    "mean_error": 0.4, "surprise": 0.6, "information_error": 0.03, "worst_information": 0.1, "bend": 0.0,
    "like_prior": 0.1, "least_error": 0.1, "telling": 5000.0, "clipped": 0.02, "stages": 6, "failed": False,
    "n": 20000, "temperature": 1.0, "widening": 1.1,
}  # fmt: skip


def release_of(text: str = GOOD, *, reproducible: bool = False, **figures) -> Release:
    """A release of the study in a text, near its prior means, with these figures of quality."""
    study = Study.parse(text, "study.toml")
    purse, rng = Purse(study.budget, of_releases(48), (), study.unit), np.random.default_rng(0)
    guarantee, receipt = purse.charge("scores", rule=GaussianFilter.of_mu(purse.mu, 48))
    plan = SimpleNamespace(model=study.model, guarantee=guarantee, receipts=(receipt,))
    draws = {
        name: mean + 0.1 * std * (rng.normal(size=(2, 200)) + rng.normal())
        for name, (mean, std) in study.regression.priors.items()
    }
    quality = ScoreQuality(**(FIGURES | figures))
    settings = {"n": 20000, "chains": 2, "draws": 200, "temperature": 1.0}
    made = Release(
        draws=draws,
        quality=quality,
        method="sums of scores",
        settings=settings,
        sums=None,
        **issued(plan, reproducible),
    )
    return made.with_model(study.regression)


def fitted_report(folder: Path) -> str:
    """The report that ``dpmcmc fit`` writes of a real fit: with ledger, study file and everything from its sums."""
    rng, n = np.random.default_rng(0), 20_000
    age, income, plan = rng.uniform(18, 90, n), rng.uniform(1, 200, n), rng.choice(["free", "full"], n)
    visits = rng.poisson(np.exp(-0.5 + 0.015 * age + 0.4 * (plan == "full")))
    rows = [f"{v},{a:.1f},{i:.1f},{p},x" for v, a, i, p in zip(visits, age, income, plan, strict=True)]
    (folder / "visits.csv").write_text("\n".join(["visits,age,income,plan,note", *rows]) + "\n", encoding="utf-8")
    (folder / "study.toml").write_text(GOOD, encoding="utf-8")
    done = CliRunner().invoke(app, ["fit", str(folder / "study.toml"), "--yes"])
    assert done.exit_code == 0, done.output
    return (folder / "report.html").read_text(encoding="utf-8")


LEVELS = [
    "'><img src=x onerror=alert(1)>",
    "very long " * 40,
    "الرعاية الصحية الأولية",
    "טיפול ראשוני",
    "$\\frac{",
    "{{ 7 * 7 }} {% raise %}",
    "]]></style></svg><script>alert(2)</script>",
    *(f"level {number}" for number in range(194)),
]
OUTCOME, COLUMN = "<script>alert('outcome')</script>", "</title><script>alert(document.domain)</script>"


def hostile(levels: int = 200) -> str:
    """A study with about so many coefficients whose names are markup, very long, or written from the right."""
    from dpmcmc.records.toml import literal

    return f"""\
title = "<script>alert('title')</script> مرحبا"
table = "x.csv"
[model]
formula = {literal(f"`{OUTCOME}` ~ `{COLUMN}` + place")}
family = "poisson"
[privacy]
protects = {literal('<b onmouseover="alert(3)">person</b>')}
most = 3
epsilon = 1.0
delta = 1e-6
[output]
release = "a.npz"
report = "a.html"
[columns.{literal(OUTCOME)}]
type = "number"
bounds = [0, 50]
integer = true
[columns.{literal(COLUMN)}]
type = "number"
bounds = [0, 1]
unit = "<i>unit</i>"
[columns.place]
type = "category"
levels = {literal(LEVELS[:levels])}
"""
