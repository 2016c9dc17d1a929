"""The bank: every problem by its name."""

from __future__ import annotations

from pathlib import Path

from dpmcmc_experiments.trust import counted, held_out, levels, real, real_valued, structured, surveys, zero_one
from dpmcmc_experiments.trust.base import Problem

ROOMS = (real, zero_one, real_valued, counted, structured, surveys, held_out, levels)

BANK: dict[str, Problem] = {problem.name: problem for room in ROOMS for problem in room.problems()}


def available(folder: Path | None) -> list[Problem]:
    """Problems whose records can be made: those read from a file only if the folder holds it."""
    return [problem for problem in BANK.values() if problem.is_available(folder)]
