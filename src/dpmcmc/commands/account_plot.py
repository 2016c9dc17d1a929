"""The picture of ``dpmcmc account``: ε against steps, published bounds and dpmcmc's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dpmcmc.privacy.account import epsilon
from dpmcmc.privacy.catalogue import Accounting, Settings
from dpmcmc.privacy.events import Repeat

POINTS = 24


def draw(file: Path, algorithm: Accounting, delta: float, most: int, settings: Settings) -> Path:
    """ε of 1 to ``most`` steps of ``algorithm`` at ``delta``, on logarithmic axes, into ``file``."""
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError("drawing needs matplotlib: pip install 'dpmcmc[report]'") from error
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(5.2, 3.6), layout="constrained")
    curves(axis, algorithm, delta, most, settings)
    axis.legend(fontsize=8)
    figure.savefig(file, dpi=150)
    plt.close(figure)
    return file


def curves(axis: Any, algorithm: Accounting, delta: float, most: int, settings: Settings) -> None:
    """Draw the curves of one algorithm on a matplotlib axis."""
    values = algorithm.settings(**settings)
    steps = np.unique(np.geomspace(1, most, POINTS).round().astype(int))
    for bound, style in zip(algorithm.published, ("-", "--", ":"), strict=False):
        claims = [bound.epsilon(values, int(k), delta) for k in steps]
        name = bound.name + ("" if bound.sound else " (claim not valid)")
        axis.plot(steps, claims, style, color="#c44e52", linewidth=1.4, label=name)
    ours = np.array([float(epsilon(Repeat(algorithm.event(values), int(k)), delta)) for k in steps])
    if np.isfinite(ours).all():
        axis.plot(steps, ours, color="#3b6ea5", linewidth=2, label="dpmcmc")
    else:
        axis.plot([], [], color="#3b6ea5", linewidth=2, label="dpmcmc: no finite ε")
    axis.set(xscale="log", yscale="log", xlabel="steps", ylabel=f"ε at δ = {delta:g}", title=algorithm.name)
    axis.grid(alpha=0.2)
