"""The one place where a score release reads records: noisy counts and sums, each paid for before it is made."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpmcmc.isolation import NotIsolated
from dpmcmc.mechanisms.counts import Histograms, weighted_counts
from dpmcmc.mechanisms.gaussian_sum import GaussianSum, whole_total
from dpmcmc.mechanisms.totals import Program, noisy_total
from dpmcmc.models.base import PyTree, has, model_name
from dpmcmc.posterior import Posterior
from dpmcmc.privacy import GaussianFilter, Spending
from dpmcmc.raveled import RaveledModel
from dpmcmc.scores.vectors import Arguments, Vectors, curvatures, described
from dpmcmc.sources import counted_of, like


class Noisy(NamedTuple):
    """Sums or counts, and the standard deviation of the noise of each."""

    values: np.ndarray
    std: float

    def averaged(self, again: Noisy) -> Noisy:
        """The average with another release of the same, weighed by precision."""
        weight = again.std**2 / (self.std**2 + again.std**2)
        std = self.std * again.std / np.hypot(self.std, again.std)
        return Noisy(weight * self.values + (1 - weight) * again.values, float(std))


class Reader:
    """Records that give nothing but noisy sums, as long as the filter allows.

    Every method takes a ``share`` of μ², pays for it and then reads the records; all arguments are public.

    Guarantee: Gaussian releases under ``rule``, whatever is asked and however it depends on earlier answers.
    Reference: docs/theory/filter.md, docs/theory/gaussian-sums.md.
    """

    def __init__(self, model: RaveledModel, posterior: Posterior, rule: GaussianFilter, keys: np.ndarray) -> None:
        if len(keys) < rule.most_releases:
            raise ValueError(f"{rule.most_releases} releases need as many keys, got {len(keys)}")
        self.model, self.every = model, 1
        self._n, self._records, self._keys, self._spending = posterior.n, posterior.records, keys, Spending(rule)

    def __reduce__(self) -> Any:
        raise TypeError("a Reader holds private records and the keys of their noise, and cannot be copied or pickled")

    @property
    def n(self) -> int:
        """How many records are read: all, or those of ``every`` so manieth block."""
        return counted_of(self._n, self.types, self.every)

    @property
    def types(self) -> PyTree:
        """Shapes and types of one record: public."""
        return self._records.types

    @property
    def mu(self) -> float:
        """What all releases have together."""
        return self._spending.rule.mu

    @property
    def relation(self) -> str:
        """The neighbouring relation under which they have it."""
        return self._spending.rule.relation

    @property
    def noise(self) -> float:
        """Of a sum that took all of μ², in clips."""
        return self._spending.rule.noise

    @property
    def left(self) -> float:
        """The share of μ² that is left."""
        return self._spending.left / self.mu**2

    def covariate_counts(self, edges: np.ndarray, share: float) -> Noisy:
        """Noisy counts (k, bins) of covariates and outcomes between inner ``edges`` (k, bins − 1)."""
        return self._counts(_covariate_bins(self.model), (), edges, share)

    def number_counts(self, vectors: Vectors, arguments: Arguments, edges: np.ndarray, share: float) -> Noisy:
        """Noisy counts (k, bins) of the numbers of vectors between inner ``edges`` (k, bins − 1); NaN as 0."""
        return self._counts(_number_bins(self.model, vectors), arguments, edges, share)

    def norm_counts(self, vectors: Vectors, arguments: Arguments, edges: np.ndarray, share: float) -> Noisy:
        """Noisy counts (1, bins) of the norms of vectors, up to each of the ``edges``; larger ones are in the last."""
        return self._counts(_norm_bins(self.model, vectors), arguments, edges[None, :-1], share)

    def total(self, vectors: Vectors, arguments: Arguments, clip: float, width: int, share: float) -> Noisy:
        """The noisy sum of vectors of ``width`` numbers, each clipped to norm ``clip`` and divided by it."""
        total = GaussianSum.of_multiplier(1.0, self._multiplier(share), self.relation)
        total.check_dimension(width)
        key = self._pay(total.noise_multiplier)
        asked = (*map(np.asarray, arguments), np.float64(1 / clip), total.bound, total.unit)
        values = noisy_total(self._records, _sum(self.model, vectors), asked, key, total.unit, self.every)
        return Noisy(values[:width], total.std)

    def _counts(self, program: Program, arguments: Any, edges: np.ndarray, share: float) -> Noisy:
        columns, bins = edges.shape[0], edges.shape[1] + 1
        table = Histograms.of_multiplier(columns, self._multiplier(share), self.relation)
        key = self._pay(table.noise_multiplier)
        asked = (*map(np.asarray, arguments), edges, table.weight)
        values = noisy_total(self._records, program, asked, key, 1 / table.weight, self.every)
        return Noisy(values.reshape(columns, bins), table.std)

    def _multiplier(self, share: float) -> float:
        return self._spending.multiplier(min(share / self.left, 1.0))

    def _pay(self, noise_multiplier: float) -> np.ndarray:
        self._spending.take(noise_multiplier)
        return self._keys[self._spending.releases - 1]


def check_smooth(model: RaveledModel, posterior: Posterior) -> None:
    """Refuse log likelihoods that cannot be differentiated twice, and what does not keep records apart, by the types of
    the records alone."""
    with jax.enable_x64(True):
        theta, few = jnp.zeros(model.dimension), like(posterior.types, 2)
        try:
            jax.eval_shape(lambda records: curvatures(model, (theta, jnp.eye(len(theta))), records), few)
            if has(model.model, "covariates"):
                jax.eval_shape(lambda records: described(model, records), few)
        except NotIsolated:
            raise
        except Exception as error:
            raise ValueError(
                f"the log likelihood of {model_name(model.model)} cannot be differentiated twice, which sums of scores "
                f"and curvatures need: {type(error).__name__}: {str(error).splitlines()[0]}. Give one of: a log "
                "likelihood of jax.numpy functions that has derivatives; dp.Model(..., simulate=f) and "
                "method=dp.LikelihoodRelease(), which needs none; or a chain, method=dp.dp_barker(step=..., clip=...)"
            ) from error


@lru_cache(maxsize=32)
def _covariate_bins(model: RaveledModel) -> Program:
    return _compiled_counts(lambda arguments, edges, records: _between(edges, described(model, records)))


@lru_cache(maxsize=32)
def _number_bins(model: RaveledModel, vectors: Vectors) -> Program:
    def bins(arguments: Any, edges: Array, records: PyTree) -> Array:
        rows = vectors(model, arguments, records)
        return _between(edges, jnp.where(jnp.isnan(rows), 0.0, rows))

    return _compiled_counts(bins)


@lru_cache(maxsize=32)
def _norm_bins(model: RaveledModel, vectors: Vectors) -> Program:
    def bins(arguments: Any, edges: Array, records: PyTree) -> Array:
        norms = jnp.linalg.norm(vectors(model, arguments, records), axis=1)
        return jnp.searchsorted(edges[0], jnp.where(jnp.isnan(norms), jnp.inf, norms))[:, None]

    return _compiled_counts(bins)


def _between(edges: Array, rows: Array) -> Array:
    return jax.vmap(lambda edge, column: jnp.searchsorted(edge, column, side="right"), (0, 1), 1)(edges, rows)


def _compiled_counts(bins_of: Callable[[Any, Array, PyTree], Array]) -> Program:
    """Counts between edges, which say how many columns and bins there are."""

    def run(block: PyTree, count: Array, asked: tuple[Any, ...]) -> Array:
        *arguments, edges, weight = asked
        shape = (edges.shape[0], edges.shape[1] + 1)
        return weighted_counts(block, lambda few: bins_of(tuple(arguments), edges, few), shape, weight, count)

    return Program(run)


@lru_cache(maxsize=32)
def _sum(model: RaveledModel, vectors: Vectors) -> Program:
    def run(block: PyTree, count: Array, asked: tuple[Any, ...]) -> Array:
        *arguments, scale, bound, unit = asked
        inner = (arguments[0], arguments[1])
        return whole_total(block, lambda few: vectors(model, inner, few) * scale, bound, unit, count)

    return Program(run)
