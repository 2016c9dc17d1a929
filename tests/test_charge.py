"""One charge for everything: what runs, its arithmetic and what was spent before stay within the budget."""

import itertools
import math
import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpmcmc as dp
from dpmcmc import privacy
from dpmcmc.charge import RESERVED_DRAWS, OverBudget, Purse, of_draws, of_releases
from dpmcmc.method import RunFailed
from dpmcmc.privacy import Budget, Compose, Gaussian, GaussianFilter, Repeat
from dpmcmc.privacy.arithmetic import Arithmetic
from dpmcmc.privacy.gaussian import gaussian_log_delta
from dpmcmc.receipts import Receipt, receipts_of, round_up
from tests.likelihood.settings import cheap_sampler  # noqa: F401  (a fixture)

MODEL = dp.models.GaussianMean(2)
RECORDS = np.random.default_rng(0).normal(size=(500, 2))
BARKER = dp.Chain(dp.dp_barker(step=0.05, clip=0.002), warmup=0)
VARYING = dp.Chain(dp.dp_barker(step=0.05, clip=dp.DistanceClip(0.05)), warmup=0)


@settings(max_examples=200, deadline=None)
@given(st.floats(1e-3, 20), st.floats(1e-9, 0.1), st.integers(1, 10**6), st.booleans())
def test_what_is_left_and_what_finite_precision_takes_are_the_budget(epsilon, delta, count, coins):
    taken = of_draws(count) if coins else of_releases(count)
    try:
        ideal = taken.ideal(Budget(epsilon, delta))
    except ValueError:
        assert epsilon <= taken.epsilon or delta * math.exp(-taken.log_error) <= taken.tail
        return
    assert ideal.epsilon + taken.epsilon <= epsilon
    assert ideal.delta * math.exp(taken.log_error) + taken.tail <= delta * (1 + 1e-15)


def test_an_event_is_charged_its_cost_and_its_arithmetic():
    event, budget = Repeat(Gaussian(20.0), 3), Budget(1.0, 1e-6)
    guarantee, receipt = Purse(budget, of_releases(3)).charge("sums", event)
    alone = float(privacy.epsilon(event, budget.delta))
    assert alone < guarantee.epsilon == receipt.epsilon < alone * (1 + 1e-6)
    assert guarantee.arithmetic == of_releases(3).epsilon
    with pytest.raises(OverBudget, match=r"epsilon = 0\.1, delta = 1e-06\) does not pay for this") as error:
        Purse(Budget(0.1, 1e-6), of_releases(3)).charge("sums", event)
    assert error.value.cost == pytest.approx(alone, rel=1e-6)


RATIOS = np.linspace(-6, 6, 1201)
SHARES = np.linspace(0, 1, 5)


def gaussian_move(value, mu):
    """E_P of the value after a release of μ: the log likelihood ratio grows by N(μ²/2, μ²)."""
    nodes = np.linspace(-8, 8, 641)
    weights = np.exp(-(nodes**2) / 2)
    steps = mu * nodes[:, None] + mu**2 / 2
    return weights / weights.sum() @ np.interp(RATIOS + steps, RATIOS, value)


def bit_move(value, eta):
    """The same after the worst accept bit of range η: probabilities ½ ± tanh(η/4)/2, either way round."""
    p = 1 / (1 + math.exp(-eta / 2))
    steps = math.log(p / (1 - p))
    return p * np.interp(RATIOS + steps, RATIOS, value) + (1 - p) * np.interp(RATIOS - steps, RATIOS, value)


def game(epsilon, moves, stages, slack=0.0):
    """The largest δ(ε) of an adversary who chooses every release after seeing the last, shares adding up to 1.

    Backwards over a grid of log likelihood ratios and of what is left. ``moves`` take the value after them and the
    share that they use; ``slack`` is how far beyond the limit a false filter would let the last release go.
    """
    value = {left: np.maximum(0.0, -np.expm1(epsilon - RATIOS)) for left in SHARES}
    for stage in range(stages):
        limit = 1 + (slack if stage == 0 else 0.0)
        value = {
            left: np.max(
                [move(value[left - used], used * limit) for used in SHARES if used <= left for move in moves], axis=0
            )
            for left in SHARES
        }
    return float(np.interp(0.0, RATIOS, value[1.0]))


@pytest.mark.parametrize(("epsilon", "mu"), [(0.5, 0.5), (1.0, 0.7)])
def test_choosing_noise_as_one_goes_does_not_beat_one_gaussian(epsilon, mu):
    """Four adaptive releases reach the δ of one Gaussian of the same Σμ², and no more; a filter that leaks does."""
    one = math.exp(gaussian_log_delta(mu, epsilon))
    moves = [lambda value, share: gaussian_move(value, mu * math.sqrt(share))]
    assert game(epsilon, moves, 4) == pytest.approx(one, rel=2e-3)
    assert game(epsilon, moves, 4, slack=0.2) > 1.1 * one


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-2), (1.0, 1e-3)])
def test_mixing_sums_and_bits_as_one_goes_stays_within_the_zcdp_limit(epsilon, delta):
    """Gaussian releases and accept bits in any order, chosen as one goes, under the filter that ``spent=`` uses."""
    rho = privacy.zcdp_limit(epsilon, delta)
    moves = [
        lambda value, share: gaussian_move(value, math.sqrt(2 * rho * share)),
        lambda value, share: bit_move(value, math.sqrt(8 * rho * share)),
    ]
    assert 0.3 * delta < game(epsilon, moves, 4) <= delta


@pytest.fixture(scope="module")
def released():
    """One of each: a fit, a chain of constant cost, one of varying cost; all of them within (0.4, 1e-7)."""
    budget = {"epsilon": 0.4, "delta": 1e-7}
    return {
        "fit": dp.dpvi(MODEL, RECORDS, **budget, steps=5),
        "chain": dp.sample(MODEL, RECORDS, **budget, method=BARKER, draws=5, progress=False),
        "varying chain": dp.sample(MODEL, RECORDS, **budget, method=VARYING, draws=5, progress=False),
    }


def zcdp_of(receipt):
    return receipt.filter.limit if receipt.event is None else privacy.zcdp(receipt.event)


@pytest.mark.usefixtures("cheap_sampler")
@pytest.mark.parametrize(
    ("method", "before"),
    list(itertools.product(["default", "chain", "varying chain", "fit"], ["fit", "chain", "varying chain"])),
)
def test_one_budget_pays_for_what_was_spent_and_for_what_follows(released, method, before):
    """Whatever the methods are, the sum is within the budget's limit added up here, and nearly uses it."""
    spent, budget = released[before], Budget(1.0, 1e-6)
    if method == "fit":
        later = dp.dpvi(MODEL, RECORDS, 1.0, 1e-6, steps=5, spent=spent)
    else:
        how = {"default": None, "chain": BARKER, "varying chain": VARYING}[method]
        later = dp.plan(MODEL, len(RECORDS), budget, method=how, spent=spent)
    assert (later.guarantee.epsilon, later.guarantee.delta) == (1.0, 1e-6)
    assert "earlier charge included" in later.guarantee.method
    assert later.receipts[:-1] == spent.receipts
    whole, limit = sum(zcdp_of(receipt) for receipt in later.receipts), privacy.zcdp_limit(1.0, 1e-6)
    assert 0.9 * limit < whole <= limit


@pytest.mark.usefixtures("cheap_sampler")
def test_the_default_after_the_default():
    """Both together cost no more than the budget by the accountant of Gaussian sums, and nearly all of it."""
    first = dp.sample(MODEL, RECORDS, 0.5, 1e-6, progress=False)
    second = dp.plan(MODEL, len(RECORDS), Budget(1.0, 1e-6), spent=first)
    together = Compose((first.receipts[0].event, second.receipts[1].event))
    assert 0.9 < float(privacy.epsilon(together, 1e-6)) <= 1.0
    assert [r.purpose for r in second.receipts] == ["log likelihood"] * 2


def test_what_may_be_spent_does_not_depend_on_what_will_be_run():
    """Sums after sums have the limit that anything else would have: the choice may depend on the first release."""
    earlier = (Receipt("fit", 0.1, 1e-7, of_releases(1), event=Gaussian(10.0)),)
    purse = Purse(Budget(1.0, 1e-6), of_releases(1), earlier)
    assert purse.mu**2 / 2 == pytest.approx(purse.zcdp, rel=1e-8)
    assert purse.mu**2 / 2 <= purse.zcdp


def test_a_failed_run_can_be_counted(monkeypatch):
    """A numerical failure after the first sum: the exception says what is spent, and is accepted as spent."""

    def broken(*arguments):
        raise np.linalg.LinAlgError("SVD did not converge")

    monkeypatch.setattr("dpmcmc.likelihood.stages.Basis.build", broken)
    with pytest.raises(RunFailed, match=r"SVD did not converge\. .* whole plan counts as spent") as failed:
        dp.sample(MODEL, RECORDS, 0.5, 1e-6, progress=False)
    plan = dp.plan(MODEL, len(RECORDS), Budget(1.0, 1e-6), method=BARKER, spent=failed.value)
    assert [receipt.purpose for receipt in plan.receipts] == ["log likelihood", "chains"]


def test_a_failed_run_is_counted_in_another_process_too(monkeypatch):
    """The error arrives with what was spent when a pool of processes passes it on."""
    monkeypatch.setattr("dpmcmc.likelihood.stages.Basis.build", lambda *_: 1 / 0)
    with pytest.raises(RunFailed) as failed:
        dp.sample(MODEL, RECORDS, 0.5, 1e-6, progress=False)
    arrived = pickle.loads(pickle.dumps(failed.value))
    assert type(arrived) is RunFailed
    assert str(arrived) == str(failed.value)
    assert (arrived.guarantee, arrived.receipts) == (failed.value.guarantee, failed.value.receipts)
    assert arrived.release is None
    assert (
        dp.plan(MODEL, len(RECORDS), Budget(1.0, 1e-6), method=BARKER, spent=arrived).receipts[0] == arrived.receipts[0]
    )


@dataclass(frozen=True)
class ProvenToAHalf(privacy.Event):
    """Proven in machine arithmetic up to ε = 0.5 only."""

    largest_epsilon = 0.5


@privacy.range_of.register
def _(event: ProvenToAHalf) -> float:
    return 0.1


def test_no_guarantee_is_issued_where_the_arithmetic_is_not_proven():
    few, many = Repeat(ProvenToAHalf(), 2), Repeat(ProvenToAHalf(), 20)
    purse = Purse(Budget(1.0, 1e-6), of_draws(20))
    assert purse.charge("few", few)[0] is not None
    assert purse.charge("many", many)[0] is None
    earlier = (Receipt("before", 0.1, 1e-7, of_draws(1), event=ProvenToAHalf()),)
    assert Purse(Budget(1.0, 1e-6), of_draws(1), earlier).charge("more", Gaussian(50.0))[0] is None
    assert Purse(Budget(0.5, 1e-6), of_draws(1), earlier).charge("more", Gaussian(50.0))[0] is not None


def test_a_filter_beyond_the_budget_is_refused():
    purse = Purse(Budget(1.0, 1e-6), of_draws(1))
    rule = privacy.ZcdpFilter.for_budget(purse.ideal.epsilon, purse.ideal.delta)
    assert purse.charge("chains", rule=rule)[0].epsilon == 1.0
    with pytest.raises(OverBudget):
        purse.charge("chains", rule=privacy.ZcdpFilter(rule.limit * (1 + 1e-12)))


def test_a_filter_of_gaussian_releases_alone_has_the_limit_of_one_gaussian():
    purse = Purse(Budget(1.0, 1e-6), of_releases(6))
    rule = GaussianFilter.of_mu(purse.mu, 6)
    guarantee, receipt = purse.charge("sums", rule=rule)
    assert (guarantee.epsilon, guarantee.delta, guarantee.relation) == (1.0, 1e-6, "substitution")
    assert guarantee.method == "Gaussian filter"
    assert Receipt.from_dict(receipt.to_dict()) == receipt
    assert 1 - 1e-7 < float(privacy.epsilon(Gaussian(1 / rule.mu), 1e-6)) <= 1.0
    assert rule.limit > 1.05 * privacy.zcdp_limit(1.0, 1e-6)  # more than zCDP would allow
    with pytest.raises(OverBudget, match="filter's limit"):
        purse.charge("sums", rule=GaussianFilter(rule.limit * (1 + 1e-8), 6))
    with pytest.raises(ValueError, match=r"allows 7 releases, more than .* of_releases\(7\)"):
        purse.charge("sums", rule=GaussianFilter(rule.limit, 7))


def test_a_filter_of_gaussian_releases_after_or_before_others_is_priced_in_zcdp():
    earlier = (Receipt("fit", 0.1, 1e-7, of_releases(1), event=Gaussian(10.0)),)
    purse = Purse(Budget(1.0, 1e-6), of_releases(6), earlier)
    rule = GaussianFilter.of_mu(purse.mu, 6)
    guarantee, _ = purse.charge("sums", rule=rule)
    assert guarantee.epsilon == 1.0
    assert "1 earlier charge included" in guarantee.method
    assert privacy.zcdp(earlier[0].event) + rule.limit <= privacy.zcdp_limit(1.0, 1e-6)
    with pytest.raises(OverBudget, match="leaves too little"):
        purse.charge("sums", rule=GaussianFilter(rule.limit * (1 + 1e-8), 6))
    alone = Purse(Budget(1.0, 1e-6), of_releases(6))
    first = alone.charge("sums", rule=GaussianFilter.of_mu(alone.mu, 6))[1]
    with pytest.raises(OverBudget, match="all of the budget"):  # its limit is above that of zCDP
        Purse(Budget(1.0, 1e-6), of_releases(1), (first,)).charge("more", Gaussian(1e4))
    more = Purse(Budget(2.0, 1e-6), of_releases(1), (first, *earlier))
    spent = first.filter.limit + privacy.zcdp(earlier[0].event)
    assert more.zcdp == pytest.approx(privacy.zcdp_limit(2.0, 1e-6) - spent, rel=1e-3)
    assert more.zcdp < privacy.zcdp_limit(2.0, 1e-6) - spent
    with pytest.raises(ValueError, match="allows 6 releases"):
        Purse(Budget(1.0, 1e-6), of_releases(5), earlier).charge("sums", rule=rule)


def test_what_cannot_be_counted_is_refused(released):
    budget, fit = Budget(1.0, 1e-6), released["fit"]
    seeded = dp.dpvi(MODEL, RECORDS, 0.5, 1e-6, steps=3, seed=1)
    for method in (None, BARKER):
        with pytest.raises(ValueError, match="without a guarantee"):
            dp.plan(MODEL, len(RECORDS), budget, method=method, spent=seeded)
        with pytest.raises(OverBudget, match="all of the budget"):
            dp.plan(MODEL, len(RECORDS), Budget(0.3, 1e-7), method=method, spent=fit)
        with pytest.raises(TypeError, match="got ChainPlan"):
            dp.plan(MODEL, 500, budget, method=method, spent=dp.plan(MODEL, 500, budget, method=BARKER))
    with pytest.raises(OverBudget, match="is left, for"):
        dp.plan(MODEL, len(RECORDS), budget, method=BARKER, draws=10**6, spent=(fit,))
    kernel = dp.dp_barker_subsampled(0.1, 100)
    with pytest.raises(OverBudget, match="is left, for 0 steps"):
        dp.plan(MODEL, len(RECORDS), budget, method=kernel, temperature=0.01, spent=fit)


def test_relations_and_unknown_costs_do_not_mix():
    other = Receipt("sums", 0.1, 1e-7, of_releases(2), event=Repeat(Gaussian(50.0, privacy.ADD_REMOVE), 2))
    with pytest.raises(ValueError, match="add_remove says nothing of one under substitution"):
        Purse(Budget(1.0, 1e-6), of_releases(1), (other,)).charge("more", Gaussian(50.0))
    renyi = Receipt("chains", 0.1, 1e-7, of_draws(9), filter=privacy.RenyiFilter(8.0, 0.01))
    with pytest.raises(ValueError, match="'chains' has no known cost in zCDP"):
        _ = Purse(Budget(1.0, 1e-6), of_releases(1), (renyi,)).zcdp
    long = Receipt("chains", 0.1, 1e-7, of_draws(RESERVED_DRAWS), event=Gaussian(50.0))
    with pytest.raises(ValueError, match="take fewer steps"):
        Purse(Budget(1.0, 1e-6), of_releases(1), (long,))


def test_a_limit_shared_with_earlier_releases_depends_on_the_budget_alone():
    """A filter's limit must be fixed before anything is released: neither the past nor the plan may move it."""
    cheap, dear = (Receipt("fit", 0.1, 1e-7, of_releases(1), event=Gaussian(m)) for m in (500.0, 10.0))
    purses = [Purse(Budget(1.0, 1e-6), of_draws(k), (r,)) for k, r in itertools.product((1, 10**6), (cheap, dear))]
    assert len({purse.ideal for purse in purses}) == 1
    left = [purse.zcdp + privacy.zcdp(purse.earlier[0].event) for purse in purses]
    assert np.ptp(left) < 1e-8


@pytest.mark.parametrize(
    ("value", "printed"),
    [(0.1, "0.1"), (1e-5, "1e-05"), (1e-6, "1e-06"), (1.0, "1"), (0.99999996, "1"), (0.1234561, "0.123457"),
     (0.1 + 2e-17, "0.100001"), (3.0000001, "3.00001"), (math.inf, "inf"), (1 / 3, "0.333334")],
)  # fmt: skip
def test_numbers_print_as_given_and_never_below(value, printed):
    assert round_up(value) == printed
    assert float(printed) >= value


@settings(max_examples=300, deadline=None)
@given(st.floats(1e-12, 1e6))
def test_a_printed_bound_is_a_bound(value):
    assert value <= float(round_up(value)) <= value * (1 + 2e-5)


def test_a_receipt_is_plain_data():
    receipt = Receipt("chains", 0.5, 1e-6, Arithmetic(1e-9, 1e-20), event=Repeat(Gaussian(3.0), 4))
    assert Receipt.from_dict(receipt.to_dict()) == receipt
    assert receipts_of(()) == receipts_of(None) == ()
