"""Figures a person can read on a phone and a newspaper can print: labels above their rows, few colours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

INK, FAINT, ACCENT, OTHER = "#1b2430", "#8b97a5", "#0b6bb5", "#b4540a"
WIDTH = 4.2  # inches: read as they are on a phone, larger elsewhere
LONGEST = 40  # characters of a label in a picture; tables have them whole
_STYLE = {
    "text.parse_math": False,  # a column may be called $x$
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.6,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "svg.fonttype": "none",
    "svg.hashsalt": "dpmcmc",
}


def matplotlib_of() -> Any:
    """The library, or an error that says how to get it."""
    try:
        import matplotlib
    except ImportError:
        raise ImportError("pictures are drawn by matplotlib: pip install 'dpmcmc[report]'") from None
    return matplotlib


@contextmanager
def styled() -> Any:
    """matplotlib in our style, which is not left behind, and without warnings about letters its own fonts lack."""
    import warnings

    with matplotlib_of().rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*[Gg]lyph.*")
        yield


@dataclass(frozen=True)
class Interval:
    """What is said of one quantity: 5, 25, 50, 75 and 95 % of it."""

    label: str
    quantiles: tuple[float, float, float, float, float]

    @classmethod
    def of(cls, label: str, draws: np.ndarray) -> Interval:
        found = np.quantile(np.ravel(draws), [0.05, 0.25, 0.5, 0.75, 0.95])
        return cls(label, tuple(map(float, found)))  # type: ignore[arg-type]


def shortened(label: str, longest: int = LONGEST) -> str:
    """A label that fits into a picture; levels of a column with a long name are still told apart."""
    plain = " ".join(label.split())
    column, bracket, level = plain.partition("[")
    if len(plain) <= longest or not bracket or not level.endswith("]"):
        return _cut(plain, longest)
    level = _cut(level[:-1], max(longest - 2 - len(column), 3 * longest // 5))
    return f"{_cut(column, longest - 2 - len(level))}[{level}]"


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"


def forest(
    rows: Sequence[Interval],
    beside: Sequence[Interval] | None = None,
    *,
    names: tuple[str, str] = ("posterior", "prior"),
    axis_label: str = "",
    title: str = "",
    limits: tuple[float, float] | None = None,
    figure: Any = None,
) -> Any:
    """Intervals under their labels: 50 and 90 % and the median; ``beside`` are others of the same quantities.

    The axis follows ``rows`` or has these ``limits``: what of the others lies beyond it is cut off.
    """
    from matplotlib.figure import Figure

    with styled():
        height = 0.62 + (0.42 if names[1] == "prior" else 0.58) * len(rows) + (0.3 if title else 0)
        figure = Figure(figsize=(WIDTH, height), layout="constrained") if figure is None else figure
        figure.set_size_inches(WIDTH, height)
        axis = figure.add_subplot()
        low, high = limits or limits_of(rows)
        for place, row in enumerate(rows):
            axis.plot([0, 0], [place - 0.1, place + 0.42], color=FAINT, linewidth=0.9, zorder=0)
            axis.text(low, place - 0.30, shortened(row.label), va="center", ha="left", fontsize=9)
            if beside is not None and names[1] == "prior":
                _band(axis, beside[place].quantiles, place + 0.12)
            elif beside is not None:
                _bar(axis, beside[place].quantiles, place + 0.28, OTHER)
            _bar(axis, row.quantiles, place + (0.12 if names[1] == "prior" else 0.02), ACCENT)
        axis.set(xlim=(low, high), ylim=(len(rows) - 0.35, -0.72), yticks=[], xlabel=axis_label)
        for side in ("left", "right", "top"):
            axis.spines[side].set_visible(False)
        if beside is not None:
            _legend(axis, names)
        if title:
            figure.suptitle(title, fontsize=10, fontweight="bold", x=0.02, ha="left")
    return figure


def _bar(axis: Any, quantiles: Sequence[float], at: float, color: str) -> None:
    least, low, middle, high, most = quantiles
    axis.plot([least, most], [at, at], color=color, linewidth=1.2, solid_capstyle="butt")
    axis.plot([low, high], [at, at], color=color, linewidth=4.2, solid_capstyle="butt")
    axis.plot([middle], [at], "o", color=color, markersize=5, markeredgewidth=0)


def _band(axis: Any, quantiles: Sequence[float], at: float) -> None:
    """A prior, behind what became of it."""
    axis.plot([quantiles[0], quantiles[4]], [at, at], color=FAINT, alpha=0.28, linewidth=10, solid_capstyle="butt")


def _legend(axis: Any, names: tuple[str, str]) -> None:
    from matplotlib.lines import Line2D

    prior = names[1] == "prior"
    handles = [
        Line2D([], [], color=ACCENT, linewidth=4.2, marker="o", markersize=5, label=names[0]),
        Line2D([], [], color=FAINT, alpha=0.28, linewidth=10, label="prior, 90 %")
        if prior
        else Line2D([], [], color=OTHER, linewidth=4.2, marker="o", markersize=5, label=names[1]),
    ]
    axis.legend(handles=handles, loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False, fontsize=9)


def limits_of(rows: Sequence[Interval]) -> tuple[float, float]:
    """The ends of an axis that shows all of these and 0."""
    low, high = min(min(row.quantiles) for row in rows), max(max(row.quantiles) for row in rows)
    low, high = min(low, 0.0), max(high, 0.0)
    pad = 0.08 * ((high - low) or 1.0)
    return low - pad, high + pad


def densities(draws: Mapping[str, np.ndarray], *, figure: Any = None) -> Any:
    """A histogram of each quantity, one below the other, with its median and 90 % interval."""
    from matplotlib.figure import Figure

    with styled():
        figure = Figure(layout="constrained") if figure is None else figure
        figure.set_size_inches(WIDTH, 0.3 + 1.15 * len(draws))
        axes = figure.subplots(len(draws), 1, squeeze=False)[:, 0]
        for axis, (name, values) in zip(axes, draws.items(), strict=True):
            flat = np.ravel(values)
            axis.hist(flat, bins=40, density=True, color=ACCENT, alpha=0.75)
            least, middle, most = np.quantile(flat, [0.05, 0.5, 0.95])
            for at, style in ((least, (0, (3, 2))), (middle, "-"), (most, (0, (3, 2)))):
                axis.axvline(at, color=INK, linewidth=0.9, linestyle=style)
            axis.set_title(shortened(name), fontsize=9, loc="left")
            axis.set(yticks=[])
            for side in ("left", "right", "top"):
                axis.spines[side].set_visible(False)
    return figure


def curve(
    x: np.ndarray,
    y: np.ndarray,
    band: tuple[np.ndarray, np.ndarray],
    here: tuple[float, float],
    labels: tuple[str, str],
) -> Any:
    """A curve over a logarithmic axis with a band, and the place where one stands."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    with styled():
        figure = Figure(figsize=(WIDTH, 2.9), layout="constrained")
        axis = figure.add_subplot()
        axis.fill_between(x, *band, color=FAINT, alpha=0.3, linewidth=0)
        axis.plot(x, y, color=ACCENT, linewidth=2)
        axis.plot(*here, "o", color=OTHER, markersize=6)
        axis.annotate("this release", here, textcoords="offset points", xytext=(7, 7), color=OTHER)
        axis.set(xscale="log", yscale="log", xlabel=labels[0], ylabel=labels[1], xlim=(x[0], x[-1]))
        for each in (axis.xaxis, axis.yaxis):
            each.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            each.set_minor_locator(NullLocator())
            each.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.grid(color=FAINT, alpha=0.35, linewidth=0.5)
        for side in ("right", "top"):
            axis.spines[side].set_visible(False)
    return figure
