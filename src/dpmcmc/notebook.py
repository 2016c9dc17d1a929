"""How a release and a plan look in a notebook: a small table, with every text escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from dpmcmc.arguments import one_of
from dpmcmc.drawing import Interval, densities, forest, matplotlib_of

ROWS = 30


def lines_as_html(text: str) -> str:
    """Paragraphs of plain text."""
    return "".join(f"<p>{escape(line)}</p>" for line in text.split("\n") if line.strip())


def frame_as_html(table: Any, caption: str) -> str:
    """The first rows of a data frame of numbers."""
    head = "".join(f'<th scope="col">{escape(str(name))}</th>' for name in ("", *table.columns))
    rows = "".join(
        f'<tr><th scope="row">{escape(str(name))}</th>{"".join(f"<td>{value:.3g}</td>" for value in row)}</tr>'
        for name, row in zip(table.index[:ROWS], table.to_numpy()[:ROWS].tolist(), strict=True)
    )
    more = f"<p>… and {len(table) - ROWS} more.</p>" if len(table) > ROWS else ""
    return (
        f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}"
    )


class Shown:
    """A release in a notebook, and pictures of its draws."""

    draws: dict[str, Any]
    quality: Any
    kept: Any

    def _repr_html_(self) -> str:
        release: Any = self
        said = f"Verdict: {self.quality.verdict}. {self.quality.reason}\n{release.statement()}"
        few = release.count - release.warmup < 4
        table = "" if few else frame_as_html(release.summary(), "posterior, as it was sampled; 90 % intervals")
        return f"<div>{lines_as_html(said)}{table}{lines_as_html(self.quality.describe())}</div>"

    def plot(self, kind: str = "forest", names: Sequence[str] | None = None) -> Any:
        """A picture of the draws by matplotlib (``pip install 'dpmcmc[report]'``): "forest" or "densities".

            release.plot()
            release.plot("densities", names=["age", "plan[full]"])

        Of the parameters as they were sampled, those of scaled columns in a regression, so that they can be compared;
        ``release.on_original_scale().plot()`` has them on the scale of the table. Returns matplotlib's axes.
        """
        return plotted(self.kept, kind, names)


def plotted(draws: Mapping[str, Any], kind: str, names: Sequence[str] | None) -> Any:
    """A forest or densities of draws (chain, draw, …) in a figure of pyplot, which notebooks show by themselves."""
    one_of("kind", kind, ("forest", "densities"))
    unknown = [name for name in names or () if name not in draws]
    if unknown:
        raise ValueError(f"there is no parameter {unknown[0]!r}; there are: {', '.join(draws)}")
    matplotlib_of()
    from matplotlib import pyplot

    flat = {
        f"{name}[{', '.join(map(str, index))}]" if index else name: values[(slice(None), slice(None), *index)]
        for name, values in draws.items()
        if names is None or name in names
        for index in np.ndindex(np.shape(values)[2:])
    }
    figure = pyplot.figure(layout="constrained")
    if kind == "forest":
        forest([Interval.of(name, values) for name, values in flat.items()], figure=figure, axis_label="parameter")
    else:
        densities(flat, figure=figure)
    return figure.axes[0] if kind == "forest" else figure.axes
