"""Blocks of one size, one program for any number of records, and totals that are exact."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmcmc.mechanisms.blocks import in_blocks
from dpmcmc.mechanisms.counts import Histograms, largest_weight, weighted_counts
from dpmcmc.mechanisms.fixed_point import LEVELS
from dpmcmc.mechanisms.gaussian_sum import LARGEST_BOUND, GaussianSum, whole_total
from dpmcmc.mechanisms.totals import Program
from dpmcmc.posterior import check_data
from dpmcmc.sources import MOST_RECORDS, Arrays, block_rows
from dpmcmc.sources.base import LARGEST_BLOCK, SMALLEST_BLOCK

TOTAL = GaussianSum.of_multiplier(1.0, 3.0)
SUM = Program(lambda block, count, asked: whole_total(block, lambda few: few * asked[0], *asked[1:], count))
ASKED = (1.5, TOTAL.bound, TOTAL.unit)
WIDE = (8192,)  # numbers a record: blocks of 512


def exactly(rows):
    """The same sum of one record at a time, in Python's whole numbers."""
    each = [Arrays(row[None]).total(SUM, ASKED) for row in rows]
    return [sum(int(one[j]) for one in each) for j in range(rows.shape[1])]


@pytest.mark.parametrize("n", [1, 2, 511, 512, 513, 1024, 1100])
def test_a_total_is_the_sum_of_its_records(n):
    rows = np.random.default_rng(n).normal(size=(n, 3)) / 2
    assert Arrays(rows[: min(n, 40)]).total(SUM, ASKED).tolist() == exactly(rows[: min(n, 40)])
    parts = [Arrays(rows[at : at + 100]).total(SUM, ASKED) for at in range(0, n, 100)]
    assert np.array_equal(Arrays(rows).total(SUM, ASKED), np.sum(parts, axis=0))


def test_one_program_serves_any_number_of_records():
    program = Program(lambda block, count, asked: whole_total(block, lambda few: few, TOTAL.bound, TOTAL.unit, count))
    for n in (3, 700, 512, 70_000, 65_536, 131_073):
        Arrays(np.zeros((n, 2))).total(program)
    assert program._run._cache_size() == 1


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 1300), st.integers(0, 2**32), st.integers(1, 600))
def test_what_fills_up_a_block_adds_nothing(n, seed, size):
    """Whatever the rows beyond the count are, and wherever a few records at a time end."""
    rng = np.random.default_rng(seed)
    rows, others = rng.normal(size=(2, 1301, 2))
    together = np.concatenate([rows[:n], others[n:]])
    with jax.enable_x64(True):

        def add(few, counted):
            return jnp.sum(jnp.where(counted[:, None], jnp.round(few * 2**20), 0), axis=0).astype(jnp.int64)

        found = jax.jit(lambda data, count: in_blocks(add, data, count, size))(jnp.asarray(together), n)
    assert np.array_equal(found, np.round(rows[:n] * 2**20).sum(axis=0).astype(int))


@pytest.mark.parametrize("filling", [np.nan, np.inf, 1e300])
def test_counts_do_not_count_what_fills_up(filling):
    counts = Histograms.of_multiplier(1, 5.0)
    rows = np.append(np.linspace(0, 0.99, 600), np.full(424, filling))[:, None]
    bins = lambda few: jnp.nan_to_num(few * 4).astype(jnp.int64)  # noqa: E731
    with jax.enable_x64(True):
        found = jax.jit(lambda n: weighted_counts(jnp.asarray(rows), bins, (1, 4), counts.weight, n))(600)
    assert np.array_equal(found[0], counts.weight * np.bincount((rows[:600, 0] * 4).astype(int)))


def test_blocks_follow_from_the_types_of_a_record_alone():
    assert block_rows(jax.ShapeDtypeStruct((), np.float32)) == LARGEST_BLOCK
    assert block_rows(jax.ShapeDtypeStruct((784,), np.float64)) == 1024
    assert block_rows(jax.ShapeDtypeStruct((10**6,), np.float64)) == SMALLEST_BLOCK
    few, many = (Arrays({"x": np.zeros((n, 3)), "y": np.zeros(n, np.int8)}).types for n in (5, 50_000))
    assert few == many


def test_several_blocks_are_several_blocks():
    """Of wide records, blocks are small; a total over many is that over each."""
    rows = np.random.default_rng(0).normal(size=(1300, *WIDE)).astype(np.float32) / 100
    source = Arrays(rows)
    assert [block.counted for block in source.blocks()] == [512, 512, 276]
    program = Program(lambda block, count, asked: whole_total(block, lambda few: few[:, :5], *asked, count))
    asked = (TOTAL.bound, TOTAL.unit)
    alone = [Arrays(rows[at : at + 512]).total(program, asked) for at in (0, 512, 1024)]
    assert np.array_equal(source.total(program, asked), np.sum(alone, axis=0))


def test_arrays_of_every_kind_are_read_alike_and_blocks_are_copies(tmp_path):
    """Whatever the library, byte order or layout: the same sums and marks. Who changes an array changes no block."""
    rows = np.random.default_rng(1).normal(size=(70_000, 2))
    np.save(tmp_path / "rows.npy", rows)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    kinds = [rows, mapped, np.asfortranarray(rows), rows.astype(">f8"), np.repeat(rows, 2, axis=0)[::2]]
    with jax.enable_x64(True):
        kinds.append(jnp.asarray(rows))
    assert not np.shares_memory(next(Arrays(rows).blocks()).records, rows)
    assert not np.shares_memory(next(Arrays(mapped).blocks()).records, mapped)
    assert len({tuple(Arrays(kind).total(SUM, ASKED).tolist()) for kind in kinds}) == 1
    assert len({Arrays(kind).marks("ab" * 32) for kind in kinds}) == 1


def test_too_many_records_for_64_bits_are_refused():
    class Endless:
        n, types, marks = MOST_RECORDS + 1, None, None

        def total(self, program):
            return np.zeros(0, np.int64)

    with pytest.raises(ValueError, match="100,000,000,000 records fit into 64 bits"):
        check_data(Endless())
    assert MOST_RECORDS * max(LARGEST_BOUND, largest_weight(1), LEVELS) + 2**62 < 2**63  # decisions add public terms


def test_records_do_not_show():
    source = Arrays(np.full(3, 0.125))
    assert "0.125" not in repr(source)
    with pytest.raises(TypeError, match="cannot be pickled"):
        source.__reduce__()


def test_a_run_makes_no_copy_of_its_records():
    """Peak memory of a run, over what it holds without: less than half of the data."""
    code = """
import resource, numpy as np, dpmcmc as dp
model = dp.models.GaussianMean(1)
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
def run(data): dp.dpvi(model, data, 1.0, 1e-8, steps=3, seed=0)
run(np.zeros((1000, 1)))
data = np.random.default_rng(0).normal(size=(2**24, 1))
before = peak()
run(data)
print((peak() - before) / data.nbytes)
"""
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(made.stdout) < 0.5
