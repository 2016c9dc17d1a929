"""What is fuzzed: for every kind of file good ones, ways to change them, and what must hold of what is accepted."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import dpmcmc as dp
from dpmcmc.chain import checkpoint as checkpoints
from dpmcmc.chain.checkpoint import RunState
from dpmcmc.chain.quality import ChainQuality
from dpmcmc.chain.scan import chunk_length, compile_chunk, run_chunk, start_chains
from dpmcmc.charge import Purse, of_draws, of_releases
from dpmcmc.files import sealed, signatures
from dpmcmc.method import posterior_of
from dpmcmc.privacy import BarkerBit, Gaussian, GaussianFilter, Repeat
from dpmcmc.randomness import RandomSource
from dpmcmc.variational import Fit
from tests.fuzz import mutators
from tests.fuzz.mutators import SECRET
from tests.ledger.places import BUDGET, RECORDS, charge
from tests.study.studies import GOOD


@dataclass(frozen=True)
class Fuzzed:
    """Good files of one kind, and what to do with bad ones.

    ``mutate(rng, content)`` changes a good one; ``read(path)`` is what a user does with it; ``check(found, good)``
    fails if what was accepted is not what may be, where ``good`` is the number of the good file; ``commands`` are those
    of ``dpmcmc`` that take such a file, with ``{}`` in its place; ``errors`` are those that are documented.
    """

    suffix: str
    good: list[bytes]
    mutate: Callable[[np.random.Generator, bytes], bytes]
    read: Callable[[Path], Any]
    check: Callable[[Any, int], None]
    commands: tuple[str, ...] = ()
    errors: tuple[type[Exception], ...] = (dp.FileError,)


@dataclass(frozen=True)
class Target:
    """A kind of file: its name, its share of the inputs, and how its good files are made in a folder."""

    name: str
    share: float
    make: Callable[[Path], Fuzzed]


# releases


def _charged(event=None, budget=BUDGET, earlier=()):
    purse = Purse(budget, of_releases(8) if event is None else of_draws(80), tuple(earlier))
    rule = GaussianFilter.of_mu(purse.mu, 8) if event is None else None
    guarantee, receipt = purse.charge("test", event, rule)
    return {"guarantee": guarantee, "receipts": (*earlier, receipt)}


def _releases():
    """Releases of all kinds of receipts: a filter, an event, several, and a run with a seed."""
    rng = np.random.default_rng(0)
    parts = {
        "draws": {"theta": rng.normal(size=(2, 20, 3)), "k": rng.integers(9, size=(2, 20))},
        "quality": ChainQuality(30.0, 1.01, 100, 1.0),
        "method": "Test",
        "settings": {"n": 100, "chains": 2, "steps": 40, "warmup": 5, "temperature": 1.0, "model": "Test"},
        "sample_stats": {"accepted": rng.random((2, 20)) < 0.5},
        "notes": ("a note",),
    }
    bits = _charged(Repeat(BarkerBit(0.01), 20), dp.Budget(0.5, 1e-7))
    seeded = replace(_charged()["receipts"][0], reproducible=True)
    return [
        dp.Release(**parts, **_charged()),
        dp.Release(**parts, **_charged(Repeat(BarkerBit(0.1), 10))),
        dp.Release(**parts, **_charged(earlier=bits["receipts"])),
        dp.Release(**parts, guarantee=None, receipts=(seeded,), no_guarantee="made with seed="),
    ]


def _no_stronger(found, good):
    """A guarantee that was there, or a weaker one that its receipts pay for, for the same person; or none."""
    if found is None:
        return
    assert good is not None, f"a guarantee appeared: {found}"
    assert (found.relation, found.unit) == (good.relation, good.unit), (found, good)
    assert found.epsilon >= good.epsilon, (found, good)
    assert found.delta >= good.delta, (found, good)


def releases(folder: Path) -> Fuzzed:
    """Whole or refused; who seals an edited file again does not get a stronger guarantee."""
    made = _releases()

    def check(found, good):
        _no_stronger(found.guarantee, made[good].guarantee)
        str(found), repr(found.quality), found.statement()

    content = [release.save(folder / "good.npz").read_bytes() for release in made]

    def mutate(rng, one):
        return mutators.of_sealed(rng, one, "release")

    return Fuzzed(".npz", content, mutate, dp.Release.load, check, ("verify {}",))


def signed_releases(folder: Path) -> Fuzzed:
    """Exactly what was signed, or refused."""
    private, public, release = folder / "k.pem", folder / "k.pub.pem", _releases()[0]
    signatures.make_keys(private, public)
    content = release.save(folder / "good.npz", key=private).read_bytes()
    signature = sealed.unpack("release", content, "good").extra

    def mutate(rng, one):
        changed = mutators.of_sealed(rng, one, "release")
        return sealed.signed(changed, signature) if rng.random() < 0.5 and _ends_in_a_seal(changed) else changed

    def check(found, good):
        assert found.guarantee == release.guarantee
        assert found.receipts == release.receipts
        for room in ("draws", "sample_stats"):
            for name, values in getattr(release, room).items():
                assert getattr(found, room)[name].tobytes() == values.tobytes()

    return Fuzzed(".npz", [content], mutate, lambda path: dp.Release.load(path, trusted=public), check,
                  (f"verify {{}} --key {public}",))  # fmt: skip


def _ends_in_a_seal(content):
    try:
        return len(sealed.seal_of(content)) == 64 and len(content) > sealed._comment_length("release")
    except ValueError:
        return False


def fits(folder: Path) -> Fuzzed:
    paid = _charged(Repeat(Gaussian(20.0), 5))
    fit = Fit(np.zeros(2), np.eye(2), {"a": np.zeros(2)}, paid["receipts"], paid["guarantee"], "full-rank")

    def mutate(rng, one):
        return mutators.of_sealed(rng, one, "fit")

    def check(found, good):
        _no_stronger(found.guarantee, fit.guarantee)
        str(found), found.event

    return Fuzzed(".npz", [fit.save(folder / "good.npz").read_bytes()], mutate, Fit.load, check)


def public_keys(folder: Path) -> Fuzzed:
    """A changed key verifies nothing."""
    private, public = folder / "k.pem", folder / "k.pub.pem"
    signatures.make_keys(private, public)
    signature, good = signatures.sign(b"seal", private), public.read_bytes()

    def read(path):
        return signatures.verify(b"seal", signature, path), path.read_bytes()

    def check(found, _):
        accepted, content = found
        assert not accepted or _raw(content) == _raw(good)

    return Fuzzed(".pem", [good], mutators.of_text, read, check)


def _raw(content):
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    return load_pem_public_key(content).public_bytes_raw()


# checkpoints


def run_checkpoints(folder: Path) -> Fuzzed:
    """Resumed where the run stood, or refused: never more steps than planned, never another run's coins."""
    model, data = dp.models.GaussianMean(2), np.random.default_rng(0).normal(size=(400, 2))
    path, source = folder / "run.ckpt", RandomSource()
    method = dp.Chain(dp.dp_barker(step=0.05, clip=0.005), warmup=100, checkpoint=path)
    plan = dp.plan(model, 400, dp.Budget(1.0, 1e-6), method=method, draws=300)
    posterior = posterior_of(plan, data)
    fresh = start_chains(plan.kernel, posterior, plan.chains, source)
    state, chunk, length = RunState(fresh, [], 0, source), compile_chunk(plan.kernel, None), chunk_length(plan.steps)
    content = []
    for _ in range(3):
        checkpoints.write(path, plan, posterior, state)
        content.append(path.read_bytes())
        state = state.after(*run_chunk(chunk, plan.kernel, posterior, state.state, state.source, length, length))

    def mutate(rng, one):
        return mutators.of_sealed(rng, one, "checkpoint")

    def check(found, good):
        assert found.chunks == good
        assert found.steps == good * length
        assert found.source.reveal_key() == sealed.unpack("checkpoint", content[good], path).extra

    return Fuzzed(".ckpt", content, mutate, lambda p: _resumed(p, plan, posterior, fresh), check)


def _resumed(path, plan, posterior, fresh):
    path.chmod(0o600)
    return checkpoints.read(path, plan, posterior, fresh)


# ledgers


def _ledger(folder):
    """Three charges, of which one was settled with its release in the ledger, and one failed."""
    ledger = dp.Ledger.create(folder / "good.db", dataset="clinic", budget=BUDGET)
    numbers = [ledger.reserve((charge(purpose=name),), RECORDS).number for name in ("one", "two", "three")]
    ledger.settle(numbers[0], b"a release")
    ledger.fail(numbers[1], RuntimeError())
    return ledger


def ledgers(folder: Path) -> Fuzzed:
    """As it was, or refused; who writes it anew is found out by a head that was kept, and never has more to spend."""
    ledger = _ledger(folder)
    head, lines, content = ledger.head, ledger.book.lines, (folder / "good.db").read_bytes()

    def read(path):
        found = dp.Ledger(path)
        found.verify()
        return found

    def check(found, _):
        str(found), found.export(), found.receipts, repr(found)
        assert 0 <= found.spent <= found.book.balance.limit * (1 + 1e-9)
        try:
            found.verify(head)
        except dp.LedgerError:
            return
        assert found.book.lines[: len(lines)] == lines

    return Fuzzed(".db", [content], mutators.of_database, read, check,
                  ("ledger show {}", "ledger show {} --json", "ledger verify {}", "ledger export {}"),
                  (dp.LedgerError,))  # fmt: skip


def exported_ledgers(folder: Path) -> Fuzzed:
    ledger = _ledger(folder)
    content, lines = json.dumps(ledger.export(), indent=1).encode(), ledger.book.lines

    def read(path):
        from dpmcmc.commands.ledger import _export
        from dpmcmc.ledger.rules import check_head

        book = _export(str(path))
        if book is None:
            return None
        try:
            check_head(book, ledger.head)
        except dp.LedgerError:
            return None
        return book

    def check(found, _):
        assert found is None or found.lines[: len(lines)] == lines

    return Fuzzed(".json", [content], mutators.of_export, read, check, ("ledger verify {}",), (dp.LedgerError,))


# tables and their declarations

SCHEMA = dp.Schema(
    {
        "age": dp.Number(0, 120, unit="years", missing=40),
        "visits": dp.Number(0, 30, integer=True, outside="clip"),
        "plan": dp.Category(["free", "full"], unknown="other", missing="level"),
        "answer": dp.Category({1: "yes", 2: "no", -9: "no"}),
        "health": dp.Ordered(["poor", "fair", "good"]),
        "smokes": dp.Boolean({"yes": True, "no": False}),
        "since": dp.Date("2000-01-01", "2020-12-31"),
    }
)
ROWS = [
    ("41.5", "3", "free", "1", "good", "yes", "2001-02-03"),
    ("", "0", "full", "2", "poor", "no", "2020-12-31"),
    ("120", "30", "other", "-9", "fair", "no", "2010-06-15 12:00:00"),
    ("7e1", "12", "", "1", "good", "yes", "2000-01-01"),
]


def _encoded(table):
    dp.Schema.skeleton(table)
    return SCHEMA.encode(table)


def _is_declared(found, _):
    assert len({values.shape for values in found.values()}) == 1
    for name, values in found.items():
        low, high = SCHEMA[name].bounds
        assert np.isfinite(values).all()
        assert ((low <= values) & (values <= high)).all(), name


def _csv(separator):
    return "\n".join(separator.join(row) for row in [tuple(SCHEMA), *ROWS]).encode()


def csv_files(folder: Path) -> Fuzzed:
    return Fuzzed(".csv", [_csv(",")], mutators.of_csv, _encoded, _is_declared, errors=(ValueError, TypeError))


def csv_dialects(folder: Path) -> Fuzzed:
    content = _csv(";").replace(b"41.5", b"41,5")

    def read(path):
        return _encoded(dp.CSV(path, separator=";", decimal=",", encoding="cp1252", missing=["-99", "k. A."]))

    def mutate(rng, one):
        return mutators.of_csv(rng, one, b";")

    return Fuzzed(".txt", [content], mutate, read, _is_declared, errors=(ValueError, TypeError))


def parquet_files(folder: Path) -> Fuzzed:
    import pyarrow as pa
    from pyarrow import parquet

    columns = dict(zip(SCHEMA, zip(*ROWS, strict=True), strict=True))
    typed = {
        "age": pa.array([41.5, None, 120.0, 70.0]), "visits": pa.array([3, 0, 30, 12]),
        "answer": pa.array([1, 2, -9, 1], pa.int8()), "since": pa.array([11356, 18627, 14775, 10957], pa.date32()),
    }  # fmt: skip
    table = pa.table({name: typed.get(name, pa.array(list(values))) for name, values in columns.items()})
    path = folder / "good.parquet"
    parquet.write_table(table, path)
    return Fuzzed(".parquet", [path.read_bytes()], mutators.of_parquet, _encoded, _is_declared,
                  errors=(ValueError, TypeError))  # fmt: skip


def schema_files(folder: Path) -> Fuzzed:
    def check(found, _):
        str(found), repr(found)
        assert dp.Schema.from_toml(found.to_toml()) == found

    return Fuzzed(".toml", [SCHEMA.to_toml().encode()], mutators.of_toml, dp.Schema.load, check,
                  errors=(ValueError, TypeError))  # fmt: skip


def study_files(folder: Path) -> Fuzzed:
    """A study is read, or refused with its file, line and key; what it would do is not done."""
    from dpmcmc.study.study import Study, StudyError

    def check(found, _):
        repr(found.model), found.budget, found.schema
        assert found.budget.epsilon > 0

    return Fuzzed(".toml", [GOOD.encode()], mutators.of_toml, Study.read, check, errors=(StudyError,))


TARGETS = (
    Target("releases", 0.2, releases),
    Target("signed releases", 0.06, signed_releases),
    Target("fits", 0.07, fits),
    Target("public keys", 0.03, public_keys),
    Target("checkpoints", 0.08, run_checkpoints),
    Target("ledgers", 0.08, ledgers),
    Target("exported ledgers", 0.12, exported_ledgers),
    Target("schemas", 0.08, schema_files),
    Target("studies", 0.04, study_files),
    Target("CSV", 0.1, csv_files),
    Target("CSV of other dialects", 0.06, csv_dialects),
    Target("Parquet", 0.08, parquet_files),
)

HIDDEN = (SECRET,)
"""What is in cells alone, and in no error: a message is no release."""
