"""``python -m tests.fuzz``: see the package. A process of its own for every target, so that one that dies is told."""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.fuzz.driver import content_of, fuzz, fuzzing
from tests.fuzz.guard import limit_memory
from tests.fuzz.targets import TARGETS

BATCH = 5000


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    options.add_argument("--inputs", type=int, default=100_000, help="over all targets")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--target", choices=[target.name for target in TARGETS])
    options.add_argument("--only", type=int, help="one input of the target, again")
    options.add_argument("--range", type=int, nargs=2, help=argparse.SUPPRESS)
    options.add_argument("--log", type=Path, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.range is not None:
        return _worker(given)
    if given.only is not None:
        return _again(given)
    chosen = [target for target in TARGETS if given.target in (None, target.name)]
    total, failed, began = 0, 0, time.monotonic()
    for target in chosen:
        count = round(given.inputs * target.share / sum(each.share for each in chosen))
        done, bad = _supervised(target.name, given.seed, count)
        total, failed = total + done, failed + bad
    print(f"{total} inputs, {failed} failures, {time.monotonic() - began:.0f} s")
    return int(failed > 0)


def _supervised(name: str, seed: int, count: int) -> tuple[int, int]:
    """Batches in processes of their own: one that dies or hangs is a failure, and the next one goes on after it."""
    start, counts, failures, slowest = 0, {}, {}, 0.0
    with tempfile.TemporaryDirectory(prefix="dpmcmc-fuzz-") as folder:
        log = Path(folder) / "log"
        while start < count:
            end = min(start + BATCH, count)
            log.write_text("")
            command = [sys.executable, "-m", "tests.fuzz", "--target", name, "--seed", str(seed), "--log", str(log)]
            ran = subprocess.run([*command, "--range", str(start), str(end)], capture_output=True, text=True)
            if ran.returncode == 0:
                found = json.loads(ran.stdout.splitlines()[-1])
                failures |= found["failures"]
                slowest = max(slowest, found["slowest"])
                for what, times in found["counts"].items():
                    counts[what] = counts.get(what, 0) + times
                start = end
                continue
            last = log.read_text().rpartition(" ")[2]
            if not last:
                raise RuntimeError(f"{name}: the process ended before its first input:\n{ran.stderr[-3000:]}")
            failures[last] = f"the process ended ({ran.returncode}):\n{ran.stderr[-3000:]}"
            start = int(last) + 1
    print(f"{name}: {count} inputs, {counts}, slowest {slowest:.2f} s, {len(failures)} failures", flush=True)
    for number, said in failures.items():
        print(f"--- {name} {number}\n{said}", flush=True)
    return count, len(failures)


def _worker(given: argparse.Namespace) -> int:
    target = next(target for target in TARGETS if target.name == given.target)
    limit_memory()
    found = fuzz(target, given.seed, range(*given.range), given.log)
    said = {str(number): text[-3000:] for number, text in found.failures.items()}
    print(json.dumps({"counts": found.counts, "failures": said, "slowest": found.slowest}))
    return 0


def _again(given: argparse.Namespace) -> int:
    target = next(target for target in TARGETS if target.name == given.target)
    with fuzzing(target) as (fuzzed, path):
        good, content = content_of(fuzzed, given.seed, given.only)
        path.write_bytes(content)
        print(f"{len(content)} bytes, from good file {good}: {content[:300]!r}")
        fuzzed.check(fuzzed.read(path), good)
        print("accepted")
    return 0


if __name__ == "__main__":
    sys.exit(main())
