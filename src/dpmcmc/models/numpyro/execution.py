"""Running a NumPyro model: with unconstrained positions for its latent sites, and observed sites kept or drawn."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array
from numpyro import handlers
from numpyro.distributions import Unit, biject_to, constraints
from numpyro.primitives import Messenger

MOST = 500.0  # positions of bounded sites that draws of the prior may have: at the ends of a support they are infinite
_one_at_a_time = threading.RLock()  # NumPyro keeps its handlers in one list for all threads


class Run(NamedTuple):
    """The sites of one run by name, and the log determinants of the maps from positions to values."""

    sites: Mapping[str, Any]
    log_dets: Mapping[str, Array]


class Unobserved(Messenger):  # type: ignore[misc]
    """Draws these observed sites in place of keeping their values."""

    def __init__(self, fn: Callable[..., Any], names: Collection[str]) -> None:
        self.names = names
        super().__init__(fn)

    def process_message(self, msg: Any) -> None:
        if msg["type"] == "sample" and msg["name"] in self.names:
            msg["value"], msg["is_observed"] = None, False


def run(
    model: Callable[..., Any],
    arguments: Mapping[str, Any],
    *,
    positions: Mapping[str, Any] | None = None,
    key: Array | None = None,
    drawn: Collection[str] = (),
) -> Run:
    """Run ``model``. Latent sites are at unconstrained ``positions`` where given, and else drawn with ``key``, as are
    the observed sites named in ``drawn``. Handlers of whoever calls do not reach it."""
    log_dets: dict[str, Array] = {}

    def constrained(site: Any) -> Any:
        if positions is None or site["type"] != "sample" or site["name"] not in positions:
            return None
        transform, position = biject_to(site["fn"].support), jnp.asarray(positions[site["name"]])
        value = transform(position)
        log_dets[site["name"]] = jnp.sum(transform.log_abs_det_jacobian(position, value))
        return value

    inner = handlers.substitute(Unobserved(model, drawn), substitute_fn=constrained)
    seeded = inner if key is None else handlers.seed(inner, key)
    with _one_at_a_time, handlers.block():
        sites = handlers.trace(seeded).get_trace(**arguments)
    return Run(sites, log_dets)


def log_prob(site: Any) -> Array:
    """The log density of a site, an entry for each element of its batch, with its scale."""
    found = site["fn"].log_prob(site["value"])
    total: Array = found if site["scale"] is None else site["scale"] * found
    return total


def is_real(site: Any) -> bool:
    """Whether position and value of a site are the same."""
    support = site["fn"].support
    while isinstance(support, type(constraints.independent(constraints.real, 1))):
        support = support.base_constraint
    return support is constraints.real


def position(site: Any) -> Array:
    """The unconstrained position of a site's value."""
    found = biject_to(site["fn"].support).inv(site["value"])
    return found if is_real(site) else jnp.clip(found, -MOST, MOST)


def is_factor(site: Any) -> bool:
    """Whether a site is a ``numpyro.factor``, inside plates or not."""
    inner = site["fn"]
    while hasattr(inner, "base_dist"):
        inner = inner.base_dist
    return isinstance(inner, Unit)
