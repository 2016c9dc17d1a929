"""What every source must do, whatever it is: the same totals, marks and refusals, and nothing of a record in sight."""

import pickle

import jax
import numpy as np
import pyarrow as pa
import pytest

import dpmcmc as dp
from dpmcmc.models.base import WithInit
from dpmcmc.posterior import Posterior
from dpmcmc.raveled import RaveledModel
from dpmcmc.scores import vectors
from dpmcmc.scores.reader import _sum
from dpmcmc.sources import Arrays, SourceError
from tests.sources.layouts import LAYOUTS, MODEL, STREAMED, table

every_layout = pytest.mark.parametrize("layout", LAYOUTS, ids=[layout.name for layout in LAYOUTS])
streamed = pytest.mark.parametrize("layout", STREAMED, ids=[layout.name for layout in STREAMED])

N = 70_000  # two blocks
ROWS = table(N)
KEY = "01" * 32
SUMS = _sum(RaveledModel.of(MODEL), vectors.scores)
ASKED = (np.array([0.1, 0.2, 0.3]), np.eye(3), 0.5, 10_000, 1e-4)


def totals(data):
    records = Posterior.check(MODEL, data).records
    return records.n, records.total(SUMS, ASKED).tolist(), records.marks(KEY), records.types


EXPECTED = totals(MODEL.encode(ROWS))


@every_layout
def test_totals_and_marks_are_the_same(layout, tmp_path):
    assert totals(layout.write(tmp_path, ROWS)) == EXPECTED


@every_layout
def test_another_record_gives_other_marks(layout, tmp_path):
    rows = table(600)
    age = rows["age"].to_numpy().copy()
    age[-1] = 99.0 if age[-1] < 50 else 1.0
    other = rows.set_column(0, "age", pa.array(age))
    (tmp_path / "one").mkdir(), (tmp_path / "two").mkdir()
    one, two = totals(layout.write(tmp_path / "one", rows)), totals(layout.write(tmp_path / "two", other))
    assert one[0] == two[0]
    assert [x == y for x, y in zip(one[2], two[2], strict=True)] == [False, True]


@pytest.mark.parametrize("at", [0, 650, 65_900])
@every_layout
def test_a_missing_value_is_refused_alike(layout, at, tmp_path):
    """In the first rows or in a later block, by the same words in every layout, and before anything is charged."""
    ages = ROWS["age"].to_pylist()
    ages[at] = None
    rows = ROWS.set_column(0, "age", pa.array(ages, pa.float64()))
    with pytest.raises(ValueError, match="'age'") as refused:
        dp.sample(MODEL, layout.write(tmp_path, rows), 1.0, 1e-6, seed=0, progress=False)
    with pytest.raises(ValueError, match="'age'") as expected:
        MODEL.encode(rows)
    assert str(refused.value) == str(expected.value)


@every_layout
def test_records_do_not_show_and_are_not_pickled(layout, tmp_path):
    rows = table(600)
    records = Posterior.check(MODEL, layout.write(tmp_path, rows)).records
    assert not any(f"{age}" in repr(records) for age in rows["age"].to_pylist())
    assert "600" in repr(records)
    with pytest.raises(TypeError, match="private records"):
        pickle.dumps(records)


@streamed
def test_files_that_change_between_two_passes_are_refused(layout, tmp_path):
    """By a fixed message, whether a value, or the number of rows is another."""
    for other in (table(1500, seed=1), table(1501)):
        records = Posterior.check(MODEL, layout.write(_new(tmp_path), table(1500))).records
        before = records.total(SUMS, ASKED)
        layout.write(_new(tmp_path), other)
        with pytest.raises(SourceError, match="have changed since they were first read"):
            records.total(SUMS, ASKED)
        layout.write(_new(tmp_path), table(1500))
        assert np.array_equal(records.total(SUMS, ASKED), before)


def _new(tmp_path):
    """The same folder, empty."""
    import shutil

    folder = tmp_path / "same"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def test_models_that_cannot_stream_say_so(tmp_path):
    path = tmp_path / "rows.parquet"
    pa.parquet.write_table(table(100), path)
    people = dp.PerUnit(MODEL, "plan", most=3)
    with pytest.raises(TypeError, match="persons cannot be read block by block"):
        dp.sample(people, path, 1.0, 1e-3)
    with pytest.raises(TypeError, match=r"GaussianMean has no encode\(table\)"):
        dp.sample(dp.models.GaussianMean(), path, 1.0, 1e-3)
    with pytest.raises(FileNotFoundError, match="no file"):
        dp.sample(MODEL, tmp_path / "other.parquet", 1.0, 1e-3)
    (tmp_path / "rows.xlsx").write_text("")
    with pytest.raises(ValueError, match=r"ends in \.parquet"):
        dp.sample(MODEL, tmp_path / "rows.xlsx", 1.0, 1e-3)
    with pytest.raises(TypeError, match="encode must be a function"):
        dp.Files(path, None)


def test_persons_are_never_split_between_parts_of_a_table(tmp_path):
    """Each is once in each of three files: grouped file by file, there would be three times as many persons."""
    parts = _new(tmp_path)
    rng = np.random.default_rng(0)
    for part in range(3):
        rows = {"person": np.arange(300), "x": rng.uniform(-1, 1, 300), "y": rng.integers(0, 2, 300)}
        pa.parquet.write_table(pa.table(rows), parts / f"{part}.parquet")
    schema = dp.Schema(x=dp.Number(-1, 1), y=dp.Boolean({1: True, 0: False}))
    people = dp.PerUnit(dp.regression("y ~ x", schema, family="logistic"), "person", most=3)
    ledger = dp.Ledger.create(tmp_path / "ledger.db", dataset="a", budget=dp.Budget(2.0, 1e-4), unit="person")
    sources = [dp.Files(parts, people.encode), dp.Files(parts, lambda table: people.encode(table))]
    for data in (*sources, parts, str(parts)):
        for settings in ({}, {"init": np.array([0.5, 0.5]), "method": dp.dp_barker(step=0.1, clip=0.1)}):
            with pytest.raises(TypeError, match="group them once"):
                dp.sample(people, data, 1.0, 1e-5, ledger=ledger, progress=False, **settings)
        with pytest.raises(TypeError, match="group them once"):
            dp.dpvi(people, data, 1.0, 1e-5)
        with pytest.raises(TypeError, match="group them once"):
            Posterior.check(WithInit(people, np.array([0.5, 0.5])), data)
    assert len(ledger.book.reservations) == 0
    grouped = people.encode(pa.concat_tables([pa.parquet.read_table(parts / f"{i}.parquet") for i in range(3)]))
    assert Posterior.check(people, grouped).n == Posterior.check(people, Arrays(grouped)).n == 300


@pytest.mark.parametrize("n", [600, 65_536, 70_000])  # less than a block, one, and two
def test_programs_read_copies_that_nobody_else_can_change(n, tmp_path):
    """Of arrays in memory and of mapped files; JAX would read the memory of either."""
    values = np.random.default_rng(0).normal(size=n)
    np.save(tmp_path / "values.npy", values)
    for data in (values.copy(), np.load(tmp_path / "values.npy", mmap_mode="r+"), values.astype(">f8")):
        source = Arrays(data)
        posterior = Posterior(dp.models.GaussianMean(), data)
        with jax.enable_x64(True):
            whole = posterior.on_device() if data.dtype.isnative else None
        blocks = list(source.blocks())
        assert not any(np.shares_memory(block.records, data) for block in blocks)
        data[:] = 0.0  # the file too
        assert np.array_equal(np.concatenate([block.records[: block.counted] for block in blocks]), values)
        assert whole is None or np.array_equal(whole.data, values)


def test_a_file_that_changes_while_a_program_reads_a_block_changes_nothing(tmp_path):
    np.save(tmp_path / "values.npy", np.ones(65_536))
    mapped = np.load(tmp_path / "values.npy", mmap_mode="r")
    writable = np.load(tmp_path / "values.npy", mmap_mode="r+")

    def twice(block, count, asked):
        largest = np.abs(block[:count]).max()
        writable[0] = 1e9
        writable.flush()
        return np.array([int(block[:count].sum() <= largest * count), int(block[0])])

    assert Arrays(mapped).total(twice).tolist() == [1, 1]
