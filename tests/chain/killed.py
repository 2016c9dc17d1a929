"""Runs with a checkpoint that are killed (kill −9) at random moments and resumed; prints what it found as JSON.

    python -m tests.chain.killed FOLDER MOMENTS SEED

Runs are forked from one process that has imported everything and used no device yet, so that a run begins at once.
"""

import contextlib
import json
import os
import random
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from jax._src import xla_bridge

import dpmcmc as dp
from dpmcmc.diagnostics import stats
from dpmcmc.files import read, sealed

RECORDS = np.random.default_rng(0).normal(size=(4000, 2))
METHOD = dp.Chain(dp.dp_barker(step=0.05, clip=0.0005), warmup=100)
PLAN = dp.plan(
    dp.models.GaussianMean(2), 4000, dp.Budget(1.0, 1e-6), method=METHOD, draws=900, chains=1
)  # twenty chunks
stats()  # slow to import
assert not xla_bridge._backends, "a device was used, so nothing may be forked"


def sample(checkpoint, result):
    release = replace(PLAN, checkpoint=checkpoint).sample(RECORDS, seed=5, progress=False)
    release.save(result)


def forked(checkpoint, result):
    """The process of a run."""
    process = os.fork()
    if process == 0:
        status = 1
        try:
            sample(checkpoint, result)
            status = 0
        finally:
            os._exit(status)
    return process


def finished(process):
    """The exit status of a run, once it has ended or was killed."""
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def begun(process, checkpoint, before):
    """Waits until the run has written a checkpoint; whether it did, or ended."""
    while not os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        with contextlib.suppress(FileNotFoundError):
            if checkpoint.stat().st_ino != before:
                return
        time.sleep(0.0005)


def draws(path):
    found = sealed.unpack("release", read(path), path).arrays
    return {name: values.tobytes() for name, values in found.items()}


def main(folder, moments, seed):
    rng = random.Random(seed)
    whole, result, checkpoint = folder / "whole.npz", folder / "result.npz", folder / "run.ckpt"
    started = time.monotonic()
    process = forked(folder / "other.ckpt", whole)
    begun(process, folder / "other.ckpt", 0)
    first = time.monotonic()
    assert finished(process) == 0
    starting, running = first - started, time.monotonic() - first
    expected, found = draws(whole), {"killed": 0, "resumed": 0, "ended": 0, "same": True}
    while found["killed"] < moments:
        before = checkpoint.stat().st_ino if checkpoint.exists() else 0
        found["resumed"] += before > 0
        process = forked(checkpoint, result)
        if rng.random() < 0.1:
            time.sleep(rng.uniform(0, starting))
        else:
            begun(process, checkpoint, before)
            time.sleep(rng.uniform(0, running / 3))
        os.kill(process, signal.SIGKILL)
        if finished(process) == 0:
            found["ended"] += 1
            found["same"] &= draws(result) == expected
        else:
            found["killed"] += 1
            if checkpoint.exists():
                sealed.unpack("checkpoint", read(checkpoint, secret=True), checkpoint)  # whole at every moment
    assert finished(forked(checkpoint, result)) == 0
    found["same"] &= draws(result) == expected
    found["leftovers"] = sorted(set(os.listdir(folder)) - {"whole.npz", "result.npz"})
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
