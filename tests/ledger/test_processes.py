"""Several processes on one ledger, and processes that die: nothing is lost, nothing is overspent."""

import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import dpmcmc as dp
from dpmcmc.ledger.entries import Reservation, Settlement
from tests.ledger import workers
from tests.ledger.chains import CHECKPOINT, LEDGER, sampled
from tests.ledger.places import BUDGET

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["dpmcmc.ledger", "tests.ledger.workers"])

KILLS = int(os.environ.get("DPMCMC_TEST_KILLS", "200"))
FEW = pytest.param(3, 36, id="3 processes")
MANY = pytest.param(16, 10_000, id="16 processes", marks=pytest.mark.slow)


def charged_by_many(where, dataset, processes, times):
    """Charges by all processes at once, of which nine in ten fit: all that were made are there, and no more fit."""
    ledger = dp.Ledger(where, dataset)
    multiplier = np.sqrt(0.5 * 0.9 * times / ledger.left)
    price = 0.5 / multiplier**2
    with ProcessPoolExecutor(processes, mp_context=PROCESSES) as pool:
        each = [times // processes + (number < times % processes) for number in range(processes)]
        work = [pool.submit(workers.charge_often, where, dataset, count, multiplier) for count in each]
        done = [one.result() for one in work]
    names = [name for found, _ in done for name in found]
    refused = sum(count for _, count in done)
    assert len(names) + refused == times
    made = [entry for entry in ledger.entries if isinstance(entry, Reservation)]
    assert sorted(names) == sorted(entry.receipt["purpose"] for entry in made)
    assert len(set(names)) == len(names)
    assert ledger.spent == pytest.approx(len(names) * price, rel=1e-9)
    assert ledger.spent <= ledger.book.balance.limit
    assert refused > 0
    assert ledger.left < price * (1 + 1e-6)  # none was refused that would have fitted
    ledger.verify()


@pytest.mark.parametrize(("processes", "times"), [FEW, MANY])
def test_many_processes_and_one_file(ledger, path, processes, times):
    charged_by_many(path, "clinic", processes, times)


@pytest.mark.parametrize(("processes", "times"), [FEW, MANY])
def test_many_processes_and_one_server(server, processes, times):
    dp.Ledger.create(server, dataset=f"of {processes}", budget=BUDGET)
    charged_by_many(server, f"of {processes}", processes, times)


@pytest.mark.parametrize("moments", [3, pytest.param(200, marks=pytest.mark.slow)])
def test_a_ledger_survives_the_death_of_those_who_write_to_it(ledger, path, tmp_path, moments):
    chance, log = random.Random(moments), tmp_path / "made.txt"
    log.touch()
    for _ in range(moments):
        before = log.stat().st_size
        worker = PROCESSES.Process(target=workers.charge_until_killed, args=(path, log), daemon=True)
        worker.start()
        while log.stat().st_size == before:
            time.sleep(0.002)
        time.sleep(chance.uniform(0, 0.15))
        os.kill(worker.pid, signal.SIGKILL)
        worker.join()
        again = dp.Ledger(path)
        again.verify()
        made = {entry.receipt["purpose"] for entry in again.entries if isinstance(entry, Reservation)}
        known = log.read_text().splitlines()
        assert set(known) <= made
        assert again.spent >= len(known) * 0.5 / 1000.0**2 * (1 - 1e-12)
    ledger.settle(ledger.reserve((dp.Receipt.from_dict(ledger.entries[1].receipt),), workers.RECORDS).number, b"")


@pytest.mark.slow
@pytest.mark.parametrize("moments", [2, KILLS])
def test_chains_that_are_killed_stay_charged_and_go_on_bit_for_bit(tmp_path, moments):
    """At moments in whatever the run was doing: a charge, a checkpoint, a chunk, saving, settling."""
    dp.Ledger.create(tmp_path / LEDGER, dataset="clinic", budget=dp.Budget(1000.0, 1e-6))
    checkpoint, chance, resumed = tmp_path / CHECKPOINT, random.Random(0), 0
    sampled(tmp_path, warm=True)
    for moment in range(moments):
        charged = killed_at(tmp_path, chance.uniform(0, 1.0))
        copies = [tmp_path / f"{name}.copy" for name in (LEDGER, CHECKPOINT)]
        if not checkpoint.exists():
            continue
        resumed += 1
        for source, copy in zip((tmp_path / LEDGER, checkpoint), copies, strict=True):
            shutil.copy(source, copy)
        first = sampled(tmp_path, save_to=tmp_path / f"first-{moment}.npz")
        assert count(tmp_path) == charged  # the run was charged before, and goes on
        assert not checkpoint.exists()
        for source, copy in zip((tmp_path / LEDGER, checkpoint), copies, strict=True):
            shutil.copy(copy, source)
        second = sampled(tmp_path, save_to=tmp_path / f"second-{moment}.npz")
        assert first.receipts == second.receipts
        for part in ("draws", "sample_stats"):
            for name, values in getattr(first, part).items():
                assert np.array_equal(values, getattr(second, part)[name])
    assert resumed > moments / 4 or moments < 20


def killed_at(folder, seconds):
    """Start a process that runs chains, kill it so long after it began; how many charges the ledger then has."""
    (folder / "started").unlink(missing_ok=True)
    root = Path(__file__).parents[2]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(root), *sys.path])}
    process = subprocess.Popen([sys.executable, "-m", "tests.ledger.workers", folder], cwd=root, env=environment)
    while not (folder / "started").exists():
        assert process.poll() is None
        time.sleep(0.005)
    time.sleep(seconds)
    process.kill()
    process.wait()
    ledger = dp.Ledger(folder / LEDGER)
    ledger.verify()
    states = ledger.book.states()
    finished = [dp.Release.load(path) for path in folder.glob(f"{process.pid}-*.npz")]
    booked = {entry.receipt["purpose"] for entry in ledger.entries if isinstance(entry, Reservation)}
    assert {release.receipts[-1].purpose for release in finished} <= booked  # nothing released that is not charged
    for entry in ledger.entries:
        if isinstance(entry, Settlement) and Path(entry.file).name.startswith(f"{process.pid}-"):
            assert Path(entry.file).exists()  # what is settled is stored
    return len(states)


def count(folder):
    return len(dp.Ledger(folder / LEDGER).book.states())
