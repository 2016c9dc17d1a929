"""What is expected of an outcome along one column: curves along numbers and dates, intervals for levels."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from dpmcmc.drawing.figures import ACCENT, FAINT, WIDTH, shortened, styled

_ACROSS = 34  # characters of all levels together that fit below a picture; others stand above their rows
_FAR = 30  # times the narrowest interval: wider ones are cut off
_LEGEND: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 1), "ncols": 2, "frameon": False, "fontsize": 9}


def panels(name: str, at: Sequence[Any], posterior: np.ndarray, prior: np.ndarray, y_label: str) -> Any:
    """Rows of mean, sd, 5 and 95 %, after and before the records; ``at`` are numbers, dates, or names of levels."""
    from matplotlib.figure import Figure

    levels = isinstance(at[0], str)
    across = levels and sum(map(len, at)) > _ACROSS
    with styled():
        figure = Figure(figsize=(WIDTH, 0.8 + 0.42 * len(at) if across else 2.4), layout="constrained")
        axis = figure.add_subplot()
        if across:
            _rows(axis, at, posterior, prior)
            axis.set(xlabel=shortened(y_label), xlim=_room(posterior))
            axis.set_title(shortened(name), fontsize=9, loc="left", pad=26)
        else:
            (_columns if levels else _curve)(axis, at, posterior, prior)
            axis.set(xlabel=shortened(name), ylim=_room(posterior))
            axis.set_ylabel(shortened(y_label, 26))
        for side in ("left", "right", "top") if across else ("right", "top"):
            axis.spines[side].set_visible(False)
        axis.legend(**_LEGEND)
    return figure


def _curve(axis: Any, at: Sequence[Any], posterior: np.ndarray, prior: np.ndarray) -> None:
    dates = isinstance(at[0], datetime.date)
    x = np.array(at, dtype="datetime64[s]" if dates else float)
    axis.fill_between(x, prior[:, 2], prior[:, 3], color=FAINT, alpha=0.28, linewidth=0, label="prior, 90 %")
    axis.fill_between(x, posterior[:, 2], posterior[:, 3], color=ACCENT, alpha=0.3, linewidth=0)
    axis.plot(x, posterior[:, 0], color=ACCENT, linewidth=2, label="posterior")
    if dates:
        dates_of: Any = import_module("matplotlib.dates")
        locator = dates_of.AutoDateLocator(minticks=3, maxticks=5)
        axis.xaxis.set_major_locator(locator)
        axis.xaxis.set_major_formatter(dates_of.ConciseDateFormatter(locator))


def _columns(axis: Any, at: Sequence[str], posterior: np.ndarray, prior: np.ndarray) -> None:
    """Levels with short names, side by side."""
    x = np.arange(len(at))
    axis.vlines(x, prior[:, 2], prior[:, 3], color=FAINT, alpha=0.28, linewidth=16, label="prior, 90 %")
    axis.vlines(x, posterior[:, 2], posterior[:, 3], color=ACCENT, linewidth=2)
    axis.plot(x, posterior[:, 0], "o", color=ACCENT, markersize=5, label="posterior")
    axis.set_xticks(x, list(map(shortened, at)))
    axis.set_xlim(-0.6, len(at) - 0.4)


def _rows(axis: Any, at: Sequence[str], posterior: np.ndarray, prior: np.ndarray) -> None:
    """Levels with long names, which stand above their rows."""
    y = np.arange(len(at))
    axis.hlines(y + 0.12, prior[:, 2], prior[:, 3], color=FAINT, alpha=0.28, linewidth=10, label="prior, 90 %")
    axis.hlines(y + 0.12, posterior[:, 2], posterior[:, 3], color=ACCENT, linewidth=2)
    axis.plot(posterior[:, 0], y + 0.12, "o", color=ACCENT, markersize=5, label="posterior")
    for place, label in enumerate(at):
        axis.text(0, place - 0.30, shortened(label), va="center", transform=axis.get_yaxis_transform(), fontsize=9)
    axis.set(ylim=(len(at) - 0.35, -0.72), yticks=[])


def _room(posterior: np.ndarray) -> tuple[float, float]:
    """Limits that show the posterior, but for intervals that would leave no room for others; priors are cut off."""
    width = posterior[:, 3] - posterior[:, 2]
    rows = posterior[width <= _FAR * width.min()] if width.min() > 0 else posterior
    low, high = float(rows[:, 2].min()), float(rows[:, 3].max())
    pad = 0.6 * ((high - low) or abs(high) or 1.0)
    return (max(low - pad, 0.0) if low >= 0 else low - pad), high + pad
