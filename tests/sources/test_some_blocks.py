"""Totals over every so manieth block: of the same rows in every layout, and how many these are."""

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmcmc.posterior import Posterior
from dpmcmc.sources import base, block_rows, counted_of
from tests.sources.layouts import LAYOUTS, MODEL, table

ROWS = 1024


def whole(block, count, asked):
    """How many rows count, and the sums of all their numbers in thousandths, less a public number each."""
    rows = np.concatenate([np.reshape(leaf[:count], (count, -1)) for leaf in jax.tree.leaves(block)], axis=1)
    return np.append(count, np.sum(np.rint(1000 * rows).astype(np.int64) - asked, axis=0))


def by_numpy(records, n, every, rows):
    chosen = (np.arange(n) // rows) % every == 0
    return whole(jax.tree.map(lambda leaf: leaf[chosen], records), int(chosen.sum()), 7)


@pytest.mark.parametrize("n", [5 * ROWS + 380, 6 * ROWS], ids=["ragged", "full"])
@pytest.mark.parametrize("layout", LAYOUTS, ids=[layout.name for layout in LAYOUTS])
def test_every_layout_adds_up_the_same_blocks(layout, n, tmp_path, monkeypatch):
    """Also as the first thing that a source is asked, and after other passes."""
    monkeypatch.setattr(base, "LARGEST_BLOCK", ROWS)
    rows = table(n, seed=4)
    records = Posterior.check(MODEL, layout.write(tmp_path, rows)).records
    encoded = MODEL.encode(rows)
    assert block_rows(records.types) == ROWS
    for every in (3, 1, 2, 5, 7, 3):
        expected = by_numpy(encoded, n, every, ROWS)
        assert records.total(whole, 7, every).tolist() == expected.tolist()
        assert counted_of(n, records.types, every) == expected[0]


@given(n=st.integers(1, 10**6), every=st.integers(1, 40))
def test_how_many_records_are_in_the_chosen_blocks(n, every):
    types = jax.ShapeDtypeStruct((), np.float64)
    assert counted_of(n, types, every) == np.sum((np.arange(n) // block_rows(types)) % every == 0)
