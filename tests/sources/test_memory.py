"""Memory: files that are larger than what a fit may have, and how much more than the records a fit of arrays takes."""

import json
import os
import subprocess
import sys

import pytest
from benchmarks.out_of_core import measured


@pytest.mark.slow
def test_a_table_is_fitted_within_two_gigabytes():
    """``DPMCMC_GIGABYTES=20`` for as much Parquet; an allocation beyond 2 GB fails (RLIMIT_DATA)."""
    found = measured(float(os.environ.get("DPMCMC_GIGABYTES", "2")), memory=2.0)
    assert found["peak_gigabytes"] < 2.0
    assert found["verdict"] == "usable"


FIT = """
import json, resource, sys
import numpy as np
import dpmcmc as dp
n, width = int(sys.argv[1]), 8
rng = np.random.default_rng(0)
data = {"x": np.empty((n, width)), "y": np.empty(n)}
for start in range(0, n, 100_000):  # no more memory than the records have
    x = rng.uniform(-1, 1, (min(100_000, n - start), width))
    data["x"][start : start + len(x)] = x
    data["y"][start : start + len(x)] = rng.random(len(x)) < 1 / (1 + np.exp(-x.sum(axis=1) / 2))
size = sum(leaf.nbytes for leaf in data.values())
model = dp.models.LogisticRegression({f"x{j}": (-1.0, 1.0) for j in range(width)})
release = dp.sample(model, data, 1.0, 1e-9, progress=False)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({"size": size, "peak": peak, "verdict": release.quality.verdict}))
"""


@pytest.mark.slow
def test_a_fit_of_arrays_takes_little_more_than_the_arrays():
    """1.1 GB of records in a process of its own: at most 1.5 times what they have above 100 MB, and 0.6 GB."""
    run = subprocess.run([sys.executable, "-c", FIT, "15000000"], check=True, stdout=subprocess.PIPE, text=True)
    found = json.loads(run.stdout.splitlines()[-1])
    assert found["size"] > 1e9
    assert found["peak"] <= 1.5 * (found["size"] - 1e8) + 0.6e9
    assert found["verdict"] == "usable"
