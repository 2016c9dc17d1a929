"""What finite precision adds to a cost."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpmcmc.plain import Plain
from dpmcmc.privacy.budget import Budget


@dataclass(frozen=True)
class Arithmetic(Plain):
    """How far the machine's mechanism may be from the ideal one, over a whole run and on any data set.

    For any two neighbours there is one set of transcripts, of probability at least 1 − ``tail`` on either, on which the
    machine's probabilities are within a factor e^{±``log_error``} of the ideal ones. If the ideal mechanism is
    (ε, δ)-DP, the machine's is (ε + 2·log_error, e^{log_error}·δ + tail)-DP. Errors of several mechanisms add up. Sums
    over batches have such a set up to their event's ``largest_epsilon`` only.

    Reference: docs/theory/finite-precision.md; docs/theory/gaussian-sums.md, Claim 3.
    """

    log_error: float = 0.0
    tail: float = 0.0

    def __add__(self, other: Arithmetic) -> Arithmetic:
        return Arithmetic(self.log_error + other.log_error, self.tail + other.tail)

    def within(self, other: Arithmetic) -> bool:
        """Whether what was set aside for ``other`` is enough for this."""
        return self.log_error <= other.log_error and self.tail <= other.tail

    @property
    def epsilon(self) -> float:
        """The part of ε that it takes."""
        return 2 * self.log_error

    def ideal(self, budget: Budget) -> Budget:
        """The budget that is left for the ideal mechanism. Bounds on errors have slack that covers rounding here."""
        epsilon = (budget.epsilon - self.epsilon) * (1 - 2**-50)
        delta = budget.delta * math.exp(-self.log_error) - self.tail
        for name, value, whole in (("epsilon", epsilon, budget.epsilon), ("delta", delta, budget.delta)):
            if value <= 0:
                raise ValueError(
                    f"{name} = {whole:g} is too small for this many private decisions in float64 arithmetic, which may "
                    f"take {self.epsilon:.2g} of epsilon and {self.tail:.2g} of delta; make fewer, or raise {name}"
                )
        return Budget(epsilon, delta, budget.relation)
