"""Calibration on some of the data sets: ``python -m dpmcmc_experiments.trust.tarp_run results --sets 30``.

Goes on where a run was cut off, and shares its cells with ``dpmcmc reproduce trust --figure tarp``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from dpmcmc_experiments.figures import Settings, reproduce
from dpmcmc_experiments.trust import FIGURES, tarp


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Calibration on some of the data sets.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--sets", type=int, default=tarp.SETS)
    given = parser.parse_args(arguments)
    figure = replace(FIGURES["tarp"], cells=lambda settings: tarp.cells(settings, given.sets))
    for claim in reproduce("trust", "tarp", figure, given.out, Settings(), Console()):
        print(f"{'ok ' if claim.holds else 'NOT'} {claim.claim}: {claim.found}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
