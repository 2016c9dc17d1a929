"""What draws say of public rows: expected outcomes and their changes, new outcomes, and how likely given ones are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy.special import logsumexp

from dpmcmc.models.priors import Theta

NUMBERS = 4_000_000  # that are computed at a time, to save memory
LOW, HIGH = 0.05, 0.95
COLUMNS = ["mean", "sd", "5%", "95%"]


class Predictions(ABC):
    """Predictions of a regression from draws of its parameters; how rows of a table are read is left open.

    All is post-processing of a release, and free; the rows are public: what is printed of private rows is not covered.
    """

    likelihood: Any  # the family's model, a Regression
    names: tuple[str, ...]

    @property
    @abstractmethod
    def outcome(self) -> str:
        """What the outcome is called."""

    @abstractmethod
    def rows_of(self, table: Any) -> np.ndarray:
        """Covariates in [−1, 1], one row for each of the table's."""

    @abstractmethod
    def with_outcomes(self, table: Any, **settings: Any) -> tuple[np.ndarray, np.ndarray]:
        """The same, and the outcomes."""

    @abstractmethod
    def rows_at(self, table: Any, name: str, pair: tuple[Any, Any]) -> list[np.ndarray]:
        """The same with one value of a column in all rows, and with another; what is no value of it is refused."""

    @abstractmethod
    def to_family(self, theta: Theta, x: Array) -> tuple[Theta, Array]:
        """Parameters as the family takes them, and η of rows of covariates."""

    @abstractmethod
    def sample_prior(self, key: Array) -> Theta: ...

    def draws_of(self, release: Any) -> dict[str, np.ndarray]:
        """Draws after warm-up, (chain, draw)."""
        if release.draws.keys() != set(self.names):
            raise ValueError(
                f"the release has the parameters {', '.join(release.draws)}, and the model {', '.join(self.names)}: "
                "give the model that was sampled"
            )
        return {name: release.draws[name][:, release.warmup :] for name in self.names}

    def predict(self, release: Any, table: Any) -> Any:
        """The expected outcome of each row of a public table: mean, sd and 90 % interval, as a data frame.

        The probability of the event, or the mean of a count or a number on its own scale; for an outcome with three or
        more levels the probability of each, in a row for each row and level. The table is read as that of the records
        is, and needs no outcome. Free post-processing.
        """
        import pandas as pd

        x = self.rows_of(table)
        (found,) = self.expected_at([self.draws_of(release)], x)
        if not self.likelihood.classes:
            return pd.DataFrame(found, columns=COLUMNS)
        index = pd.MultiIndex.from_product([range(len(x)), self.likelihood.classes], names=["row", self.outcome])
        return pd.DataFrame(found.reshape(-1, len(COLUMNS)), index, COLUMNS)

    def expected_at(self, several: Sequence[Mapping[str, np.ndarray]], x: np.ndarray) -> list[np.ndarray]:
        """Mean, sd and 90 % interval of the expected outcome, on the last axis, of rows of covariates in [−1, 1].

        One array for each of several sets of equally many draws, by one compiled program.
        """
        flat = [_flat(draws) for draws in several]
        theta = {name: np.concatenate([each[name] for each in flat]) for name in flat[0]}

        def each(values: np.ndarray) -> np.ndarray:
            return np.stack([_summary(part) for part in np.split(values, len(flat))], axis=1)

        return list(np.moveaxis(_by_rows(each, self._expected, theta, x), 1, 0))

    def posterior_predictive(self, release: Any, table: Any, seed: int = 0) -> np.ndarray:
        """Draws (draw, row) of a new outcome for each row of a public table, one for each draw of the release.

        Events are 0 and 1; levels are their positions in the column's ``labels``.
        """
        return self._drawn(_flat(self.draws_of(release)), table, seed)

    def prior_predictive(self, table: Any, draws: int = 1000, seed: int = 0) -> np.ndarray:
        """Outcomes (draw, row) of the rows of a public table with parameters drawn from the prior: is it sensible?

        Reads no record and needs no release.
        """
        with jax.enable_x64(True):
            keys = jax.random.split(jax.random.key(seed), draws)
            theta = jax.jit(jax.vmap(self.sample_prior))(keys)
        return self._drawn(jax.tree.map(np.asarray, theta), table, seed + 1)

    def marginal_effects(self, release: Any, table: Any, changes: Mapping[str, tuple[Any, Any]]) -> Any:
        """The average change of the expected outcome over the rows of a public table, if a column changed for all.

            model.marginal_effects(release, rows, {"age": (30, 60), "plan": ("free", "full")})

        Mean, sd and 90 % interval of each change, as a data frame; other columns stay as they are. For an outcome with
        three or more levels, of the probability of each.
        """
        import pandas as pd

        theta, rows = _flat(self.draws_of(release)), {}
        for name, pair in changes.items():
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise ValueError(f"the change of {name!r} must be two values, (before, after), got {pair!r}")
            ends = self.rows_at(table, name, (pair[0], pair[1]))
            least, most = (_by_rows(_total, self._expected, theta, x) for x in ends)
            change = np.sum(most - least, axis=0) / len(ends[0])
            for at, level in enumerate(self.likelihood.classes or ("",)):
                own = change[:, at] if self.likelihood.classes else change
                rows[f"{name}: {pair[0]} → {pair[1]}", level] = _summary(own[:, None])[0]
        index = pd.MultiIndex.from_tuples(rows, names=["change", self.outcome])
        found = pd.DataFrame(list(rows.values()), index, COLUMNS)
        return found if self.likelihood.classes else found.droplevel(1)

    def log_predictive_density(self, release: Any, table: Any, **settings: Any) -> np.ndarray:
        """log of the mean over draws of p(outcome | parameters), for each row of a public table with outcomes.

        On the scale of the table and with all constants, so that families and formulas can be compared by its sum over
        records that are public and were held out. Weights do not count. ``settings`` say how outcomes are read, where
        the model does not.
        """
        x, y = self.with_outcomes(table, **settings)

        def log_density(theta: Theta, rows: Array) -> Array:
            whole, eta = self.to_family(theta, rows[:, :-1])
            each = jax.vmap(self.likelihood.log_density, (None, 0, 0))(whole, eta, rows[:, -1])
            density: Array = (
                each + self.likelihood.log_constant(rows[:, -1]) - jnp.log(self.likelihood.outcome_scale[1])
            )
            return density

        def log_mean(values: np.ndarray) -> np.ndarray:
            mean: np.ndarray = np.asarray(logsumexp(values, axis=0)) - np.log(len(values))
            return mean

        rows = np.concatenate([x, y[:, None]], axis=1)
        return _by_rows(log_mean, log_density, _flat(self.draws_of(release)), rows)

    def _expected(self, theta: Theta, x: Array) -> Array:
        centre, half = self.likelihood.outcome_scale
        expected: Array = centre + half * self.likelihood.expected(*self.to_family(theta, x))
        return expected

    def _drawn(self, theta: Mapping[str, np.ndarray], table: Any, seed: int) -> np.ndarray:
        x = self.rows_of(table)
        centre, half = self.likelihood.outcome_scale

        def draw(key: Array, one: Theta, rows: Array) -> Array:
            drawn: Array = self.likelihood.draw(key, *self.to_family(one, rows))
            return drawn

        with jax.enable_x64(True):
            each = {name: jnp.asarray(values, jnp.float64) for name, values in theta.items()}
            keys = jax.random.split(jax.random.key(seed), len(next(iter(theta.values()))))
            drawn = jax.jit(jax.vmap(draw, (0, 0, None)))(keys, each, jnp.asarray(x))
        scaled: np.ndarray = centre + half * np.asarray(drawn, dtype=np.float64)
        return scaled


def _flat(draws: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: values.ravel() for name, values in draws.items()}


def _by_rows(
    reduce: Callable[[np.ndarray], np.ndarray],
    function: Callable[[Theta, Array], Array],
    theta: Mapping[str, np.ndarray],
    rows: np.ndarray,
) -> np.ndarray:
    """``reduce`` of what ``function`` gives for all draws, (draw, row, …), for as many rows at a time as memory has."""
    with jax.enable_x64(True):
        each = {name: jnp.asarray(values, jnp.float64) for name, values in theta.items()}
        compiled = jax.jit(jax.vmap(function, (0, None)))
        size = max(NUMBERS // len(next(iter(theta.values()))), 1)
        blocks = [rows[first : first + size] for first in range(0, len(rows), size)]
        return np.concatenate([reduce(np.asarray(compiled(each, jnp.asarray(block)))) for block in blocks])


def _summary(values: np.ndarray) -> np.ndarray:
    """Mean, sd and ends of the interval over draws (draw, …), on the last axis."""
    low, high = np.quantile(values, [LOW, HIGH], axis=0)
    return np.stack([values.mean(axis=0), values.std(axis=0), low, high], axis=-1)


def _total(values: np.ndarray) -> np.ndarray:
    """The sum over rows of (draw, row, …), as one block."""
    total: np.ndarray = values.sum(axis=1)[None]
    return total
