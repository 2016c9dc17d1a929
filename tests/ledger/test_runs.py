"""Runs with a ledger: charged before a record is read, stored before they are settled, spent whatever happens."""

from dataclasses import replace

import jax
import numpy as np
import pytest

import dpmcmc as dp
from dpmcmc.chain import run as runs
from dpmcmc.charge import OverBudget
from dpmcmc.ledger import ledger as ledgers
from dpmcmc.method import NotBegun
from tests.likelihood.settings import cheap_sampler  # noqa: F401  (a fixture)
from tests.scores.settings import few_simulated  # noqa: F401  (a fixture)

MODEL = dp.models.GaussianMean(2)
DATA = np.random.default_rng(0).normal(size=(400, 2))
KERNEL = dp.dp_barker(step=0.05, clip=0.005)


def run(ledger, checkpoint=None, data=DATA, draws=90, **settings):
    given = {"method": dp.Chain(KERNEL, warmup=10, checkpoint=checkpoint), "draws": draws, "progress": False}
    return dp.sample(MODEL, data, 0.5, 1e-8, ledger=ledger, **given | settings)


def states(ledger):
    return list(ledger.book.states().values())


def test_a_run_is_charged_stored_and_settled(ledger, tmp_path):
    file = tmp_path / "first.npz"
    release = run(ledger, save_to=file)
    assert states(ledger) == ["stored"]
    assert ledger.entries[2].file == str(file)
    assert release.receipts[-1].to_dict() == ledger.entries[1].receipt
    assert dp.Release.load(file).receipts == release.receipts
    assert release.guarantee.delta == 1e-8
    assert "clinic #1" in release.receipts[-1].purpose
    kept = run(ledger)
    assert states(ledger) == ["stored"] * 2
    recovered = dp.Release.load(ledger.recover(3, tmp_path / "second.npz"))
    assert np.array_equal(recovered.draws["theta"], kept.draws["theta"])


def test_the_charge_is_on_disk_before_a_record_is_read(ledger, path, monkeypatch):
    seen = []

    def read(*arguments):
        seen.append(states(dp.Ledger(path)))  # as another process would see it
        raise RuntimeError("the machine failed")

    monkeypatch.setattr(runs, "run_chunk", read)
    with pytest.raises(dp.RunFailed, match=r"the machine failed\. .*\(chains \(clinic #1.* counts as spent") as failed:
        run(ledger)
    assert seen == [["open"]]
    assert states(ledger) == ["failed"]
    assert failed.value.receipts[-1].to_dict() == ledger.entries[1].receipt
    plan = dp.plan(MODEL, 400, dp.Budget(1.0, 1e-6), method=KERNEL, spent=failed.value)  # counted once, not again
    ledger.reserve(plan.receipts, dp.Posterior(MODEL, DATA))


def test_an_interrupt_leaves_the_charge_and_says_so(ledger, monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(runs, "run_chunk", interrupted)
    with pytest.raises(KeyboardInterrupt) as stopped:
        run(ledger)
    assert "chains (clinic #1" in stopped.value.__notes__[0]
    assert "counts as spent" in stopped.value.__notes__[0]
    assert states(ledger) == ["open"]
    assert ledger.spent > 0


def test_what_a_compiled_program_says_of_a_record_is_not_passed_on(ledger, monkeypatch):
    def raising(*arguments):
        raise jax.errors.JaxRuntimeError("INTERNAL: callback failed on record 1234567")

    monkeypatch.setattr(runs, "run_chunk", raising)
    with pytest.raises(dp.RunFailed, match="a compiled function raised an error") as failed:
        run(ledger)
    assert "1234567" not in str(failed.value)
    assert failed.value.__cause__ is None
    assert failed.value.__suppress_context__


def test_chains_fail_in_the_same_words_without_a_ledger(monkeypatch):
    monkeypatch.setattr(runs, "run_chunk", lambda *arguments: 1 / 0)
    with pytest.raises(dp.RunFailed, match="whole plan counts as spent: pass this exception as spent=") as failed:
        run(None)
    assert failed.value.guarantee is not None
    with pytest.raises(dp.RunFailed, match="it had no guarantee") as failed:
        run(None, seed=1)
    assert failed.value.guarantee is None


def test_a_release_that_cannot_be_stored_is_not_lost(ledger, tmp_path, monkeypatch):
    monkeypatch.setattr(ledgers.Ledger, "settle", lambda *arguments: 1 / 0)
    with pytest.raises(dp.RunFailed, match=r"error\.release\.save") as failed:
        run(ledger)
    assert failed.value.release.count == 100
    assert states(ledger) == ["open"]


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"seed": 1}, ValueError, "run with seed= has no guarantee.*[Ll]eave out"),
        ({"method": dp.algorithms.metropolis(0.1)}, ValueError, "choose a private kernel"),
        ({"ledger": "study.db"}, TypeError, "ledger must be a dp.Ledger, got 'study.db'"),
        ({"save_to": "first.csv"}, ValueError, "must be a .npz file"),
        ({"save_to": "no/such/folder/first.npz"}, ValueError, "there is no folder"),
        ({"save_to": "there.npz"}, ValueError, "exists already, and was perhaps paid for"),
    ],
)
def test_what_is_refused_is_refused_before_anything_is_charged(ledger, tmp_path, monkeypatch, given, error, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.npz").touch()
    head = ledger.head
    with pytest.raises(error, match=message):
        run(**{"ledger": ledger} | given)
    assert ledger.head == head


def test_a_run_beyond_what_is_left_is_not_begun(tmp_path, monkeypatch):
    small = dp.Ledger.create(tmp_path / "small.db", dataset="clinic", budget=dp.Budget(0.1, 1e-8))
    monkeypatch.setattr(runs, "run_chunk", lambda *arguments: pytest.fail("a record was read"))
    with pytest.raises(OverBudget, match="was not begun"):
        run(small)
    assert small.spent == 0


def cut(monkeypatch, chunks):
    """Let so many chunks finish, then take the machine away."""
    real, done = runs.run_chunk, []

    def run_chunk(*arguments):
        if len(done) == chunks:
            raise KeyboardInterrupt
        done.append(1)
        return real(*arguments)

    monkeypatch.setattr(runs, "run_chunk", run_chunk)


def test_a_run_that_goes_on_is_not_charged_again(ledger, path, tmp_path, monkeypatch):
    checkpoint, file = tmp_path / "run.ckpt", tmp_path / "first.npz"
    with monkeypatch.context() as patch:
        cut(patch, 1)
        with pytest.raises(KeyboardInterrupt):
            run(ledger, checkpoint, save_to=file)
    copy = checkpoint.read_bytes()
    release = run(dp.Ledger(path), checkpoint, save_to=file)
    assert states(ledger) == ["stored"]
    assert not checkpoint.exists()
    checkpoint.write_bytes(copy)  # once more from the same place: the same coins, the same release, the same charge
    again = run(ledger, checkpoint, save_to=file)
    assert np.array_equal(again.draws["theta"], release.draws["theta"])
    assert states(ledger) == ["stored"]
    assert run(ledger, checkpoint).receipts != release.receipts  # without it, another run
    assert states(ledger) == ["stored"] * 2


def test_a_checkpoint_goes_on_under_its_own_charge_alone(ledger, tmp_path, monkeypatch):
    checkpoint, other = tmp_path / "run.ckpt", tmp_path / "other.ckpt"
    with monkeypatch.context() as patch:
        cut(patch, 1)
        with pytest.raises(KeyboardInterrupt):
            run(ledger, checkpoint)
    with pytest.raises(dp.LedgerError, match="not of a run that this ledger was charged for"):
        run(ledger, checkpoint, draws=80)
    other.write_bytes(checkpoint.read_bytes())
    with pytest.raises(dp.LedgerError, match="not of a run that this ledger was charged for"):
        run(ledger, other)
    other.unlink()
    with monkeypatch.context() as patch:  # a second run of the same plan has another name, and so other coins
        cut(patch, 0)
        with pytest.raises(KeyboardInterrupt):
            run(ledger, other)
    other.write_bytes(checkpoint.read_bytes())
    with pytest.raises(NotBegun, match="belongs to another run"):
        run(ledger, other)
    with pytest.raises(NotBegun, match="belongs to another run"):
        run(None, checkpoint)  # nor without the ledger
    assert states(ledger) == ["open"] * 2


@pytest.mark.slow
def test_a_fit_is_charged_like_a_release(ledger, tmp_path):
    file = tmp_path / "fit.npz"
    fit = dp.dpvi(MODEL, DATA, 0.3, 1e-8, steps=5, ledger=ledger, save_to=file)
    assert states(ledger) == ["stored"]
    assert fit.receipts[-1].purpose.startswith("variational fit (clinic #1")
    again = dp.variational.Fit.load(file)
    assert again.receipts == fit.receipts
    assert again.guarantee == fit.guarantee
    assert np.array_equal(again.root, fit.root)
    assert np.array_equal(again.position, fit.position)
    with pytest.raises(ValueError, match="seed="):
        dp.dpvi(MODEL, DATA, 0.3, 1e-8, steps=5, ledger=ledger, seed=1)
    run(ledger, spent=fit, init=fit.position)  # the fit was charged here, and is not charged again
    assert len(states(ledger)) == 2


def test_a_blackjax_loop_is_charged_when_it_is_made(ledger):
    plan = dp.plan(MODEL, 400, dp.Budget(0.5, 1e-8), method=KERNEL, draws=9, chains=1)
    algorithm = dp.blackjax.as_sampling_algorithm(plan, DATA, ledger=ledger)
    assert algorithm.receipts[-1].to_dict() == ledger.entries[1].receipt
    with pytest.raises(ValueError, match="seed="):
        dp.blackjax.as_sampling_algorithm(plan, DATA, ledger=ledger, seed=1)


@pytest.mark.slow
def test_persons_and_records_have_ledgers_of_their_own(tmp_path):
    records = dp.models.GaussianMean(2)
    people = dp.PerUnit(records, "person", most=2)
    grouped = people.group(DATA, np.repeat(np.arange(200), 2), seed=0)
    ledger = dp.Ledger.create(tmp_path / "a.db", dataset="clinic", budget=dp.Budget(1.0, 1e-6), unit="person")
    with pytest.raises(dp.LedgerError, match="protects one person, and this run one record"):
        run(ledger)
    plan = dp.plan(people, 200, dp.Budget(0.5, 1e-8), method=KERNEL, draws=20)
    release = plan.sample(grouped, ledger=ledger, progress=False)
    assert release.guarantee.unit == ledger.guarantee.unit == "person"


@pytest.mark.slow
@pytest.mark.usefixtures("cheap_sampler", "few_simulated")
@pytest.mark.parametrize(
    "method",
    [dp.LikelihoodRelease(), dp.ScoreRelease(), dp.PosteriorDraws(1.0)],
    ids=["likelihood", "scores", "posterior draws"],
)
def test_every_method_has_it_from_the_frame(ledger, tmp_path, monkeypatch, method):
    file = tmp_path / "first.npz"
    release = run(ledger, method=method, draws=20, save_to=file)
    assert states(ledger) == ["stored"]
    assert release.receipts[-1].to_dict() == ledger.entries[1].receipt
    assert dp.Release.load(file).receipts == release.receipts
    plan = dp.plan(MODEL, 400, ledger.budget, method=method, spent=ledger, draws=20)
    with monkeypatch.context() as patch:
        patch.setattr(type(plan), "run", lambda *arguments: 1 / 0)
        with pytest.raises(dp.RunFailed, match="counts as spent"):
            plan.sample(DATA, ledger=ledger, progress=False)
    assert states(ledger) == ["stored", "failed"]
    assert ledger.left < 0.01 * ledger.spent


def test_a_plan_is_replaced_and_never_changed(ledger):
    plan = dp.plan(MODEL, 400, dp.Budget(0.5, 1e-8), method=dp.Chain(KERNEL, warmup=10), draws=90)
    before = replace(plan)
    plan.sample(DATA, ledger=ledger, progress=False)
    assert plan.receipts == before.receipts
