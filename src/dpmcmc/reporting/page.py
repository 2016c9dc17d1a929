"""The page: facts of a release, pictures of them, and one template."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dpmcmc import __version__, files
from dpmcmc.arguments import instance
from dpmcmc.drawing import curve, forest, limits_of, matplotlib_of, panels, svg
from dpmcmc.records import Date
from dpmcmc.release import Release
from dpmcmc.reporting import wording
from dpmcmc.reporting.budgets import BudgetCurve, budget_curve
from dpmcmc.reporting.coefficients import HARDLY, Row, effects, forest_rows, public_settings, ratio_name, rows_of
from dpmcmc.reporting.numbers import short

FOREST = 24  # rows of a picture, so that it fits on a sheet of paper
EFFECTS = 6  # columns whose effect is drawn


def jinja() -> Any:
    """The template engine, or an error that says how to get it."""
    try:
        import jinja2
    except ImportError:
        raise ImportError("reports are made by Jinja2: pip install 'dpmcmc[report]'") from None
    return jinja2


def check_installed() -> None:
    """Refuse before anything is charged what would fail after."""
    jinja()
    matplotlib_of()


def report(
    release: Release, path: str | os.PathLike[str], *, title: str = "Private posterior", ledger: Any = None
) -> Path:
    """Write the report of a release to one HTML file, which needs no network.

        dp.report(release, "visits.html", title="Visits to the clinic")

    It is made of the release alone, so it is free. A release that was loaded from a file knows its model where a study
    was run, or by ``release.with_model(model)``; without, coefficients are those that were sampled. ``ledger`` is the
    :class:`dpmcmc.Ledger` that paid, to say what it has left.
    """
    instance("release", release, Release, "a dp.Release")
    file = Path(path)
    if file.suffix != ".html":
        raise ValueError(f"a report is written as .html, got {str(file)!r}")
    files.write(file, html(release, title=title, ledger=ledger).encode())
    return file


def html(release: Release, *, title: str = "Private posterior", ledger: Any = None) -> str:
    """The report as text. Every string of the release, the study and the ledger is escaped."""
    check_installed()
    engine = jinja()
    environment = engine.Environment(
        loader=engine.PackageLoader("dpmcmc.reporting"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=engine.StrictUndefined,
    )
    environment.filters["short"] = short
    safe = engine.utils.markupsafe.Markup
    return str(environment.get_template("report.html").render(facts(release, title, ledger, safe)))


def facts(release: Release, title: str, ledger: Any, safe: Any) -> dict[str, Any]:
    """All that the template shows; pictures are the only parts that are not escaped again, since SVG is markup."""
    rows = rows_of(release)
    study = release.settings.get("study")
    study = study if isinstance(study, dict) and isinstance(study.get("text"), str) else None
    found = budget_curve(release)
    guarantee = release.guarantee
    return {
        "title": title,
        "verdict": wording.verdict(release),
        "release": release,
        "statement": release.statement().split("\n"),
        "words": [] if guarantee is None else wording.in_words(guarantee),
        "symbols": "" if guarantee is None else wording.in_symbols(guarantee),
        "receipts": wording.receipts(release),
        "ledger": None if ledger is None else _ledger(ledger),
        "rows": rows,
        "has_prior": any(row.prior is not None for row in rows),
        "ratio": ratio_name(release.model),
        "formula": getattr(release.model, "formula", ""),
        "untold": [row.name for row in rows if row.learnt == HARDLY],
        "has_dates": any(isinstance(column, Date) for column in _declared(release.model)),
        "forests": [safe(picture) for picture in _forests(rows)],
        "effects": [safe(picture) for picture in _effects(release)],
        "budgets": found,
        "budget_picture": None if found is None else safe(_budget_picture(found)),
        "noise": _noise(release),
        "settings": public_settings(release.settings),
        "versions": _versions(study),
        "study": study,
        "now": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "version": __version__,
    }


def _declared(model: Any) -> list[Any]:
    """The columns that a regression by formula reads."""
    schema = getattr(model, "schema", None)
    return [] if schema is None else [schema[name] for name in getattr(model, "inputs", ())]


def _versions(study: dict[str, Any] | None) -> list[tuple[str, str]]:
    given = (study or {}).get("versions")
    return [(str(name), str(value)) for name, value in given.items()] if isinstance(given, dict) else []


def _forests(rows: list[Row]) -> list[str]:
    after, before = forest_rows(rows)
    designed = any(row.reach is not None for row in rows)
    label = "effect of the column's declared range" if designed else "parameter"
    pictures = []
    for first in range(0, len(after), FOREST):
        part, prior = after[first : first + FOREST], before[first : first + FOREST] or None
        figure = forest(part, prior, axis_label=label, limits=limits_of(after))  # the same axis for all
        said = "; ".join(f"{row.label}: {short(row.quantiles[0])} to {short(row.quantiles[4])}" for row in part)
        name = f"forest{first // FOREST}"
        pictures.append(svg(figure, name, "Forest plot of the coefficients", f"90 % intervals. {said}."))
    return pictures


def _effects(release: Release) -> list[str]:
    pictures = []
    outcome = getattr(release.model, "outcome", "outcome")
    for number, (name, at, after, before) in enumerate(effects(release, EFFECTS)):
        figure = panels(name, at, after, before, f"expected {outcome}")
        ends = [f"{short(at[i]) if isinstance(at[i], float) else at[i]}: {short(after[i, 0])}" for i in (0, -1)]
        title = f"Expected {outcome} along {name}"
        pictures.append(svg(figure, f"effect{number}", title, f"Posterior means, from {' to '.join(ends)}."))
    return pictures


def _budget_picture(found: BudgetCurve) -> str:
    labels = (f"ε at δ = {found.delta:g}", "shift of means by the noise")
    here = (found.epsilon, found.error)
    figure = curve(found.epsilons, found.errors, (found.low, found.high), here, labels)
    said = "; ".join(f"ε = {short(each)}: about {short(error, 2)}" for each, error, *_ in found.table)
    return svg(figure, "budget", "What another budget would buy", f"Posterior standard deviations. {said}.")


def _noise(release: Release) -> list[tuple[str, str]]:
    """The figures of the quality that mean the same for several methods, in words."""
    quality: Any = release.quality
    said = {
        "mean_error": ("Noise moves means (root mean square) by about", "{:.2f} posterior standard deviations"),
        "widening": ("Intervals are wider than without privacy (root mean square) by a factor of", "{:.2f}"),
        "clipped": ("Records whose part in a sum was shortened", "about {:.1%}"),
        "information_error": ("How well the information of the records is known", "to about {:.0%}"),
        "surprise": ("Agreement of the last released sum with those before it", "p = {:.2g}"),
    }
    if quality.diagnostics:  # the draws are a chain
        said |= {"effective_draws": ("Effective draws", "{:.0f}"), "r_hat": ("R-hat", "{:.3f}")}
    return [
        (name, form.format(getattr(quality, key)))
        for key, (name, form) in said.items()
        if isinstance(getattr(quality, key, None), float)
    ]


def _ledger(ledger: Any) -> dict[str, Any]:
    """What the ledger says, by its own words."""
    from dpmcmc.ledger.report import summary

    said = summary(ledger.book)
    return {
        "dataset": said["dataset"],
        "guarantee": str(ledger.guarantee),
        "spent": said["zcdp"]["spent"] / said["zcdp"]["limit"],
        "left": said["about_epsilon"]["left"],
        "delta": ledger.budget.delta,
        "charges": said["charges"],
        "head": said["head"],
    }
