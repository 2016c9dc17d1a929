"""Table 5.1, figure 5.1 and figure 4.1: the models, their posteriors with the starting points, and a path of DP HMC."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd

import dpmcmc as dp
from dpmcmc.chain.proposals import Leapfrog
from dpmcmc_experiments.figures import Cell, Check, Settings, reference, rng_of, seed_of
from dpmcmc_experiments.raisa2021.algorithms import tuning
from dpmcmc_experiments.raisa2021.problems import SETTINGS, problem

PLANE = ("easy-2d", "hard-2d", "tempered-2d", "circle", "hard-gauss-2d")
PATH_STEPS = 48
"""Leapfrog steps of the pictured path; the chains of figure 6.7 have 40."""

PATHS = 12


def table_cells(settings: Settings) -> list[Cell]:
    def rows() -> list[dict[str, Any]]:
        found = []
        for name, s in SETTINGS.items():
            model = s.model
            a = getattr(model, "curvature", getattr(model, "sharpness", 0.0))
            prior = getattr(model, "prior_variance", getattr(model, "prior_std", np.nan) ** 2)
            d = getattr(model, "dimension", 2)
            line = {"experiment": name, "name": s.title, "d": d, "n": s.n, "n0": s.n0, "a": a}
            found.append(line | {"prior_variance": prior, "temperature": s.temperature, "delta": s.delta})
        return found

    return [Cell("models", rows)]


def check_table(rows: pd.DataFrame, settings: Settings) -> list[Check]:
    both = rows.merge(pd.read_csv(reference("thesis_models.csv")), on=["experiment", "name"], suffixes=("", "_printed"))
    wrong = [
        f"{line.experiment} {column}"
        for line in both.itertuples()
        for column in ("d", "n", "n0", "a")
        if not np.array_equal(getattr(line, column), getattr(line, f"{column}_printed"), equal_nan=True)
    ]
    found = f"{len(both)} models; differ: {', '.join(wrong) or 'none'}"
    return [Check("d, n, n0 and a are those of Table 5.1", found, len(both) == 8 and not wrong)]


def plane_cells(settings: Settings) -> list[Cell]:
    """Exact draws and starting points of the posteriors in the plane."""

    def rows() -> list[dict[str, Any]]:
        found = []
        for name in PLANE:
            posterior = problem(name, 2000 if settings.quick else None)
            draws = posterior.reference
            if draws is None:
                draws = posterior.model.exact_draws(rng_of(name, "draws"), posterior.records, 1000)
            for kind, points in (("draw", draws[:400]), ("start", posterior.starts)):
                found += [
                    {"experiment": name, "kind": kind, "theta1": _six(x), "theta2": _six(y)} for x, y in points[:, :2]
                ]
        return found

    return [Cell("plane", rows)]


def draw_plane(rows: pd.DataFrame) -> Any:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(11, 6.5))
    for axis, name in zip(axes.flat, PLANE, strict=False):
        for kind, style in (("draw", {"s": 3, "color": "C0", "alpha": 0.4}), ("start", {"s": 14, "color": "C1"})):
            points = rows[(rows["experiment"] == name) & (rows["kind"] == kind)]
            label = "exact draws" if kind == "draw" else "starting points"
            axis.scatter(points["theta1"], points["theta2"], label=label, linewidths=0, **style)
        axis.set(title=SETTINGS[name].title, xlabel="θ₁", ylabel="θ₂")
    axes.flat[0].legend()
    axes.flat[-1].set_visible(False)
    figure.tight_layout()
    return figure


def check_plane(rows: pd.DataFrame, settings: Settings) -> list[Check]:
    """Starts lie about the truth at the mean posterior standard deviation; about (0, 1) at 1 on the circle."""
    worst = 0.0
    for name in PLANE:
        starts, draws = (rows[(rows["experiment"] == name) & (rows["kind"] == k)] for k in ("start", "draw"))
        spread = 1.0 if name == "circle" else draws[["theta1", "theta2"]].std().mean()
        worst = max(worst, abs(np.log(starts[["theta1", "theta2"]].std().mean() / spread)))
    claim = "20 starting points to a posterior, as wide as the mean posterior standard deviation (circle: 1)"
    counts = rows[rows["kind"] == "start"].groupby("experiment").size()
    found = f"{counts.tolist()} points, widths within a factor {np.exp(worst):.2f}"
    return [Check(claim, found, bool((counts == 20).all()) and worst < np.log(1.4))]


def path_cells(settings: Settings) -> list[Cell]:
    """One proposal of DP HMC on the circle, point by point: of twelve from one start, the one that ends farthest off.

    A path of j leapfrog steps is the beginning of a longer one with the same momentum and noise; so its points are the
    ends of paths of growing length.
    """

    def rows() -> list[dict[str, Any]]:
        posterior, h = problem("circle", 5000 if settings.quick else None), tuning("circle", "hmc")
        start = posterior.model.exact_draws(rng_of("path", "start"), posterior.records, 1)[0]
        lengths = (8, 16) if settings.quick else range(2, PATH_STEPS + 1, 2)
        with jax.enable_x64(True):
            data = dp.Posterior(posterior.model, jnp.asarray(posterior.records))
            keys = jax.random.split(jax.random.key(seed_of("path") % 2**31), PATHS)

            def ends(j: int, which: Any) -> np.ndarray:
                leaps = Leapfrog(h.leapfrog_step, j, h.gradient_clip, h.tau_gradient * posterior.setting.n**0.5)
                shape = (PATHS, *leaps.random_words(posterior.setting.n)["gradient"])
                words = jnp.asarray(rng_of("path", "noise").integers(0, 2**64, shape, np.uint64))

                def end(path: Any) -> Any:
                    return leaps.propose_privately(
                        path[0], {"gradient": path[1]}, data, jnp.asarray(start), ()
                    ).position

                return np.asarray(jax.jit(lambda all: jax.lax.map(end, all))((keys[which], words[which])))

            last = ends(max(lengths), np.arange(PATHS))
            farthest = [int(np.argmax(np.linalg.norm(last - start, axis=1)))]
            points = [start, *(ends(j, np.array(farthest))[0] for j in lengths)]
        return [{"j": j, "x": float(x), "y": float(y)} for j, (x, y) in zip((0, *lengths), points, strict=True)]

    return [Cell("path", rows)]


def draw_path(rows: pd.DataFrame) -> Any:
    import matplotlib.pyplot as plt

    posterior = problem("circle")
    x, y = np.meshgrid(np.linspace(-5, 5, 120), np.linspace(-5, 5, 120))
    squares = posterior.records**2
    deviance = posterior.model.sharpness * len(squares) * (x**2 + y**2 - squares.mean()) ** 2  # up to a constant
    frames = np.unique(np.linspace(1, len(rows) - 1, min(12, len(rows) - 1)).astype(int))
    figure, axes = plt.subplots(3, 4, figsize=(10, 7.5), sharex=True, sharey=True)
    for axis, frame in zip(axes.flat, frames, strict=False):
        axis.contour(x, y, np.exp(-deviance), 8, linewidths=0.5, cmap="Greys")
        axis.plot(rows["x"][: frame + 1], rows["y"][: frame + 1], color="C0")
        axis.plot(rows["x"][:1], rows["y"][:1], "o", color="C1", markersize=4)
        axis.set(title=f"j = {rows['j'][frame]}", aspect="equal", xticks=[], yticks=[])
    figure.tight_layout()
    return figure


def check_path(rows: pd.DataFrame, settings: Settings) -> list[Check]:
    radius = np.hypot(rows["x"], rows["y"])
    angles = np.unwrap(np.arctan2(rows["y"], rows["x"]))
    found = f"radius {radius.min():.2f} to {radius.max():.2f}, arc {np.degrees(np.ptp(angles)):.0f}°"
    far = 2.0 if settings.quick else 1.2
    fine = bool(np.abs(radius - 10**0.5).max() < far) and np.ptp(angles) > (0.05 if settings.quick else 0.5)
    return [Check("noisy gradients keep the path on the ring (radius √10) while it travels along it", found, fine)]


def _six(value: float) -> float:
    return float(f"{value:.6g}")
