"""The methods there are, and which one runs when nobody says."""

from __future__ import annotations

from dpmcmc.chain.kernel import KernelLike
from dpmcmc.chain.method import Chain
from dpmcmc.likelihood.method import LikelihoodRelease
from dpmcmc.method import Method


def as_method(given: Method | KernelLike | None) -> Method:
    """A method as it is, a kernel as a chain of it, nothing as the default."""
    if given is None:
        return LikelihoodRelease()
    if hasattr(given, "plan") and not isinstance(given, type):
        return given  # type: ignore[return-value]
    if hasattr(given, "decide") and hasattr(given, "propose"):
        return Chain(given)  # type: ignore[arg-type]
    raise TypeError(
        "method= takes an object: dp.LikelihoodRelease() (the default), dp.Chain(kernel), or a kernel such as "
        f"dp.dp_barker(step=..., clip=...); got {given!r}"
        f"{'; are its parentheses missing?' if callable(given) else ''}"
    )
