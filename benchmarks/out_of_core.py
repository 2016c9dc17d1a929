"""A table of many gigabytes in Parquet files, fitted within a limit of memory that the system enforces.

    python benchmarks/out_of_core.py --gigabytes 20 --memory 2 [--folder /large/disk]

Writes the files (random numbers, which do not compress), fits a linear regression on seven columns by the default
method in a process of its own, and says how long it took, how many passes over all files and over a part of them it
made, and how much memory was in use at most. The limit is RLIMIT_DATA: an allocation beyond it fails.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

COLUMNS = 7
ROWS_A_FILE = 2_000_000

FIT = """
import json, resource, sys, time
limit = int(float(sys.argv[2]) * 2**30)
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
import dpmcmc as dp
schema = dp.Schema({**{f"x{j}": dp.Number(-4, 4) for j in range(7)}, "y": dp.Number(-20, 20)})
model = dp.regression("y ~ " + " + ".join(f"x{j}" for j in range(7)), schema)
begin = time.time()
source = dp.Files(sys.argv[1], model.encode)
passes, total = [], source.total
def counted(program, arguments=(), every=1):
    start = time.time()
    result = total(program, arguments, every)
    passes.append((every, time.time() - start))
    print(f"every {every}: {passes[-1][1]:.1f} s", file=sys.stderr, flush=True)
    return result
source.total = counted
method = dp.ScoreRelease(shuffled=True)  # random numbers, in the order in which they were drawn
release = dp.sample(model, source, epsilon=1.0, delta=1e-10, method=method, seed=0, progress=False)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
whole = [taken for every, taken in passes if every == 1]
found = {"n": source.n, "passes": len(whole), "seconds_of_passes": sum(whole),
         "passes_over_a_part": len(passes) - len(whole),
         "seconds_of_those": sum(taken for every, taken in passes if every > 1),
         "seconds": time.time() - begin, "peak_gigabytes": peak / 2**30,
         "verdict": release.quality.verdict, "slope": float(release.draws["x0"].mean())}
print(json.dumps(found))
"""


def write(folder: Path, gigabytes: float) -> int:
    """Files of that size together; how many bytes they have."""
    import pyarrow as pa
    from pyarrow import parquet

    rng, written, number = np.random.default_rng(0), 0, 0
    while written < gigabytes * 2**30:
        rows = min(ROWS_A_FILE, int((gigabytes * 2**30 - written) / (8 * (COLUMNS + 1))) + 1)
        x = rng.normal(size=(COLUMNS, rows))
        y = x.T @ np.linspace(-1, 1, COLUMNS) + rng.normal(size=rows)
        path = folder / f"part-{number:05d}.parquet"
        table = pa.table({**{f"x{j}": x[j] for j in range(COLUMNS)}, "y": y})
        parquet.write_table(table, path, compression="none", use_dictionary=False, row_group_size=200_000)
        written, number = written + path.stat().st_size, number + 1
    return written


def measured(gigabytes: float, memory: float, folder: str | None = None) -> dict[str, float]:
    with tempfile.TemporaryDirectory(dir=folder, prefix="dpmcmc-") as made:
        size = write(Path(made), gigabytes)
        begin = time.time()
        run = subprocess.run([sys.executable, "-c", FIT, made, str(memory)], stdout=subprocess.PIPE, text=True)
        if run.returncode:
            raise RuntimeError(f"the fit failed within {memory} GB of memory")
        found = json.loads(run.stdout.splitlines()[-1])
    return {"gigabytes": size / 2**30, "memory": memory, "wall_seconds": time.time() - begin, **found}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--memory", type=float, default=2.0, help="limit in GB")
    parser.add_argument("--folder", help="where the files are written")
    given = parser.parse_args()
    print(json.dumps(measured(given.gigabytes, given.memory, given.folder), indent=1))
