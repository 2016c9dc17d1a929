"""Pictures of a release."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dpmcmc.release import Release


def demo_pictures(release: Release, reference: dict[str, tuple[float, float]], out: Path) -> list[Path]:
    """Posterior densities beside a reference given as (mean, standard deviation), and traces of all chains."""
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

    figure, axes = plt.subplots(len(names), 1, figsize=(8, 1.2 * len(names)), sharex=True, layout="constrained")
    for axis, name in zip(axes, names, strict=True):
        axis.plot(release.draws[name].T, linewidth=0.6)
        axis.axvspan(0, release.warmup, color="grey", alpha=0.15)
        axis.set_ylabel(name, fontsize=8)
    axes[-1].set_xlabel("step (warm-up in grey)")
    trace = out / "trace.png"
    figure.savefig(trace, dpi=120)
    plt.close(figure)
    return [density, trace]


def _headline(release: Release) -> str:
    guarantee = release.guarantee
    promise = "no guarantee" if guarantee is None else f"ε = {guarantee.epsilon:.3g}, δ = {guarantee.delta:.1g}"
    return f"n = {release.settings['n']}, {promise}, temperature {np.round(release.settings['temperature'], 4):g}"
