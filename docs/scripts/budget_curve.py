"""Does a report's curve over budgets hold? The shift of means that releases state at other budgets, beside the curve.

    python docs/scripts/budget_curve.py

A simulated Poisson regression with 20 000 records and two columns, at δ = 10⁻⁶, three seeded runs at each budget. The
curve is the mean shift at ε = 1, times μ(1)/μ(ε).
"""

from __future__ import annotations

import numpy as np

import dpmcmc as dp
from dpmcmc.charge import Purse, of_releases

DELTA, RUNS, N = 1e-6, 3, 20_000


def main() -> None:
    rng = np.random.default_rng(0)
    age, plan = rng.uniform(18, 90, N), rng.choice(["free", "full"], N)
    table = {"age": age, "plan": plan, "visits": rng.poisson(np.exp(-0.5 + 0.015 * age + 0.4 * (plan == "full")))}
    schema = dp.Schema(visits=dp.Number.count(50), age=dp.Number(18, 90), plan=dp.Category(["free", "full"]))
    model = dp.regression("visits ~ age + plan", schema, family="poisson")
    data = model.encode(table)
    shifts = {
        epsilon: [
            dp.sample(model, data, epsilon, DELTA, seed=seed, progress=False).quality.mean_error for seed in range(RUNS)
        ]
        for epsilon in (1.0, 0.25, 0.5, 2.0, 4.0, 8.0)
    }
    print("| ε | curve | runs | runs over curve |\n|---|---|---|---|")
    for epsilon, found in sorted(shifts.items()):
        curve = np.mean(shifts[1.0]) * mu(1.0) / mu(epsilon)
        runs = ", ".join(f"{shift:.3f}" for shift in found)
        print(f"| {epsilon:g} | {curve:.3f} | {runs} | {min(found) / curve:.2f} to {max(found) / curve:.2f} |")


def mu(epsilon: float) -> float:
    return Purse(dp.Budget(epsilon, DELTA), of_releases(48)).mu


if __name__ == "__main__":
    main()
