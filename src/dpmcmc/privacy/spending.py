"""What Gaussian releases have used of a limit, when each chooses its noise after the last.

spending = Spending(GaussianFilter.of_mu(purse.mu, most_releases=8))
total = GaussianSum.of_multiplier(1.0, spending.multiplier(share=0.25))
spending.take(total.noise_multiplier)            # before the records are read
"""

from __future__ import annotations

import math

from dpmcmc.privacy.filter import LEAST_MULTIPLIER, GaussianFilter

_ROUND_UP = 1 + 2**-50


class Spending:
    """The releases made under a :class:`~dpmcmc.privacy.filter.GaussianFilter`: :meth:`take` before each of them.

    Guarantee: that of the filter, if every release was taken, with its multiplier in machine arithmetic
    (``noise_multiplier`` of what is released, not the one that was asked for).
    Reference: docs/theory/filter.md, theorem of the Gaussian filter.
    """

    def __init__(self, rule: GaussianFilter) -> None:
        self.rule = rule
        self.releases = 0
        self.spent = 0.0
        """Σ 1/multiplier², rounded up."""

    @property
    def left(self) -> float:
        """What remains of μ², rounded down; 0 where no release is left."""
        if self.releases >= self.rule.most_releases:
            return 0.0
        return max(0.0, (2 * self.rule.limit * (1 - 2**-48) - self.spent) * (1 - 2**-48))

    def multiplier(self, share: float = 1.0) -> float:
        """The noise multiplier that uses a ``share`` of what is left, or the least that is allowed where that is more.

        It is a little larger (10⁻¹²), for mechanisms whose own multiplier differs from what they are asked for.
        """
        if not 0 < share <= 1:
            raise ValueError(f"share must be above 0 and at most 1, got {share!r}")
        if not self.left > 0:
            raise ValueError(f"nothing is left to spend after {self.releases} releases: {self!r}")
        return max(1 / math.sqrt(share * self.left), LEAST_MULTIPLIER) * (1 + 2**-40)

    def take(self, noise_multiplier: float) -> None:
        """Pay for one release with ``noise_multiplier``; if it does not fit, ValueError and nothing is paid."""
        if not (noise_multiplier >= LEAST_MULTIPLIER and math.isfinite(noise_multiplier)):
            raise ValueError(
                f"a noise multiplier must be at least {LEAST_MULTIPLIER:g} and finite, got {noise_multiplier!r}"
            )
        if self.releases >= self.rule.most_releases:
            raise ValueError(f"only {self.rule.most_releases} releases were paid for; plan for more of them")
        spent = (self.spent + float(noise_multiplier) ** -2 * _ROUND_UP) * _ROUND_UP
        if not spent <= 2 * self.rule.limit:
            raise ValueError(
                f"noise multiplier {noise_multiplier:.6g} costs {float(noise_multiplier) ** -2:.4g} of the "
                f"{self.left:.4g} that are left; take at least multiplier()"
            )
        self.spent, self.releases = spent, self.releases + 1

    def __repr__(self) -> str:
        return f"Spending({self.rule!r}, spent={self.spent!r}, releases={self.releases})"
