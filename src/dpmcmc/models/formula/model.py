"""Regression by formula: a design from the declared table, a family by name, coefficients on the original scale."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpmcmc.arguments import instance
from dpmcmc.models.base import has
from dpmcmc.models.formula import stated
from dpmcmc.models.formula.beside import Beside, beside
from dpmcmc.models.formula.comparison import log_savage_dickey, named
from dpmcmc.models.formula.design import Design, design
from dpmcmc.models.formula.factors import factor
from dpmcmc.models.formula.families import UNIT, Family, check_outcome, check_settings, event, family_of
from dpmcmc.models.formula.original import OriginalScale, original
from dpmcmc.models.formula.predictions import DeclaredRows
from dpmcmc.models.formula.terms import Parsed, parse
from dpmcmc.models.groups import deviation
from dpmcmc.models.priors import Normal, NormalPriors, Theta
from dpmcmc.models.regression import Record, Regression
from dpmcmc.records import Schema


@dataclass(frozen=True)
class FormulaRegression(NormalPriors, DeclaredRows):
    """The regression that a formula says, over a table that a schema declares: made by :func:`regression`.

    A record is ``{"x": covariates, "y": outcome}``. The likelihood is that of the family's own model, such as
    :class:`~dpmcmc.models.PoissonRegression`, whose columns are products of the covariates; an offset, a weight and
    codes of groups follow them.

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
    offset: str | None = None
    weights: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if not isinstance(self.schema, Schema):
            raise TypeError(f"schema must be a dp.Schema, which declares the table, got {type(self.schema).__name__}")
        check_outcome(self._family, self.outcome, self.schema)
        stated.check_names(self.design, self._family, self.formula)
        check_settings(self._family, self.settings, self.design.intercept, self.formula)
        stated.check_priors(self.stated_priors, self.design, self.likelihood)
        assert self.names == tuple(self.priors)
        shown = self.original(self.init)
        if len(shown) < len(self.names):
            raise ValueError(
                f"the formula {self.formula!r} has two parameters of the same name on the scale of the table; rename a "
                f"column or a level: {', '.join(shown)}"
            )

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
    def beside(self) -> Beside:
        """Offset, weights and groups."""
        found = beside(self._parsed, self.schema, self.offset, self.weights)
        for one in (found.offset, found.weights, *found.groups):
            if one is not None and one.column == self.outcome:
                raise ValueError(f"the outcome {self.outcome!r} cannot be its own offset, weight or group")
        return found

    @cached_property
    def likelihood(self) -> Regression:
        """The family's model of scaled columns."""
        bounds = {column.name: UNIT for column in self.design.columns} | self.beside.bounds
        return self._family.build(bounds, self.schema[self.outcome], **self.beside.settings, **self.settings)

    @cached_property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(self.original_priors)

    @cached_property
    def original_priors(self) -> dict[str, Normal]:
        """The prior of each parameter on the scale of the table."""
        largest = max(map(abs, self.schema[self.outcome].bounds)) if self._family.real else 1.0
        usual = stated.usual_priors(self.design, self.likelihood, largest)
        return stated.with_stated(usual, self.stated_priors, self.design, self.likelihood)

    @cached_property
    def priors(self) -> dict[str, tuple[float, float]]:
        """Mean and standard deviation of each scaled parameter's normal prior."""
        return stated.scaled_priors(self.original_priors, self.design, self.likelihood)

    def encode(self, table: Any) -> dict[str, np.ndarray]:
        """Records for this model from a table, read by the schema: data frames, mappings of arrays, paths of files.

        Guarantee: as :meth:`dpmcmc.Schema.encode`; every record is encoded by itself.
        """
        columns = self.schema.encode(table, only=self._read)
        return {"x": self.covariates_of(columns), "y": self.outcome_of(columns)}

    @property
    def _read(self) -> list[str]:
        """Columns of the table that records are made of."""
        weights = [] if self.beside.weights is None else [self.beside.weights.column]
        return list(dict.fromkeys([*self.inputs, *weights, self.outcome]))

    @property
    def declaration(self) -> str:
        """All that the parameters mean, as text; their priors are no part of it."""
        right = " + ".join([*sorted(self.names), *self.beside.bounds])
        said = ", ".join([self._family.name, *(f"{name} {value}" for name, value in sorted(self.settings.items()))])
        return f"{self.outcome} ~ {right}, {said}\n\n{self.schema.subset(sorted(self._read)).to_toml()}"

    @property
    def inputs(self) -> list[str]:
        return list(dict.fromkeys([*(factor.column for factor in self.design.factors), *self.beside.inputs]))

    def covariates_of(self, encoded: Mapping[str, np.ndarray]) -> np.ndarray:
        return np.concatenate([self.design.encode(encoded), self.beside.encode(encoded)], axis=1)

    def outcome_of(self, encoded: Mapping[str, np.ndarray]) -> np.ndarray:
        column, values = self.schema[self.outcome], encoded[self.outcome]
        if column.labels and not self.likelihood.classes:
            values = event(self.outcome, column).values(encoded)[0]
        return self.likelihood.encode_outcome(values, self.outcome)

    def _whole(self, theta: Theta) -> Theta:
        """The parameters with an intercept; without one, what a scaled outcome has in its place."""
        if self.design.intercept:
            return theta
        centre, half = self.likelihood.outcome_scale
        constant = jnp.asarray((self.beside.offset_centre - centre) / half, dtype=float)
        intercepts = [self.likelihood.coefficient("intercept", which) for which in self.likelihood.predictors]
        return theta | dict.fromkeys(intercepts, constant)

    def _scaled(self, x: Array) -> Array:
        """Covariates of the family's model: columns of the design, then offset, weight and groups."""
        return jnp.concatenate([self.design.units(x), x[..., len(self.design.levels) :]], axis=-1)

    def to_family(self, theta: Theta, x: Array) -> tuple[Theta, Array]:
        whole = self._whole(theta)
        return whole, self.likelihood.predictor(whole, self._scaled(x))

    def log_likelihood(self, theta: Theta, record: Record) -> Array:
        scaled = {"x": self._scaled(record["x"]), "y": record["y"]}
        return self.likelihood.log_likelihood(self._whole(theta), scaled)

    def weight(self, record: Record) -> Any:
        """What the log likelihood of a record is multiplied by."""
        return self.likelihood.weight({"x": self._scaled(record["x"]), "y": record["y"]})

    @property
    def log_ratio_bound(self) -> Callable[[Theta, Theta], Array] | None:
        """That of the family, if it has one: columns lie in [−1, 1] as its covariates do."""
        if not has(self.likelihood, "log_ratio_bound"):
            return None
        family: Any = self.likelihood
        return lambda theta, theta_new: family.log_ratio_bound(self._whole(theta), self._whole(theta_new))

    @property
    def levels(self) -> tuple[int, ...]:
        """Two for covariates that say whether a level is this one, 0 for numbers; for groups how many there are."""
        return self.design.levels + self.beside.levels

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
        beside = self.beside.anywhere(jax.random.fold_in(x_key, 1), n)
        return self.simulate_given(y_key, theta, jnp.concatenate([self.design.anywhere(x_key, n), beside], axis=1))

    def simulate_given(self, key: Array, theta: Theta, x: Array) -> Record:
        """Records with the rows of ``x`` for covariates, and outcomes of the model."""
        x = jnp.asarray(x, float)
        return {"x": x, "y": self.likelihood.draw(key, *self.to_family(theta, x)).astype(x.dtype)}

    def original(self, theta: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters on the scale of the table, of one draw or of arrays of draws: an exact map, draw by draw.

        Slopes are per unit of their columns, contrasts against the reference level, and the intercept is where all
        columns of the design and the offset are 0. The scale of a real outcome becomes ``sigma``; groups have their
        effects, ``1|school[a]``, and the effects' standard deviation ``1|school_sigma``; ordered levels have thresholds
        in the place of the intercept, ``threshold[poor|fair]``.
        """
        return original(self.design, self.likelihood, self.beside.offset_centre, theta)

    def on_original_scale(self, release: Any) -> OriginalScale:
        """The coefficients of a release of this model on the scale of the table, to print, summarise or plot."""
        return OriginalScale.of(release, self.original(self.draws_of(release)))

    def log_bayes_factor(self, release: Any, without: Sequence[str]) -> float:
        """The log of how much likelier the release is with these terms than without them; below 0 it speaks against.

            model.log_bayes_factor(release, without=["plan", "age:income"])

        Free post-processing, by the ratio of prior and posterior density at 0 (Savage and Dickey), with a normal in the
        place of the draws: trust its sign and size where 0 is not far out in the tails. Privacy noise moves it towards
        0, and so does a prior that is wide for no reason.
        """
        columns = [column.name for column in self.design.columns]
        family = self.likelihood
        coefficients = [family.coefficient(name, which) for name in columns for which in family.predictors]
        return log_savage_dickey(self.draws_of(release), self.priors, named(without, coefficients))

    def design_matrix(self, table: Any) -> dict[str, np.ndarray]:
        """The columns of the design, on the scale of the table: for public tables, to look at what a formula means."""
        with jax.enable_x64(True):
            x = self.design.encode(self.schema.encode(table, only=self.inputs))
            units = np.asarray(self.design.units(jnp.asarray(x)))
        columns = [units[:, at] * column.scale + column.shift for at, column in enumerate(self.design.columns)]
        found = {"intercept": np.ones(len(units))} if self.design.intercept else {}
        return found | {column.name: values for column, values in zip(self.design.columns, columns, strict=True)}

    def __str__(self) -> str:
        rows = [("parameter", "prior on the scale of the table")]
        deviations = {
            self.likelihood.coefficient(deviation(group, label), which)
            for group, labels in self.likelihood.groups.items()
            for label in labels
            for which in self.likelihood.predictors
        }
        rows += [(name, str(prior)) for name, prior in self.original_priors.items() if name not in deviations]
        rows += [(f"1|{group}", f"N(0, sigma²), {len(of)} groups") for group, of in self.likelihood.groups.items()]
        width = max(len(name) for name, _ in rows)
        return "\n".join([f"{self.formula}, {self._family.name}", *(f"{a:<{width}}  {b}" for a, b in rows)])


def regression(
    formula: str,
    schema: Schema,
    family: str = "gaussian",
    *,
    priors: Mapping[str, Normal] | None = None,
    offset: str | None = None,
    weights: str | None = None,
    **settings: Any,
) -> FormulaRegression:
    """A Bayesian regression from a formula, over a table that ``schema`` declares.

        model = dp.regression("visits ~ age + plan + age:income", schema, family="poisson")
        release = dp.sample(model, model.encode("visits.csv"), epsilon=1.0, delta=1e-6)
        print(model.on_original_scale(release))

    - ``formula``: ``a + b``, ``a:b``, ``a*b``, ``(a + b)**2``, ``- 1`` or ``0 +`` for no intercept, ``C(plan)``, and
      log, log1p, log2, log10, sqrt, exp and expm1 of a declared number. Categories are contrasts against the declared
      reference, ordered levels against the first, booleans against false; dates count as days since their first bound.
      ``(1|school)`` is an intercept for each level of a declared category, N(0, sigma²) around the common one;
    - ``family``: "gaussian", "student-t", "bernoulli", "ordinal", "categorical", "poisson" or "negative binomial";
    - ``priors``: ``dp.Normal(mean, std)`` on the scale of the table, for some of the coefficients or terms by name
      (``print(model)`` shows all). That of "intercept" is for the linear predictor where numbers are at the centre of
      their bounds and categories at their reference. Usual: N(0, 2.5²) for half the declared range of each column,
      in units of half the outcome's range if it is a number; for "log_sigma" N(−1, 1.5²) in these units;
    - ``offset``: a declared number, or a function of one such as "log(years)", that is added to the linear predictor;
    - ``weights``: a declared number, not negative, by which the log likelihood of its record is multiplied;
    - ``settings`` of a family: ``sigma=``, known noise of "gaussian"; ``df=``, degrees of freedom of "student-t" (4).

    Guarantee: nothing is learnt from records; all follows from what is public. See :class:`FormulaRegression`.
    """
    if priors is not None:
        instance("priors", priors, Mapping, "a mapping of names to dp.Normal(mean, std)")
    return FormulaRegression(formula, schema, family, dict(priors or {}), offset, weights, settings)
