"""Pictures of a release."""

from __future__ import annotations

from pathlib import Path

from dpmcmc.receipts import round_up
from dpmcmc.release import Release


def demo_picture(release: Release, reference: dict[str, tuple[float, float]], out: Path) -> Path:
    """Posterior densities beside a reference given as (mean, standard deviation)."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = list(release.draws)
    figure, axes = plt.subplots(1, len(names), figsize=(2.6 * len(names), 2.8), layout="constrained")
    for axis, name in zip(axes, names, strict=True):
        values = release.draws[name][:, release.warmup :].ravel()
        axis.hist(values, bins=30, density=True, color="#3b6ea5", alpha=0.6, label="private")
        mean, std = reference[name]
        axis.axvspan(mean - 1.645 * std, mean + 1.645 * std, color="#c44e52", alpha=0.9, label="90 % without privacy")
        axis.axvline(0, color="black", linewidth=0.6)
        axis.set(title=name, yticks=[])
    axes[0].legend(fontsize=7, loc="upper left")
    figure.suptitle(_headline(release), fontsize=9)
    density = out / "posterior.png"
    figure.savefig(density, dpi=150)
    plt.close(figure)
    return density


def _headline(release: Release) -> str:
    guarantee = release.guarantee
    if guarantee is None:
        return f"n = {release.settings['n']}, no guarantee"
    return f"n = {release.settings['n']}, ε = {round_up(guarantee.epsilon)}, δ = {round_up(guarantee.delta)}"
