"""Zero-out, the second neighbouring relation: what a record that is there or not moves, and what is charged for it."""

import json
import math
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpmcmc as dp
from dpmcmc import algorithms, privacy
from dpmcmc.algorithms import ALGORITHMS
from dpmcmc.auditing import Claim, Neighbours, experiment_of, worst
from dpmcmc.auditing.sums import _free, _line, likelihood_sums, score_sums, sum_experiment
from dpmcmc.auditing.worst import FLIP
from dpmcmc.chain.acceptance import Barker, Penalty, ProportionalPenalty
from dpmcmc.chain.kernel import Kernel, under
from dpmcmc.chain.proposals import Custom, Langevin, Leapfrog, Move
from dpmcmc.charge import OverBudget, Purse, check_guarantee, of_draws, of_releases
from dpmcmc.ledger import LedgerDamaged, LedgerError
from dpmcmc.ledger.balance import Balance
from dpmcmc.mechanisms.blocks import BLOCK
from dpmcmc.mechanisms.counts import Histograms, weighted_counts
from dpmcmc.mechanisms.fixed_point import LEVELS, integer_sum
from dpmcmc.mechanisms.gaussian_sum import CHARGED_STD, LARGEST_BOUND, GaussianSum, whole_sum, whole_total
from dpmcmc.plain import Plain
from dpmcmc.posterior import Posterior
from dpmcmc.privacy import (
    SUBSTITUTION,
    ZERO_OUT,
    BarkerBit,
    Budget,
    Compose,
    Gaussian,
    GaussianFilter,
    PenaltyBit,
    RenyiFilter,
    Repeat,
    Selection,
    ZcdpFilter,
)
from dpmcmc.randomness import RandomSource
from dpmcmc.raveled import RaveledModel
from dpmcmc.receipts import Guarantee, Receipt
from dpmcmc.scores import vectors
from dpmcmc.scores.reader import Reader

BUDGET = Budget(1.0, 1e-6, ZERO_OUT)
EXTREME = (0.0, 1.0, -1.0, 0.3, 1e-300, 1e30, -1e300, math.inf, -math.inf, math.nan)


SUM = jax.jit(lambda data, bound, unit: whole_total(data, lambda block: block, bound, unit))
COUNT = jax.jit(
    lambda data, bins, weight: weighted_counts(data, lambda block: block, (data.shape[1], bins), weight),
    static_argnums=1,
)

# what a record moves: the compiled sums, with its slot filled and empty


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.sampled_from(EXTREME), min_size=3, max_size=3),
    st.sampled_from((20, 1000, 2**20 + 1, LARGEST_BOUND)),
    st.sampled_from((5, BLOCK, 2 * BLOCK + 3)),
)
def test_an_empty_slot_moves_a_clipped_sum_by_the_bound_at_most(seed, row, bound, n):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 3)) * 10.0 ** rng.integers(-3, 4, size=(n, 1))
    slot = int(rng.integers(n))
    rows[slot] = row
    with jax.enable_x64(True):
        moved = np.asarray(SUM(rows, bound, 1 / bound)) - np.asarray(SUM(np.delete(rows, slot, 0), bound, 1 / bound))
    assert sum(int(w) ** 2 for w in moved) <= bound**2  # exact, in whole numbers


def test_the_bound_is_attained_and_charged():
    total = GaussianSum.of_multiplier(1.0, 1.0, ZERO_OUT)
    assert (total.std, total.clip) == (1.0, 1.0)
    with jax.enable_x64(True):
        rows = np.r_[[[1e9, 0.0]], np.zeros((4, 2))]
        moved = total.whole_sum(rows) - total.whole_sum(rows[1:])
        empty = whole_sum(jnp.asarray(rows), total.bound, total.unit, jnp.arange(5) > 0)
        assert np.array_equal(total.whole_sum(rows[1:]), empty)  # an empty slot is one that does not count
    assert total.bound - 2 <= np.linalg.norm(np.asarray(moved)) <= total.bound
    assert total.event(5) == Gaussian(CHARGED_STD / total.bound, ZERO_OUT)
    with pytest.raises(ValueError, match=r"0\.5 is below 1"):
        GaussianSum(1.0, 0.5, ZERO_OUT)
    with pytest.raises(ValueError, match="not over batches"):
        total.event(10, batch=5)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(((1, 1), (1, 6), (4, 3))), st.integers(0, 2**32 - 1), st.sampled_from((3, 2 * BLOCK + 7)))
def test_an_empty_slot_moves_counts_by_the_root_of_the_columns_exactly(shape, seed, n):
    rng, (columns, bins) = np.random.default_rng(seed), shape
    chosen = rng.integers(-2, bins + 3, size=(n, columns))
    slot = int(rng.integers(n))
    table = Histograms.of_multiplier(columns, 3.0, ZERO_OUT)
    with jax.enable_x64(True):
        moved = np.asarray(COUNT(chosen, bins, table.weight) - COUNT(np.delete(chosen, slot, 0), bins, table.weight))
    assert np.sum((moved // table.weight) ** 2) == columns
    assert np.all(moved % table.weight == 0)
    assert table.weight * math.sqrt(columns) <= CHARGED_STD / table.noise_multiplier


RELEASED = [*score_sums(ZERO_OUT), *likelihood_sums(ZERO_OUT)]
QUICK = ("scores: scores", "covariates", "features")


@pytest.mark.parametrize(
    "experiment",
    [pytest.param(one, id=one.name, marks=() if one.name.endswith(QUICK) else pytest.mark.slow) for one in RELEASED],
)
def test_what_the_default_methods_release_moves_by_no_more_than_is_claimed_and_attains_it(experiment):
    """Seen along the direction in which the sums differ, with one noise for both sides: what is left is the move."""
    there, gone = (experiment.run(side, 3, RandomSource(1)) for side in (0, 1))
    claim = experiment.views[0].claim
    assert claim.event.relation == ZERO_OUT
    moved = np.abs(there - gone)
    assert np.all(moved <= _std(experiment) * claim.mu * (1 + 1e-6))
    assert np.all(moved >= 0.999 * _std(experiment) * claim.mu)


def _std(experiment):
    """Of the noise at μ = 1: one clip, or the root of the columns."""
    columns = {"covariates": 3, "counts of curvatures": 2}
    return math.sqrt(next((k for name, k in columns.items() if name in experiment.name), 1))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(EXTREME), min_size=1, max_size=6), st.floats(1e-6, 1e6), st.data())
def test_an_empty_slot_moves_a_log_ratio_by_the_levels_at_most(terms, bound, data):
    slot = data.draw(st.integers(0, len(terms) - 1))
    with jax.enable_x64(True):
        bound = jnp.float64(bound)
        with_it, without = (integer_sum(jnp.asarray(rest), bound) for rest in (terms, np.delete(terms, slot)))
    assert abs(int(with_it) - int(without)) <= LEVELS


@pytest.mark.parametrize("test", [Barker(0.7), Penalty(0.7, 0.9), ProportionalPenalty(0.7, 2.0)])
@pytest.mark.parametrize("temperature", [1.0, 0.01])
def test_decisions_move_by_the_clip_and_are_charged_for_it(test, temperature):
    test, at = under(test, ZERO_OUT), worst.two_states(-0.3).emptied()
    moved = []
    with jax.enable_x64(True):
        for side in (0, 1):
            posterior = Posterior(at.models[side], jnp.asarray(at.data[side]), temperature)
            cache, move = test.prepare(posterior, jnp.asarray(0)), Move(jnp.asarray(1))
            moved.append(float(test.statistic(posterior, cache, jnp.asarray(0), move, jnp.float64(-0.3))[0]))
        shift = float(test.shift(at.models[0], temperature, jnp.asarray(0), jnp.asarray(1)))
        std = float(test.std(at.models[0], temperature, 0, 1)) if isinstance(test, ProportionalPenalty) else None
    assert shift == pytest.approx(0.7 * temperature)
    assert moved[0] - moved[1] == pytest.approx(shift, rel=1e-9)  # attained
    event = test.event(8, temperature)
    assert event.relation == ZERO_OUT
    if std is None:
        assert event == test.event_at(shift)
        assert event.shift == shift
    else:
        assert std >= event.noise_multiplier * shift


def test_selections_move_by_twice_the_clip_and_are_charged_for_it():
    kernel = under(algorithms.dp_hidden_centre(worst.EITHER_WAY, 16, 0.6), ZERO_OUT)
    at, logs = worst.up_and_down(0.2).emptied(), []
    with jax.enable_x64(True):
        for side in (0, 1):
            posterior = Posterior(at.models[side], jnp.asarray(at.data[side]))
            state = kernel.init(posterior, jnp.asarray(0), ())
            move = kernel.propose(jax.random.key(3), {}, posterior, state)
            logs.append(np.log(np.asarray(kernel.probabilities(posterior, state, move))))
    event = kernel.event(8)
    assert event == Selection(2 * 0.6, ZERO_OUT)
    assert np.ptp(logs[0] - logs[1]) == pytest.approx(event.range)


def test_noise_of_gradients_halves_or_costs_a_quarter():
    leap = Leapfrog(0.1, 3, 2.0, 5.0)
    assert under(leap, ZERO_OUT)._sum().std == leap._sum().std / 2
    assert privacy.zcdp(under(leap, ZERO_OUT).event(9, 1.0)) == pytest.approx(privacy.zcdp(leap.event(9, 1.0)))
    walk = Langevin(0.01, 1.0)
    assert under(walk, ZERO_OUT)._sum(9, 1.0).std == walk._sum(9, 1.0).std
    assert privacy.zcdp(under(walk, ZERO_OUT).event(9, 1.0)) == pytest.approx(privacy.zcdp(walk.event(9, 1.0)) / 4)
    with pytest.raises(ValueError, match="not over batches"):
        under(Langevin(0.01, 1.0, batch=3), ZERO_OUT).event(9, 1.0)


PROVEN = {"dp_barker", "dp_penalty", "dp_penalty_one_component", "dp_penalty_guided", "dp_hmc", "dp_sgld", "dp_orbit",
          "dp_hidden_centre"}  # fmt: skip


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_is_proven_under_zero_out_or_refused_by_name(name):
    for contract in ALGORITHMS[name].contracts:
        kernel = contract.make(dp.RandomWalk(0.1), 1.0)
        if name in PROVEN and "batch" not in repr(kernel).replace("batch=None", ""):
            event = kernel.under(ZERO_OUT).event(100, 1.0)
            assert event is None or event.relation == ZERO_OUT
        else:
            with pytest.raises(ValueError, match=r"not proven under zero-out|not over batches") as refused:
                kernel.under(ZERO_OUT).event(100, 1.0)
            assert "substitution" in str(refused.value)
    assert kernel.under(SUBSTITUTION) == kernel


def test_a_kernel_of_the_users_own_is_refused_where_it_says_nothing():
    class Mine:
        def decide(self): ...

    with pytest.raises(ValueError, match="Mine is not proven under zero-out"):
        under(Mine(), ZERO_OUT)
    assert isinstance(under(Mine(), SUBSTITUTION), Mine)


# what is charged for it


def test_every_event_has_the_twin_that_the_same_mechanism_has_under_substitution():
    for test in (Barker(0.3), Penalty(0.3, 0.5), Kernel(Custom(lambda key, theta: theta), Barker(0.3))):
        here, there = (under(test, relation).event(50, 0.7) for relation in (ZERO_OUT, SUBSTITUTION))
        assert privacy.under(here, SUBSTITUTION) == there
        assert privacy.under(there, SUBSTITUTION) is there
    assert privacy.twin(Selection(0.2, ZERO_OUT)) == Selection(0.4)
    assert privacy.twin(Repeat(Gaussian(20.0, ZERO_OUT), 3)) == Repeat(Gaussian(10.0), 3)
    both = Compose((Gaussian(20.0, ZERO_OUT), Repeat(BarkerBit(0.1, ZERO_OUT), 4)))
    assert privacy.twin(both) == Compose((Gaussian(10.0), Repeat(BarkerBit(0.2), 4)))
    assert privacy.zcdp(privacy.twin(both)) == pytest.approx(4 * privacy.zcdp(both))
    for rule in (ZcdpFilter(0.01, ZERO_OUT), GaussianFilter.of_mu(0.3, 5, ZERO_OUT)):
        assert privacy.twin(rule).limit == pytest.approx(4 * rule.limit)
        assert privacy.twin(rule).limit >= 4 * rule.limit
        assert privacy.twin(rule).relation == SUBSTITUTION


@pytest.mark.parametrize(
    ("stated", "relation", "said"),
    [
        (Gaussian(1.9, ZERO_OUT), SUBSTITUTION, "multiplier of 1.9 under zero-out allows sums with less noise"),
        (ZcdpFilter(0.126, ZERO_OUT), SUBSTITUTION, "limit of 0.126-zCDP under zero-out allows"),
        (GaussianFilter.of_mu(0.51, 5, ZERO_OUT), SUBSTITUTION, "less noise than is proven"),
        (RenyiFilter(8.0, 0.1, ZERO_OUT), SUBSTITUTION, "what it costs under substitution is not known"),
        (BarkerBit(0.1), ZERO_OUT, "under substitution says nothing of one under zero-out"),
        (ZcdpFilter(0.1), ZERO_OUT, "under substitution says nothing of one under zero-out"),
        (Gaussian(9.0, privacy.ADD_REMOVE), SUBSTITUTION, "State all releases"),
    ],
)
def test_what_has_no_twin_is_refused(stated, relation, said):
    with pytest.raises(ValueError, match=said):
        privacy.under(stated, relation)


def test_a_purse_pays_for_its_own_relation_alone():
    purse = Purse(BUDGET, of_releases(1))
    guarantee, receipt = purse.charge("sums", Gaussian(50.0, ZERO_OUT))
    assert guarantee.relation == receipt.relation == ZERO_OUT
    check_guarantee(guarantee, (receipt,))
    with pytest.raises(ValueError, match="must be stated under it"):
        check_guarantee(replace(guarantee, relation=SUBSTITUTION), (receipt,))
    for wrong in (Gaussian(50.0), Repeat(BarkerBit(0.01), 3)):
        with pytest.raises(ValueError, match=r"charged under zero-out must be stated under it"):
            purse.charge("sums", wrong)
    with pytest.raises(ValueError, match="cannot pay for a filter for substitution"):
        purse.charge("sums", rule=GaussianFilter.of_mu(0.1, 1))
    with pytest.raises(ValueError, match="speaks of substitution"):
        ZcdpFilter(1.0, ZERO_OUT).price(BarkerBit(0.1))
    assert ZcdpFilter(1.0, ZERO_OUT).price(Compose(())) == 0


EVENTS = st.builds(
    lambda kind, size, relation: kind(size, relation),
    st.sampled_from((lambda s, r: BarkerBit(0.02 * s, r), lambda s, r: Gaussian(30 / s, r),
                     lambda s, r: PenaltyBit(0.02 * s, 1.0, r), lambda s, r: Selection(0.02 * s, r))),
    st.floats(0.01, 1.0),
    st.sampled_from((SUBSTITUTION, ZERO_OUT)),
)  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(st.lists(EVENTS, min_size=1, max_size=5), st.sampled_from((SUBSTITUTION, ZERO_OUT)))
def test_costs_of_two_relations_never_add_up_as_one(events, relation):
    earlier = tuple(Receipt("one", 0.5, 1e-7, of_releases(1), event=event) for event in events)
    budget = Budget(3.0, 1e-6, relation)
    if relation == ZERO_OUT and any(event.relation == SUBSTITUTION for event in events):
        with pytest.raises(ValueError, match="says nothing of one under zero-out"):
            Purse(budget, of_releases(1), earlier)
        return
    free = Purse(budget, of_releases(1), (Receipt("nothing", 0.0, 1e-9, of_releases(0), event=Compose(())),)).zcdp
    factors = [4 if event.relation != relation else 1 for event in events]
    spent = sum(factor * privacy.zcdp(event) for factor, event in zip(factors, events, strict=True))
    assert Purse(budget, of_releases(1), earlier).zcdp == pytest.approx(free - spent, abs=1e-12)


# what is said of it


def test_plans_of_every_method_say_what_they_protect_and_halve_the_noise():
    line = dp.models.LinearRegression({"a": (-1, 1)}, outcome=(-1, 1), sigma=0.3)
    here, there = (dp.plan(line, 5000, Budget(1.0, 1e-6, relation)) for relation in (ZERO_OUT, SUBSTITUTION))
    assert here.rule.mu == there.rule.mu
    assert here.rule.noise == there.rule.noise / 2
    assert here.least_error == pytest.approx(there.least_error / 2)
    assert here.guarantee.relation == here.receipts[-1].relation == ZERO_OUT
    mean = dp.models.GaussianMean(1)
    here, there = (dp.plan(mean, 5000, Budget(1.0, 1e-6, relation)) for relation in (ZERO_OUT, SUBSTITUTION))
    assert [a.std / b.std for a, b in zip(here.totals, there.totals, strict=True)] == pytest.approx([0.5] * 4)
    assert here.receipts[-1].relation == here.guarantee.relation == ZERO_OUT
    for kernel in (dp.dp_barker(0.1, 0.03), algorithms.dp_hidden_centre(0.1, 4, 0.03)):
        here, there = (
            dp.plan(mean, 500, Budget(1.0, 1e-6, relation), method=kernel, chains=1)
            for relation in (ZERO_OUT, SUBSTITUTION)
        )
        assert 3.9 < here.steps / there.steps < 4.2
        assert "zero-out of one record" in str(here.guarantee)
    with pytest.raises(ValueError, match="CorrectedBarker is not proven under zero-out"):
        dp.plan(mean, 500, BUDGET, method=dp.dp_barker_subsampled(0.1, 10), temperature=0.01)


def test_varying_costs_are_filtered_under_their_relation():
    mean = dp.models.GaussianMean(1)
    plan = dp.plan(mean, 500, BUDGET, method=dp.dp_barker(0.1, dp.DistanceClip(0.1)), chains=1)
    assert plan.filter.relation == plan.guarantee.relation == ZERO_OUT
    default = dp.plan(mean, 500, BUDGET, method=dp.Chain())
    assert default.filter.relation == ZERO_OUT


def test_the_words_say_what_is_protected_and_how_it_compares():
    guarantee = Guarantee(1.0, 1e-6, ZERO_OUT, "zCDP")
    assert str(guarantee) == (
        "(1, 1e-06)-differentially private under zero-out of one record: what is protected is whether it is there, and "
        "the number of records is public"
    )
    assert "all records of one person: what is protected is whether they are there, and the number of persons" in str(
        Guarantee(1.0, 1e-6, ZERO_OUT, "zCDP", unit="person")
    )
    assert guarantee.under_substitution() == pytest.approx((2.0, (1 + math.e) * 1e-6))
    assert Guarantee(1.0, 1e-6, SUBSTITUTION, "zCDP").under_substitution() == (1.0, 1e-6)
    assert Guarantee(1e4, 0.1, ZERO_OUT, "zCDP").under_substitution() == (2e4, 1.0)


def test_two_steps_of_a_gaussian_are_within_what_the_words_say():
    """μ for an empty slot is 2μ for other values, exactly; (2ε, (1 + e^ε)δ) must not be below its curve."""
    for epsilon, delta in ((0.1, 1e-6), (1.0, 1e-6), (3.0, 1e-9), (8.0, 1e-5)):
        mu = privacy.GaussianFilter.for_budget(epsilon, delta, 1).mu
        twice, larger = Guarantee(epsilon, delta, ZERO_OUT, "").under_substitution()
        assert float(privacy.delta(Gaussian(1 / (2 * mu)), twice)) <= larger


def test_bad_relations_are_refused_before_anything_else():
    mean, data = dp.models.GaussianMean(1), np.zeros((50, 1))
    for wrong in ("add_remove", "zero_out", "", None, 1, ("zero-out",)):
        with pytest.raises(ValueError, match=r"relation must be one of 'substitution', 'zero-out'"):
            Budget(1.0, 1e-6, wrong)
        with pytest.raises(ValueError, match=r"relation must be one of"):
            dp.sample(mean, data, 1.0, 1e-6, relation=wrong)
        with pytest.raises(ValueError, match=r"relation must be one of"):
            dp.audit("dp_barker", relation=wrong)
    with pytest.raises(ValueError, match="what a budget is for"):
        dp.sample(mean, data, relation=ZERO_OUT, method=dp.algorithms.metropolis(0.1), draws=3)


# files and ledgers


def chain_release(relation=ZERO_OUT, **settings):
    mean, data = dp.models.GaussianMean(1), np.zeros((400, 1))
    method = dp.Chain(dp.dp_barker(0.1, 0.01), warmup=2)
    return dp.sample(
        mean, data, 0.3, 1e-6, method=method, draws=8, chains=1, relation=relation, progress=False, **settings
    )


def test_saved_releases_keep_their_relation_and_old_ones_are_of_substitution(tmp_path):
    release = chain_release()
    assert "zero-out of one record" in release.statement()
    assert "Do not compare epsilon" in release.statement()
    found = dp.Release.load(release.save(tmp_path / "one.npz"))
    assert (found.guarantee, found.receipts) == (release.guarantee, release.receipts)
    assert found.guarantee.relation == found.receipts[0].relation == ZERO_OUT
    assert found.to_arviz().attrs["guarantee_relation"] == ZERO_OUT
    old = chain_release(SUBSTITUTION)
    assert '"relation"' not in json.dumps(old.receipts[0].to_dict())  # as files were before there was another
    assert dp.Release.load(old.save(tmp_path / "two.npz")).guarantee.relation == SUBSTITUTION
    for fact in (BarkerBit(0.1), PenaltyBit(0.1, 1.0), Selection(0.1), ZcdpFilter(0.1), RenyiFilter(3.0, 0.1)):
        assert "relation" not in fact.to_dict()
        for relation in (SUBSTITUTION, ZERO_OUT):
            stated = replace(fact, relation=relation)
            assert Plain.from_dict(stated.to_dict()) == stated


def test_a_ledger_counts_under_its_own_relation(tmp_path):
    wide = dp.Ledger.create(tmp_path / "wide.db", dataset="clinic", budget=Budget(1.0, 1e-6, ZERO_OUT))
    strict = dp.Ledger.create(tmp_path / "strict.db", dataset="clinic", budget=Budget(1.0, 1e-6))
    assert "zero-out of one record" in str(wide)
    release = chain_release(ledger=wide)
    chain_release(ledger=strict)
    assert strict.spent == pytest.approx(4 * wide.spent)
    assert wide.spent == pytest.approx(privacy.zcdp(release.receipts[0].event))
    assert wide.guarantee.relation == dp.Ledger(tmp_path / "wide.db").budget.relation == ZERO_OUT
    assert strict.guarantee.relation == SUBSTITUTION
    assert "1e-06) zero-out" in str(strict)
    wide.verify()
    strict.verify()
    with pytest.raises(LedgerError, match=r"the ledger is for zero-out, and .* says nothing of one under zero-out"):
        chain_release(SUBSTITUTION, ledger=wide)
    again = chain_release(ledger=wide, spent=release)  # what a ledger knows, it knows by its words
    assert again.guarantee.epsilon == 0.3
    with pytest.raises(ValueError, match="says nothing of one under zero-out"):
        chain_release(spent=strict)
    assert "4 earlier" not in chain_release(SUBSTITUTION, spent=wide).statement()


def test_a_price_of_the_other_relation_is_found(tmp_path):
    """An entry that charges a zero-out run to a ledger of substitution at its own price cannot have been written."""
    from dpmcmc.ledger.book import Book
    from dpmcmc.ledger.entries import digest_after

    ledger = dp.Ledger.create(tmp_path / "strict.db", dataset="clinic", budget=Budget(1.0, 1e-6))
    chain_release(ledger=ledger)
    lines = [json.loads(line) for line in ledger.book.lines]
    for factor, found in ((1.0, None), (0.25, "a lower price"), (0.99, "a lower price")):
        book = Book()
        for number, line in enumerate(lines):
            changed = line | {"zcdp": line["zcdp"] * factor} if line["kind"] == "reserve" else line
            text = json.dumps(changed, sort_keys=True)
            book.add(number, text, digest_after(book.digest, text))
        if found is None:
            book.recheck()
        else:
            with pytest.raises(LedgerDamaged, match=found):
                book.recheck()


def test_ledgers_refuse_what_they_cannot_convert():
    balance = Balance(Budget(3.0, 1e-6), "record")
    noisy, clear = (Receipt("sums", 1.0, 1e-7, of_releases(1), event=Gaussian(m, ZERO_OUT)) for m in (50.0, 1.5))
    assert balance.price(noisy) == pytest.approx(4 * privacy.zcdp(noisy.event))
    with pytest.raises(LedgerError, match="less noise than is proven"):
        balance.price(clear)
    dear = Receipt("chains", 1.0, 1e-7, of_draws(9), event=Repeat(BarkerBit(0.4, ZERO_OUT), 2))
    Balance(Budget(1.5, 1e-6, ZERO_OUT), "record").price(dear)
    with pytest.raises(OverBudget, match="zCDP left"):
        Balance(Budget(1.5, 1e-6), "record").price(dear)


# audits

OTHERS = ("scores", "likelihood", "dp_penalty", "dp_sgld", "dp_orbit", "dp_hidden_centre")


@pytest.mark.parametrize("name", ["dp_barker", *(pytest.param(n, marks=pytest.mark.slow) for n in OTHERS)])
def test_audits_under_zero_out_stay_within_the_claim_and_come_near(name):
    report = dp.audit(name, relation=ZERO_OUT, runs=6000)
    assert report.passed
    assert max(finding.share for finding in report.findings) > 0.6


def _bits():
    kernel, claim = under(algorithms.dp_barker(FLIP, 1.0), ZERO_OUT), Claim(BarkerBit(1.0, ZERO_OUT))
    return experiment_of("bits", kernel, worst.two_states(-1.0), claim=claim, steps=1)


def _choice():
    kernel, claim = algorithms.dp_hidden_centre(worst.EITHER_WAY, 64, 0.5), Claim(Selection(1.0, ZERO_OUT))
    return experiment_of("choice", kernel, worst.up_and_down(0.0), claim=claim, steps=1)


def _scores():
    with jax.enable_x64(True):
        at = (jnp.zeros(2), jnp.eye(2))
    return _sums_at_half_price(_free(-1e6, 1e6), lambda reader: reader.total(vectors.scores, at, 1.0, 2, 1.0))


def _counts():
    return _sums_at_half_price(_line(), lambda reader: reader.covariate_counts(np.zeros((3, 1)), 1.0))


@pytest.mark.parametrize(
    "make", [_bits, _counts, *(pytest.param(m, marks=pytest.mark.slow) for m in (_choice, _scores))]
)
def test_a_pair_of_substitution_at_the_price_of_zero_out_is_found(make):
    assert not dp.audit(make(), runs=4000).passed


def _sums_at_half_price(neighbours, ask):
    rule = GaussianFilter.of_mu(1.0, 1, ZERO_OUT)
    raveled = RaveledModel.of(neighbours.models[0])
    return sum_experiment(
        "sums", neighbours, lambda posterior, key: ask(Reader(raveled, posterior, rule, key[None])),
        Claim(Gaussian(1.0, ZERO_OUT)), "",
    )  # fmt: skip


def test_neighbours_with_an_empty_slot_are_checked():
    model = worst.two_states(0.0).models[0]
    Neighbours((model, model), (np.arange(4.0), np.array([0.0, 1.0, 3.0])), ZERO_OUT)
    for other in (np.arange(4.0), np.array([0.0, 1.0, 4.0]), np.arange(2.0)):
        with pytest.raises(ValueError, match="without one record"):
            Neighbours((model, model), (np.arange(4.0), other), ZERO_OUT)
    for name in ("dp_barker_subsampled", "dp_penalty_minibatch", "sample", "dpvi"):
        with pytest.raises(ValueError, match="no audit under zero-out"):
            dp.audit(name, relation=ZERO_OUT)
