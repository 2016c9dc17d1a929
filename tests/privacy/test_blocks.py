"""Long runs in blocks: never below what is attained, never above Rényi, and sound laws, products and covers."""

import math
from dataclasses import dataclass
from itertools import islice, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, ndtr
from scipy.stats import binom

from dpmcmc.privacy import (
    BarkerBit,
    Budget,
    Compose,
    Gaussian,
    PenaltyBit,
    PoissonBarkerBit,
    Repeat,
    Selection,
    SubsampledBarkerBit,
    SubsampledGaussian,
    SubsampledPenaltyBit,
    account,
    blocks,
    delta,
    epsilon,
    max_steps,
    pair_recursion,
    recursion,
    renyi,
)
from dpmcmc.privacy.accept_bit import penalty_log_accept, penalty_log_reject
from dpmcmc.privacy.batch_law import release_curve, release_law
from dpmcmc.privacy.convert import epsilon_from_renyi
from dpmcmc.privacy.loss_law import Curve, LossLaw, best_tilt, coarser, composed, loss_law, profile
from dpmcmc.privacy.recursion import read_curve
from dpmcmc.privacy.renyi import renyi_of


def shown(p: np.ndarray, q: np.ndarray, at: float) -> float:
    return float(np.maximum(p - math.exp(at) * q, 0.0).sum())


def binomial_delta(p: float, q: float, steps: int, at: float) -> float:
    """δ(ε) of so many bits that accept with p or q, in the dearer direction."""
    low, high = math.log1p(-p) - math.log1p(-q), math.log(p) - math.log(q)
    least = math.floor((at - steps * low) / (high - low))
    most = math.ceil((-at - steps * low) / (high - low)) - 1  # the other direction: few acceptances
    forward = binom.sf(least, steps, p) - math.exp(at) * binom.sf(least, steps, q)
    return float(max(forward, binom.cdf(most, steps, q) - math.exp(at) * binom.cdf(most, steps, p)))


# --- laws and products ----------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.floats(-3, 3), st.floats(0.01, 1)), min_size=1, max_size=8),
    st.floats(0.01, 0.7),
    st.integers(2, 30),
)
def test_a_law_is_above_its_curve(atoms, h, points):
    """Random mean-one likelihood ratios, sampled on lattices too coarse and too short for them."""
    x, weight = np.exp(np.array([a for a, _ in atoms])), np.array([w for _, w in atoms])
    weight = weight / weight.sum()
    x = x / (weight @ x)

    def true(gamma: np.ndarray) -> np.ndarray:
        return np.maximum(x - np.asarray(gamma)[..., None], 0.0) @ weight

    grid = h * np.arange(-points, points + 1)
    law = loss_law(Curve(true(np.exp(grid)), -points, h))
    losses = np.exp(h * (law.low + np.arange(law.mass.size)))
    gamma = np.exp(np.linspace(-5, 5, 301))
    profile_of_law = np.maximum(1 - gamma[:, None] / losses, 0.0) @ law.mass + law.infinity
    assert np.all(profile_of_law >= true(gamma) * (1 - 1e-12))
    assert law.mass.sum() + law.infinity >= 1 - 1e-12
    assert np.all(law.mass >= 0)


def test_a_curve_that_is_not_convex_gains_what_it_lacks():
    curve = Curve(np.array([0.9, 0.5, 0.49, 0.48, 0.1, 0.02]), -3, 0.4)
    law = loss_law(curve)
    assert np.all(profile(law.mass, law.h) + law.infinity >= curve.delta * (1 - 1e-12))


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.floats(0, 1), min_size=3, max_size=7).filter(lambda m: sum(m) > 0.1),
    st.lists(st.floats(0, 1), min_size=2, max_size=5).filter(lambda m: sum(m) > 0.1),
    st.integers(1, 4),
    st.floats(0.05, 30.0),
)
def test_products_against_enumeration(first, second, times, tilt):
    """Every product of atoms listed; the answer is above it, and near it where the tilt is near the best."""
    h = 0.2
    laws = [
        (LossLaw(np.array(first) / sum(first), -2, h, 1e-9), times),
        (LossLaw(np.array(second) / sum(second), -1, h, 0.0), 1),
    ]
    total = {0: 1.0}
    for law, count in laws:
        for _ in range(count):
            step: dict[int, float] = {}
            for (a, p), (j, q) in product(total.items(), enumerate(law.mass)):
                step[a + law.low + j] = step.get(a + law.low + j, 0.0) + p * q
            total = step
    at = np.array(sorted(total))
    mass = np.array([total[i] for i in at])
    for theta in (tilt, best_tilt(laws, 0.3)):
        curve = composed(laws, theta)
        assert curve is not None
        for ask in (0.0, 0.1, 0.3, 0.55, 1.0):
            true = float(mass @ np.maximum(-np.expm1(ask - h * at), 0.0))
            assert read_curve(curve.delta, curve.low, curve.h, ask) >= true * (1 - 1e-12)
    near = read_curve(curve.delta, curve.low, curve.h, 0.3)
    assert near <= float(mass @ np.maximum(-np.expm1(0.3 - h * at), 0.0)) * (1 + 1e-6) + times * 1.1e-9 + 1e-9


def test_laws_on_different_lattices_are_refused():
    one = LossLaw(np.ones(3) / 3, -1, 0.1, 0.0)
    with pytest.raises(ValueError, match="lattices"):
        composed([(one, 1), (one._replace(h=0.2), 1)], 1.0)
    with pytest.raises(ValueError, match="sublattice"):
        coarser(Curve(np.ones(3), -1, 0.1), 2)


def test_products_of_gaussians_are_the_gaussian():
    """Ten thousand releases of multiplier 100 are one of multiplier 1: the only loss is the lattice's."""
    from dpmcmc.privacy.gaussian import gaussian_log_delta

    h, points = 1e-4, 1200
    grid = h * np.arange(-points, points + 1)
    value = [math.exp(gaussian_log_delta(0.01, e)) for e in np.abs(grid)]
    curve = np.where(grid >= 0, value, -np.expm1(np.minimum(grid, 0)) + np.exp(np.minimum(grid, 0)) * value)
    laws = [(loss_law(Curve(curve, -points, h)), 10_000)]
    for ask in (0.5, 2.0, 5.0):
        made = composed(laws, best_tilt(laws, ask))
        assert made is not None
        exact = math.exp(gaussian_log_delta(1.0, ask))
        assert exact <= read_curve(made.delta, made.low, made.h, ask) <= 1.002 * exact


# --- blocks ---------------------------------------------------------------------------------------------------------


def short_blocks(monkeypatch, length: int) -> None:
    monkeypatch.setattr(blocks, "_BLOCKS", (length,))
    blocks._block.cache_clear()
    monkeypatch.setattr(pair_recursion, "penalty_curves", lambda *_: None)


PLAYED = {
    BarkerBit(0.5): lambda t: (expit(t), expit(t + 0.5)),
    PenaltyBit(0.4, 1.0): lambda t: tuple(np.exp(penalty_log_accept(np.array([t, t + 0.4]), 1.0))),
}


@pytest.mark.parametrize("event", PLAYED, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("length", [2, 3])
def test_adaptive_adversaries_do_not_pass_blocks(event, length, monkeypatch):
    """Random adversaries, who choose t and the direction after each of seven bits, all outputs enumerated."""
    short_blocks(monkeypatch, length)
    rng, bits = np.random.default_rng(3), 7
    claimed = {ask: blocks.delta(event, bits, ask, 5.0, 1e-3) for ask in (0.0, 0.3, 0.8, 1.5)}
    greatest = dict.fromkeys(claimed, 0.0)
    for _ in range(60):
        greedy = rng.uniform() < 0.5
        chances = np.ones((1, 2))
        for _ in range(bits):
            grown = []
            for p, q in chances:
                t, way = rng.uniform(-2.5, 2.5), rng.integers(2)
                if greedy:  # keep the ratio's best side likely: an adversary who steers by what was seen
                    t, way = 1.2 * math.tanh(math.log(p / q)) + rng.normal() * 0.3, 0
                a, b = PLAYED[event](t)
                a, b = (b, a) if way == 0 else (a, b)
                grown += [(p * a, q * b), (p * (1 - a), q * (1 - b))]
            chances = np.array(grown)
        for ask in claimed:
            greatest[ask] = max(greatest[ask], shown(*chances.T, ask), shown(*chances.T[::-1], ask))
    for ask, most in claimed.items():
        assert most is not None
        assert greatest[ask] <= most


@pytest.mark.parametrize("length", [4, 16, 64])
def test_blocks_are_above_the_recursion_and_near_it(length, monkeypatch):
    """64 Barker bits in one piece and in pieces: blocks cost more, and the less the longer they are."""
    short_blocks(monkeypatch, length)
    whole = recursion.delta(0.2, 64, 2.0)
    pieces = blocks.delta(BarkerBit(0.2), 64, 2.0, 10.0, 1e-3)
    assert whole is not None
    assert pieces is not None
    assert whole * (1 - 1e-9) <= pieces * 1.002  # the lattices differ
    assert pieces <= {4: 2.0, 16: 1.3, 64: 1.05}[length] * whole


CASES = [
    (BarkerBit(0.02), 20_000, lambda: [(expit(0.01), expit(-0.01))]),
    (
        PenaltyBit(0.03, 1.0),
        3000,
        lambda: [tuple(np.exp(penalty_log_accept(np.array([t + 0.03, t]), 1.0))) for t in np.linspace(-0.5, 1.0, 16)],
    ),
]


@pytest.mark.parametrize(("event", "steps", "bits"), CASES, ids=["barker", "penalty"])
def test_between_what_is_attained_and_renyi(event, steps, bits):
    claimed = epsilon(Repeat(event, steps), 1e-6)
    assert claimed.method == "adaptive recursion in blocks"
    attained = max(binomial_delta(p, q, steps, float(claimed)) for p, q in bits())
    assert attained <= 1e-6
    lower = float(claimed) / 1.03  # within 3 % of what a fixed t attains
    assert max(binomial_delta(p, q, steps, lower) for p, q in bits()) > 1e-6
    assert claimed <= epsilon_from_renyi(lambda orders: renyi(Repeat(event, steps), orders), 1e-6)[0]


@pytest.mark.parametrize(
    "event",
    [
        SubsampledBarkerBit(1000, 100, clamp=20.0),
        SubsampledPenaltyBit(10_000, 1000, 0.05, 1.0, 0.1),
        PoissonBarkerBit(10_000, 0.05, 1500.0),
    ],
    ids=lambda e: type(e).__name__,
)
def test_pairs_enclose_their_front(event):
    """Every pair that a step may be, as subsampling and Poisson tests state it, is inside one that is used."""
    from dpmcmc.privacy import poisson, subsampling

    if isinstance(event, SubsampledBarkerBit):
        front = subsampling._barker_front(event)
    elif isinstance(event, PoissonBarkerBit):
        front = poisson._front(event)
    else:
        front = subsampling._penalty_front(event, subsampling.penalty_shift(event))
    for order in (3.0, 300.0):
        pairs = pair_recursion.pairs_of(event, order)
        assert pairs is not None
        for gain, loss in front:
            assert np.any((pairs.hi >= gain) & (-pairs.lo >= loss))
            assert np.any((pairs.hi >= loss) & (-pairs.lo >= gain)) or loss <= pairs.leak


def test_merging_only_adds(monkeypatch):
    event = PenaltyBit(0.3, 1.0)
    merged = pair_recursion.pairs_of(event, 5.0)
    front, tail, scale = pair_recursion._penalty_front(event, 5.0)
    every = pair_recursion._both(front, tail, scale)
    assert merged is not None
    assert merged.lo.size < every.lo.size
    h = merged.scale / 10
    few, many = (list(islice(pair_recursion.curves(one, h, -120, 240), 9)) for one in (merged, every))
    for a, b in zip(few, many, strict=True):
        assert np.all(a >= b * (1 - 1e-12))
    assert few[-1][170] <= 1.3 * many[-1][170]


# --- sums over batches ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("std", "q"), [(1.0, 0.01), (4.0, 0.5), (2.0, 0.1)])
def test_one_release_by_quadrature(std, q):
    """All means in the line that a release may have, against the curve: ν, ν', ω in [−1, 1]."""
    event = SubsampledGaussian(std, 1000, round(1000 * q), "without_replacement")
    x = np.linspace(-10 * std - 2, 10 * std + 2, 8001)
    density = {
        m: np.exp(-(((x - m) / std) ** 2) / 2) / math.sqrt(2 * math.pi) / std for m in (-1.0, -0.5, 0.0, 0.5, 1.0)
    }
    curve = release_curve(event, 0.1, 40)
    for a, b, w in product(density, repeat=3):
        p, r = q * density[a] + (1 - q) * density[w], q * density[b] + (1 - q) * density[w]
        for i in range(0, 81, 8):
            value = np.maximum(p - math.exp(0.1 * (i - 40)) * r, 0.0).sum() * (x[1] - x[0])
            assert value <= curve.delta[i] * (1 + 1e-5) + 1e-12  # the quadrature's error at the kink
    upper = np.maximum(q * density[1.0] + (1 - q) * density[-1.0] - math.exp(0.4) * density[-1.0], 0.0).sum() * (
        x[1] - x[0]
    )
    assert upper == pytest.approx(curve.delta[44], rel=1e-5)  # attained


@pytest.mark.parametrize(("std", "q", "steps"), [(2.0, 0.01, 100), (4.0, 0.1, 30), (1.0, 0.01, 10)])
def test_sums_are_above_their_pair_and_below_renyi(std, q, steps):
    """dp-accounting's pair qN(2) + (1−q)N(0) against N(0), either way round, rounded down, is attained by data sets."""
    from dp_accounting import NeighboringRelation
    from dp_accounting.pld import privacy_loss_distribution as library

    event = SubsampledGaussian(std, 1000, round(1000 * q), "without_replacement")
    claimed = epsilon(Repeat(event, steps), 1e-6)
    assert claimed.method == "product of dominating pairs"
    attained = library.from_gaussian_mechanism(
        std,
        sensitivity=2.0,
        pessimistic_estimate=False,
        value_discretization_interval=1e-4,
        sampling_prob=q,
        use_connect_dots=False,
        neighboring_relation=NeighboringRelation.ADD_OR_REMOVE_ONE,
    ).self_compose(steps)
    assert attained.get_epsilon_for_delta(1e-6) <= claimed
    assert claimed <= epsilon_from_renyi(lambda orders: renyi(Repeat(event, steps), orders), 1e-6)[0]
    assert claimed <= 1.06 * attained.get_epsilon_for_delta(1e-6)


def test_sums_whose_direction_changes():
    """Three releases of which each may be taken either way round, by quadrature in the loss: below the claim."""
    event, q, std = SubsampledGaussian(2.0, 10, 3, "without_replacement"), 0.3, 2.0
    x = np.linspace(-18, 22, 401)
    wide, narrow = (np.exp(-(((x - m) / std) ** 2) / 2) for m in (2.0, 0.0))
    p, r = q * wide / wide.sum() + (1 - q) * narrow / narrow.sum(), narrow / narrow.sum()
    for ways in product((False, True), repeat=3):
        first, second = np.ones(1), np.ones(1)
        for way in ways:
            a, b = (r, p) if way else (p, r)
            first, second = np.outer(first, a).ravel(), np.outer(second, b).ravel()
            if first.size > 10**6:
                keep = np.argsort(np.log(first / second))
                chunks = np.array_split(keep, 4000)  # merging outputs loses information: a lower bound stays one
                first, second = (np.array([side[c].sum() for c in chunks]) for side in (first, second))
            elif first.size > 10**4:
                keep = np.argsort(np.log(first / second))
                chunks = np.array_split(keep, 2000)
                first, second = (np.array([side[c].sum() for c in chunks]) for side in (first, second))
        for ask in (0.2, 1.0, 2.0):
            assert shown(first, second, ask) <= delta(Repeat(event, 3), ask)


def test_laws_that_cannot_be_made_are_left_to_renyi():
    assert release_law(SubsampledGaussian(0.1, 10, 5, "without_replacement"), 1e-12) is None
    assert release_law(SubsampledGaussian(2.0, 10, 10, "without_replacement"), 1e-12) is None


# --- the accountant ---------------------------------------------------------------------------------------------------


def test_mixtures_are_not_blocks():
    """A block holds one kind of step; what is interleaved is priced by Rényi divergences."""
    penalty, noise = PenaltyBit(0.01, 1.0), Gaussian(50.0)
    for mixed in (
        Repeat(Compose((penalty, noise)), 2000),
        Compose((Repeat(penalty, 2000), Repeat(PenaltyBit(0.02, 1.0), 500))),
        Compose((Repeat(penalty, 2000), Repeat(BarkerBit(0.01), 500))),
        Compose((Repeat(SubsampledGaussian(4.0, 1000, 10, "without_replacement"), 99), Gaussian(9.0))),
    ):
        assert epsilon(mixed, 1e-6).method.startswith("Rényi")
        assert account._one_kind(account.parts(mixed)) is None
    assert account._one_kind(account.parts(Compose((Repeat(BarkerBit(0.1), 3), Selection(0.1))))) == (BarkerBit(0.1), 4)


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(PenaltyBit(0.02, 1.0), marks=pytest.mark.slow),
        SubsampledGaussian(4.0, 1000, 10, "without_replacement"),
    ],
)
def test_steps_epsilon_and_delta_agree(event):
    """What max_steps allows, epsilon() and delta() confirm: a saved release is priced again when it is loaded."""
    from dpmcmc.charge import _cost_within

    steps = max_steps(event, 1.0, 1e-6)
    assert epsilon(Repeat(event, int(steps)), 1e-6) <= 1.0
    assert delta(Repeat(event, int(steps)), 1.0) <= 1.0001e-6
    assert epsilon(Repeat(event, math.ceil(1.01 * steps)), 1e-6) > 1.0
    assert _cost_within(Repeat(event, int(steps)), Budget(1.0, 1e-6)) <= 1.0
    assert float(epsilon(Repeat(event, int(steps)), 1e-6)) == float(epsilon(Repeat(event, int(steps)), 1e-6))


@pytest.mark.slow
def test_longer_is_dearer():
    event = PenaltyBit(0.02, 1.0)
    values = [float(epsilon(Repeat(event, k), 1e-6)) for k in (900, 1500, 2500, 20_000)]
    assert values == sorted(values)


@pytest.mark.slow
@pytest.mark.parametrize("steps", [2000, 200_000])
def test_corrected_barker_given_the_rest(steps):
    """Lemma 5's pair at variance 1, repeated: below the claim, and within 3 % of it."""
    from dpmcmc.privacy.correction import optimal_correction

    event = SubsampledBarkerBit(10**5 if steps > 10**4 else 10**4, 1000)
    claimed = float(epsilon(Repeat(event, steps), 1e-6))
    atoms, weights = np.array(optimal_correction(2.0).pairs).T
    b, q = event.batch, event.batch / event.n
    std = math.sqrt(2.0 - (b - 1) / b - (b - 1) / b**2)
    a, c = (float(weights @ ndtr((y / math.sqrt(b) - atoms) / std)) for y in (1.0, -1.0))
    pair = (a, q * c + (1 - q) * a)
    assert binomial_delta(*pair, steps, claimed) <= 1e-6
    assert binomial_delta(*pair, steps, claimed / 1.03) > 1e-6


def test_rejecting_is_rare_in_the_tail():
    """Right of the last cell the leak covers rejection, whatever t is."""
    event = PenaltyBit(0.5, 1.0)
    _, tail, _ = pair_recursion._penalty_front(event, 5.0)
    edge = 12 * event.std + event.std**2 / 2 + event.shift + 1.0
    beyond = edge + np.array([0.0, 1.0, 10.0])
    assert np.all(np.exp(penalty_log_reject(beyond, event.std)) <= tail.leak)
    ratio = penalty_log_accept(beyond + event.shift, event.std) - penalty_log_accept(beyond, event.std)
    assert np.all(ratio <= tail.gain + 1e-16)


@dataclass(frozen=True)
class Dearer(PenaltyBit):
    """A bit of a user's own, derived from another and twice as dear."""


@renyi_of.register
def _(event: Dearer, orders):
    return 2 * renyi(PenaltyBit(event.shift, event.std), orders)


def test_an_event_that_is_derived_from_another_has_its_own_price():
    twice = epsilon(Repeat(PenaltyBit(0.03, 1.0), 1200), 1e-6)
    assert epsilon(Repeat(Dearer(0.03, 1.0), 600), 1e-6) >= 0.98 * twice


@pytest.mark.parametrize("event", [PenaltyBit(1.0, 0.01), PenaltyBit(2.0, 0.1), PenaltyBit(5.0, 0.3)])
def test_bits_that_are_nearly_certain_have_a_price(event):
    found = epsilon(Repeat(event, 5), 1e-6)
    assert 0 < found < math.inf
