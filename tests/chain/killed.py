"""Runs with a checkpoint that are killed (kill −9) at random moments and resumed; prints what it found as JSON.

    python -m tests.chain.killed FOLDER MOMENTS SEED

Runs are forked from one process that has imported everything and used no device yet, so that a run begins at once.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import numpy as np

import dpmcmc as dp
from dpmcmc.files import read, sealed

RECORDS = np.random.default_rng(0).normal(size=(4000, 2))
KERNEL = dp.dp_barker(step=0.05, clip=0.0005)
METHOD, MODEL = dp.Chain, dp.models.GaussianMean(2)  # loaded here, before any fork
STEPS = 1500  # thirty chunks


def sample(checkpoint, result):
    method = METHOD(KERNEL, warmup=100, checkpoint=checkpoint)
    release = dp.sample(MODEL, RECORDS, 1.0, 1e-6, method=method, draws=STEPS - 100, chains=2, seed=5, progress=False)
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
    """The exit status of a run that was waited for, or that it was killed."""
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def draws(path):
    found = sealed.unpack("release", read(path), path).arrays
    return {name: values.tobytes() for name, values in found.items()}


def main(folder, moments, seed):
    rng = random.Random(seed)
    whole, result, checkpoint = folder / "whole.npz", folder / "result.npz", folder / "run.ckpt"
    began = time.monotonic()
    assert finished(forked(folder / "other.ckpt", whole)) == 0
    duration = time.monotonic() - began
    expected, found = draws(whole), {"killed": 0, "resumed": 0, "ended": 0, "same": True, "leftovers": 0}
    while found["killed"] < moments:
        found["resumed"] += checkpoint.exists()
        process = forked(checkpoint, result)
        time.sleep(rng.uniform(0.2, 1.0) * duration)
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
