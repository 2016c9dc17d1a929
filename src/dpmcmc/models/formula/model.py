"""Regression by formula: a design from the declared table, a family by name, coefficients on the original scale."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpmcmc.models.base import has
from dpmcmc.models.formula import stated
from dpmcmc.models.formula.design import Design, design
from dpmcmc.models.formula.factors import factor
from dpmcmc.models.formula.families import UNIT, Family, check_outcome, event, family_of
from dpmcmc.models.formula.original import OriginalScale
from dpmcmc.models.formula.predictions import predicted, summarised
from dpmcmc.models.formula.terms import Parsed, parse
from dpmcmc.models.priors import Normal, NormalPriors, Theta
from dpmcmc.models.regression import Record, Regression
from dpmcmc.records import Schema


@dataclass(frozen=True)
class FormulaRegression(NormalPriors):
    """The regression that a formula says, over a table that a schema declares: made by :func:`regression`.

    A record is ``{"x": covariates, "y": outcome}``. The likelihood is that of the family's own model, such as
    :class:`~dpmcmc.models.PoissonRegression`, whose columns are products of the covariates.

    Parameters have the names of the design's columns: "intercept", "age", "plan[basic]", "age:income". They are those
    of scaled columns; :meth:`on_original_scale` gives coefficients per unit of the table. The intercept is the linear
    predictor where every number is at the centre of its bounds and every category at its reference; a coefficient is
    for as much as its column can differ from there.

    Guarantee: columns, bounds, levels and contrasts follow from formula and schema, and none from a record.
    """

    formula: str
    schema: Schema
    family: str = "gaussian"
    stated_priors: Mapping[str, Normal] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if not isinstance(self.schema, Schema):
            raise TypeError(f"schema must be a dp.Schema, which declares the table, got {type(self.schema).__name__}")
        check_outcome(self._family, self.outcome, self.schema)
        stated.check_names(self.design, self._family, self.formula)
        stated.check_priors(self.stated_priors, self.design, self.likelihood.shape_priors)
        assert self.names == tuple(self.priors)

    @cached_property
    def _parsed(self) -> Parsed:
        return parse(self.formula)

    @property
    def _family(self) -> Family:
        return family_of(self.family)

    @property
    def outcome(self) -> str:
        """The name of the outcome's column."""
        return self._parsed.outcome

    @cached_property
    def design(self) -> Design:
        terms = [tuple(factor(text, self.schema) for text in term) for term in self._parsed.terms]
        stated.check_terms(terms, self.outcome, self.formula)
        return design(terms, self._parsed.intercept)

    @cached_property
    def likelihood(self) -> Regression:
        """The family's model of scaled columns."""
        return self._family.build({column.name: UNIT for column in self.design.columns}, self.schema[self.outcome])

    @cached_property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(self.original_priors)

    @cached_property
    def outcome_scale(self) -> tuple[float, float]:
        """Centre and half-range by which a real outcome is scaled; nothing for others."""
        low, high = self.schema[self.outcome].bounds if self._family.real else UNIT
        return (low + high) / 2, (high - low) / 2

    @cached_property
    def original_priors(self) -> dict[str, Normal]:
        """The prior of each parameter on the scale of the table."""
        largest = max(map(abs, self.schema[self.outcome].bounds)) if self._family.real else 1.0
        usual = stated.usual_priors(self.design, self.outcome_scale, largest, self.likelihood.shape_priors)
        return stated.with_stated(usual, self.stated_priors, self.design)

    @cached_property
    def priors(self) -> dict[str, tuple[float, float]]:  # type: ignore[override]
        """Mean and standard deviation of each scaled parameter's normal prior."""
        return stated.scaled_priors(self.original_priors, self.design, self.outcome_scale)

    def encode(self, table: Any) -> dict[str, np.ndarray]:
        """Records for this model from a table, read by the schema: data frames, mappings of arrays, paths of files.

        Guarantee: as :meth:`dpmcmc.Schema.encode`; every record is encoded by itself.
        """
        columns = self.schema.encode(table, only=dict.fromkeys([*self._inputs, self.outcome]))
        return {"x": self.design.encode(columns), "y": self._encoded_outcome(columns)}

    @property
    def _inputs(self) -> list[str]:
        return list(dict.fromkeys(factor.column for factor in self.design.factors))

    def _encoded_outcome(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        column = self.schema[self.outcome]
        values = event(self.outcome, column).values(columns)[0] if column.labels else columns[self.outcome]
        return self.likelihood.encode_outcome(values, self.outcome)

    def _whole(self, theta: Theta) -> Theta:
        """The parameters with an intercept; without one, what a scaled outcome has in its place."""
        if self.design.intercept:
            return theta
        centre, half = self.outcome_scale
        return theta | {"intercept": jnp.asarray(-centre / half, dtype=float)}

    def log_likelihood(self, theta: Theta, record: Record) -> Array:
        scaled = {"x": self.design.units(record["x"]), "y": record["y"]}
        return self.likelihood.log_likelihood(self._whole(theta), scaled)

    @property
    def log_ratio_bound(self) -> Callable[[Theta, Theta], Array] | None:
        """That of the family, if it has one: columns lie in [−1, 1] as its covariates do."""
        if not has(self.likelihood, "log_ratio_bound"):
            return None
        family: Any = self.likelihood
        return lambda theta, theta_new: family.log_ratio_bound(self._whole(theta), self._whole(theta_new))

    @property
    def levels(self) -> tuple[int, ...]:
        """Two for covariates that say whether a level is this one, 0 for numbers."""
        return self.design.levels

    def covariates(self, record: Record) -> Array:
        """The part of a record whose law the model does not state."""
        return record["x"]

    def response(self, record: Record) -> Array:
        """The outcome within [−1, 1]."""
        return self.likelihood.response(record)

    def respond(self, x: Array, responses: Array) -> Record:
        """Records with the rows of ``x`` and these outcomes within [−1, 1]."""
        return self.likelihood.respond(x, responses)

    def simulate(self, key: Array, theta: Theta, n: int) -> Record:
        """n records from public knowledge only: numbers within the declared bounds, or at them, and any levels."""
        x_key, y_key = jax.random.split(key)
        return self.simulate_given(y_key, theta, self.design.anywhere(x_key, n))

    def simulate_given(self, key: Array, theta: Theta, x: Array) -> Record:
        """Records with the rows of ``x`` for covariates, and outcomes of the model."""
        x = jnp.asarray(x, float)
        outcomes = self.likelihood.draw_outcomes(key, self._whole(theta), self.design.units(x))
        return {"x": x, "y": outcomes.astype(x.dtype)}

    def original(self, theta: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters on the scale of the table, of one draw or of arrays of draws: an exact map, draw by draw.

        Slopes are per unit of their columns, contrasts against the reference level, and the intercept is where all
        columns of the design are 0. The scale of a real outcome becomes ``sigma``.
        """
        centre, half = self.outcome_scale
        slopes = {column.name: half / column.scale * theta[column.name] for column in self.design.columns}
        found: dict[str, Any] = {}
        if self.design.intercept:
            shift = sum(slopes[column.name] * column.shift for column in self.design.columns)
            found["intercept"] = centre + half * theta["intercept"] - shift
        found |= slopes
        for name, other in self._family.parameters.items():
            found[other] = np.exp(np.asarray(theta[name])) * half
        return found

    def on_original_scale(self, release: Any) -> OriginalScale:
        """The coefficients of a release of this model on the scale of the table, to print, summarise or plot."""
        return OriginalScale.of(release, self.original(self._draws(release)))

    def _draws(self, release: Any) -> dict[str, np.ndarray]:
        """The draws after warm-up."""
        if release.draws.keys() != set(self.names):
            raise ValueError(
                f"the release has the parameters {', '.join(release.draws)}, and the model {', '.join(self.names)}: "
                "give the model that was sampled"
            )
        return {name: release.draws[name][:, release.warmup :] for name in self.names}

    def design_matrix(self, table: Any) -> dict[str, np.ndarray]:
        """The columns of the design, on the scale of the table: for public tables, to look at what a formula means."""
        units = self._units(table)
        columns = [units[:, at] * column.scale + column.shift for at, column in enumerate(self.design.columns)]
        found = {"intercept": np.ones(len(units))} if self.design.intercept else {}
        return found | {column.name: values for column, values in zip(self.design.columns, columns, strict=True)}

    def _units(self, table: Any) -> np.ndarray:
        with jax.enable_x64(True):
            x = self.design.encode(self.schema.encode(table, only=self._inputs))
            return np.asarray(self.design.units(jnp.asarray(x)))

    def predict(self, release: Any, table: Any) -> Any:
        """The expected outcome of each row of a public table: mean, sd and 90 % interval, as a data frame.

        The probability of the event, or the mean of a count or a number on its own scale. Free post-processing; the
        table is read by the schema and needs no outcome. What is printed of private rows is not covered by the release.
        """
        theta = {name: values.ravel() for name, values in self._draws(release).items()}
        centre, half = self.outcome_scale
        units = self._units(table)
        return summarised(units, theta | self._constant(theta), lambda eta: centre + half * self._family.mean(eta))

    def predict_outcomes(self, release: Any, table: Any, seed: int = 0) -> np.ndarray:
        """Draws (draw, row) of a new outcome for each row of a public table, one for each draw of the release."""
        theta = {name: values.ravel() for name, values in self._draws(release).items()}
        centre, half = self.outcome_scale
        drawn = predicted(self.likelihood.draw_outcomes, self._units(table), theta | self._constant(theta), seed)
        return centre + half * drawn

    def _constant(self, theta: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The intercept of draws that have none."""
        count, (centre, half) = len(next(iter(theta.values()))), self.outcome_scale
        return {} if self.design.intercept else {"intercept": np.full(count, -centre / half)}

    def __str__(self) -> str:
        rows = [("parameter", "prior on the scale of the table")]
        rows += [(name, str(prior)) for name, prior in self.original_priors.items()]
        width = max(len(name) for name, _ in rows)
        return "\n".join([f"{self.formula}, {self._family.name}", *(f"{a:<{width}}  {b}" for a, b in rows)])


def regression(
    formula: str,
    schema: Schema,
    family: str = "gaussian",
    *,
    priors: Mapping[str, Normal] | None = None,
) -> FormulaRegression:
    """A Bayesian regression from a formula, over a table that ``schema`` declares.

        model = dp.regression("visits ~ age + plan + age:income", schema, family="poisson")
        release = dp.sample(model, model.encode("visits.csv"), epsilon=1.0, delta=1e-6)
        print(model.on_original_scale(release))

    - ``formula``: ``a + b``, ``a:b``, ``a*b``, ``(a + b)**2``, ``- 1`` or ``0 +`` for no intercept, ``C(plan)``, and
      log, log1p, log2, log10, sqrt, exp and expm1 of a declared number. Categories are contrasts against the declared
      reference, ordered levels against the first, booleans against false; dates count as days since their first bound;
    - ``family``: "gaussian", "student-t" (4 degrees of freedom), "bernoulli", "poisson" or "negative binomial";
    - ``priors``: ``dp.Normal(mean, std)`` on the scale of the table, for some of the coefficients or terms by name
      (``print(model)`` shows all). That of "intercept" is for the linear predictor where numbers are at the centre of
      their bounds and categories at their reference. Usual: N(0, 2.5²) for half the declared range of each column,
      in units of half the outcome's range if it is a number; for "log_sigma" N(−1, 1.5²) in these units.

    Guarantee: nothing is learnt from records; all follows from what is public. See :class:`FormulaRegression`.
    """
    return FormulaRegression(formula, schema, family, dict(priors or {}))
