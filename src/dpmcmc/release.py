"""The release: everything that leaves, and nothing else that depends on the records."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dpmcmc.receipts import Guarantee, Receipt

_FORMAT = 1


@dataclass(frozen=True, eq=False)
class Release:
    """Posterior draws with their guarantee and receipts.

    - ``draws``: a dictionary from parameter names to arrays (chain, draw, ...), burn-in included;
    - ``accepted``: the accept bits, (chain, draw); like the draws they are released and paid for (all true where
      draws come from a released likelihood);
    - ``guarantee``: what holds for all of this together, or None (seeded or non-private runs);
    - ``receipts``, ``kernel``, ``run``: what was charged, what ran, and its public settings.

    Every method is post-processing: it may be called any number of times at no cost.
    """

    draws: dict[str, np.ndarray]
    accepted: np.ndarray
    guarantee: Guarantee | None
    receipts: tuple[Receipt, ...]
    kernel: str
    run: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def warmup(self) -> int:
        """Draws at the start of each chain that summaries leave out."""
        return min(int(self.run.get("warmup", 0)), self.accepted.shape[1])

    def to_arviz(self) -> Any:
        """ArviZ InferenceData, with warm-up in a group of its own and guarantee and receipts in the attributes."""
        import arviz as az

        split = self.warmup
        attributes = {"statement": self.statement(), "receipts": json.dumps([r.to_dict() for r in self.receipts])}
        if self.guarantee is not None:
            attributes |= {f"guarantee_{key}": value for key, value in asdict(self.guarantee).items()}
        return az.from_dict(
            posterior={name: values[:, split:] for name, values in self.draws.items()},
            sample_stats={"accepted": self.accepted[:, split:]},
            warmup_posterior={name: values[:, :split] for name, values in self.draws.items()} if split else None,
            warmup_sample_stats={"accepted": self.accepted[:, :split]} if split else None,
            save_warmup=bool(split),
            attrs=attributes,
            posterior_attrs=attributes,
        )

    def summary(self) -> Any:
        """Means, standard deviations, 90 % intervals, effective sample sizes and R-hat, as a data frame."""
        import arviz as az

        return az.summary(self.to_arviz().posterior, hdi_prob=0.9, round_to="none")[
            ["mean", "sd", "hdi_5%", "hdi_95%", "ess_bulk", "ess_tail", "r_hat"]
        ]

    def statement(self) -> str:
        """The release in words."""
        chains, steps = self.accepted.shape
        lines = []
        if self.guarantee is None:
            why = self.run.get("no_guarantee", "the algorithm is not private")
            lines.append(f"NO PRIVACY GUARANTEE: {why}.")
        else:
            lines.append(f"{self.guarantee}".capitalize() + ".")
            covered = "every draw of every chain, burn-in included, whether or not the chains have converged"
            if self.run.get("method") == "likelihood":
                covered = "every draw, and everything on the way to them, whether or not they are any good"
            lines.append(
                f"It covers {covered}; {self.guarantee.arithmetic:.1e} of ε pays for finite precision. "
                f"Accounting: {self.guarantee.method}."
            )
        if self.run.get("method") == "likelihood":
            lines.append(f"Ran: {self.kernel}; {chains} × {steps} draws.")
            return "\n".join([*lines, *self.notes])
        ran = f"{chains} chain{'s' if chains > 1 else ''} of {steps} steps"
        if self.run.get("stopped") == "interrupted":
            ran += f" (interrupted; all {self.run['steps']} that were planned are paid for)"
        elif steps < self.run.get("steps", steps):
            ran += " (until the budget was spent)"
        lines.append(f"Ran: {self.kernel}, {ran}, {self.accepted.mean() if steps else 0:.0%} of the moves accepted.")
        lines += self.notes
        return "\n".join(lines)

    def trust(self) -> str:
        """One sentence on how far the draws can be trusted, from the draws and the public settings alone."""
        if self.run.get("method") == "likelihood":
            noise = float(self.run["mean_error"])
            verdict = "" if noise < 0.5 else "; a larger epsilon, more records or tempering would bring that down"
            if noise > 2:
                verdict = ": treat the draws as a rough location at best, and take more records, epsilon or tempering"
            return (
                f"How far to trust it: n = {self.run['n']}, the records count as "
                f"{self.run['n'] * self.run['temperature']:.0f}; the privacy noise moves posterior means by about "
                f"{noise:.2f} posterior standard deviations, which the intervals include{verdict}."
            )
        summary = self.summary()
        ess, r_hat = float(summary["ess_bulk"].min()), float(summary["r_hat"].max())
        error = f"means of this posterior are good to about {1 / np.sqrt(ess):.2f} of its standard deviations"
        if r_hat > 1.1:
            error = "the chains have not agreed on one posterior: treat the draws as a rough location at best"
        elif r_hat > 1.03 or ess < 50:
            error += ", tails and intervals less"
        return (
            f"How far to trust it: n = {self.run.get('n')}, the records count as "
            f"{self.run.get('n', 0) * self.run.get('temperature', 1.0):.0f}; least effective sample size {ess:.0f}, "
            f"largest R-hat {r_hat:.2f}, so {error}."
        )

    def __str__(self) -> str:
        if self.accepted.shape[1] - self.warmup < 4:
            return self.statement() + "\nToo few draws for a summary."
        table = self.summary().to_string(float_format=lambda value: f"{value:.3g}")
        return f"{self.statement()}\n\n{table}\n\n{self.trust()}"

    __repr__ = __str__

    def save(self, path: str | Path) -> Path:
        """Write everything to one ``.npz`` file: arrays, and the rest as JSON. No pickle."""
        path = Path(path)
        if path.suffix != ".npz":
            raise ValueError(f"a release is saved as .npz, got {str(path)!r}")
        about = {
            "format": _FORMAT,
            "guarantee": None if self.guarantee is None else asdict(self.guarantee),
            "receipts": [receipt.to_dict() for receipt in self.receipts],
            "kernel": self.kernel,
            "run": self.run,
            "notes": list(self.notes),
        }
        arrays: dict[str, Any] = {f"draws/{name}": values for name, values in self.draws.items()}
        arrays |= {"accepted": self.accepted, "release.json": np.frombuffer(json.dumps(about).encode(), np.uint8)}
        with path.open("wb") as file:
            np.savez_compressed(file, **arrays)
        return path

    @classmethod
    def load(cls, path: str | Path) -> Release:
        """The release that :meth:`save` wrote."""
        with np.load(path, allow_pickle=False) as saved:
            if "release.json" not in saved:
                raise ValueError(f"{path} is not a saved release")
            about = json.loads(saved["release.json"].tobytes())
            if about["format"] != _FORMAT:
                raise ValueError(f"{path} has format {about['format']}; this version reads format {_FORMAT}")
            draws = {name.removeprefix("draws/"): saved[name] for name in saved if name.startswith("draws/")}
            return cls(
                draws=draws,
                accepted=saved["accepted"],
                guarantee=None if about["guarantee"] is None else Guarantee(**about["guarantee"]),
                receipts=tuple(Receipt.from_dict(receipt) for receipt in about["receipts"]),
                kernel=about["kernel"],
                run=about["run"],
                notes=tuple(about["notes"]),
            )
