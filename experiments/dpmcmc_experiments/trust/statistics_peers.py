"""Noisy sufficient statistics with inference that knows the noise: linear regression, and logistic by a quadratic.

Both release sums of products of a record's bounded values once, with Gaussian noise for substitution of one record, and
alternate between the parameters given the statistics and the statistics given parameters and release. Own versions of
the ideas of Bernstein & Sheldon (2019) and of Kulkarni, Jälkö, Koskela, Kaski & Honkela (2021), for normal noise.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dpmcmc.privacy import gaussian
from dpmcmc_experiments.trust.base import Problem
from dpmcmc_experiments.trust.harness import Answer

ROUNDS, BURN_IN = 3000, 500
SIGMAS = np.linspace(-6.0, 2.0, 801)  # log σ on a mesh
QUADRATIC_RANGE = 4.0  # of y·η, where log(1/(1 + e^−s)) is replaced by a quadratic (Huggins, Adams & Broderick 2017)
LEAST = 1e-6  # of a mean square: noisy moments are moved to positive definite ones


def noisy_linear(problem: Problem, records: Any, epsilon: float, delta: float, seed: int) -> Answer:
    """Linear regression from noisy second moments of u = (1, x, y).

    Guarantee: with every |x| and |y| at most 1, ‖u‖² ≤ k + 2, and ‖uuᵀ − vvᵀ‖² = ‖u‖⁴ + ‖v‖⁴ − 2(u·v)² ≤ 2(k + 2)² in
    Frobenius norm: the sum of uuᵀ has sensitivity √2(k + 2) under substitution.
    """
    rng, model = np.random.default_rng(seed), problem.model
    x, y = np.asarray(records["x"], np.float64), np.clip(np.asarray(records["y"], np.float64), -1, 1)
    n, size = len(y), x.shape[1] + 2
    u = np.column_stack([np.ones(n), x, y])
    std = np.sqrt(2) * size / gaussian.gaussian_mu_limit(epsilon, delta)
    released = u.T @ u + symmetric_noise(rng, size, std)
    released[0, 0] = n  # the number of records is public
    rows, columns = np.triu_indices(size)
    rows, columns = rows[1:], columns[1:]  # all but the count
    variances = np.where(rows == columns, std**2, std**2 / 2)
    moments, prior = positive(released, n), model.priors
    means, stds = (np.array([prior[name][i] for name in model.names[:-1]]) for i in (0, 1))
    draws = np.empty((ROUNDS, size))
    log_sigma = -1.0
    for step in range(ROUNDS):
        beta = _normal_draw(rng, moments[:-1, :-1] / np.exp(2 * log_sigma) + np.diag(stds**-2),
                            moments[:-1, -1] / np.exp(2 * log_sigma) + means / stds**2)  # fmt: skip
        log_sigma = _draw_log_sigma(rng, moments, beta, n, prior["log_sigma"])
        law = _expected(_drawn_design(rng, moments[:-1, :-1] / n, n), beta, np.exp(log_sigma))
        expected, covariance = n * law[rows, columns], n * _product_covariance(law, rows, columns)
        gain = np.linalg.solve(covariance + np.diag(variances), covariance).T
        centre = expected + gain @ (released[rows, columns] - expected)
        spread = covariance - gain @ covariance
        found = centre + _root(spread) @ rng.standard_normal(len(rows))
        moments = np.zeros((size, size))
        moments[0, 0] = n
        moments[rows, columns] = moments[columns, rows] = found
        moments = positive(moments, n)
        draws[step] = [*beta, log_sigma]
    return Answer.of_draws(_in_order(draws[BURN_IN:], model.names))


def _draw_log_sigma(
    rng: np.random.Generator, moments: np.ndarray, beta: np.ndarray, n: int, prior: tuple[float, float]
) -> float:
    """log σ given coefficients and moments, from a mesh."""
    contrast = np.append(-beta, 1.0)
    squares = max(float(contrast @ moments @ contrast), LEAST * n)
    log = -n * SIGMAS - squares * np.exp(-2 * SIGMAS) / 2 - ((SIGMAS - prior[0]) / prior[1]) ** 2 / 2
    weights = np.exp(log - log.max())
    width = SIGMAS[1] - SIGMAS[0]
    return float(rng.choice(SIGMAS, p=weights / weights.sum()) + width * rng.uniform(-0.5, 0.5))


def _drawn_design(rng: np.random.Generator, design: np.ndarray, n: int) -> np.ndarray:
    """E[uuᵀ] of the covariates' law, u₀ = 1, given its average over ``n`` records: as of a normal law.

    Drawn, not taken as the average: otherwise sums would be pulled to those of the round before, and where the noise is
    larger than what varies between samples their variance would be halved.
    """
    mean = design[0, 1:]
    spread = positive(design[1:, 1:] - np.outer(mean, mean), 1)
    size, freedom = len(mean), max(n - 1, len(mean))
    wishart = np.tril(rng.standard_normal((size, size)), -1)
    wishart[np.diag_indices(size)] = np.sqrt(rng.chisquare(freedom - np.arange(size)))  # Bartlett
    root = np.sqrt(n) * np.linalg.solve(wishart, np.linalg.cholesky(spread).T).T
    covariance, drawn = root @ root.T, mean + root @ rng.standard_normal(size) / np.sqrt(n)
    return np.block([[np.ones((1, 1)), drawn[None]], [drawn[:, None], covariance + np.outer(drawn, drawn)]])


def _expected(design: np.ndarray, beta: np.ndarray, sigma: float) -> np.ndarray:
    """E[uuᵀ] of a record, covariates with second moments ``design``."""
    cross = design @ beta
    return np.block([[design, cross[:, None]], [cross[None], np.array([[beta @ cross + sigma**2]])]])


def _product_covariance(law: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Covariance of the products u_i u_j of a normal u with E[uuᵀ] = ``law`` and u₀ = 1 (Isserlis)."""
    mean = law[0]
    spread = law - np.outer(mean, mean)
    i, j, k, l = rows[:, None], columns[:, None], rows[None], columns[None]
    pairs = spread[i, k] * spread[j, l] + spread[i, l] * spread[j, k]
    pairs = pairs + mean[i] * mean[k] * spread[j, l] + mean[i] * mean[l] * spread[j, k]
    return pairs + mean[j] * mean[k] * spread[i, l] + mean[j] * mean[l] * spread[i, k]


def noisy_logistic(problem: Problem, records: Any, epsilon: float, delta: float, seed: int) -> Answer:
    """Logistic regression with a quadratic log likelihood, from noisy Σ ±u and Σ uuᵀ of u = (1, x).

    Guarantee: ‖u‖² ≤ k + 1 = D, so the first sum has sensitivity 2√D and the second √2·D under substitution. Each gets
    half of the budget's μ².
    """
    rng, model = np.random.default_rng(seed), problem.model
    x = np.asarray(records["x"], np.float64)
    u = np.column_stack([np.ones(len(x)), x])
    n, size = u.shape
    mu = gaussian.gaussian_mu_limit(epsilon, delta) / np.sqrt(2)
    sum_std = 2 * np.sqrt(size) / mu
    signed = u.T @ (2 * np.asarray(records["y"], np.float64) - 1) + sum_std * rng.standard_normal(size)
    products = u.T @ u + symmetric_noise(rng, size, np.sqrt(2) * size / mu)
    products[0, 0] = n
    slope, curvature = quadratic_coefficients()
    prior = np.eye(size) / model.prior_std**2
    draws, total = np.empty((ROUNDS, size)), signed
    for step in range(ROUNDS):
        noise = symmetric_noise(rng, size, np.sqrt(2) * size / mu)
        noise[0, 0] = 0.0
        design = positive(products - noise, n)  # what the sum may have been, given its release
        theta = _normal_draw(rng, 2 * curvature * design + prior, slope * total)
        # the likelihood's mode is at slope·total = 2·curvature·design·θ: the sum that these parameters foresee
        expected = 2 * curvature / slope * design @ theta
        covariance = design - np.outer(expected, expected) / n
        values, axes = np.linalg.eigh(covariance)
        covariance = (axes * np.maximum(values, LEAST * n)) @ axes.T
        gain = np.linalg.solve(covariance + sum_std**2 * np.eye(size), covariance).T
        total = expected + gain @ (signed - expected)
        total = total + _root(covariance - gain @ covariance) @ rng.standard_normal(size)
        draws[step] = theta
    return Answer.of_draws(_in_order(draws[BURN_IN:], model.names))


def quadratic_coefficients() -> tuple[float, float]:
    """a and c of log(1/(1 + e^−s)) ≈ const + a·s − c·s², by least squares on Chebyshev points."""
    s = QUADRATIC_RANGE * np.cos(np.pi * (np.arange(200) + 0.5) / 200)
    design = np.column_stack([np.ones(200), s, -(s**2)])
    _, slope, curvature = np.linalg.lstsq(design, -np.logaddexp(0, -s), rcond=None)[0]
    return float(slope), float(curvature)


def symmetric_noise(rng: np.random.Generator, size: int, std: float) -> np.ndarray:
    """Noise of ``std`` in every direction of the symmetric matrices with their Frobenius norm."""
    noise = rng.normal(0, std, (size, size))
    return (noise + noise.T) / 2


def positive(moments: np.ndarray, n: int) -> np.ndarray:
    """The nearest second moments of ``n`` records that are positive definite."""
    values, axes = np.linalg.eigh((moments + moments.T) / 2)
    return (axes * np.maximum(values, LEAST * n)) @ axes.T


def _root(covariance: np.ndarray) -> np.ndarray:
    values, axes = np.linalg.eigh((covariance + covariance.T) / 2)
    return axes * np.sqrt(np.maximum(values, 0))


def _normal_draw(rng: np.random.Generator, precision: np.ndarray, weighted: np.ndarray) -> np.ndarray:
    """A draw of N(precision⁻¹·weighted, precision⁻¹)."""
    lower = np.linalg.cholesky(precision)
    return np.linalg.solve(lower.T, np.linalg.solve(lower, weighted) + rng.standard_normal(len(weighted)))


def _in_order(draws: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
    """Columns as parameters are raveled: sorted by name."""
    return draws[:, np.argsort(names)]
