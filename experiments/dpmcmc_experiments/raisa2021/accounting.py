"""Figure 6.1 and the chain lengths of all experiments: published accountants to the integer, and dpmcmc's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from dpmcmc import privacy
from dpmcmc.privacy.published import raisa2021 as published
from dpmcmc_experiments.figures import Cell, Check, Settings, reference
from dpmcmc_experiments.raisa2021 import algorithms
from dpmcmc_experiments.raisa2021.algorithms import tuning
from dpmcmc_experiments.raisa2021.problems import SETTINGS, Setting

EXPERIMENT = "easy-2d"
GRID = np.linspace(0.5, 6, 50)
OURS = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
PANELS = {"dpps": "DP penalty", "mdpps": "minibatch DP penalty", "hmc": "DP HMC", "barker": "DP Barker"}


def typical_shift(experiment: str, algo: str, setting: Setting) -> float:
    """What one record can do to the log ratio of a move of root mean square length, 2·clip·sd·√d, tempered."""
    h, d = tuning(experiment, algo), getattr(setting.model, "dimension", 2)
    moved = h.proposal_sd * (1 if algo in ("dppa", "mdppa") else d**0.5)
    return 2 * setting.temperature * h.clip * moved


def own_events(experiment: str, algo: str, setting: Setting) -> dict[str, privacy.Event]:
    """What dpmcmc charges for one iteration; accept bits are those of the same test with a constant clip and noise."""
    h, n = tuning(experiment, algo), setting.n
    if algo == "barker":
        return {"accept bit": privacy.SubsampledBarkerBit(n, int(h.batch), 2.0, 20.0)}
    if algo == "hmc":
        gradients = privacy.Repeat(privacy.Gaussian(h.tau_gradient * n**0.5), int(h.leapfrog_steps))
        return {"gradient reused": privacy.Compose((gradients, privacy.Gaussian(h.tau * n**0.5)))}
    shift = typical_shift(experiment, algo, setting)
    if algo in ("dpps", "dppa"):
        bit = privacy.PenaltyBit(shift, h.tau * n**0.5 * shift)
        return {"accept bit": bit, "Barker's accept bit": privacy.BarkerBit(shift)}
    batch, clip = int(h.batch), shift / (2 * setting.temperature)
    std = h.tau**0.5 * published.theorem35_sensitivity(clip, n, batch, setting.temperature)
    return {
        "noisy log ratio": privacy.SubsampledGaussian(2 * h.tau**0.5, n, batch, "without_replacement"),
        "accept bit": privacy.SubsampledPenaltyBit(n, batch, clip, std, setting.temperature),
    }


def cells(settings: Settings) -> list[Cell]:
    setting = SETTINGS[EXPERIMENT]
    n, delta = setting.n, setting.delta

    def exact() -> list[dict[str, Any]]:
        h, m, l = (tuning(EXPERIMENT, algo) for algo in ("dpps", "mdpps", "hmc"))
        batch, leaps = int(m.batch), int(l.leapfrog_steps)
        found = []
        for epsilon in GRID[::24] if settings.quick else GRID:
            counts = {
                ("dpps", "zCDP"): published.theorem31_steps(epsilon, delta, h.tau, n),
                ("dpps", "ADP"): published.theorem32_steps(epsilon, delta, h.tau, n),
                ("hmc", "zCDP"): published.theorem42_steps(epsilon, delta, l.tau, l.tau_gradient, leaps, n),
                ("hmc", "ADP"): published.theorem43_steps(epsilon, delta, l.tau, l.tau_gradient, leaps, n),
                ("mdpps", "RDP"): published.theorem35_rdp_steps(epsilon, delta, m.tau, n, batch, variant="as_coded"),
                ("mdpps", "RDP_full_sum"): published.theorem35_rdp_steps(epsilon, delta, m.tau, n, batch),
                ("mdpps", "ADP"): published.theorem35_fourier_steps(epsilon, delta, m.tau, n, batch),
            }
            found += [{"algo": a, "method": k, "epsilon": epsilon, "iterations": c} for (a, k), c in counts.items()]
        return found

    def own() -> list[dict[str, Any]]:
        found = []
        for epsilon in (2.0,) if settings.quick else OURS:
            for algo in ("mdpps", "hmc", "barker") if settings.quick else PANELS:
                events = own_events(EXPERIMENT, algo, setting)
                counts = {f"dpmcmc: {kind}": int(privacy.max_steps(e, epsilon, delta)) for kind, e in events.items()}
                if algo == "barker":
                    counts["RDP"] = algorithms.length(EXPERIMENT, algo, setting, epsilon)
                found += [{"algo": algo, "method": k, "epsilon": epsilon, "iterations": c} for k, c in counts.items()]
        return found

    return [Cell("accountants", exact), Cell("accountants-own", own)]


def draw(rows: pd.DataFrame) -> Any:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 4, figsize=(15, 4))
    theirs = pd.read_csv(reference("thesis_accountant_comparison.csv"))
    for axis, (algo, title) in zip(axes, PANELS.items(), strict=True):
        for i, (method, curve) in enumerate(theirs[theirs["algo"] == algo].groupby("method")):
            if not method.endswith("recomputed"):
                axis.plot(curve["epsilon"], curve["iterations"], color=f"C{i}", linewidth=4, alpha=0.3)
        for i, (method, curve) in enumerate(rows[rows["algo"] == algo].groupby("method")):
            own = method.startswith("dpmcmc")
            axis.plot(curve["epsilon"], curve["iterations"], "--o" if own else "-", label=method, color=f"C{i}", ms=3)
        axis.set(title=title, xlabel="ε", ylabel="iterations")
        axis.set_yscale("log")
        axis.legend(fontsize=8, loc="lower right")
    figure.suptitle("flat banana, d = 2; broad pale lines: the published curves", fontsize=10)
    figure.tight_layout()
    return figure


def check(rows: pd.DataFrame, settings: Settings) -> list[Check]:
    theirs = pd.read_csv(reference("thesis_accountant_comparison.csv")).round({"epsilon": 4})
    ours = rows[~rows["method"].str.startswith("dpmcmc")].round({"epsilon": 4})
    both = ours.merge(theirs, on=["algo", "method", "epsilon"], suffixes=("", "_published"))
    same = int((both["iterations"] == both["iterations_published"]).sum())
    want = 3 * 6 if settings.quick else 300
    exact = Check(
        "the six published curves, every point to the integer", f"{same} of {len(both)}", same == len(both) == want
    )
    if settings.quick:
        return [exact]
    bits = rows[(rows["method"] == "dpmcmc: accept bit") & rows["algo"].isin(["dpps", "barker"])]
    lengths = [algorithms.length(EXPERIMENT, r.algo, SETTINGS[EXPERIMENT], r.epsilon) for r in bits.itertuples()]
    ratios = bits["iterations"] / lengths
    least = ratios.groupby(bits["algo"]).min()
    more = Check(
        "charging for the accept bit allows more iterations of DP penalty and DP Barker than published at ε = 1 to 6",
        f"{len(bits)} compared; " + ", ".join(f"{algo} at least ×{ratio:.3g}" for algo, ratio in least.items()),
        len(bits) == 2 * len(OURS) and bool((ratios > 1).all()),
    )
    return [exact, more]


def length_cells(settings: Settings) -> list[Cell]:
    """Chain lengths of every experiment, algorithm and ε."""
    wanted = pd.read_csv(reference("thesis_iterations_recomputed.csv"))
    if settings.quick:
        wanted = wanted[wanted["algo"].isin(["dpps", "hmc"])]

    def rows() -> list[dict[str, Any]]:
        return [
            {
                "experiment": w.experiment,
                "algo": w.algo,
                "epsilon": w.epsilon,
                "iterations": algorithms.length(w.experiment, w.algo, SETTINGS[w.experiment], w.epsilon),
            }
            for w in wanted.itertuples()
        ]

    return [Cell("lengths", rows)]


def check_lengths(rows: pd.DataFrame, settings: Settings) -> list[Check]:
    wanted = pd.read_csv(reference("thesis_iterations_recomputed.csv"))
    both = rows.merge(wanted, on=["experiment", "algo", "epsilon"], suffixes=("", "_published"))
    same = int((both["iterations"] == both["iterations_published"]).sum())
    count = len(wanted[wanted["algo"].isin(["dpps", "hmc"])]) if settings.quick else 207
    return [Check("chain lengths of all runs, to the integer", f"{same} of {len(both)}", same == len(both) == count)]
