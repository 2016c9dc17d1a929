"""A NumPyro model as functions of unconstrained positions and records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from numpyro import handlers

from dpmcmc.models.numpyro.arguments import Arguments, Records
from dpmcmc.models.numpyro.execution import Run, log_prob, position, run
from dpmcmc.models.numpyro.sites import Sites

Theta = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Program:
    """The model, its arguments and its sites. ``theta`` has the positions by the names that ``sites`` gives them."""

    model: Callable[..., Any]
    arguments: Arguments
    sites: Sites
    plate: str

    def at(self, theta: Theta, records: Records, **more: Any) -> Run:
        """The model with its latent sites at ``theta``."""
        positions = {site: theta[name] for site, name in self.sites.position_names.items()}
        return run(self.model, self.arguments.given(records), positions=positions, **more)

    def likelihoods(self, ran: Run) -> dict[str, Array]:
        """Site by site, the log density of each record."""
        return {site.name: self._rows(ran.sites[site.name]) for site in (*self.sites.observed, *self.sites.factors)}

    def _rows(self, site: Any) -> Array:
        """The log density summed over all but the plate of records."""
        density = log_prob(site)
        frame = next(frame for frame in site["cond_indep_stack"] if frame.name == self.plate)
        return jnp.sum(jnp.moveaxis(density, frame.dim, 0).reshape(frame.size, -1), axis=1)

    def priors(self, ran: Run) -> dict[str, Array]:
        """Site by site, the log density of positions: that of values, and the log determinant of the map to them."""
        names = [site.name for site in self.sites.latent]
        return {name: jnp.sum(log_prob(ran.sites[name])) + ran.log_dets[name] for name in names}

    def values(self, ran: Run) -> dict[str, Array]:
        """The values of latent sites, and of deterministic ones outside the plate."""
        wanted = (*self.sites.latent, *self.sites.deterministic)
        return {site.name: jnp.asarray(ran.sites[site.name]["value"]) for site in wanted}

    def observed_values(self, ran: Run) -> dict[str, Array]:
        return {site.name: ran.sites[site.name]["value"] for site in self.sites.observed}

    def draw_prior(self, key: Array, records: Records) -> Theta:
        """Positions of latent sites that are drawn from the prior."""
        sites = run(self.model, self.arguments.given(records), key=key).sites
        return {name: position(sites[site]) for site, name in self.sites.position_names.items()}

    def draw_outcomes(self, key: Array, theta: Theta, records: Records, argument_of: dict[str, str]) -> Records:
        """The records with outcomes drawn from the model, one site after another: later ones may depend on earlier."""
        for site, k in zip(self.sites.observed, jax.random.split(key, len(self.sites.observed)), strict=True):
            drawn = self.at(theta, records, key=k, drawn=(site.name,)).sites[site.name]["value"]
            argument = self.arguments[argument_of[site.name]]
            records = records | {argument.name: argument.within(drawn)}
        return records

    def position_of(self, values: Mapping[str, Any], records: Records) -> Theta:
        """The positions of latent values."""
        fixed = handlers.substitute(self.model, data={name: jnp.asarray(value) for name, value in values.items()})
        sites = run(fixed, self.arguments.given(records)).sites
        return {name: position(sites[site]) for site, name in self.sites.position_names.items()}
