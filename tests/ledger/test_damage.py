"""Whatever happens to a ledger's file, it is either as it was or refused in words of ours."""

import json
import random
import sqlite3

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dpmcmc as dp
from dpmcmc.ledger.book import verified
from dpmcmc.ledger.entries import FIRST, digest_after


def opened(path):
    """The lines of a ledger that opens and verifies; None if it is refused. Any other error is a failure."""
    try:
        found = dp.Ledger(path)
        found.verify()
        return found.book.lines
    except dp.LedgerError:
        return None


def mutated(content, chance):
    """Some bytes changed, or a part overwritten, removed or doubled."""
    changed = bytearray(content)
    at, length = chance.randrange(len(changed)), chance.choice([1, 16, 512, 4096])
    match chance.randrange(8):
        case 0:
            del changed[at:]
        case 1:
            del changed[at : at + length]
        case 2:
            changed[at:at] = changed[at : at + length]
        case 3:
            changed[at : at + length] = bytes(len(changed[at : at + length]))
        case _:
            for _ in range(chance.choice([1, 1, 1, 4, 32])):
                changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def test_changed_bytes_are_found_or_change_nothing(filled, path):
    content, lines, chance = path.read_bytes(), filled.book.lines, random.Random(60)
    count, refused = 60, 0
    for _ in range(count):
        path.write_bytes(mutated(content, chance))
        found = opened(path)
        assert found is None or found == lines
        refused += found is None
    assert refused > 0.2 * count  # most bytes of so small a file are empty, or indices


def edit(path, *statements):
    """Change rows as somebody would who has the file and knows SQL."""
    with sqlite3.connect(path) as connection:
        for name in ("dpmcmc_no_update", "dpmcmc_no_delete"):
            connection.execute(f"DROP TRIGGER IF EXISTS {name}")
        for statement in statements:
            connection.execute(*statement)
    connection.close()


EDITS = st.one_of(
    st.tuples(st.just("DELETE FROM dpmcmc_entries WHERE number = ?"), st.tuples(st.integers(0, 5))),
    st.tuples(
        st.just("UPDATE dpmcmc_entries SET line = replace(line, ?, ?) WHERE number = ?"),
        st.tuples(st.sampled_from(list('0123456789aez.{"')), st.sampled_from(list("0123456789ae{")), st.integers(0, 5)),
    ),
    st.tuples(
        st.just("UPDATE dpmcmc_entries SET line = ? WHERE number = ?"),
        st.tuples(st.one_of(st.text(max_size=9), st.binary(max_size=9), st.integers(-9, 9)), st.integers(0, 5)),
    ),
    st.tuples(
        st.just("UPDATE dpmcmc_entries SET digest = ? WHERE number = ?"),
        st.tuples(st.text("0123456789abcdef", max_size=64), st.integers(0, 5)),
    ),
    st.tuples(
        st.just("UPDATE dpmcmc_entries SET number = 100 + (number + ?) % 6 WHERE number < 100"),
        st.tuples(st.integers(1, 5)),
    ),
    st.tuples(st.just("UPDATE dpmcmc_ledgers SET number = ?"), st.tuples(st.integers(-1, 9))),
    st.tuples(st.just("UPDATE dpmcmc_ledgers SET digest = ?"), st.tuples(st.text(max_size=5))),
    st.tuples(st.just("UPDATE dpmcmc_ledgers SET key = ?"), st.tuples(st.text(max_size=5))),
    st.tuples(st.just("UPDATE dpmcmc_releases SET content = ?"), st.tuples(st.binary(max_size=5))),
    st.tuples(st.just("DELETE FROM dpmcmc_releases"), st.just(())),
)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(EDITS, min_size=1, max_size=3))
def test_edited_rows_are_found_or_change_nothing(filled, path, edits):
    content, lines = path.read_bytes(), filled.book.lines
    try:
        edit(path, *edits)
        found = opened(path)
        assert found is None or found == lines
    finally:
        path.write_bytes(content)


def rechained(lines):
    """(line, digest) pairs of a ledger that somebody wrote anew, with digests that are right."""
    digests, before = [], FIRST
    for line in lines:
        before = digest_after(before, line)
        digests.append(before)
    return list(zip(lines, digests, strict=True))


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_ledger_written_anew_is_read_or_refused_and_never_crashes(filled, data):
    """Digests that are right around contents that are not: values of other kinds in any field of any entry."""
    lines = list(filled.book.lines)
    number = data.draw(st.integers(0, len(lines) - 1))
    entry = json.loads(lines[number])
    odd = st.recursive(
        st.none() | st.booleans() | st.integers() | st.just(10**400) | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=5,
    )
    entry[data.draw(st.sampled_from(sorted(entry)))] = data.draw(odd)
    lines[number] = json.dumps(entry)
    try:
        book = verified(rechained(lines))
    except dp.LedgerError:
        return
    assert 0 <= book.balance.spent <= book.balance.limit * (1 + 1e-9)


def test_the_first_bad_entry_is_named(filled, path):
    edit(path, ("UPDATE dpmcmc_entries SET line = replace(line, 'two', 'six') WHERE number = 2",))
    with pytest.raises(dp.LedgerDamaged, match="entry 2 is not what was written") as found:
        dp.Ledger(path)
    assert found.value.entry == 2


def test_removed_entries_are_missed(filled, path):
    content = path.read_bytes()
    edit(path, ("DELETE FROM dpmcmc_entries WHERE number = 2",))
    with pytest.raises(dp.LedgerDamaged, match="entry 2 is missing"):
        dp.Ledger(path)
    path.write_bytes(content)
    edit(path, ("DELETE FROM dpmcmc_entries WHERE number >= 3",))
    with pytest.raises(dp.LedgerDamaged, match="ends with entry 2, and says that it ends with entry 5"):
        dp.Ledger(path)


def test_prices_below_those_of_their_events_and_sums_beyond_the_limit_are_found(filled):
    cheaper = [line.replace('"zcdp": 0.000', '"zcdp": 0.0000') for line in filled.book.lines]
    assert cheaper != filled.book.lines
    with pytest.raises(dp.LedgerDamaged, match="entry 1 has a lower price"):
        verified(rechained(cheaper))
    with pytest.raises(dp.LedgerDamaged, match="entry 1 passes the ledger's budget"):
        verified(rechained([line.replace('"epsilon": 1.0', '"epsilon": 0.01') for line in filled.book.lines]))
    assert verified(rechained(filled.book.lines)).head == filled.head
