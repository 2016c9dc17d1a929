"""Figures as cells: small runs that write their rows to a file, so that a study can be cut off and go on.

A figure lists its cells, draws their rows, and checks them against the published values. Cells are shared between
figures by their key: the chains behind two figures run once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

PAPERS = ("heikkila2019", "raisa2021", "zhang2023")
STUDIES = (*PAPERS, "utility", "trust")


@dataclass(frozen=True)
class Settings:
    """How a study is run: ``quick`` for minutes instead of hours, ``data`` for data sets that are read from a path."""

    quick: bool = False
    data: Path | None = None


@dataclass(frozen=True)
class Cell:
    """One run: a key, unique within its paper, and a function that returns tidy rows."""

    key: str
    run: Callable[[], list[dict[str, Any]]]


@dataclass(frozen=True)
class Check:
    """A claim about a figure, what was found, and whether it holds."""

    claim: str
    found: str
    holds: bool


@dataclass(frozen=True)
class Figure:
    """A figure or table of a paper.

    - ``cells(settings)``: what to run;
    - ``draw(rows)``: a matplotlib figure from all rows, published values beside ours; None for a table;
    - ``check(rows, settings)``: claims, each held against the published numbers.
    """

    title: str
    cells: Callable[[Settings], list[Cell]]
    draw: Callable[[pd.DataFrame], Any] | None
    check: Callable[[pd.DataFrame, Settings], list[Check]]


def reproduce(paper: str, name: str, figure: Figure, out: Path, settings: Settings, console: Console) -> list[Check]:
    """Run what is missing, then write table, pictures (no ``.svg`` in a quick run) and checks, under ``out/paper``."""
    folder = out / paper
    quick = "cells-quick" if settings.data is None else "cells-quick-data"  # other records, other cells
    cells = folder / (quick if settings.quick else "cells")
    rows = run_cells(figure.cells(settings), cells, f"{paper} {name}", console)
    rows.to_csv(folder / f"{name}.csv", index=False)
    if figure.draw is not None:
        picture = figure.draw(rows)
        for suffix in ("png",) if settings.quick else ("png", "svg"):
            picture.savefig(folder / f"{name}.{suffix}", dpi=120, bbox_inches="tight", metadata=_NO_DATE[suffix])
        _close(picture)
    checks = figure.check(rows, settings)
    pd.DataFrame([vars(check) for check in checks]).to_csv(folder / f"{name}-checks.csv", index=False)
    return checks


_NO_DATE: dict[str, dict[str, Any]] = {"png": {}, "svg": {"Date": None}}


def run_cells(cells: list[Cell], folder: Path, title: str, console: Console) -> pd.DataFrame:
    """The rows of all cells; those whose file exists are read, the others run. A file is whole or not there."""
    folder.mkdir(parents=True, exist_ok=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(title, total=len(cells))
        for cell in cells:
            path = folder / f"{cell.key}.csv"
            if not path.exists():
                progress.update(task, description=f"{title}: {cell.key}")
                part = path.with_suffix(".part")
                pd.DataFrame(cell.run()).to_csv(part, index=False)
                part.rename(path)
            progress.advance(task)
    tables = [pd.read_csv(folder / f"{cell.key}.csv") for cell in cells]
    return pd.concat(tables, ignore_index=True)


def reference(name: str) -> Path:
    """A table of published numbers: beside the package in an installation, one folder up in the repository."""
    here = Path(__file__).parent
    for folder in (here / "reference", here.parent / "reference"):
        if (folder / name).exists():
            return folder / name
    raise FileNotFoundError(f"no published table {name!r}")


def seed_of(*parts: Any) -> int:
    """A seed from what a run is called: the same on every machine, different for every run."""
    from hashlib import blake2b

    return int.from_bytes(blake2b(repr(parts).encode(), digest_size=6).digest(), "little")


def rng_of(*parts: Any) -> np.random.Generator:
    return np.random.default_rng(seed_of(*parts))


def _close(picture: Any) -> None:
    import matplotlib.pyplot as plt

    plt.close(picture)
