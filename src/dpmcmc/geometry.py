"""Public geometry of a model: what its posterior looks like before any record is read.

The Fisher information of one record, from records that the model itself simulates (or public records), gives
the scale of a proposal and the metric in which log ratios are clipped. Nothing here may see private records.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from dpmcmc.models.base import ModelLike, PyTree, model_name
from dpmcmc.posterior import start

_SIMULATED = 4096
_KEY = 0  # simulations of public things are repeatable


@dataclass(frozen=True)
class Geometry:
    """Fisher information of one record and precision of the prior, over the raveled parameters, at ``theta``."""

    theta: PyTree
    fisher: np.ndarray
    prior_precision: np.ndarray

    @property
    def dimension(self) -> int:
        return len(self.fisher)

    def posterior_root(self, records: float) -> np.ndarray:
        """A matrix A with A Aᵀ the covariance of the posterior of so many records (Laplace, at ``theta``)."""
        values, vectors = np.linalg.eigh(records * self.fisher + self.prior_precision)
        if not values[0] > 1e-12 * values[-1]:
            raise ValueError(
                "the model's Fisher information at init is singular: a combination of parameters has no effect on the "
                "simulated records and no prior; give a proper prior, another init, or a kernel of your own"
            )
        root: np.ndarray = vectors / np.sqrt(values)
        return root


def geometry(model: ModelLike, public_data: PyTree | None = None) -> Geometry:
    """The model's geometry at its starting point, from ``public_data`` or the model's own simulation."""
    check_simulates(model, public_data)
    simulate = getattr(model, "simulate", None)
    with jax.enable_x64(True):
        key = jax.random.key(_KEY)
        theta = start(model, key)
        records: Any = simulate(key, theta, _SIMULATED) if public_data is None else public_data  # type: ignore[misc]
        flat, unravel = ravel_pytree(theta)
        score = jax.grad(lambda raveled, record: model.log_likelihood(unravel(raveled), record))
        scores = np.asarray(jax.vmap(score, in_axes=(None, 0))(flat, records), np.float64)
        hessian = np.asarray(jax.hessian(lambda raveled: model.log_prior(unravel(raveled)))(flat), np.float64)
    if not (np.all(np.isfinite(scores)) and np.all(np.isfinite(hessian))):
        raise ValueError("the gradient of the log likelihood or of the log prior at init is not finite; move init")
    values, vectors = np.linalg.eigh(-(hessian + hessian.T) / 2)
    prior_precision = (vectors * np.maximum(values, 0)) @ vectors.T
    return Geometry(theta, scores.T @ scores / len(scores), prior_precision)


def check_simulates(model: ModelLike, public_data: PyTree | None) -> None:
    """Refuse models that nothing can be planned for without a kernel."""
    if public_data is None and getattr(model, "simulate", None) is None:
        raise ValueError(
            f"the default method needs simulated records, and {model_name(model)} has no simulate. Give one of: "
            "dp.Model(..., simulate=f) with f(key, theta, n) -> n records; "
            "method=dp.LikelihoodRelease(public_data=records_like_yours); or a chain, "
            "method=dp.dp_barker(step=..., clip=...), with a step and a clip chosen for your model"
        )
    check_real(model)


def check_real(model: ModelLike) -> None:
    """Refuse models with parameters that are not real numbers."""
    with jax.enable_x64(True):
        theta = start(model, jax.random.key(_KEY))
    if any(not jnp.issubdtype(leaf.dtype, jnp.floating) for leaf in jax.tree.leaves(theta)):
        raise TypeError(
            "the default method moves real parameters only; give a kernel with a proposal of your own, "
            "method=dp.Chain(dp.Kernel(proposal, acceptance))"
        )
