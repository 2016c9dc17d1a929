"""The methods there are, and which one runs when nobody says."""

from __future__ import annotations

from dpmcmc.arguments import shown
from dpmcmc.chain.kernel import KernelLike
from dpmcmc.chain.method import Chain
from dpmcmc.likelihood.method import LikelihoodRelease
from dpmcmc.method import Method
from dpmcmc.models.base import ModelLike, has
from dpmcmc.scores.method import ScoreRelease


def as_method(given: Method | KernelLike | None, model: ModelLike) -> Method:
    """A method as it is, a kernel as a chain of it, nothing as the default for the model."""
    if given is None:
        finds = has(model, "covariates") or not has(model, "simulate")  # by scores, which need no simulation
        return ScoreRelease() if finds else LikelihoodRelease()
    if hasattr(given, "plan") and not isinstance(given, type):
        return given  # type: ignore[return-value]
    if hasattr(given, "decide") and hasattr(given, "propose") and not isinstance(given, type):
        return Chain(given)
    raise TypeError(
        "method= takes an object: dp.ScoreRelease() (the default with covariates or without simulate), "
        "dp.LikelihoodRelease() (for other models), dp.PosteriorDraws(bound), dp.Chain(kernel), or a kernel such as "
        f"dp.dp_barker(step=..., clip=...); got {shown(given)}"
        f"{'; are its parentheses missing?' if callable(given) else ''}"
    )
