"""Actors: the same totals for any number of them, whatever becomes of them, and nothing but totals leaves them."""

import shutil

import numpy as np
import pytest

import dpmcmc as dp
from dpmcmc.mechanisms.totals import Program, RecordsFailed
from dpmcmc.mechanisms.totals import total as total_over
from dpmcmc.posterior import Posterior
from dpmcmc.sources import SourceError
from dpmcmc.sources.ray import LOOPBACK, OnRay, _ray, start_alone
from dpmcmc.sources.shards import Answer, Shard
from tests.sources.layouts import MODEL, one_csv, one_parquet, table
from tests.sources.test_contract import ASKED, EXPECTED, KEY, ROWS, SUMS

ray = pytest.importorskip("ray")


pytestmark = pytest.mark.slow  # they start Ray


@pytest.fixture(scope="module", autouse=True)
def cluster():
    start_alone(ray, num_cpus=8)  # of processes that share this machine
    yield
    ray.shutdown()


class Dying(OnRay):
    """One actor is killed in every pass, while it is at work or before it begins."""

    killed = 0

    def _asked(self, ask):
        victim = self._actors[Dying.killed % len(self._actors)]

        def then_kill(actor):
            reference = ask(actor)
            if actor is victim:
                Dying.killed += 1
                ray.kill(actor)
            return reference

        self.passes = getattr(self, "passes", 0) + 1
        waiting = [then_kill(actor) for actor in list(self._actors)]
        answers = [self._outcome(self._got(at, reference, ask)) for at, reference in enumerate(waiting)]
        assert self._seen in (None, [answer.seen for answer in answers])
        self._seen = [answer.seen for answer in answers]
        return answers


def test_nothing_listens_to_other_machines():
    """Neither Ray's own processes nor those that run programs."""
    import psutil

    assert _ray() is ray
    assert ray.get(ray.remote(lambda: 1).remote()) == 1
    family = [psutil.Process(), *psutil.Process().children(recursive=True)]
    open_to = {
        (process.name(), connection.laddr.ip.removeprefix("::ffff:"))
        for process in family
        for connection in process.net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN
    }
    assert {"gcs_server", "raylet"} <= {name for name, _ in open_to}
    assert {address for _, address in open_to} == {LOOPBACK}


def test_a_ray_that_would_listen_to_others_is_refused(monkeypatch):
    """Where a later version of Ray goes its own way."""
    ended = []
    monkeypatch.setattr(ray, "init", lambda *given, **settings: None)
    monkeypatch.setattr(ray, "nodes", lambda: [{"NodeManagerAddress": "192.0.2.7"}])
    monkeypatch.setattr(ray, "shutdown", lambda: ended.append(True))
    with pytest.raises(SourceError, match="would listen to other machines"):
        start_alone(ray)
    assert ended == [True]


def test_two_actors_give_what_one_process_gives_even_when_one_is_lost(tmp_path):
    source = OnRay(one_parquet(tmp_path, ROWS), MODEL.encode, actors=2)
    assert source.shards == [(0, 1), (1, 2)]
    assert source.total(SUMS, ASKED).tolist() == EXPECTED[1]
    ray.kill(source._actors[1])
    assert source.total(SUMS, ASKED).tolist() == EXPECTED[1]
    assert (source.n, source.types, source.marks(KEY)) == (EXPECTED[0], EXPECTED[3], EXPECTED[2])
    assert "n=70000, actors=2" in repr(source)
    failing = Program(lambda block, count, asked: SUMS.function(block, count, asked) * block["none"])
    with pytest.raises(KeyError):  # a mistake of types, which is told; what fails on values is not
        total_over(source, failing, ASKED)
    with pytest.raises(RecordsFailed) as failed:
        total_over(source, Raises(SUMS.function), ASKED)
    assert "0.125" not in f"{failed.value!r} {failed.value.__cause__!r} {failed.value.__context__!r}"


class Raises(Program):
    def __call__(self, block, count, asked):
        raise ValueError("0.125")


def test_nothing_but_totals_and_keyed_hashes_leaves_an_actor(tmp_path):
    """What a shard answers, whatever it is asked."""
    tables = dp.Files(one_parquet(tmp_path, ROWS), MODEL.encode)
    shard = Shard((tables.tables, tables.wanted, MODEL.encode, tables.types), (0, 2), "02" * 32, True)
    reference = ray.put(SUMS)
    public = {name for name in dir(Shard) if not name.startswith("_")}
    assert public == {"total", "marks"}
    answers = [shard.total("a", [reference], ASKED), shard.marks(KEY)]
    assert [type(answer) for answer in answers] == [Answer, Answer]
    first, second = answers
    assert (first.whole.dtype, first.whole.shape, first.marks) == (np.int64, (3,), None)
    assert second.whole is None
    assert {len(mark) for block in second.marks for mark in block} == {16}
    assert (len(second.marks), len(first.seen), first.refused) == (2, 16, None)


@pytest.mark.parametrize("hold", [True, False])
@pytest.mark.parametrize("write", [one_parquet, one_csv])
@pytest.mark.parametrize("actors", [1, 3])
def test_any_number_of_actors(actors, write, hold, tmp_path):
    rows = table(200_000, seed=3)
    source = OnRay(write(tmp_path, rows), MODEL.encode, actors=actors, hold=hold)
    here = Posterior.check(MODEL, MODEL.encode(rows)).records
    for _ in range(2):
        assert np.array_equal(source.total(SUMS, ASKED), here.total(SUMS, ASKED))
    assert source.marks(KEY) == here.marks(KEY)


def test_a_data_set_of_rays(tmp_path):
    import ray.data

    one_parquet(tmp_path, ROWS)
    found = Posterior.check(MODEL, ray.data.read_parquet(str(tmp_path / "rows.parquet"))).records
    assert isinstance(found, OnRay)
    assert (found.n, found.total(SUMS, ASKED).tolist(), found.marks(KEY)) == EXPECTED[:3]


def test_a_shard_that_changed_is_refused(tmp_path):
    """Also by an actor that never saw what it was before."""
    for hold in (True, False):
        path = one_parquet(tmp_path, table(1500))
        source = OnRay(path, MODEL.encode, actors=1, hold=hold)
        before = source.total(SUMS, ASKED)
        one_parquet(tmp_path, table(1500, seed=1))
        ray.kill(source._actors[0])
        with pytest.raises(SourceError, match="have changed since they were first read"):
            source.total(SUMS, ASKED)
        one_parquet(tmp_path, table(1500))
        ray.kill(source._actors[0])
        assert np.array_equal(source.total(SUMS, ASKED), before)
        shutil.rmtree(tmp_path)
        tmp_path.mkdir()


def test_a_missing_value_is_refused_before_anything_is_charged(tmp_path):
    import pyarrow as pa

    ages = ROWS["age"].to_pylist()
    ages[-3] = None
    path = one_parquet(tmp_path, ROWS.set_column(0, "age", pa.array(ages, pa.float64())))
    ledger = dp.Ledger.create(tmp_path / "ledger.db", dataset="visits", budget=dp.Budget(2.0, 1e-5))
    with pytest.raises(ValueError, match="'age'"):
        dp.sample(MODEL, OnRay(path, MODEL.encode, actors=2), 1.0, 1e-6, ledger=ledger, progress=False)
    assert len(ledger.book.reservations) == 0


def released(data, method):
    release = dp.sample(MODEL, data, 1.0, 1e-7, method=method, seed=3, progress=False)
    return {name: np.asarray(values) for name, values in release.draws.items()}


@pytest.mark.parametrize("method", [dp.ScoreRelease(), dp.LikelihoodRelease()], ids=["scores", "likelihood"])
def test_releases_are_identical_for_any_number_of_actors(method, tmp_path):
    """One seed: arrays, and 1, 2 and 4 actors, over four blocks."""
    rows = table(250_000, seed=5)
    path, expected = one_parquet(tmp_path, rows), released(MODEL.encode(rows), method)
    for count in (1, 2, 4):
        found = released(OnRay(path, MODEL.encode, actors=count), method)
        assert all(np.array_equal(found[name], expected[name]) for name in expected)


@pytest.mark.parametrize("actors", [1, 2, 4])
def test_chains_and_fits_are_identical_for_any_number_of_actors(actors, tmp_path):
    """Over four blocks."""
    rows = table(250_000, seed=5)
    source, here = OnRay(one_parquet(tmp_path, rows), MODEL.encode, actors=actors), MODEL.encode(rows)
    chain = dp.Chain(dp.dp_barker(step=0.02, clip=0.1), warmup=0)
    chains = [
        dp.sample(MODEL, data, 20.0, 1e-7, method=chain, draws=10, seed=1, progress=False) for data in (source, here)
    ]
    assert all(np.array_equal(chains[0].draws[name], chains[1].draws[name]) for name in chains[1].draws)
    fits = [dp.dpvi(MODEL, data, 1.0, 1e-7, steps=5, seed=2) for data in (source, here)]
    assert np.array_equal(fits[0].mean, fits[1].mean)
    assert np.array_equal(fits[0].root, fits[1].root)


@pytest.mark.parametrize("hold", [True, False])
def test_some_blocks_are_the_same_for_any_number_of_actors(hold, tmp_path):
    """Against sums by NumPy over the rows of those blocks; also where an actor has none, or is new."""
    rows = table(250_000, seed=6)
    path, encoded = one_parquet(tmp_path, rows), MODEL.encode(rows)

    def whole(block, count, asked):
        return np.append(count, np.sum(np.rint(1000 * block["x"][:count]).astype(np.int64) - asked, axis=0))

    for actors in (1, 3):
        source = OnRay(path, MODEL.encode, actors=actors, hold=hold)
        for every in (3, 1, 2, 5):
            chosen = (np.arange(250_000) // 65_536) % every == 0
            expected = whole({"x": encoded["x"][chosen]}, int(chosen.sum()), 7).tolist()
            assert source.total(whole, 7, every).tolist() == expected
        ray.kill(source._actors[-1])
        assert source.total(whole, 7, every).tolist() == expected


@pytest.mark.parametrize("method", [dp.LikelihoodRelease(), dp.ScoreRelease()], ids=["likelihood", "scores"])
def test_an_actor_lost_in_every_stage_changes_nothing(method, tmp_path):
    """The same release for the same seed; without one and with a ledger, one charge. A lost actor costs seconds."""
    path, expected = one_parquet(tmp_path, ROWS), released(MODEL.encode(ROWS), method)
    dying = Dying(path, MODEL.encode, actors=2)
    before = Dying.killed
    found = released(dying, method)
    assert all(np.array_equal(found[name], expected[name]) for name in expected)
    assert Dying.killed - before == dying.passes >= 5
    ledger = dp.Ledger.create(tmp_path / "ledger.db", dataset="visits", budget=dp.Budget(2.0, 1e-5))
    release = dp.sample(MODEL, dying, 1.0, 1e-7, method=method, ledger=ledger, progress=False)
    assert 0.99 < release.guarantee.epsilon <= 1.0
    assert len(ledger.book.reservations) == 1
