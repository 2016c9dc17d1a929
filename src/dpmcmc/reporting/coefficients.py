"""What a release says of each parameter, on the scale of the table where its model knows that, and its prior."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from dpmcmc.drawing import Interval
from dpmcmc.records import Date
from dpmcmc.release import Release
from dpmcmc.reporting.numbers import short, span

PRIOR_DRAWS = 4000
LEVELS = 12  # of a column whose effect is drawn
HARDLY = "hardly"  # what the table says where the records made an interval hardly narrower
_SHAPES = {  # parameters that are no coefficient, by what they do
    "concentration": "variance = mean + mean² / this",
    "sigma": "standard deviation of errors",
}
RATIOS = {
    "bernoulli": "odds ratio",
    "ordinal": "odds ratio",
    "poisson": "rate ratio",
    "negative binomial": "rate ratio",
}


@dataclass(frozen=True)
class Row:
    """A parameter: its draws after and before the records, and how far its column can go."""

    name: str
    draws: np.ndarray
    prior: np.ndarray | None = None
    reach: float | None = None  # of its column, if it is a coefficient
    unit: str = ""

    @property
    def mean(self) -> str:
        return short(float(np.mean(self.draws)))

    @property
    def interval(self) -> str:
        return span(*np.quantile(self.draws, [0.05, 0.95]))

    @property
    def prior_interval(self) -> str:
        return "" if self.prior is None else span(*np.quantile(self.prior, [0.05, 0.95]))

    @property
    def learnt(self) -> str:
        """How much narrower the records made it."""
        if self.prior is None:
            return ""
        wide, narrow = (float(np.subtract(*np.quantile(x, [0.95, 0.05]))) for x in (self.prior, self.draws))
        return f"{short(wide / narrow, 2)}×" if narrow > 0 and wide / narrow >= 1.1 else HARDLY

    @property
    def ratio(self) -> str:
        """What one unit multiplies the odds or the rate by."""
        if self.reach is None:
            return ""
        with np.errstate(over="ignore"):
            low, middle, high = (short(float(value), 4) for value in np.exp(np.quantile(self.draws, [0.05, 0.5, 0.95])))
        return f"{middle} ({low} to {high})"


def rows_of(release: Release) -> list[Row]:
    """All parameters, each number of an array by itself."""
    model = release.model
    if hasattr(model, "on_original_scale"):
        return _of_regression(release, model)
    kept = {name: values[:, release.warmup :] for name, values in release.draws.items()}
    return [Row(name, draws) for name, values in kept.items() for name, draws in _numbers(name, values)]


def _numbers(name: str, values: np.ndarray) -> list[tuple[str, np.ndarray]]:
    flat = np.reshape(values, (*values.shape[:2], -1))
    if values.ndim == 2:
        return [(name, flat[..., 0].ravel())]
    places = list(np.ndindex(values.shape[2:]))
    return [(f"{name}[{', '.join(map(str, at))}]", flat[..., i].ravel()) for i, at in enumerate(places)]


def prior_draws(model: Any, count: int = PRIOR_DRAWS) -> dict[str, np.ndarray]:
    """Draws of the model's normal priors: for each parameter as many quantiles, in an order of its own."""
    rng, normal = np.random.default_rng(0), ndtri((np.arange(count) + 0.5) / count)
    return {name: mean + std * rng.permutation(normal) for name, (mean, std) in model.priors.items()}


def _of_regression(release: Release, model: Any) -> list[Row]:
    prior = model.original(prior_draws(model))
    reaches, units = _columns(model)
    return [
        Row(name, np.ravel(draws), np.ravel(prior[name]), reaches.get(name), units.get(name, ""))
        for name, draws in release.on_original_scale().draws.items()
    ]


def _columns(model: Any) -> tuple[dict[str, float], dict[str, str]]:
    """How far the column of each coefficient can go, and what one unit of it is."""
    reaches, units = {}, dict(_SHAPES)
    family = model.likelihood
    for column in model.design.columns:
        for which in family.predictors:
            name = family.coefficient(column.name, which)
            reaches[name] = column.bounds[1] - column.bounds[0]
            declared = model.schema.get(column.name)
            unit = "day" if isinstance(declared, Date) else getattr(declared, "unit", "")
            units[name] = f"per {unit}" if unit else ""
    return reaches, units


def forest_rows(rows: list[Row]) -> tuple[list[Interval], list[Interval]]:
    """Intervals to compare: what a column's whole declared range makes of the linear predictor; prior beside it.

    Parameters as they are where the model has no design.
    """
    chosen = [row for row in rows if row.reach is not None] or [row for row in rows if row.prior is None]
    after = [Interval.of(row.name, row.draws * (row.reach or 1.0)) for row in chosen]
    before = [Interval.of(row.name, row.prior * (row.reach or 1.0)) for row in chosen if row.prior is not None]
    return after, before


def ratio_name(model: Any) -> str:
    """What exp(coefficient) is called in the model's family; empty where it is nothing."""
    return RATIOS.get(getattr(getattr(model, "_family", None), "name", ""), "")


def effects(release: Release, most: int) -> list[tuple[str, list[Any], np.ndarray, np.ndarray]]:
    """For the first columns of the formula: the expected outcome along the column, after and before the records.

    Other numbers are at the centre of their bounds, and others' levels at their reference. Nothing but the declaration
    and the draws is used.
    """
    model: Any = release.model
    if not hasattr(model, "expected_at") or not hasattr(model, "covariates_of") or model.likelihood.classes:
        return []
    after = model.draws_of(release)
    before = prior_draws(model, next(iter(after.values())).size)
    drawn = [name for name in model.inputs if model.schema[name].n_levels <= LEVELS][:most]
    rows, shown = [], []
    for name in drawn:
        column = model.schema[name]
        codes = np.arange(column.n_levels) if column.labels else np.linspace(column.bounds[0], column.bounds[1], 25)
        at: dict[str, np.ndarray] = {each: np.full(len(codes), _centre(model.schema[each])) for each in model.inputs}
        rows.append(model.covariates_of(at | {name: codes.astype(float)}))
        shown.append(list(column.labels) if column.labels else _values(column, codes))
    if not drawn:
        return []
    ends = np.cumsum([len(each) for each in rows])[:-1]
    found = [np.split(each, ends) for each in model.expected_at([after, before], np.concatenate(rows))]
    return list(zip(drawn, shown, *found, strict=True))


def _values(column: Any, codes: np.ndarray) -> list[Any]:
    """Encoded numbers as the table has them."""
    if isinstance(column, Date):
        return [column.low + datetime.timedelta(days=float(days)) for days in codes]
    return list(codes)


def _centre(column: Any) -> float:
    if not column.labels:
        return float(np.mean(column.bounds))
    reference = str(getattr(column, "reference", column.labels[0]))
    return float(column.labels.index(reference) if reference in column.labels else 0)


def public_settings(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Settings for the eye: those that are one thing each."""
    plain = {name: value for name, value in settings.items() if isinstance(value, str | int | float | bool)}
    return [(name, str(value)) for name, value in plain.items() if name != "declaration"]
