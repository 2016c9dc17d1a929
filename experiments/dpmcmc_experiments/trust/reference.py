"""The posterior without privacy: mode, curvature, and means and standard deviations by importance sampling.

Draws come from normals at the modes, in pairs of opposite sign (which makes the mean exact where the posterior is
normal), and are weighted with Pareto-smoothed weights (Vehtari, Simpson, Gelman, Yao & Gabry 2024). Where those are
heavy-tailed (k̂ above 0.7), draws of a wider t distribution are tried, then NUTS.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import logsumexp

from dpmcmc_experiments.figures import rng_of, seed_of
from dpmcmc_experiments.trust.base import Problem, size_of
from dpmcmc_experiments.trust.density import Density, density

RELIABLE = 0.7  # Pareto shape up to which importance sampling is trusted
EVALUATIONS, FEWEST_DRAWS, MOST_DRAWS = 1e8, 2000, 40_000  # of a record's density, and draws they pay for
NEWTON_STEPS, NEWTON_TOLERANCE = 200, 1e-10
HEAVY_DF, HEAVY_SCALE = 6.0, 1.2
NUTS_CHAINS, NUTS_WARMUP, NUTS_DRAWS = 2, 500, 2000


@dataclass(frozen=True)
class Exact:
    """What the records say without privacy; parameters raveled.

    ``mode`` and ``hessian`` (of minus the log posterior there) are of the highest mode, ``shape`` is the Pareto k̂ of
    the method in ``how``.
    """

    mode: np.ndarray
    hessian: np.ndarray
    mean: np.ndarray
    sd: np.ndarray
    shape: float
    how: str


def exact(problem: Problem, records: Any, folder: Path | None = None) -> Exact:
    """The posterior of ``records``; with a ``folder``, kept there and read from there."""
    if folder is None:
        return _found(problem, records)
    path = folder / f"{problem.name}-{fingerprint(problem, records)}.npz"
    if path.exists():
        with np.load(path, allow_pickle=False) as saved:
            arrays = {name: saved[name] for name in ("mode", "hessian", "mean", "sd")}
            return Exact(**arrays, shape=float(saved["shape"]), how=str(saved["how"]))
    found = _found(problem, records)
    folder.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + f".{seed_of(id(found)):x}.part")
    with part.open("wb") as file:
        np.savez(file, **vars(found))
    part.rename(path)
    return found


def fingerprint(problem: Problem, records: Any) -> str:
    """Changes with the records, and with the model's density at its start and beside it."""
    digest = blake2b(digest_size=8)
    for leaf in jax.tree.leaves(records):
        digest.update(np.ascontiguousarray(leaf).tobytes())
    made = density(problem)
    for offset in (0.0, 0.1):
        digest.update(f"{float(made.log_posterior(made.start + offset, records)):.9g}".encode())
    return digest.hexdigest()


def _found(problem: Problem, records: Any) -> Exact:
    made = density(problem)
    starts = [made.start, *(np.asarray(start, np.float64) for start in problem.starts)]
    modes = distinct([newton(made, records, start) for start in starts])
    count = int(np.clip(EVALUATIONS / size_of(records), FEWEST_DRAWS, MOST_DRAWS))
    best, shape = modes[0], np.inf
    if problem.warp is not None:
        warped = density(problem, True)
        around = [newton(warped, records, start) for start in starts]
        draws, log_weights = weighted_draws(warped, records, distinct(around), count, heavy=True)
        with jax.enable_x64(True):
            draws = np.asarray(jax.vmap(problem.warp)(jnp.asarray(draws)))
        mean, sd, shape = moments(draws, log_weights)
        if shape <= RELIABLE:
            return Exact(*best, mean, sd, shape, "importance, warped")
    for heavy in (False, True):
        if all(np.linalg.eigvalsh(hessian)[0] > 0 for _, hessian in modes):
            mean, sd, shape = moments(*weighted_draws(made, records, modes, count, heavy))
            if shape <= RELIABLE:
                return Exact(*best, mean, sd, shape, "importance, t" if heavy else "importance")
    mean, sd = nuts(made, records, *best)
    return Exact(*best, mean, sd, shape, "NUTS")


def newton(made: Density, records: Any, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A mode and the Hessian of minus the log posterior there; steps along |curvature|, halved until they climb."""
    theta, value = start, made.log_posterior(start, records)
    for _ in range(NEWTON_STEPS):
        gradient, hessian = made.gradient(theta, records), made.hessian(theta, records)
        values, axes = np.linalg.eigh(-hessian)
        curvature = np.maximum(np.abs(values), 1e-9 * np.abs(values).max())
        step = axes @ ((axes.T @ gradient) / curvature)
        if gradient @ step < NEWTON_TOLERANCE:
            return theta, -hessian
        for halving in range(40):
            trial = theta + step / 2**halving
            found = made.log_posterior(trial, records)
            if found >= value + 1e-4 * (gradient @ step) / 2**halving:
                break
        else:
            return theta, -hessian  # rounding: no step climbs any more
        theta, value = trial, found
    raise RuntimeError(f"no mode in {NEWTON_STEPS} Newton steps from {start}; decrement {gradient @ step:.3g}")


Mode = tuple[np.ndarray, np.ndarray]


def distinct(modes: Sequence[Mode]) -> list[Mode]:
    """Without repeats: modes a hundredth of a standard deviation apart are one."""
    kept: list[Mode] = []
    for mode, hessian in modes:
        if all((mode - other) @ hessian @ (mode - other) > 1e-4 for other, _ in kept):
            kept.append((mode, hessian))
    return kept


def weighted_draws(
    made: Density, records: Any, modes: Sequence[Mode], count: int, heavy: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Draws about the modes, each as often as its normal has weight, and their log weights in the posterior."""
    rng, size = rng_of("importance", heavy), len(modes[0][0])
    heights = np.array([made.log_posterior(mode, records) - np.linalg.slogdet(h)[1] / 2 for mode, h in modes])
    shares = np.exp(heights - logsumexp(heights))
    parts = []
    for (mode, hessian), share in zip(modes, shares, strict=True):
        half = rng.standard_normal((max(1, round(share * count / 2)), size))
        if heavy:
            half *= HEAVY_SCALE / np.sqrt(rng.chisquare(HEAVY_DF, (len(half), 1)) / HEAVY_DF)
        away = np.linalg.solve(np.linalg.cholesky(hessian).T, half.T).T
        parts += [mode + away, mode - away]
    draws = np.concatenate(parts)
    proposal = logsumexp(
        [np.log(share) + _log_proposal(draws, *mode, heavy) for mode, share in zip(modes, shares, strict=True)], axis=0
    )
    log_weights = made.log_posteriors(draws, records) - proposal
    return draws, np.where(np.isfinite(log_weights), log_weights, -1e300)


def moments(draws: np.ndarray, log_weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Means, standard deviations and Pareto k̂ of weighted draws."""
    import arviz as az

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        smoothed, shape = az.psislw(log_weights - log_weights.max())
    weights = np.exp(smoothed - logsumexp(smoothed))
    mean = weights @ draws
    return mean, np.sqrt(weights @ (draws - mean) ** 2), float(shape)


def _log_proposal(draws: np.ndarray, mode: np.ndarray, hessian: np.ndarray, heavy: bool) -> np.ndarray:
    """Log density up to a constant that is the same at all modes."""
    away = (draws - mode) @ np.linalg.cholesky(hessian)
    squares, size = np.sum(away**2, axis=1), len(mode)
    scale = np.linalg.slogdet(hessian)[1] / 2
    if heavy:
        return scale - (HEAVY_DF + size) / 2 * np.log1p(squares / HEAVY_SCALE**2 / HEAVY_DF)
    return scale - squares / 2


def nuts(made: Density, records: Any, mode: np.ndarray, hessian: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means and standard deviations from chains in coordinates where the posterior is about standard normal."""
    try:
        import blackjax
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("this posterior needs NUTS: pip install blackjax") from error

    values, axes = np.linalg.eigh(hessian)
    root = axes / np.sqrt(np.maximum(np.abs(values), 1e-9 * np.abs(values).max()))
    with jax.enable_x64(True):
        held = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float64), records)

        def log_density(phi: Any) -> Any:
            return made.traced(jnp.asarray(mode) + jnp.asarray(root) @ phi, held)

        @jax.jit
        def chain(key: Any) -> Any:
            warm_key, run_key = jax.random.split(key)
            warm = blackjax.window_adaptation(blackjax.nuts, log_density)
            (state, tuned), _ = warm.run(warm_key, jnp.zeros(len(mode)), num_steps=NUTS_WARMUP)
            step = blackjax.nuts(log_density, **tuned).step

            def one(state: Any, key: Any) -> Any:
                state, _ = step(key, state)
                return state, state.position

            return jax.lax.scan(one, state, jax.random.split(run_key, NUTS_DRAWS))[1]

        keys = jax.random.split(jax.random.key(seed_of("nuts")), NUTS_CHAINS)
        phi = np.concatenate([np.asarray(chain(key)) for key in keys])
    draws = mode + phi @ root.T
    return draws.mean(axis=0), draws.std(axis=0)
