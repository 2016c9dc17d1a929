"""R21's bounds: every integer of its accountant figure and of its chain lengths, and the readings it leaves open."""

import csv
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.special import erfc

from dpmcmc.privacy.published import classical, fourier, raisa2021, yildirim2019

REFERENCE = Path(__file__).parents[2] / "experiments" / "reference"


def table(name: str) -> list[dict[str, str]]:
    with (REFERENCE / name).open() as file:
        return list(csv.DictReader(file))


SCALES = {(row["experiment"], row["algo"]): row for row in table("thesis_noise_scales.csv")}
N, DELTA, TAU, TAU_BATCH, BATCH = 100_000, 1e-6, 0.1, 0.7, 1000  # flat banana, d = 2
HMC = (0.1, 0.4, 10, N)
EPSILONS = np.linspace(0.5, 6, 50)  # the figure's axis; the table prints six decimals

CURVES = {
    ("dpps", "zCDP"): lambda e: raisa2021.theorem31_steps(e, DELTA, TAU, N),
    ("dpps", "ADP"): lambda e: raisa2021.theorem32_steps(e, DELTA, TAU, N),
    ("hmc", "zCDP"): lambda e: raisa2021.theorem42_steps(e, DELTA, *HMC),
    ("hmc", "ADP"): lambda e: raisa2021.theorem43_steps(e, DELTA, *HMC),
    ("mdpps", "RDP"): lambda e: raisa2021.theorem35_rdp_steps(e, DELTA, TAU_BATCH, N, BATCH, variant="as_coded"),
    ("mdpps", "RDP_full_sum_recomputed"): lambda e: raisa2021.theorem35_rdp_steps(e, DELTA, TAU_BATCH, N, BATCH),
    ("mdpps", "ADP"): lambda e: raisa2021.theorem35_fourier_steps(e, DELTA, TAU_BATCH, N, BATCH),
}


@pytest.mark.parametrize("curve", CURVES, ids=" ".join)
def test_accountant_figure(curve):
    rows = [row for row in table("thesis_accountant_comparison.csv") if (row["algo"], row["method"]) == curve]
    assert len(rows) == 50
    for row, epsilon in zip(rows, EPSILONS, strict=True):
        assert float(row["epsilon"]) == pytest.approx(epsilon, abs=6e-7)
        assert CURVES[curve](epsilon) == int(row["iterations"])


def chain_length(algo: str, epsilon: float, delta: float, scale: dict[str, str]) -> int:
    n = int(scale["n"])
    if algo == "barker":
        return raisa2021.theorem33_steps(epsilon, delta, n, int(scale["batch"]))
    tau = float(scale["tau"])
    if algo in ("dpps", "dppa"):
        return raisa2021.theorem32_steps(epsilon, delta, tau, n)
    if algo in ("mdpps", "mdppa"):
        return raisa2021.theorem35_fourier_steps(epsilon, delta, tau, n, int(scale["batch"]))
    return raisa2021.theorem43_steps(epsilon, delta, tau, float(scale["tau_gradient"]), int(scale["leapfrog_steps"]), n)


@pytest.mark.parametrize("algo", ["dpps", "dppa", "hmc", "barker", "mdpps", "mdppa"])
def test_chain_lengths(algo):
    rows = [row for row in table("thesis_iterations_recomputed.csv") if row["algo"] == algo]
    assert len(rows) >= 24
    for row in rows:
        scale = SCALES[row["experiment"], algo]
        assert int(scale["n"]) == int(row["n"])
        assert chain_length(algo, float(row["epsilon"]), 0.1 / int(row["n"]), scale) == int(row["iterations"])


def test_figure_and_text_of_theorem_35():
    # The code's sum stops one term short; the figure shows the code.
    printed = {6.0: (991, 961), EPSILONS[22]: (67, 45)}
    for epsilon, (coded, text) in printed.items():
        assert raisa2021.theorem35_rdp_steps(epsilon, DELTA, TAU_BATCH, N, BATCH, variant="as_coded") == coded
        assert raisa2021.theorem35_rdp_steps(epsilon, DELTA, TAU_BATCH, N, BATCH) == text


def test_readings_of_the_fourier_accountant():
    steps = {
        variant: raisa2021.theorem35_fourier_steps(4.0, DELTA, TAU_BATCH, N, BATCH, variant=variant)
        for variant in raisa2021.FOURIER_VARIANTS
    }
    assert steps == {"as_coded": 828, "text": 4831, "one_sided": 1610}


def test_fourier_accountant_without_batches_is_the_gaussian():
    # q → 1: N(1, σ²) against N(−1, σ²), sensitivity 2.
    for steps in (1, 10, 100):
        found = fourier.delta(1.0, steps, 20.0, 1 - 1e-12)
        assert found == pytest.approx(raisa2021.theorem211_delta(1.0, steps, 2.0, 20.0), rel=1e-6, abs=1e-15)


@pytest.mark.parametrize("pair", fourier.PAIRS)
def test_fourier_accountant_against_enumeration(pair):
    """One step, by direct integration of max(0, P − e^ε Q)."""
    std, rate, epsilon = 1.3, 0.2, 0.1
    x = np.linspace(-15, 15, 600_001)

    def normal(mean: float) -> np.ndarray:
        return np.exp(-0.5 * ((x - mean) / std) ** 2) / (std * math.sqrt(2 * math.pi))

    p = rate * normal(1) + (1 - rate) * normal(0)
    q = rate * normal(-1) + (1 - rate) * normal(0) if pair == "both_sides" else normal(0)
    expected = np.trapezoid(np.maximum(0, p - math.exp(epsilon) * q), x)
    assert fourier.delta(epsilon, 1, std, rate, pair=pair) == pytest.approx(expected, rel=1e-4)
    assert fourier.delta(epsilon, 0, std, rate, pair=pair) == 0


def test_gaussian_delta_is_the_printed_formula():
    for epsilon, k, sensitivity, sigma in ((1.0, 10, 1.0, 20.0), (0.3, 3, 2.0, 9.0)):
        mu = sensitivity**2 / (2 * sigma**2)
        root = math.sqrt(2 * k) * sensitivity
        printed = 0.5 * (
            erfc(sigma * (epsilon - k * mu) / root) - math.exp(epsilon) * erfc(sigma * (epsilon + k * mu) / root)
        )
        assert raisa2021.theorem211_delta(epsilon, k, sensitivity, sigma) == pytest.approx(printed, rel=1e-9)
    assert classical.gaussian_delta(1e4, 1.0) == 0.0  # e^ε does not overflow


def test_algorithm_2_gives_the_largest_number_of_steps():
    steps = raisa2021.theorem32_steps(1.0, 1e-6, 31.6, 1)
    assert steps == 55
    assert raisa2021.theorem32_delta(1.0, steps, 31.6, 1) <= 1e-6 < raisa2021.theorem32_delta(1.0, steps + 1, 31.6, 1)
    assert raisa2021.theorem32_steps(1.0, 1e-6, 316, 1) == 5594
    assert raisa2021.theorem31_steps(1.0, 1e-6, 0.1, N) == yildirim2019.steps(1.0, 1e-6, 0.1, N) == 34
    assert yildirim2019.epsilon(34, 1e-6, 0.1, N) <= 1 < yildirim2019.epsilon(35, 1e-6, 0.1, N)


def test_minibatch_sensitivity_by_enumeration():
    """λ − σ_b²/2 moves by at most the constant-2 sensitivity, and reaches it; the thesis's constant is 3."""
    n, batch, bound = 40, 4, 0.3
    k = n / batch

    def statistic(r: np.ndarray) -> np.ndarray:
        return k * r.sum(axis=-1) - k**2 / 2 * (np.square(r).sum(axis=-1) - r.sum(axis=-1) ** 2 / batch)

    grid = np.linspace(-bound, bound, 13)
    rest = np.array(np.meshgrid(grid, grid, grid)).reshape(3, -1).T
    values = statistic(np.concatenate([np.repeat(rest, 13, axis=0), np.tile(grid, len(rest))[:, None]], axis=1))
    moved = np.ptp(values.reshape(-1, 13), axis=1).max()
    assert moved == pytest.approx(raisa2021.theorem35_sensitivity(bound, n, batch, constant=2.0), rel=1e-12)
    assert moved < raisa2021.theorem35_sensitivity(bound, n, batch)


@pytest.mark.parametrize(
    ("call", "value"),
    [
        (lambda: raisa2021.theorem211_zcdp(1.0, 0.0), "0.0"),
        (lambda: raisa2021.theorem32_steps(1.0, 0.0, 0.1, 100), "0.0"),
        (lambda: raisa2021.theorem32_steps(-1.0, 1e-6, 0.1, 100), "-1.0"),
        (lambda: raisa2021.theorem35_rdp([2], 0.7, 100, 101), "101"),
        (lambda: raisa2021.theorem35_rdp([1], 0.7, 100, 10), "1"),
        (lambda: raisa2021.theorem35_fourier_delta(1.0, 1, 0.7, 100, 10, variant="both"), "both"),
        (lambda: raisa2021.theorem43_steps(1.0, 1e-6, 0.1, 0.0, 5, 100), "0.0"),
        (lambda: yildirim2019.zcdp(-2.0, 100), "-2.0"),
    ],
)
def test_bad_parameters_raise_with_the_value(call, value):
    with pytest.raises(ValueError, match=value.replace(".", r"\.")):
        call()
