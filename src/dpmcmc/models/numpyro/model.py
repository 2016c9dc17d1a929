"""A NumPyro model as a model of the library."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpmcmc.models.formula.original import OriginalScale
from dpmcmc.models.numpyro.arguments import Argument, Records, from_units, to_units
from dpmcmc.models.numpyro.binding import bound
from dpmcmc.models.numpyro.checks import arguments_observed, check_independent, check_order, of_parameters, prior_draws
from dpmcmc.models.numpyro.program import Program, Theta
from dpmcmc.models.numpyro.sites import read_sites
from dpmcmc.records import Schema


@dataclass(frozen=True, eq=False)
class NumPyroModel:
    """A NumPyro model whose records are independent given its latent sites: made by :func:`dpmcmc.from_numpyro`.

    A record is a dictionary of the model's arguments. Parameters are unconstrained positions of the latent sites: those
    that are real numbers have the name of their site, and others "<site>_unconstrained"; :meth:`constrained` gives
    the sites themselves. Prior and simulator are the model's own.

    Guarantee: the log likelihood of a record is that of the model run on this record alone; nothing is learnt from
    records on the way. Arrays that functions called by the model have from outside cannot be seen: they must be public.
    """

    program: Program
    schema: Schema
    argument_of: Mapping[str, str]  # of observed sites
    init: Mapping[str, np.ndarray]  # medians of the prior
    somewhere: Records  # one record from public knowledge, for what depends on none
    of_parameters: tuple[str, ...]  # sites that depend on no record: latent ones, and some deterministic ones

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters."""
        return tuple(self.program.sites.position_names.values())

    @cached_property
    def outcomes(self) -> tuple[Argument, ...]:
        """Arguments whose law the model states."""
        return tuple(self.program.arguments[name] for name in self.argument_of.values())

    @cached_property
    def inputs(self) -> tuple[Argument, ...]:
        """Arguments whose law it does not state."""
        return tuple(argument for argument in self.program.arguments.per_record if argument not in self.outcomes)

    def encode(self, table: Any) -> dict[str, np.ndarray]:
        """Records for this model from a table, read by the schema: data frames, mappings of arrays, paths of files.

        Guarantee: as :meth:`dpmcmc.Schema.encode`; every record is encoded by itself.
        """
        return self.program.arguments.encode(self.schema.encode(table, only=self.program.arguments.columns()))

    def log_prior(self, theta: Theta) -> Array:
        return sum(self.program.priors(self.program.at(theta, self.somewhere)).values(), jnp.zeros(()))

    def sample_prior(self, key: Array) -> Theta:
        """A draw of the prior."""
        return self.program.draw_prior(key, self.somewhere)

    def log_likelihood(self, theta: Theta, record: Records) -> Array:
        alone = {name: jnp.asarray(record[name])[None] for name in self.program.arguments.names}
        return sum(
            (rows[0] for rows in self.program.likelihoods(self.program.at(theta, alone)).values()), jnp.zeros(())
        )

    @property
    def simulate(self) -> Callable[[Array, Theta, int], Records] | None:
        """n records from public knowledge only; None for a model with factors, which say nothing of how to draw."""
        return None if self.program.sites.factors else self._simulate

    def _simulate(self, key: Array, theta: Theta, n: int) -> Records:
        record_key, outcome_key = jax.random.split(key)
        return self._with_outcomes(outcome_key, theta, self.program.arguments.anywhere(record_key, n))

    def _with_outcomes(self, key: Array, theta: Theta, records: Records) -> Records:
        return self.program.draw_outcomes(key, theta, records, dict(self.argument_of))

    @property
    def _describes(self) -> bool:
        return bool(self.inputs) and not self.program.sites.factors

    @property
    def covariates(self) -> Callable[[Records], Array] | None:
        """The arguments whose law the model does not state, within [−1, 1] by their declared bounds; None without."""
        return (lambda record: to_units(self.inputs, record)) if self._describes else None

    @property
    def levels(self) -> tuple[int, ...] | None:
        """How many values each covariate has, 0 for numbers."""
        return tuple(count for argument in self.inputs for count in argument.levels) if self._describes else None

    @property
    def simulate_given(self) -> Callable[[Array, Theta, Array], Records] | None:
        """Records with the rows of ``x`` for covariates, and outcomes of the model."""
        return self._simulate_given if self._describes else None

    def _simulate_given(self, key: Array, theta: Theta, x: Array) -> Records:
        record_key, outcome_key = jax.random.split(key)
        anything = self.program.arguments.anywhere(record_key, jnp.shape(x)[0])
        return self._with_outcomes(outcome_key, theta, anything | from_units(self.inputs, jnp.asarray(x, float)))

    @property
    def _responds(self) -> bool:
        return self._describes and len(self.outcomes) == 1 and not self.outcomes[0].stacked

    @property
    def response(self) -> Callable[[Records], Array] | None:
        """The outcome within [−1, 1] by its declared bounds, if there is a single one."""
        return (lambda record: to_units(self.outcomes, record)[..., 0]) if self._responds else None

    @property
    def respond(self) -> Callable[[Array, Array], Records] | None:
        """Records with the rows of ``x`` and these outcomes within [−1, 1]."""
        return self._respond if self._responds else None

    def _respond(self, x: Array, responses: Array) -> Records:
        outcomes = from_units(self.outcomes, jnp.asarray(responses, float)[:, None])
        records = from_units(self.inputs, jnp.asarray(x, float)) | outcomes
        return {name: records[name] for name in self.program.arguments.names}

    def values(self, theta: Theta) -> dict[str, Array]:
        """The latent sites' values at a position, and deterministic sites that depend on no record."""
        found = self.program.values(self.program.at(theta, self.somewhere))
        return {name: found[name] for name in self.of_parameters}

    def constrained(self, release: Any) -> OriginalScale:
        """The latent sites of a release of this model as NumPyro has them, and deterministic ones that are functions
        of them: to print, summarise or plot. Each draw is the exact image of one of the release, at no cost."""
        if release.draws.keys() != set(self.names):
            raise ValueError(
                f"the release has the parameters {', '.join(release.draws)}, and the model {', '.join(self.names)}: "
                "give the model that was sampled"
            )
        theta = {name: release.draws[name][:, release.warmup :] for name in self.names}
        with jax.enable_x64(True):
            values = jax.device_get(jax.jit(jax.vmap(jax.vmap(self.values)))(theta))
        return OriginalScale.of(release, {site: values[site] for site in self.of_parameters})

    def unconstrained(self, values: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """The position of latent values, by site: ``init=model.unconstrained({"sigma": 2.0, ...})``."""
        sites = [site.name for site in self.program.sites.latent]
        if values.keys() != set(sites):
            raise ValueError(f"give a value for each of the latent sites {', '.join(sites)}, got {', '.join(values)}")
        with jax.enable_x64(True):
            position: dict[str, np.ndarray] = jax.device_get(self.program.position_of(values, self.somewhere))
            return position

    def __str__(self) -> str:
        model = getattr(self.program.model, "__name__", type(self.program.model).__name__)
        rows = [("parameter", "of site", "shape"), *self._parameter_rows()]
        widths = [max(len(row[place]) for row in rows) for place in range(2)]
        inputs, outcomes = (", ".join(a.name for a in each) or "none" for each in (self.inputs, self.outcomes))
        lines = [f"{model}: covariates {inputs}; outcomes {outcomes}"]
        return "\n".join([*lines, *("  ".join([*map(str.ljust, row[:2], widths), row[2]]) for row in rows)])

    def _parameter_rows(self) -> list[tuple[str, str, str]]:
        names = self.program.sites.position_names
        return [(names[s.name], s.name, str(np.shape(self.init[names[s.name]]))) for s in self.program.sites.latent]

    __repr__ = __str__


def built(
    model: Callable[..., Any],
    schema: Schema,
    plate: str,
    stacked: Mapping[str, Sequence[str]],
    constants: Mapping[str, Any],
) -> NumPyroModel:
    """The model, once everything that can be checked without a record has been."""
    arguments = bound(model, schema, stacked, constants)
    with jax.enable_x64(True):
        program = Program(model, arguments, read_sites(model, arguments, plate), plate)
        draws = prior_draws(program)
        init = {name: np.median(values, axis=0) for name, values in draws.items()}
        argument_of = arguments_observed(program, init)
        check_order(program, argument_of, init)
        check_independent(program, argument_of, draws)
        somewhere, sites = arguments.public(1), of_parameters(program, init)
    return NumPyroModel(program, schema, argument_of, init, somewhere, sites)
