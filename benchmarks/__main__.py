"""``python -m benchmarks [MODULE …]``: run comparisons, write their JSON and the page; fails if a stable ratio does."""

from __future__ import annotations

import sys
from importlib import import_module

from benchmarks.harness import write
from benchmarks.page import write_page

MODULES = ("chains", "subsampled", "default", "records", "seconds")


def main(modules: tuple[str, ...]) -> int:
    done = [each for name in modules for each in write(name, import_module(f"benchmarks.{name}").comparisons())]
    write_page()
    return int(any(comparison.failed for comparison in done))


if __name__ == "__main__":
    sys.exit(main(tuple(sys.argv[1:]) or MODULES))
