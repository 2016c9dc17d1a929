"""What an audit found: what was claimed, what was attained, and whether the one is below the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpmcmc.auditing.bounds import Estimate

WITHIN, EXCEEDED, NO_CLAIM = "within", "EXCEEDED", "no claim"

LIMITS = (
    "An audit bounds the privacy loss from below. It can show that a claim is false; it cannot show that one is true: "
    "that is for the proofs (docs/theory). It says nothing of neighbours, settings and outcomes that were not tried, "
    "of timing, or of a machine other than this one. Its runs are seeded, so none of them has a guarantee."
)


@dataclass(frozen=True)
class Attained:
    """A lower bound beside a claim: ``lower`` at 95 %, ``certain`` at the level of the verdict."""

    claimed: float | None
    lower: float
    certain: float

    @property
    def share(self) -> float | None:
        """How much of the claim was attained, at least; 95 %."""
        return None if self.claimed is None else self.lower / self.claimed if self.claimed > 0 else float("inf")

    @property
    def exceeded(self) -> bool:
        return self.claimed is not None and self.certain > self.claimed


@dataclass(frozen=True)
class Finding:
    """One view of one mechanism: ε at a δ, and μ where the claim is Gaussian."""

    mechanism: str
    view: str
    runs: int
    delta: float
    epsilon: Attained
    mu: Attained | None = None
    estimate: Estimate | None = None
    about: str = ""

    @property
    def share(self) -> float | None:
        """The larger of the two shares: each of them is attained."""
        shares = [one.share for one in (self.epsilon, self.mu) if one is not None and one.share is not None]
        return max(shares) if shares else None

    @property
    def verdict(self) -> str:
        if self.epsilon.claimed is None and self.mu is None:
            return NO_CLAIM
        return EXCEEDED if self.epsilon.exceeded or (self.mu is not None and self.mu.exceeded) else WITHIN

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers."""

        def plain(one: Attained | None) -> dict[str, Any] | None:
            return None if one is None else {"claimed": one.claimed, "lower_95": one.lower, "lower_joint": one.certain}

        estimate = None if self.estimate is None else [self.estimate.value, self.estimate.low, self.estimate.high]
        return {
            "mechanism": self.mechanism, "view": self.view, "runs": self.runs, "delta": self.delta,
            "epsilon": plain(self.epsilon), "mu": plain(self.mu), "mu_hat": estimate, "share": self.share,
            "verdict": self.verdict, "about": self.about,
        }  # fmt: skip


HEADER = ("mechanism", "seen", "unit", "claimed", "attained", "share", "verdict")
ALL = ("mechanism", "seen", "runs", "δ", "ε claimed", "ε attained", "μ claimed", "μ attained", "μ̂", "share", "verdict")


@dataclass(frozen=True)
class AuditReport:
    """The findings of an audit. ``print`` it; ``passed`` says whether no claim was exceeded."""

    findings: tuple[Finding, ...]
    level: float
    seconds: float

    @property
    def passed(self) -> bool:
        """No claim is exceeded; wrong with probability ``level`` at most where all claims are true."""
        return not self.exceeded

    @property
    def exceeded(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.verdict == EXCEEDED)

    def rows(self) -> list[tuple[str, ...]]:
        """The short table, without its header: of ε and μ, the one of which more is attained."""
        return [_short(finding) for finding in self.findings]

    def markdown(self) -> str:
        """The table in Markdown, with all that was found."""
        lines = [ALL, tuple("---" for _ in ALL), *map(_cells, self.findings)]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)

    @property
    def conclusion(self) -> str:
        """The verdict in words."""
        claims = sum(finding.verdict != NO_CLAIM for finding in self.findings)
        many = f"{len(self.exceeded)} of {claims} claims" if claims != 1 else f"{len(self.exceeded)} of 1 claim"
        said = f"{many} exceeded" if self.exceeded else f"none of {claims} claims is exceeded"
        return (
            f"{said[0].upper()}{said[1:]}. Attained: lower bounds at 95 % each. The verdicts hold together: if all "
            f"claims are true, one of them is called exceeded with probability {self.level:g} at most."
        )

    def __str__(self) -> str:
        widths = [max(map(len, column)) for column in zip(HEADER, *self.rows(), strict=True)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
                 for row in (HEADER, *self.rows())]  # fmt: skip
        return "\n".join([*lines, self.conclusion, LIMITS])

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and words."""
        return {
            "passed": self.passed,
            "level": self.level,
            "seconds": self.seconds,
            "limits": LIMITS,
            "findings": [finding.to_dict() for finding in self.findings],
        }


def _short(found: Finding) -> tuple[str, ...]:
    of_mu = found.mu is not None and found.mu.share == found.share
    one = found.mu if of_mu and found.mu is not None else found.epsilon
    unit = "μ" if of_mu else f"ε at δ = {found.delta:g}"
    claimed = "—" if one.claimed is None else f"{one.claimed:.3g}"
    share = "—" if found.share is None else f"{found.share:.0%}"
    return (found.mechanism, found.view, unit, claimed, f"{one.lower:.3g}", share, found.verdict)


def _cells(found: Finding) -> tuple[str, ...]:
    def number(value: float | None) -> str:
        return "—" if value is None else f"{value:.3g}"

    mu, estimate = found.mu, found.estimate
    around = "—" if estimate is None else f"{estimate.value:.3g} ± {(estimate.high - estimate.value):.2g}"
    share = "—" if found.share is None else f"{found.share:.0%}"
    of_mu = ("—", "—") if mu is None else (number(mu.claimed), number(mu.lower))
    of_epsilon = (number(found.epsilon.claimed), number(found.epsilon.lower))
    asked = (found.mechanism, found.view, f"{found.runs}", f"{found.delta:g}")
    return (*asked, *of_epsilon, *of_mu, around, share, found.verdict)
