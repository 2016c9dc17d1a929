"""Z23's claims are reproduced, marked as unsound, and refuted by enumeration."""

import math

import pytest

from dpmcmc.privacy.published import zhang2023


def metropolis(t: float) -> float:
    return min(1.0, math.exp(t))


def test_the_free_branch_is_not_private():
    """Neighbours with log ratios 0 and −Δ: only the second can reject, so δ ≥ 1 − e^{−Δ} for every ε."""
    epsilon, delta, sensitivity = 0.05, 1e-5, 0.05
    claim = zhang2023.theorem1(epsilon, delta, sensitivity)
    assert claim.noise_std == 0
    assert not claim.sound
    reject, reject_neighbour = 1 - metropolis(-sensitivity), 1 - metropolis(0.0)
    for any_epsilon in (epsilon, 1.0, 100.0):
        needed = reject - math.exp(any_epsilon) * reject_neighbour
        assert needed == pytest.approx(claim.necessary_delta)
        assert needed > 1000 * claim.delta
    assert claim.necessary_delta == pytest.approx(0.0488, abs=5e-5)


def test_noise_as_published():
    epsilon, delta, sensitivity = 0.05, 1e-5, 0.2
    claim = zhang2023.theorem1(epsilon, delta, sensitivity)
    assert claim.noise_std == pytest.approx(sensitivity * math.sqrt(2 * math.log(1.25 / delta)) / epsilon)
    assert claim.necessary_delta == 0
    assert not claim.sound


def test_minibatch_claim():
    total, largest_constant, batch = 1000.0, 0.02, 60.0
    spread = total / (batch * largest_constant)
    arguments = {"largest_batch": batch, "total": total, "largest_constant": largest_constant}
    free = zhang2023.theorem2(0.05, 1e-5, 0.05 * spread / 6, **arguments)
    noisy = zhang2023.theorem2(0.05, 1e-5, 0.05 * spread / 6 + 1e-9, **arguments)
    assert free.noise_std == 0 < noisy.noise_std
    assert not free.sound
    assert not noisy.sound
    assert noisy.noise_std == pytest.approx(
        math.sqrt(2 * math.log(1.25 / (1e-5 * spread / 2))) / (0.05 * spread / 6) * (0.05 * spread / 6), rel=1e-6
    )


def test_sensitivity_as_coded_shrinks_with_the_distance():
    def sensitivity(distance: float, variant: str) -> float:
        return zhang2023.minibatch_sensitivity(500.0, distance, 10.0, variant=variant)

    assert sensitivity(0.02, "text") > sensitivity(0.01, "text") == pytest.approx(2 * math.log(1.5))
    assert sensitivity(0.02, "as_coded") < sensitivity(0.01, "as_coded") == pytest.approx(2 * math.log(1 + 1 / 50))


def test_composition():
    one = zhang2023.theorem1(0.05, 1e-5, 0.05)
    many = zhang2023.composition(one, 100, 1e-6)
    assert many.epsilon == pytest.approx(0.05 * math.sqrt(200 * math.log(1e6)) + 100 * 0.05 * math.expm1(0.05))
    assert many.delta == pytest.approx(1e-3 + 1e-6)
    assert many.necessary_delta == pytest.approx(1 - math.exp(-0.05 * 100))
    assert not many.sound


@pytest.mark.parametrize(
    ("call", "value"),
    [
        (lambda: zhang2023.theorem1(0.0, 1e-5, 0.1), "0.0"),
        (lambda: zhang2023.theorem1(0.1, 1.0, 0.1), "1.0"),
        (lambda: zhang2023.theorem1(0.1, 1e-5, -0.1), "-0.1"),
        (lambda: zhang2023.minibatch_sensitivity(1.0, 1.0, 0.0), "0.0"),
        (lambda: zhang2023.minibatch_sensitivity(1.0, 1.0, 1.0, variant="other"), "other"),
        (lambda: zhang2023.composition(zhang2023.theorem1(0.1, 1e-5, 0.1), -1, 1e-6), "-1"),
    ],
)
def test_bad_parameters_raise_with_the_value(call, value):
    with pytest.raises(ValueError, match=value.replace(".", r"\.")):
        call()
