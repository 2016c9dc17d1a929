"""H19's bounds: every digit of its figures 1a and 1b and of the numbers in its text."""

import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from dpmcmc.privacy.published import classical, heikkila2019

REFERENCE = Path(__file__).parents[2] / "experiments" / "reference"
NUMBERS = json.loads((REFERENCE / "neurips_privacy_numbers.json").read_text())
MCMC = NUMBERS["dp_mcmc"]
N, B, T = MCMC["N"], MCMC["b"], MCMC["T"]


def curve(figure: str) -> list[dict[str, str]]:
    with (REFERENCE / "neurips_fig1ab_eps.csv").open() as file:
        return [row for row in csv.DictReader(file) if row["figure"] == figure]


def assert_every_digit(row: dict[str, str], epsilon: float) -> None:
    printed = [row[name] for name in ("epsilon_poster", "epsilon_recomputed") if row[name]]
    assert printed
    for digits in printed:
        assert epsilon == pytest.approx(float(digits), rel=6e-7)  # half a unit of the seventh digit


def test_figure_1a():
    rows = curve("1a")
    assert len(rows) == 300
    for row in rows:
        n, batch, steps = int(row["N"]), int(row["b"]), int(row["T"])
        epsilon = heikkila2019.corollary2_epsilon(steps, n, batch, 1 / n, largest_order=199, variant="as_coded")
        assert_every_digit(row, epsilon)


def test_figure_1b():
    rows = curve("1b")
    assert len(rows) == 488
    for row in rows:
        n, batch, steps = int(row["N"]), int(row["b"]), int(row["T"])
        last = min(199, batch // 5 - 2)  # the figure's own script stops two orders short of b/5
        epsilon = heikkila2019.corollary2_epsilon(
            steps, n, batch, 1 / n, largest_order=last, variant="as_coded", rate=0.001
        )
        assert_every_digit(row, epsilon)


@pytest.mark.parametrize("row", MCMC["epsilon_mcmc_only"], ids=lambda row: str(row["max_alpha"]))
def test_epsilon_by_largest_order(row):
    epsilon = heikkila2019.corollary2_epsilon(T, N, B, row["delta"], largest_order=row["max_alpha"] - 1)
    assert round(epsilon, 6) == pytest.approx(row["epsilon"], abs=6e-7)
    if row["max_alpha"] >= 50:
        assert epsilon.order == MCMC["best_alpha"]


@pytest.mark.parametrize("steps", MCMC["epsilon_vs_T"])
def test_epsilon_by_steps(steps):
    epsilon = heikkila2019.corollary2_epsilon(int(steps), N, B, 1e-6, variant="as_coded")
    assert round(epsilon, 5) == MCMC["epsilon_vs_T"][steps]


def test_per_iteration_costs():
    for order, cost in MCMC["per_iteration_rdp_unamplified"].items():
        assert heikkila2019.theorem2_rdp(int(order), B) == pytest.approx(cost, rel=1e-15)
    for order, cost in MCMC["per_iteration_rdp_amplified"].items():
        # The printed numbers come from log(1 + x) with x of 1e-5 and below, good to 1e-11.
        assert heikkila2019.theorem2_amplified_rdp(int(order), N, B)[0] == pytest.approx(cost, rel=2e-11)


def test_text_and_code_differ_only_in_the_last_orders():
    # α = 182…199 are allowed by the theorem and lost to overflow in the code: it shows for short chains alone.
    text = heikkila2019.corollary2_epsilon(100, N, B, 1e-6)
    coded = heikkila2019.corollary2_epsilon(100, N, B, 1e-6, variant="as_coded")
    assert coded.order == 181
    assert text.order > 181
    assert text < coded
    assert heikkila2019.corollary2_epsilon(T, N, B, 1e-6) == heikkila2019.corollary2_epsilon(
        T, N, B, 1e-6, variant="as_coded"
    )


def test_made_monotone():
    epsilon = heikkila2019.corollary2_epsilon(T, N, B, 1e-6, cost="monotone")
    assert round(epsilon, 3) == 0.413
    orders = np.arange(2, 199)
    plain = heikkila2019.theorem2_amplified_rdp(orders, N, B)
    assert np.all(heikkila2019.theorem2_amplified_rdp(orders, N, B, cost="monotone") <= plain)


def test_steps_are_the_largest_that_fit():
    steps = heikkila2019.corollary2_steps(1.0, 1e-6, N, B)
    assert steps == 19_983
    assert (
        heikkila2019.corollary2_epsilon(steps, N, B, 1e-6) <= 1 < heikkila2019.corollary2_epsilon(steps + 1, N, B, 1e-6)
    )
    assert [heikkila2019.corollary1_steps(1, 1e-6, shift / 2) for shift in (0.01, 0.04, 0.1)] == [698, 43, 6]


def test_corollary_1_is_the_minimum_over_orders():
    bound, steps, delta = 0.005, 698, 1e-6

    def total(order: float) -> float:
        return classical.rdp_to_dp(steps * heikkila2019.theorem1_rdp(order, bound), order, delta)

    best = minimize_scalar(total, bounds=(1.01, 500), method="bounded", options={"xatol": 1e-9})
    epsilon = heikkila2019.corollary1_epsilon(steps, bound, delta)
    assert epsilon == pytest.approx(best.fun, rel=1e-10)
    assert epsilon.order == pytest.approx(best.x, rel=1e-4)
    assert epsilon.source == "H19 Cor. 1"


def test_theorem_1_is_the_gaussian_release():
    # N(0, C) against N(2B, C): α (2B)²/(2C).
    assert heikkila2019.theorem1_rdp(7.0, 0.3, 1.5) == pytest.approx(7 * 0.6**2 / (2 * 1.5))


def test_theorem_2_bounds_the_normals_it_is_about():
    """What Thm 2 bounds, exactly: far below it at small orders, and what that costs a chain."""
    orders = np.array([2, 10, 50, 100, 199])
    exact = heikkila2019.exact_batch_rdp(orders, B)
    assert np.all(exact < heikkila2019.theorem2_rdp(orders, B))
    assert exact[0] == pytest.approx(0.0040, abs=5e-5)
    assert heikkila2019.theorem2_rdp(2, B) == pytest.approx(0.358, abs=5e-4)
    assert round(heikkila2019.corollary2_epsilon(T, N, B, 1e-6, cost="exact"), 3) == 0.223


def test_exact_divergence_by_quadrature():
    """D_α of the two normals by numerical integration, at the extreme mean and variance."""
    batch, order = 50, 3.0
    shift, gap = 2 / math.sqrt(batch), 4 * (batch - 1) / batch**2
    x = np.linspace(-20, 20, 400_001)

    def normal(mean: float, variance: float) -> np.ndarray:
        return np.exp(-((x - mean) ** 2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)

    def divergence(here: float, there: float) -> float:
        ratio = normal(shift, here) ** order * normal(0.0, there) ** (1 - order)
        return math.log(np.trapezoid(ratio, x)) / (order - 1)

    pairs = [(1.0, 1.0), (1.0, 1.0 + gap), (1.0 + gap, 1.0), (2.0, 2.0 - gap)]
    worst = max(divergence(here, there) for here, there in pairs)
    assert heikkila2019.exact_batch_rdp(order, batch) == pytest.approx(worst, rel=1e-9)


def test_variance_sensitivity_by_enumeration():
    batch = 4
    grid = np.linspace(-1, 1, 9)
    rest = np.array(np.meshgrid(grid, grid, grid)).reshape(3, -1).T
    values = np.concatenate([np.repeat(rest, 9, axis=0), np.tile(grid, len(rest))[:, None]], axis=1).var(axis=1)
    assert np.ptp(values.reshape(-1, 9), axis=1).max() == pytest.approx(4 * (batch - 1) / batch**2)


def test_variational_start_and_sgld():
    start, sgld = NUMBERS["dpvi"], NUMBERS["dp_sgld"]
    arguments = (start["T"], start["sigma"], N, start["batch"], start["delta"])
    assert round(heikkila2019.dpvi_epsilon(*arguments), 6) == start["epsilon_from_poster_axis"]
    assert round(heikkila2019.dpvi_epsilon(*arguments, largest_moment=690), 4) == start["epsilon_if_order_up_to_690"]
    total = heikkila2019.corollary2_epsilon(T, N, B, 1e-6) + heikkila2019.dpvi_epsilon(*arguments)
    assert round(total, 4) == NUMBERS["total"]["epsilon"]

    noise = heikkila2019.sgld_noise_multiplier(sgld["batch"], sgld["eta"], N, sgld["clip_L"])
    assert round(noise, 6) == sgld["noise_multiplier"]
    claims = [
        (sgld["T"], noise, 5, sgld["epsilon_at_T"]),
        (sgld["burn_in"], noise, 5, sgld["epsilon_at_burn_in"]),
        (sgld["T"], noise * sgld["clip_L"] / 6e-4, 4, sgld["epsilon_if_L_were_6e-4"]),
    ]
    for steps, multiplier, digits, printed in claims:
        claim = heikkila2019.sgld_epsilon(steps, multiplier, N, sgld["batch"], sgld["delta"])
        assert round(claim, digits) == printed
        assert not claim.sound  # the batches were not Poisson samples


@pytest.mark.parametrize(
    ("call", "value"),
    [
        (lambda: heikkila2019.theorem1_rdp(1.0, 0.1), "1.0"),
        (lambda: heikkila2019.theorem1_rdp(2.0, -0.1), "-0.1"),
        (lambda: heikkila2019.theorem1_rdp(2.0, 0.1, 3.5), "3.5"),
        (lambda: heikkila2019.theorem2_rdp(200, 1000), "200"),
        (lambda: heikkila2019.corollary1_epsilon(10, 0.1, 0.0), "0.0"),
        (lambda: heikkila2019.corollary2_epsilon(10, 100, 1000, 1e-6), "1000"),
        (lambda: heikkila2019.corollary2_epsilon(10, 1000, 12, 1e-6), "12"),
        (lambda: heikkila2019.corollary2_epsilon(10, 10**6, 1000, 1e-6, variant="other"), "other"),
        (lambda: classical.amplified_rdp(lambda j: j, 2.5, 0.1), "2.5"),
        (lambda: classical.poisson_gaussian_rdp(2, 0.0, 0.1), "0.0"),
    ],
)
def test_bad_parameters_raise_with_the_value(call, value):
    with pytest.raises(ValueError, match=value.replace(".", r"\.")):
        call()
