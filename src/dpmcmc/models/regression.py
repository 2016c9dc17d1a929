"""What the regressions share: bounded covariates, normal priors, a linear predictor, offsets, weights and groups."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpmcmc.arguments import one_of, positive, text
from dpmcmc.models.covariates import Bounds, Covariates
from dpmcmc.models.groups import (
    Labels,
    any_groups,
    check_groups,
    effects,
    encode_groups,
    from_unit,
    group_priors,
)
from dpmcmc.models.priors import NormalPriors
from dpmcmc.models.priors import Theta as Theta
from dpmcmc.models.public_rows import Predicted
from dpmcmc.records import check_columns, check_lengths, numeric

Record = dict[str, Array]
MOST_LOG_SPREAD = 20.0  # of groups: continued linearly so that nothing overflows


@dataclass(frozen=True, kw_only=True)
class BesideTerms:
    """What every regression can be told beside its terms; fields that are given by name.

    - ``offset``: the covariate that is added to η as it is, without a coefficient (on the outcome's own scale, if it
      is a number). The intercept is for where it is at the centre of its bounds;
    - ``weights``: the covariate by which the log likelihood of its record is multiplied; its bounds are not negative.
      The most that a record can do is bounded as without: vectors of one record are clipped after they are weighted;
    - ``groups``: names of columns, each with all its labels. η has an intercept for each, N(0, τ²) around the common
      one; the parameters are log τ (``1|school_log_sigma``, N(−1, 1)) and standardised deviations (``1|school_z[a]``).
    """

    offset: str | None = None
    weights: str | None = None
    groups: Mapping[str, Labels] = field(default_factory=dict, hash=False)


class Regression(BesideTerms, NormalPriors, Predicted):
    """An outcome y whose law depends on bounded covariates x through η = θ₀ + x·θ.

    A record is ``{"x": covariates, "y": outcome}``. Each covariate is scaled by its *declared* bounds to [−1, 1] and
    values outside are moved to the bounds, so nothing is learnt from the records by the scaling. Coefficients are for
    the scaled covariates, the first is the intercept; their prior is N(0, ``prior_std``²) each.

    A family is a frozen dataclass with the three fields below that says what an outcome is, its log density given η,
    how to draw it and what to expect. The law of the covariates is no part of it.

    The covariates of a record are those with coefficients, then offset, weight, and codes of groups.
    """

    bounds: Mapping[str, Bounds]
    prior_std: float
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        check_groups(self.groups)
        if not (self.groups and self.bounds == {}):
            Covariates(self.bounds)
        self._check_roles()
        positive("prior_std", self.prior_std)
        for name in ("intercept", *self.shape_priors, *group_priors(self.groups)):
            if name in self.bounds:
                raise ValueError(f"a covariate cannot be called {name!r}, a parameter of the model: rename the column")
        object.__setattr__(self, "names", tuple(self.priors))
        each = 1 + len(self.terms) + len(group_priors(self.groups))
        if len(self.names) < each * len(self.predictors) + len(self.shape_priors):
            raise ValueError(f"two parameters have the same name; rename a column or a level: {', '.join(self.names)}")

    def _check_roles(self) -> None:
        for role in ("offset", "weights"):
            name = getattr(self, role)
            if name is not None:
                one_of(role, name, tuple(self.bounds), "it is the name of one of the covariates in bounds")
        if self.offset is not None and self.offset == self.weights:
            raise ValueError(f"offset and weights are both {self.offset!r}: a covariate is one of them")
        if self.weights is not None and self.bounds[self.weights][0] < 0:
            raise ValueError(
                f"weights={self.weights!r} has bounds {self.bounds[self.weights]}: weights are not negative, declare a "
                "lower bound of at least 0"
            )
        twice = [name for name in self.groups if name in self.bounds]
        if twice:
            raise ValueError(f"{twice[0]!r} is in bounds and in groups: a column is a covariate or a group")

    @property
    def terms(self) -> tuple[str, ...]:
        """The covariates that have coefficients."""
        return tuple(name for name in self.bounds if name not in (self.offset, self.weights))

    @property
    def numbers(self) -> dict[str, Bounds]:
        """The covariates but for groups, in the order of records, with their bounds."""
        order = (*self.terms, *(name for name in (self.offset, self.weights) if name is not None))
        return {name: self.bounds[name] for name in order}

    @property
    def levels(self) -> tuple[int, ...]:
        """How many labels each group has, 0 for other covariates."""
        return (*(0,) * len(self.numbers), *map(len, self.groups.values()))

    @property
    def predictors(self) -> tuple[str, ...]:
        """What tells linear predictors apart, where there are several."""
        return ("",)

    def coefficient(self, name: str, predictor: str) -> str:
        """The name of a coefficient in one of several predictors: ``age[b]``, ``plan[full, b]``."""
        if not predictor:
            return name
        return f"{name[:-1]}, {predictor}]" if name.endswith("]") else f"{name}[{predictor}]"

    @property
    def shape_priors(self) -> dict[str, tuple[float, float]]:
        """Mean and standard deviation of the normal prior of each parameter beside predictors' ones."""
        return {}

    @property
    def intercept_mean(self) -> float:
        """The mean of the intercept's prior."""
        return 0.0

    @property
    def priors(self) -> dict[str, tuple[float, float]]:
        """Mean and standard deviation of each parameter's normal prior."""
        std = float(self.prior_std)
        each = {"intercept": (self.intercept_mean, std)} | dict.fromkeys(self.terms, (0.0, std))
        each |= group_priors(self.groups)
        of = {self.coefficient(name, one): prior for one in self.predictors for name, prior in each.items()}
        return of | self.shape_priors

    def predictor(self, theta: Theta, x: Array) -> Array:
        """η = θ₀ + x·θ, with offset and effects of groups, of one row of covariates or of many."""
        return self.one_predictor(theta, x, self.predictors[0])

    def one_predictor(self, theta: Theta, x: Array, which: str) -> Array:
        """That of several predictors."""

        def own(name: str) -> Array:
            return theta[self.coefficient(name, which)]

        eta: Array = own("intercept") + self._offset(x)
        if self.terms:
            eta = eta + x[..., : len(self.terms)] @ jnp.stack([own(name) for name in self.terms])
        for at, (group, labels) in enumerate(self.groups.items(), start=len(self.numbers)):
            each = effects(own, group, labels, lambda log_tau: exp_to(log_tau, MOST_LOG_SPREAD))
            eta = eta + each[from_unit(x[..., at], len(labels))]
        return eta

    def _offset(self, x: Array) -> Any:
        """The offset from the centre of its bounds, on the scale of η."""
        if self.offset is None:
            return 0.0
        low, high = self.bounds[self.offset]
        return x[..., len(self.terms)] * ((high - low) / 2 / self.outcome_scale[1])

    def weight(self, record: Record) -> Any:
        """What the log likelihood of a record is multiplied by."""
        if self.weights is None:
            return 1.0
        low, high = self.bounds[self.weights]
        return jnp.clip((high + low) / 2 + (high - low) / 2 * record["x"][len(self.numbers) - 1], low, high)

    @property
    def outcome_scale(self) -> Bounds:
        """Centre and half-range by which an outcome that is a number is scaled to [−1, 1]; (0, 1) for others."""
        return 0.0, 1.0

    def encode(self, table: Any, outcome: str) -> dict[str, np.ndarray]:
        """Records for this model from the columns of a table (a data frame or a mapping of arrays).

        Missing values stay NaN, which :func:`dpmcmc.sample` refuses.
        """
        table = check_columns(table, (*self.bounds, *self.groups, text("outcome", outcome)))
        columns = [Covariates(self.numbers).encode(table)] if self.numbers else []
        columns += [codes[:, None] for codes in encode_groups(self.groups, table)]
        y = self.read_outcome(table, outcome)
        check_lengths({"covariates": len(columns[0]), outcome: len(y)} if columns else {outcome: len(y)})
        return {"x": np.concatenate(columns, axis=1), "y": y}

    def read_outcome(self, table: Any, name: str) -> np.ndarray:
        """Outcomes from a column of a table."""
        return self.encode_outcome(numeric(table, (name,))[name], name)

    def covariates(self, record: Record) -> Array:
        """The part of a record whose law the model does not state."""
        return record["x"]

    def response(self, record: Record) -> Array:
        """The outcome within [−1, 1]."""
        return self.outcome_to_unit(record["y"])

    def respond(self, x: Array, responses: Array) -> Record:
        """Records with the rows of ``x`` and these outcomes within [−1, 1]."""
        x = jnp.asarray(x, float)
        return {"x": x, "y": self.outcome_from_unit(jnp.asarray(responses, x.dtype))}

    def outcome_to_unit(self, y: Array) -> Array:
        """An outcome as a number within [−1, 1]: as it is, if it is one."""
        return y

    def outcome_from_unit(self, unit: Array) -> Array:
        """The outcome that has that number."""
        return unit

    def simulate(self, key: Array, theta: Theta, n: int) -> Record:
        """n records from public knowledge only: covariates within the declared bounds, or at them, and any groups."""
        x_key, y_key = jax.random.split(key)
        columns = [Covariates(self.numbers).anywhere(x_key, n)] if self.numbers else []
        columns += [codes[:, None] for codes in any_groups(self.groups, jax.random.fold_in(x_key, 1), n)]
        return self.simulate_given(y_key, theta, jnp.concatenate(columns, axis=1))

    def simulate_given(self, key: Array, theta: Theta, x: Array) -> Record:
        """Records with the rows of ``x`` for covariates, and outcomes of the model."""
        x = jnp.asarray(x, float)
        return {"x": x, "y": self.draw_outcomes(key, theta, x).astype(x.dtype)}

    def draw_outcomes(self, key: Array, theta: Theta, x: Array) -> Array:
        """One outcome for each row of ``x``."""
        return self.draw(key, theta, self.predictor(theta, x))

    def log_likelihood(self, theta: Theta, record: Record) -> Array:
        """Log density of the outcome given the covariates, times the record's weight."""
        density: Array = self.weight(record) * self.log_density(theta, self.predictor(theta, record["x"]), record["y"])
        return density

    def predictor_change(self, theta: Theta, theta_new: Theta) -> Array:
        """The most by which η of any record changes, as covariates lie in [−1, 1]: Σ|θ'ⱼ − θⱼ| + Σ max_g |Δ(τz_g)|."""
        moved = {name: theta_new[name].astype(jnp.float64) - theta[name] for name in self.names}
        most = jnp.sum(jnp.stack([jnp.abs(moved[name]) for name in ("intercept", *self.terms)]))
        for group, labels in self.groups.items():
            there, here = (
                effects(at.__getitem__, group, labels, lambda log_tau: exp_to(log_tau, MOST_LOG_SPREAD))
                for at in (theta_new, theta)
            )
            most = most + jnp.max(jnp.abs(there.astype(jnp.float64) - here))
        return most

    @property
    def heaviest(self) -> float:
        """The largest weight that a record can have."""
        return 1.0 if self.weights is None else float(self.bounds[self.weights][1])

    @property
    def classes(self) -> tuple[str, ...]:
        """The outcome's levels, where what is expected are their probabilities."""
        return ()

    def shown(self, coefficients: dict[str, Any], theta: Mapping[str, Any]) -> dict[str, Any]:
        """Coefficients on the scale of the table with what the family's other parameters are on it."""
        return coefficients

    @abstractmethod
    def log_density(self, theta: Theta, eta: Array, y: Array) -> Array:
        """Log density of one outcome given η, up to :meth:`log_constant`."""

    def log_constant(self, y: Array) -> Any:
        """What the log density of an outcome has beside, whatever the parameters."""
        return 0.0

    @abstractmethod
    def encode_outcome(self, values: np.ndarray, name: str) -> np.ndarray:
        """Outcomes as the log density takes them; what cannot be one raises, NaN stays NaN."""

    @abstractmethod
    def draw(self, key: Array, theta: Theta, eta: Array) -> Array:
        """One outcome for each η."""

    @abstractmethod
    def expected(self, theta: Theta, eta: Array) -> Array:
        """The mean of an outcome given η; for levels their probabilities, on one more axis."""


def exp_to(x: Array, limit: float) -> Array:
    """eˣ up to x = ``limit`` and its tangent beyond: convex and increasing everywhere, and never infinite."""
    return jnp.exp(jnp.minimum(x, limit)) * (1 + jnp.maximum(x - limit, 0))
