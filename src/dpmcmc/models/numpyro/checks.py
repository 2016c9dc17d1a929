"""Checks on simulated records that one record's log density is its own, and that the prior knows of none."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.models.numpyro.arguments import Records
from dpmcmc.models.numpyro.program import Program, Theta
from dpmcmc.models.numpyro.sites import refuse, telling_errors

RECORDS = 32  # simulated, all different
TIMES = 3  # with outcomes from the model, and as many with outcomes anywhere
DRAWS = 257  # of the prior
CLOSE = 1e-6  # absolute and relative; what rounding does is far smaller


def prior_draws(program: Program) -> Theta:
    """Positions that are drawn from the prior, one a row."""
    somewhere = program.arguments.public(1)
    drawn = jax.jit(jax.vmap(lambda key: program.draw_prior(key, somewhere)))
    with telling_errors("it fails with a single record"):
        drawn_: Theta = jax.device_get(drawn(jax.random.split(jax.random.key(0), DRAWS)))
        return drawn_


def arguments_observed(program: Program, theta: Theta) -> dict[str, str]:
    """The argument that each observed site observes: as it is given, since simulated records must have it."""
    records = program.arguments.public(RECORDS)
    given = jax.device_get(program.arguments.given(records))
    with telling_errors(f"it fails with {RECORDS} records"):
        seen = jax.device_get(jax.jit(lambda at, rows: program.observed_values(program.at(at, rows)))(theta, records))
    found: dict[str, str] = {}
    for site in [site.name for site in program.sites.observed]:
        value = seen[site]
        same = [name for name in program.arguments.names if np.array_equal(given[name], value)]
        if not same:
            refuse(
                f"site {site!r} observes what is no argument of the model as it was given",
                "give an argument as obs=, without a function around it; declare a column that holds what is observed, "
                "and never a variable from outside the model",
            )
        if same[0] in found.values():
            refuse(f"two sites observe the argument {same[0]!r}", "observe each argument once")
        found[site] = same[0]
    return found


def check_order(program: Program, argument_of: dict[str, str], theta: Theta) -> None:
    """Refuse sites that depend on what a later site observes: outcomes are simulated in the order of the sites."""
    names = list(argument_of)
    if len(names) < 2:
        return
    one, other = program.arguments.public(RECORDS), program.arguments.public(2 * RECORDS)
    rows = jax.jit(lambda records: program.likelihoods(program.at(theta, records)))
    before = jax.device_get(rows(one))
    for at, site in enumerate(names[1:], 1):
        argument = argument_of[site]
        after = jax.device_get(rows(one | {argument: other[argument][:RECORDS]}))
        for earlier in names[:at]:
            if not _same(before[earlier], after[earlier]):
                refuse(
                    f"site {earlier!r} depends on the argument {argument!r}, which site {site!r} observes after it",
                    f"put site {site!r} first, so that records can be simulated in the order of the sites",
                )


def check_independent(program: Program, argument_of: dict[str, str], draws: Theta) -> None:
    """Refuse a model in which the log density of a record, alone, is not what it is among others; or in which the
    prior depends on records. Records are simulated, and outcomes are drawn from the model or anywhere in bounds."""
    public = program.arguments.public(RECORDS)

    @jax.jit
    def both(key: Any, theta: Theta, from_model: Any) -> tuple[Any, Any]:
        records = jax.tree.map(jnp.asarray, public)
        if not program.sites.factors:
            drawn = program.draw_outcomes(key, theta, records, argument_of)
            records = jax.tree.map(lambda new, old: jnp.where(from_model, new, old), drawn, records)
        return _together(program, theta, records), _alone(program, theta, records)

    for time in range(2 * TIMES):
        theta = jax.tree.map(lambda leaf: leaf[time], draws)  # noqa: B023
        with telling_errors("it fails with a single record"):
            together, alone = jax.device_get(both(jax.random.key(time), theta, time % 2 == 0))
        _compare(together, alone)


def of_parameters(program: Program, theta: Theta) -> tuple[str, ...]:
    """The sites outside the plate that depend on no record: all latent ones, and some deterministic ones."""
    latent = tuple(site.name for site in program.sites.latent)
    if not program.sites.deterministic:
        return latent
    values = jax.jit(lambda records: program.values(program.at(theta, records)))
    one, other = (jax.device_get(values(program.arguments.public(n))) for n in (5, 7))
    same = [s.name for s in program.sites.deterministic if np.array_equal(one[s.name], other[s.name], equal_nan=True)]
    return (*latent, *same)


def _together(program: Program, theta: Theta, records: Records) -> tuple[Any, Any, Any]:
    """What records and priors have for densities, and the latent values, site by site."""
    ran = program.at(theta, records)
    values = program.values(ran)
    return (
        program.likelihoods(ran),
        program.priors(ran),
        {site.name: values[site.name] for site in program.sites.latent},
    )


def _alone(program: Program, theta: Theta, records: Records) -> tuple[Any, Any, Any]:
    def one(record: Records) -> tuple[Any, Any, Any]:
        rows, priors, values = _together(program, theta, jax.tree.map(lambda leaf: leaf[None], record))
        return {site: row[0] for site, row in rows.items()}, priors, values

    return jax.vmap(one)(records)


def _compare(together: tuple[Any, Any, Any], alone: tuple[Any, Any, Any]) -> None:
    for part in (1, 2):
        for site, value in together[part].items():
            if not _same(jnp.broadcast_to(value, np.shape(alone[part][site])), alone[part][site]):
                refuse(
                    f"the prior of site {site!r} depends on records, or on how many there are",
                    "state it from public knowledge, with numbers or constants=",
                )
    for site, rows in together[0].items():
        if not _same(rows, alone[0][site]):
            refuse(
                f"the log density of one record at site {site!r} changes when other records change",
                "whatever is computed from all records (their mean, largest value, number or order) must be a public "
                "constant (constants=) or a column that is declared",
            )


def _same(one: Any, other: Any) -> bool:
    """Equal up to rounding, also where they are not finite."""
    return bool(np.allclose(np.asarray(one), np.asarray(other), rtol=CLOSE, atol=CLOSE, equal_nan=True))
