"""What the second neighbouring relation buys: the same regression at (1, 1e-6) under substitution and under zero-out.

    python docs/scripts/relations.py [releases]

The records are simulated. Errors are those of posterior means against the posterior without privacy (its mode and
Hessian), in posterior standard deviations: root mean square over parameters, then median, least and largest over
releases. The releases are seeded, which these records may be. Prints the table of docs/theory/relations.md.
"""

from __future__ import annotations

import sys

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import minimize

import dpmcmc as dp
from dpmcmc import privacy
from dpmcmc.privacy import SUBSTITUTION, ZERO_OUT, Gaussian, GaussianFilter
from dpmcmc.privacy.account import epsilon
from dpmcmc.receipts import Guarantee

EPSILON, DELTA, RECORDS = 1.0, 1e-6, 20_000
SLOPES = (0.8, -0.5, 0.3)


def problem() -> tuple[dp.models.LogisticRegression, dict[str, np.ndarray]]:
    rng = np.random.default_rng(0)
    names = ("a", "b", "c")
    table = {name: rng.uniform(-1, 1, RECORDS) for name in names}
    logit = -0.4 + sum(slope * table[name] for slope, name in zip(SLOPES, names, strict=True))
    table["y"] = rng.random(RECORDS) < 1 / (1 + np.exp(-logit))
    model = dp.models.LogisticRegression({name: (-1, 1) for name in names})
    return model, model.encode(table, outcome="y")


def without_privacy(model: dp.models.LogisticRegression, data: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviations of the normal approximation at the mode."""
    with jax.enable_x64(True):
        from dpmcmc.raveled import RaveledModel

        raveled, records = RaveledModel.of(model, data), jax.tree.map(jnp.asarray, data)

        @jax.jit
        def minus(theta: jax.Array) -> jax.Array:
            return -raveled.log_prior(theta) - jnp.sum(raveled.values(theta[None], records))

        found = minimize(minus, np.zeros(raveled.dimension), jac=jax.jit(jax.grad(minus)), method="BFGS")
        return found.x, np.sqrt(np.diag(np.linalg.inv(jax.hessian(minus)(jnp.asarray(found.x)))))


def main(releases: int = 5) -> None:
    model, data = problem()
    mean, std = without_privacy(model, data)
    print(
        "| relation | noise of a sum, in clips | error of means: median (least to largest) | expected by the release |"
    )
    print("|---|---|---|---|")
    for relation in (SUBSTITUTION, ZERO_OUT):
        plan = dp.plan(model, RECORDS, dp.Budget(EPSILON, DELTA, relation))
        errors, expected = [], []
        for seed in range(releases):
            release = plan.sample(data, seed=seed, progress=False)
            drawn = np.concatenate([np.atleast_3d(value) for value in release.draws.values()], axis=2)
            off = (drawn.mean((0, 1)) - mean) / std
            errors.append(float(np.sqrt(np.mean(off**2))))
            expected.append(release.quality.mean_error)
        found = f"{np.median(errors):.2f} ({min(errors):.2f} to {max(errors):.2f})"
        print(f"| {relation} | {plan.rule.noise:.2f} | {found} | {np.median(expected):.2f} |")
    mu = GaussianFilter.for_budget(EPSILON, DELTA, 1).mu
    same = float(epsilon(Gaussian(1 / (2 * mu)), DELTA))
    twice = Guarantee(EPSILON, DELTA, ZERO_OUT, "").under_substitution()
    print(f"\nThe zero-out releases, under substitution: ({same:.3g}, {DELTA:g}) as Gaussian releases of twice the μ, ")
    print(f"({twice[0]:.3g}, {twice[1]:.3g}) by two steps of any mechanism; zCDP times 4 in a ledger.")
    bits = [int(privacy.max_steps(privacy.BarkerBit(0.01 * reach), EPSILON, DELTA)) for reach in (2, 1)]
    print(f"Barker's decisions with a clip of 0.01: {bits[0]} under substitution, {bits[1]} under zero-out.")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
