"""Checkpoints: whole or refused, for one process at a time, and resumed bit for bit after kill −9 at any moment."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest

import dpmcmc as dp
from dpmcmc.algorithms import ALGORITHMS, problems
from dpmcmc.chain import checkpoint as checkpoints
from dpmcmc.chain import run as runs
from dpmcmc.chain.checkpoint import RunState
from dpmcmc.chain.pricing import PriceTable
from dpmcmc.chain.scan import chunk_length, compile_chunk, run_chunk, start_chains
from dpmcmc.files import locked, sealed
from dpmcmc.mechanisms.needs import kinds
from dpmcmc.method import posterior_of
from dpmcmc.posterior import Posterior
from dpmcmc.privacy import ZcdpFilter
from dpmcmc.randomness import RandomSource
from tests.files import mutations

RECORDS = np.random.default_rng(0).normal(size=(400, 2))
MODEL = dp.models.GaussianMean(2)
KERNEL = dp.dp_barker(step=0.05, clip=0.005)


def planned(path=None, kernel=KERNEL, draws=300):
    return dp.plan(MODEL, 400, dp.Budget(1.0, 1e-6), method=dp.Chain(kernel, warmup=100, checkpoint=path), draws=draws)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """A plan, its posterior, its start, and a checkpoint after two of eight chunks."""
    path = tmp_path_factory.mktemp("checkpoint") / "run.ckpt"
    plan, source = planned(path), RandomSource()
    posterior = posterior_of(plan, RECORDS)
    state = RunState(start_chains(plan.kernel, posterior, plan.chains, source), [], 0, source)
    chunk, length = compile_chunk(plan.kernel, None), chunk_length(plan.steps)
    for _ in range(2):
        state = state.after(*run_chunk(chunk, plan.kernel, posterior, state.state, state.source, length, length))
    checkpoints.write(path, plan, posterior, state)
    return plan, posterior, start_chains(plan.kernel, posterior, plan.chains, RandomSource(1)), path, state


def test_a_checkpoint_is_read_as_it_was_written(stopped):
    plan, posterior, fresh, path, state = stopped
    found = checkpoints.read(path, plan, posterior, fresh)
    assert (found.chunks, found.steps) == (2, 100)
    assert found.source.reveal_key() == state.source.reveal_key()
    assert np.array_equal(found.state.positions, state.state.positions)
    assert path.stat().st_mode & 0o777 == 0o600


def resealed(found, arrays=None, about=None):
    """By somebody who has the key, which is in the file."""
    return sealed.pack("checkpoint", arrays or found.arrays, about or found.about, found.extra)


def edits(found):
    """Checkpoints that no run of this plan writes."""
    cut = {name: x[:70] if name.startswith("trace") else x for name, x in found.arrays.items()}
    chunk = {name: x[:50] if name.startswith("trace") else x for name, x in found.arrays.items()}
    none = {name: x[:0] if name.startswith("trace") else x for name, x in found.arrays.items()}
    long = {name: np.repeat(x, 5, 0) if name.startswith("trace") else x for name, x in found.arrays.items()}
    spent = max(name for name in found.arrays if found.arrays[name].dtype == np.float64 and not found.arrays[name].ndim)
    yield "a number of chunks", resealed(found, about=found.about | {"chunks": -100})
    yield "part of a chunk", resealed(found, cut)
    yield "a chunk lost", resealed(found, chunk)
    yield "no steps", resealed(found, none)
    yield "no traces", resealed(found, {name: x for name, x in found.arrays.items() if name.startswith("state")})
    yield "more steps than planned", resealed(found, long)
    yield "another shape", resealed(found, found.arrays | {"state0": np.zeros((2, 3))})
    yield "another type", resealed(found, found.arrays | {"state0": found.arrays["state0"].astype(np.float32)})
    yield "another array", resealed(found, found.arrays | {"more": np.zeros(3)})
    yield "negative spending", resealed(found, found.arrays | {spent: np.float64(-1.0)})
    yield "NaN spending", resealed(found, found.arrays | {spent: np.float64("nan")})
    yield "another fingerprint", resealed(found, about=found.about | {"fingerprint": "0" * 64})
    yield "another format", resealed(found, about=found.about | {"format": 1})
    yield "another key", sealed.pack("checkpoint", found.arrays, found.about, bytes(range(32)))
    yield "another file", b"not a checkpoint"
    yield "empty", b""


def test_edited_checkpoints_are_refused(stopped, tmp_path):
    """chunks = −100 ran 5550 steps where 400 were planned and paid for."""
    plan, posterior, fresh, path, _ = stopped
    found = sealed.unpack("checkpoint", path.read_bytes(), path)
    other, accepted = tmp_path / "edited.ckpt", []
    for name, content in edits(found):
        other.write_bytes(content)
        with contextlib.suppress(dp.FileError):
            accepted.append((name, checkpoints.read(other, plan, posterior, fresh).steps))
    assert accepted == []


def fuzz(stopped, folder, count, seed):
    plan, posterior, fresh, path, _ = stopped
    other, content, rng = folder / "mutated.ckpt", path.read_bytes(), np.random.default_rng(seed)
    found = sealed.unpack("checkpoint", content, path)
    for i in range(count):
        if i % 10:
            other.write_bytes(mutations.of_bytes(rng, content))
        else:
            other.write_bytes(resealed(found, mutations.of_arrays(rng, found.arrays)))
        with pytest.raises(dp.FileError, match=str(other)):
            checkpoints.read(other, plan, posterior, fresh)


def test_mutated_checkpoints_are_refused(stopped, tmp_path):
    fuzz(stopped, tmp_path, 400, 1)


def test_planted_files_are_neither_written_through_nor_read(stopped, tmp_path):
    """A link at the name of the new file was followed, and the mode of a file there was kept."""
    plan, posterior, fresh, path, state = stopped
    victim, mine = tmp_path / "victim", tmp_path / "run.ckpt"
    victim.write_bytes(b"precious")
    (tmp_path / "run.ckpt.new").symlink_to(victim)
    checkpoints.write(mine, plan, posterior, state)
    assert victim.read_bytes() == b"precious"
    (tmp_path / "run.ckpt.new").unlink()
    (tmp_path / "run.ckpt.new").write_bytes(b"")
    (tmp_path / "run.ckpt.new").chmod(0o666)
    checkpoints.write(mine, plan, posterior, state)
    assert mine.stat().st_mode & 0o777 == 0o600
    link = tmp_path / "link.ckpt"
    link.symlink_to(path)
    with pytest.raises(dp.FileError, match="a link is not followed"):
        checkpoints.read(link, plan, posterior, fresh)
    mine.chmod(0o666)
    with pytest.raises(dp.FileError, match="can be written by others"):
        checkpoints.read(mine, plan, posterior, fresh)


def test_a_second_run_on_one_checkpoint_is_refused_before_it_uses_a_record(tmp_path, monkeypatch):
    path, used = tmp_path / "run.ckpt", []
    monkeypatch.setattr(runs, "run_chunk", lambda *arguments: used.append(arguments))
    with locked(path), pytest.raises(dp.FileError, match="in use by another run"):
        planned(path).sample(RECORDS, progress=False)
    assert used == []
    assert not path.exists()


def test_a_copied_checkpoint_gives_the_same_bits_and_each_is_for_one_run(stopped, tmp_path, monkeypatch):
    """Two runs from copies are one release: the same coins decide the same steps."""
    plan, _, _, path, _ = stopped
    twins, errors, real = [], [], runs.run_chunk

    def run_again():
        try:
            replace(plan, checkpoint=tmp_path / "a.ckpt").sample(RECORDS, progress=False)
        except dp.FileError as error:
            errors.append(error)

    def meanwhile(*arguments):
        if not errors:
            thread = threading.Thread(target=run_again)
            thread.start()
            thread.join()
        return real(*arguments)

    monkeypatch.setattr(runs, "run_chunk", meanwhile)
    for name in ("a.ckpt", "b.ckpt"):
        shutil.copy(path, tmp_path / name)
        twins.append(replace(plan, checkpoint=tmp_path / name).sample(RECORDS, progress=False))
    assert len(errors) == 1
    assert "in use by another run" in str(errors[0])
    assert twins[0].count == plan.steps
    assert twins[0].guarantee == twins[1].guarantee == plan.guarantee
    for room in ("draws", "sample_stats"):
        for name, values in getattr(twins[0], room).items():
            assert values.tobytes() == getattr(twins[1], room)[name].tobytes()
    assert os.listdir(tmp_path) == []


def killed(folder, moments, seed):
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "tests.chain.killed", str(folder), str(moments), str(seed)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=root)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout.splitlines()[-1])
    assert found["same"], found
    assert found["killed"] == moments
    assert not found["leftovers"], found
    return found


def test_a_killed_run_resumes_bit_for_bit(tmp_path):
    killed(tmp_path, 2, 0)


@pytest.mark.slow
def test_runs_killed_at_many_moments_resume_bit_for_bit(tmp_path):
    found = killed(tmp_path, 200, 1)
    assert found["resumed"] > 50


def contracts_of(problem):
    for algorithm in ALGORITHMS.values():
        for name, contract in algorithm.named_contracts.items():
            if contract.uses_proposal or problem is problems.gaussian:
                yield pytest.param(problem, contract, id=f"{problem.__name__}-{name}")


@pytest.mark.slow
@pytest.mark.parametrize("precision", [np.float32, np.float64])
@pytest.mark.parametrize(("problem", "contract"), [*contracts_of(problems.gaussian), *contracts_of(problems.cycle)])
def test_a_chunk_keeps_the_types_of_the_start(problem, contract, precision):
    """Every kernel: what a checkpoint holds later has the shapes and types that it is checked against."""
    model, records, *_ = made = problem()
    kernel, posterior = made.kernel(contract), Posterior.check(model, records.astype(precision))
    state = start_chains(kernel, posterior, 2, RandomSource(1))
    prices = None if kernel.event(posterior.n, 1.0) is not None else PriceTable.of(kernel, ZcdpFilter(0.1))
    with jax.enable_x64(True):
        keys = np.zeros((3, 2, 2), np.uint32)
        words = kinds(kernel.random_words(posterior.n), (3, 2))
        later, (positions, accepted, _) = jax.eval_shape(
            compile_chunk(kernel, prices), posterior.on_device(), state, keys, words, np.int64(3)
        )

    def types(tree):
        return [(x.shape, np.dtype(x.dtype)) for x in map(np.asarray, jax.tree.leaves(tree))]

    shapes = [(x.shape, np.dtype(x.dtype)) for x in jax.tree.leaves(later)]
    assert shapes == types(state)
    traced = [(x.shape[1:], np.dtype(x.dtype)) for x in jax.tree.leaves((positions, accepted))]
    assert traced == [*types(state.positions), ((2,), np.dtype(bool))]
