"""A model: a log prior, a log likelihood of one record, and a place to start."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import jax
import numpy as np

from dpmcmc.arguments import function, having, shown, whole

PyTree = Any


class ModelLike(Protocol):
    """What the library asks of a model. Two functions and a public starting point; the rest is optional.

    Optional methods, used when present:

    - ``log_ratio_bound(theta, theta_new)``: a bound on one record's |log ratio|, true for *every possible* record;
    - ``simulate(key, theta, n)``: n records drawn from the model, from public knowledge alone;
    - ``sample_prior(key)``: a draw of the prior, where a search that knows nothing begins;
    - ``covariates(record)`` and ``simulate_given(key, theta, x)``: the part of a record whose law the model does not
      state, a vector of numbers within [−1, 1] by public declaration; and records whose covariates are the rows of x,
      the rest drawn from the model. The library then releases what the covariates look like, and simulates with such;
    - ``levels``, beside these: for each covariate how many values it has, evenly spaced from −1 to 1, or 0 if it is a
      number. Groups and categories need it: between their values there is nothing;
    - ``response(record)`` and ``respond(x, responses)``: the outcome of a record as a number within [−1, 1], and
      records with the rows of x and these outcomes. The library then releases what outcomes look like, to begin near
      them;
    - ``weight(record)``: what its log likelihood is multiplied by, if it is; simulated outcomes are those of weight 1;
    - ``predict(release, table)`` and the like, which a release asks (:class:`dpmcmc.predicting.Predicting`); and
      ``declaration``, a text that says all that the parameters mean, by which a saved release knows its model again.

    Functions of a record see that record alone, the others none: one that closes over the data voids every guarantee.
    """

    @property
    def init(self) -> PyTree:
        """A public starting point (never computed from the records), or a function ``init(key)`` that draws one."""

    def log_prior(self, theta: PyTree) -> Any:
        """Log prior density up to a constant; −inf outside the support."""

    def log_likelihood(self, theta: PyTree, record: PyTree) -> Any:
        """Log density of one record. The library vectorises it over records and chains."""


@dataclass(frozen=True, eq=False)
class Model:
    """A model from two functions.

        model = dp.Model(
            log_prior=lambda theta: -0.5 * theta**2,
            log_likelihood=lambda theta, x: -0.5 * (x - theta) ** 2,
            init=0.0,
        )

    Parameters may be any pytree, integer leaves included; a record is what one index of the data's leading axis holds.
    The other fields are the optional methods of :class:`ModelLike`: what a built-in model can give, this one can too.
    """

    log_prior: Callable[[PyTree], Any]
    log_likelihood: Callable[[PyTree, PyTree], Any]
    init: PyTree
    log_ratio_bound: Callable[[PyTree, PyTree], Any] | None = None
    simulate: Callable[[Any, PyTree, int], PyTree] | None = None
    sample_prior: Callable[[Any], PyTree] | None = None
    covariates: Callable[[PyTree], Any] | None = None
    simulate_given: Callable[[Any, PyTree, Any], PyTree] | None = None
    levels: Sequence[int] | None = None
    response: Callable[[PyTree], Any] | None = None
    respond: Callable[[Any, Any], PyTree] | None = None

    def __post_init__(self) -> None:
        for name in ("log_prior", "log_likelihood"):
            function(f"Model: {name}", getattr(self, name))
        check_init("Model: init", self.init)
        for name in (
            "log_ratio_bound",
            "simulate",
            "sample_prior",
            "covariates",
            "simulate_given",
            "response",
            "respond",
        ):
            if has(self, name):
                function(f"Model: {name}", getattr(self, name), "or leave it out")
        if has(self, "covariates") != has(self, "simulate_given"):
            raise TypeError("Model: covariates and simulate_given belong together; give both or neither")
        if has(self, "levels") and not has(self, "covariates"):
            raise TypeError("Model: levels are those of covariates; give covariates and simulate_given as well")
        if not isinstance(self.levels, Sequence | np.ndarray | None) or isinstance(self.levels, str):
            raise TypeError(f"Model: levels must be a list, one entry for each covariate, got {shown(self.levels)}")
        for count in () if self.levels is None else self.levels:
            if whole("Model: levels", count, 0, remedy="0 is for a number") == 1:
                raise ValueError("Model: levels must be 0, for a number, or at least 2 for each covariate, got 1")
        if has(self, "response") != has(self, "respond"):
            raise TypeError("Model: response and respond belong together; give both or neither")
        if has(self, "response") and not has(self, "covariates"):
            raise TypeError("Model: response needs covariates and simulate_given as well")


@dataclass(frozen=True, eq=False)
class WithInit:
    """``model`` with another starting point: a value, or a function ``init(key)`` that draws one for each chain."""

    model: Any
    init: PyTree

    def __post_init__(self) -> None:
        check_model_like("WithInit: model", self.model)
        check_init("init", self.init)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "model":
            raise AttributeError(name)
        return getattr(self.model, name)

    def log_prior(self, theta: PyTree) -> Any:
        return self.model.log_prior(theta)

    def log_likelihood(self, theta: PyTree, record: PyTree) -> Any:
        return self.model.log_likelihood(theta, record)

    def __repr__(self) -> str:
        return f"{self.model!r} with init {self.init!r}"


def check_model_like(what: str, model: Any) -> Any:
    """Something with a log prior, a log likelihood and a start."""
    return having(what, model, ("log_prior", "log_likelihood", "init"), "a model (see dp.Model)")


def check_init(what: str, init: PyTree) -> None:
    """A function that draws a start, or numbers in any pytree."""
    if callable(init) and not isinstance(init, type):
        return
    leaves = jax.tree.leaves(init)
    kinds = {np.dtype(getattr(leaf, "dtype", None) or np.asarray(leaf).dtype).kind for leaf in leaves}
    if not leaves or not kinds <= set("biuf"):
        raise TypeError(
            f"{what} must be numbers, in an array, a dictionary or another pytree, or a function init(key) that draws "
            f"them, got {shown(init)}"
        )


def has(model: Any, name: str) -> bool:
    """Whether a model gives an optional method."""
    return getattr(model, name, None) is not None


def model_name(model: Any) -> str:
    """What a release calls the model."""
    return type(model.model if isinstance(model, WithInit) else model).__name__
