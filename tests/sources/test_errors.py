"""What a user's encode says about a cell stays with it."""

import traceback

import pyarrow as pa
import pytest

import dpmcmc as dp
from dpmcmc.posterior import Posterior
from dpmcmc.records import Refused
from dpmcmc.records.batches import TableFiles
from dpmcmc.sources import SourceError
from dpmcmc.sources.files import probe
from dpmcmc.sources.ray import _looked_up
from dpmcmc.sources.shards import Shard
from tests.sources.layouts import MODEL, table

SECRET = "Jane Roe"


def numbers(rows):
    """Quotes a cell, as NumPy and Python do."""
    for cell in rows.load({"plan": MODEL.schema["plan"]})["plan"].to_pylist():
        if cell == SECRET:
            float(cell)
    return MODEL.encode(rows)


def names(rows):
    codes = {"basic": 0, "plus": 1}
    [codes[cell] for cell in rows.load({"plan": MODEL.schema["plan"]})["plan"].to_pylist()]
    return MODEL.encode(rows)


def refused_on_the_way(rows):
    """A refusal in fixed words, while another error is handled."""
    try:
        return numbers(rows)
    except ValueError:
        return MODEL.encode(rows)


def all_of(error):
    """An error with everything that it leads to."""
    shown = "".join(traceback.TracebackException.from_exception(error, capture_locals=False).format())
    return f"{shown} {error!r} {error.args!r} {error.__cause__!r} {error.__context__!r}"


def written(folder, at):
    rows = table(70_000)
    plans = rows["plan"].to_pylist()
    if at is not None:
        plans[at] = SECRET
    pa.parquet.write_table(rows.set_column(1, "plan", pa.array(plans)), folder / "rows.parquet")
    return folder / "rows.parquet"


@pytest.mark.parametrize("encode", [numbers, names])
def test_what_encode_raises_is_not_passed_on(encode, tmp_path):
    """In the first rows, where types are looked up, and in a later block, in each of the passes."""
    with pytest.raises(SourceError, match="encode failed on some rows") as failed:
        dp.Files(written(tmp_path, 3), encode)
    assert SECRET not in all_of(failed.value)
    assert failed.value.__context__ is failed.value.__cause__ is None
    source = dp.Files(written(tmp_path, 69_000), encode)
    for read in (
        lambda: Posterior.check(MODEL, source),
        lambda: source.marks("01" * 32),
        lambda: source.total(lambda block, count, asked: count),
    ):
        with pytest.raises(SourceError, match="encode failed on some rows") as failed:
            read()
        assert SECRET not in all_of(failed.value)
        assert failed.value.__context__ is failed.value.__cause__ is None


def test_refusals_of_a_declared_table_are_passed_on_alone(tmp_path):
    path = written(tmp_path, 69_000)
    source = dp.Files(path, refused_on_the_way)
    with pytest.raises(ValueError, match="'plan' has values that are not declared") as refused:
        Posterior.check(MODEL, source)
    assert isinstance(refused.value, Refused)
    assert SECRET not in all_of(refused.value)
    with pytest.raises(ValueError, match="'plan'") as expected:
        MODEL.encode(path)
    assert str(refused.value) == str(expected.value)
    assert refused.value.__context__ is refused.value.__cause__ is None


@pytest.mark.parametrize("encode", [numbers, names])
def test_actors_answer_in_fixed_words(encode, tmp_path):
    """The code that runs on them, here: what it returns is all that leaves."""
    late = TableFiles.at(written(tmp_path, 69_000))
    wanted, types = probe(late, encode)
    shard = Shard((late, wanted, encode, types), (0, 2), "02" * 32, True)
    answers = [shard.marks("01" * 32), _looked_up(TableFiles.at(written(tmp_path, 3)), encode)]
    for answer in answers:
        kind, message = answer.refused
        assert (kind, SECRET in message) == ("SourceError", False)
        assert "encode failed on some rows" in message


def test_other_errors_of_actors_are_in_fixed_words_too():
    class Broken:
        @property
        def header(self):
            raise KeyError(SECRET)

    assert SECRET not in repr(_looked_up(Broken(), MODEL.encode))
