"""A ledger pays for exactly what one purse would, whatever is charged, in whatever order."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpmcmc as dp
from dpmcmc import privacy
from dpmcmc.charge import RESERVED_DRAWS, OverBudget, Purse, of_draws, of_releases
from dpmcmc.ledger.balance import Balance
from dpmcmc.ledger.errors import LedgerError
from dpmcmc.privacy import BarkerBit, Budget, Compose, Gaussian, GaussianFilter, PenaltyBit, Repeat, ZcdpFilter
from dpmcmc.privacy.arithmetic import Arithmetic
from dpmcmc.receipts import Receipt
from tests.ledger.places import charge

NOTHING = Receipt("nothing", 0.0, 0.0, Arithmetic(), event=Compose(()))

EVENTS = st.one_of(
    st.builds(lambda m: {"event": Gaussian(m)}, st.floats(1.0, 100.0)),
    st.builds(lambda s, k: {"event": Repeat(BarkerBit(s), k)}, st.floats(1e-3, 0.3), st.integers(1, 500)),
    st.builds(lambda s, k: {"event": Repeat(PenaltyBit(s, 1.0), k)}, st.floats(1e-3, 0.1), st.integers(1, 100)),
    st.builds(lambda r: {"filter": ZcdpFilter(r)}, st.floats(1e-6, 0.1)),
    st.builds(lambda r: {"filter": GaussianFilter(r, 48)}, st.floats(1e-6, 0.1)),
)
RECEIPTS = st.builds(
    lambda paid, draws: Receipt("run", 0.5, 1e-7, of_draws(draws) + of_releases(48), **paid),
    EVENTS,
    st.sampled_from([1, 10**4, 4 * 10**6]),
)


def by_purse(budget, earlier, receipt):
    """Whether a purse with everything before in it pays for one more."""
    try:
        purse = Purse(budget, receipt.arithmetic, (NOTHING, *earlier))
        return purse.charge("run", receipt.event, receipt.filter)[0] is not None
    except (OverBudget, ValueError):
        return False


def by_ledger(balance, receipt):
    try:
        balance.add(balance.price(receipt), receipt.arithmetic)
    except (OverBudget, ValueError):
        return False
    return True


@settings(max_examples=40)
@given(st.lists(RECEIPTS, max_size=8), st.floats(0.1, 5.0), st.floats(1e-9, 1e-3))
def test_a_ledger_accepts_what_a_purse_with_everything_before_accepts(receipts, epsilon, delta):
    budget, accepted = Budget(epsilon, delta), []
    balance = Balance(budget, "record")
    for receipt in receipts:
        expected = by_purse(budget, accepted, receipt)
        assert by_ledger(balance, receipt) == expected
        accepted += [receipt] if expected else []
    assert balance.spent <= balance.limit
    ideal = of_draws(RESERVED_DRAWS).ideal(budget)
    if balance.spent:  # the conversion of what was spent to ε, by itself, with nothing of the ledger's code
        assert float(ZcdpFilter(balance.spent).epsilon(ideal.delta)) <= ideal.epsilon * (1 + 1e-9)


def test_the_rule_is_the_same_from_the_first_release_on():
    """Alone, Gaussian sums may spend more than zCDP allows; in a ledger the first may not, as others may follow."""
    budget = Budget(1.0, 1e-6)
    alone = Purse(budget, of_releases(48))
    rule = GaussianFilter.of_mu(alone.mu, 48)
    _, receipt = alone.charge("scores", rule=rule)
    balance = Balance(budget, "record")
    assert rule.limit > balance.limit
    with pytest.raises(OverBudget, match=r"has 0\.02436 of 0\.02436 zCDP left.* nothing was charged.* would fit"):
        balance.price(receipt)
    assert balance.price(replace(receipt, filter=GaussianFilter(balance.limit * (1 - 1e-9), 48))) < balance.limit


def test_adding_up_events_allows_more_than_adding_up_epsilon():
    """Nine releases of (0.25, 1e-8) within (1, 1e-6), where adding up ε allows four; none is the tenth."""
    budget = Budget(1.0, 1e-6)
    mu = Purse(Budget(0.25, 1e-8), of_releases(1)).mu
    balance, receipt = Balance(budget, "record"), charge(1 / mu)
    count = 0
    while by_ledger(balance, receipt):
        count += 1
    assert count == int(balance.limit / privacy.zcdp(receipt.event)) > 8
    together = float(privacy.epsilon(Repeat(receipt.event, count), 1e-6))
    assert 0.8 < together <= 1.0


def test_what_a_ledger_cannot_add_up_is_refused_by_name():
    balance = Balance(Budget(1.0, 1e-6), "record")
    renyi = Receipt("chains", 0.1, 1e-7, of_draws(9), filter=privacy.RenyiFilter(8.0, 0.01))
    with pytest.raises(LedgerError, match="'chains' has no known cost in zCDP"):
        balance.price(renyi)
    with pytest.raises(LedgerError, match=r"protects one record, and this run one person.*unit='person'"):
        balance.price(charge(unit="person"))
    added = Receipt("sums", 0.1, 1e-7, of_releases(1), event=Gaussian(50.0, privacy.ADD_REMOVE))
    with pytest.raises(ValueError, match=r"for substitution, and .* add_remove says nothing"):
        balance.price(added)
    long = Receipt("chains", 0.1, 1e-7, of_draws(RESERVED_DRAWS + 1), event=Gaussian(50.0))
    with pytest.raises(ValueError, match="take fewer steps"):
        balance.price(long)


def test_a_budget_that_finite_precision_uses_up_is_refused(path):
    with pytest.raises(ValueError, match="delta = 1e-14 is too small"):
        dp.Ledger.create(path, dataset="clinic", budget=Budget(1.0, 1e-14))
    assert not path.exists()
