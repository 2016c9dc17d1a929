"""Problems with structure: intercepts of groups that share a spread, and mixtures with two modes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import dpmcmc as dp
from dpmcmc_experiments.trust.base import Problem
from dpmcmc_experiments.trust.synthetic import bernoulli

SLOPE_STD = 2.5
LOG_TAU_PRIOR = (-0.5, 0.75)
SLOPES = np.array([1.0, -0.5])
FIRST_GROUP = 2 + len(SLOPES)  # of the raveled parameters: intercept, log τ and slopes come first


def scaled_group(group: Any, groups: int) -> Any:
    """0 … groups − 1 as numbers within [−1, 1], as for any covariate."""
    return 2.0 * group / (groups - 1) - 1.0


def group_of(scaled: Any, groups: int) -> Any:
    """The group whose number is nearest."""
    return jnp.clip(jnp.round((scaled + 1.0) * (groups - 1) / 2.0), 0, groups - 1).astype(int)


def grouped_logistic(groups: int, slopes: int) -> Any:
    """logit P(y = 1) = intercept + x·slopes + τ z_g, with z_g ~ N(0, 1); the last covariate is the group."""
    tau_mean, tau_std = LOG_TAU_PRIOR
    init = {"intercept": 0.0, "slopes": np.zeros(slopes), "log_tau": tau_mean, "z": np.zeros(groups)}

    def logit(theta: dict[str, Any], x: Any) -> Any:
        effect = jnp.exp(theta["log_tau"]) * theta["z"][group_of(x[..., -1], groups)]
        return theta["intercept"] + x[..., :-1] @ theta["slopes"] + effect

    def log_prior(theta: dict[str, Any]) -> Any:
        coefficients = (theta["intercept"] ** 2 + jnp.sum(theta["slopes"] ** 2)) / SLOPE_STD**2
        spread = ((theta["log_tau"] - tau_mean) / tau_std) ** 2
        return -0.5 * (coefficients + spread + jnp.sum(theta["z"] ** 2))

    def log_likelihood(theta: dict[str, Any], record: dict[str, Any]) -> Any:
        eta = logit(theta, record["x"])
        return record["y"] * eta - jnp.logaddexp(0.0, eta)

    def sample_prior(key: Any) -> dict[str, Any]:
        a, b, c, d = jax.random.split(key, 4)
        return {
            "intercept": SLOPE_STD * jax.random.normal(a),
            "slopes": SLOPE_STD * jax.random.normal(b, (slopes,)),
            "log_tau": tau_mean + tau_std * jax.random.normal(c),
            "z": jax.random.normal(d, (groups,)),
        }

    def simulate_given(key: Any, theta: dict[str, Any], x: Any) -> dict[str, Any]:
        x = jnp.asarray(x, float)
        y = jax.random.bernoulli(key, jax.nn.sigmoid(logit(theta, x)))
        return {"x": x, "y": y.astype(x.dtype)}

    def simulate(key: Any, theta: dict[str, Any], n: int) -> dict[str, Any]:
        x_key, group_key, y_key = jax.random.split(key, 3)
        x = jax.random.uniform(x_key, (n, slopes), minval=-1.0, maxval=1.0)
        group = scaled_group(jax.random.randint(group_key, (n, 1), 0, groups), groups)
        return simulate_given(y_key, theta, jnp.concatenate([x, group], axis=1))

    return dp.Model(
        log_prior=log_prior,
        log_likelihood=log_likelihood,
        init=init,
        simulate=simulate,
        sample_prior=sample_prior,
        covariates=lambda record: record["x"],
        simulate_given=simulate_given,
        levels=(*(0,) * slopes, groups),
    )


def _grouped(name: str, about: str, n: int, shares: np.ndarray, log_tau: float) -> Problem:
    groups, slopes = len(shares), SLOPES

    def make(model: Any, rng: np.random.Generator, folder: Path | None) -> tuple[Any, dict[str, Any]]:
        z, intercept = rng.standard_normal(groups), -0.5
        x, group = rng.uniform(-1, 1, (n, len(slopes))), rng.choice(groups, n, p=shares / shares.sum())
        y = bernoulli(rng, intercept + x @ slopes + np.exp(log_tau) * z[group])
        theta = {"intercept": intercept, "slopes": slopes, "log_tau": log_tau, "z": z}
        return {"x": np.column_stack([x, scaled_group(group, groups)]), "y": y}, theta

    def made() -> Any:
        return grouped_logistic(groups, len(slopes))

    return Problem(f"grouped-{name}", "hierarchical", about, made, make, from_model=True, warp=from_intercepts)


def from_intercepts(flat: Any) -> Any:
    """Raveled (intercept, log τ, slopes, z) from the same with the groups' own intercepts in place of z."""
    own = flat[FIRST_GROUP:]
    return jnp.concatenate([flat[:FIRST_GROUP], (own - flat[0]) / jnp.exp(flat[1])])


def _mixture(name: str, about: str, n: int, theta: tuple[float, float]) -> Problem:
    """Records of the mixture; the mirror image (θ₁ + θ₂, −θ₂) of the parameters has the same law: two modes."""

    def make(model: Any, rng: np.random.Generator, folder: Path | None) -> tuple[Any, np.ndarray]:
        centre = theta[0] + theta[1] * (rng.random(n) < 0.5)
        return centre + np.sqrt(model.variance) * rng.standard_normal(n), np.array(theta)

    starts = (theta, (theta[0] + theta[1], -theta[1]))
    return Problem(f"mixture-{name}", "mixture", about, dp.models.TiedMixture, make, from_model=True, starts=starts)


def problems() -> list[Problem]:
    return [
        _grouped("8", "8 groups of 2500", 20_000, np.ones(8), -0.5),
        _grouped("20", "20 groups of very different size", 10_000, 1.0 / np.arange(1, 21), -0.7),
        _grouped("same", "10 groups that hardly differ", 5000, np.ones(10), -2.5),
        _mixture("near", "overlapping components, 2000 records", 2000, (0.0, 1.0)),
        _mixture("far", "separate components, 20 000 records", 20_000, (-1.0, 2.5)),
    ]
