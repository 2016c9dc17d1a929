"""Variational inference that knows its noise: a linear model of the gradients that were released along the way.

An own version of the idea of Alrawajfeh, Jälkö & Honkela (2025): near the optimum the gradient of the log posterior is
linear, g(θ) = b − Aθ, so a Bayesian linear regression of the released gradients on the points they were taken at gives
b and A with their uncertainty, and with them draws of the posterior that include the noise.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from dpmcmc.privacy import gaussian
from dpmcmc_experiments.trust.base import Problem, size_of
from dpmcmc_experiments.trust.density import density
from dpmcmc_experiments.trust.harness import Answer

STEPS, SIMULATED = 200, 4000
LEAST_CLIP, RADII = 2.0, 60  # in root mean squares of a simulated record's gradient; how many are tried
LAST_RATE, FARTHEST, REACH = 0.1, 0.5, 30.0
LONG, SHORTENED = 0.5, 0.3  # shares of the steps: of full length, and ever shorter
MEMORY = 0.95  # of squared gradients: those of the first steps must not shorten all later ones
REGRESSED = 0.4  # share of the steps, the last ones, that the linear model is fitted to
CURVATURE_STD = 0.3  # of the prior of A in spectral norm, about, relative to what simulated records say
LEAST_CURVATURE = 0.1
DRAWS = 4000


def noise_aware(problem: Problem, records: Any, epsilon: float, delta: float, seed: int) -> Answer:
    """Draws of N(A⁻¹b, A⁻¹) over what the trace of gradients says of b and A.

    Guarantee: ``STEPS`` Gaussian sums of clipped gradients, one Gaussian release altogether, under substitution. The
    coordinates come from records that the model simulates at its start.
    """
    n, made = size_of(records), density(problem)
    root = public_root(problem, n)
    mu = gaussian.gaussian_mu_limit(epsilon, delta)
    clip = public_clip(public_scores(problem, made.start) @ root, n, mu)
    with jax.enable_x64(True):
        points, gradients, std = _trace(problem, records, root, clip, mu, seed)
    used = slice(int(STEPS * (1 - REGRESSED)), None)
    guess = root.T @ public_precision(problem, n, made.start + root @ points[used].mean(axis=0)) @ root
    draws = posterior_draws(np.random.default_rng(seed), points[used], gradients[used], std, guess)
    return Answer.of_draws(made.start + draws @ root.T)


def public_scores(problem: Problem, theta: np.ndarray) -> np.ndarray:
    """Gradients of ``SIMULATED`` records that the model simulates at ``theta``, there."""
    made = density(problem)
    with jax.enable_x64(True):
        simulated = problem.model.simulate(jax.random.key(0), made.unravel(jnp.asarray(theta)), SIMULATED)
    return made.scores(theta, jax.tree.map(np.asarray, simulated))


def public_precision(problem: Problem, n: int, theta: np.ndarray) -> np.ndarray:
    """The posterior's precision for ``n`` records like those that the model simulates at ``theta``."""
    made, scores = density(problem), public_scores(problem, theta)
    with jax.enable_x64(True):
        prior = -jax.hessian(lambda t: problem.model.log_prior(made.unravel(t)))(jnp.asarray(theta))
    return n * scores.T @ scores / SIMULATED + np.asarray(prior)


def public_clip(whitened: np.ndarray, n: int, mu: float) -> float:
    """The radius with the least error of the optimum: noise of the steps used, and what clipping takes away.

    By whitened gradients of simulated records, in posterior standard deviations, for ``n`` records. At least
    ``LEAST_CLIP``: the start may be a place where gradients are alike, as those of 0/1 outcomes with even odds.
    """
    norms = np.linalg.norm(whitened, axis=1)
    least = LEAST_CLIP * np.sqrt(np.mean(norms**2))
    radii = np.geomspace(least, max(least, norms.max()), RADII)
    away = [whitened.T @ (1 - np.minimum(1.0, radius / np.maximum(norms, 1e-300))) for radius in radii]
    bias = n / len(norms) * np.linalg.norm(away, axis=1)
    noise = np.sqrt(whitened.shape[1] / REGRESSED) * 2 * radii / mu
    return float(radii[np.argmin(noise**2 + bias**2)])


def public_root(problem: Problem, n: int) -> np.ndarray:
    """A root of the posterior's covariance, by records that the model simulates at its start."""
    values, axes = np.linalg.eigh(public_precision(problem, n, density(problem).start))
    return axes / np.sqrt(np.maximum(values, 1e-9 * values[-1]))


def rates(n: int) -> optax.Schedule:
    """Steps of Adam: long ones at first, to come near from anywhere, then ever shorter, then the last, short ones.

    In posterior standard deviations: what a prior leaves open is about √``n`` of them wide.
    """
    far = max(min(FARTHEST, REACH / STEPS) * np.sqrt(n), LAST_RATE)
    shorter = optax.exponential_decay(far, int(STEPS * SHORTENED), LAST_RATE / far, end_value=LAST_RATE)
    return optax.join_schedules([optax.constant_schedule(far), shorter], [int(STEPS * LONG)])


def _trace(
    problem: Problem, records: Any, root: np.ndarray, clip: float, mu: float, seed: int
) -> tuple[np.ndarray, np.ndarray, float]:
    """Points φ, noisy gradients of the log posterior there and their noise; θ = start + root·φ."""
    model, made, n = problem.model, density(problem), size_of(records)
    held = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float64), records)
    start, scale, size = jnp.asarray(made.start), jnp.asarray(root), root.shape[1]
    std = 2 * clip * np.sqrt(STEPS) / mu
    adam = optax.adam(rates(n), b2=MEMORY)

    def record_gradient(phi: Any, record: Any) -> Any:
        return jax.grad(lambda p: model.log_likelihood(made.unravel(start + scale @ p), record))(phi)

    def step(carry: Any, key: Any) -> Any:
        mean, state = carry
        noise_key, point_key = jax.random.split(key)
        point = mean + jax.random.normal(point_key, (size,))
        each = jax.vmap(record_gradient, (None, 0))(point, held)
        norms = jnp.linalg.norm(each, axis=1, keepdims=True)
        total = jnp.sum(each * jnp.minimum(1.0, clip / jnp.maximum(norms, 1e-300)), axis=0)
        prior = jax.grad(lambda p: model.log_prior(made.unravel(start + scale @ p)))(point)
        gradient = total + std * jax.random.normal(noise_key, (size,)) + prior
        update, state = adam.update(-gradient, state)
        return (mean + update, state), (point, gradient)

    mean = jnp.zeros(size)
    keys = jax.random.split(jax.random.key(seed), STEPS)
    _, (points, gradients) = jax.jit(lambda keys: jax.lax.scan(step, (mean, adam.init(mean)), keys))(keys)
    return np.asarray(points), np.asarray(gradients), float(std)


def posterior_draws(
    rng: np.random.Generator, points: np.ndarray, gradients: np.ndarray, std: float, guess: np.ndarray
) -> np.ndarray:
    """Draws of N(m, A⁻¹), (m, A) from the regression of gradients on points: g = A(m − φ) + noise of ``std``.

    In coordinates where the public ``guess`` of A is I, A has the prior N(I, ``CURVATURE_STD``²/d) entry by entry;
    the intercept is flat. Curvatures below ``LEAST_CURVATURE`` of the guess are moved up to it.
    """
    lower = np.linalg.cholesky(guess)
    points, gradients = points @ lower, np.linalg.solve(lower, gradients.T).T
    return np.linalg.solve(lower.T, _standard_draws(rng, points, gradients, std * np.linalg.inv(lower)).T).T


def _standard_draws(
    rng: np.random.Generator, points: np.ndarray, gradients: np.ndarray, noise_root: np.ndarray
) -> np.ndarray:
    """The same where the guess is I and the noise has the covariance root·rootᵀ, taken as equal in all directions."""
    std = float(np.sqrt(np.mean(noise_root**2) * len(noise_root)))
    size, centre = points.shape[1], points.mean(axis=0)
    design = np.column_stack([np.ones(len(points)), -(points - centre)])
    precision = design.T @ design / std**2
    known = np.eye(size) * size / CURVATURE_STD**2
    precision[1:, 1:] += known
    weighted = design.T @ gradients / std**2
    weighted[1:] += known
    mean = np.linalg.solve(precision, weighted)  # (1 + d, d): a column for each entry of the gradient
    lower = np.linalg.cholesky(precision)
    found = np.empty((DRAWS, size))
    for draw in range(DRAWS):
        drawn = mean + np.linalg.solve(lower.T, rng.standard_normal(mean.shape))
        curvature = (drawn[1:] + drawn[1:].T) / 2
        values, axes = np.linalg.eigh(curvature)
        values = np.maximum(values, LEAST_CURVATURE)
        optimum = centre + axes @ ((axes.T @ drawn[0]) / values)
        found[draw] = optimum + axes @ (rng.standard_normal(size) / np.sqrt(values))
    return found
