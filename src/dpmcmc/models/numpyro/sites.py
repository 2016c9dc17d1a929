"""The sites of a NumPyro model, and the refusal of those by which records would not be independent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import jax
from numpyro.distributions import ImproperUniform, MaskedDistribution
from numpyro.primitives import Messenger

from dpmcmc.models.numpyro.arguments import Arguments
from dpmcmc.models.numpyro.execution import is_factor, is_real, run

MARGINALISE = (
    "marginalise it, so that the observed site has the distribution without it: dist.MixtureSameFamily in place of a "
    "component of each record, dist.NegativeBinomial2 of a rate, dist.BetaBinomial of a probability, dist.StudentT of "
    "a scale"
)
LOOKS_AT_VALUES = (
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerArrayConversionError,
    jax.errors.NonConcreteBooleanIndexError,
)
OTHER_STATEMENTS = {
    "param": "numpyro.param is a parameter without a prior; make it a numpyro.sample with one",
    "mutable": "numpyro.contrib mutable values carry something from one run to the next; make them arguments",
    "control_flow": "scan and cond are not offered; write a loop over a fixed number of steps, or array operations",
    "prng_key": "numpyro.prng_key makes the model random beyond its sites; draw by numpyro.sample",
}


@dataclass(frozen=True)
class Site:
    """What is known of a site before it has a value."""

    name: str
    kind: str  # latent, observed, factor or deterministic
    shape: tuple[int, ...]  # of its value
    plates: tuple[str, ...]
    discrete: bool = False
    real: bool = True
    weighted: bool = False
    law_shape: tuple[int, ...] | None = None  # of what its distribution draws


@dataclass(frozen=True)
class Sites:
    """The sites of a model whose records are independent given the latent ones."""

    latent: tuple[Site, ...]
    observed: tuple[Site, ...]
    factors: tuple[Site, ...]
    deterministic: tuple[Site, ...]  # outside the plate

    @property
    def position_names(self) -> dict[str, str]:
        """What the unconstrained position of each latent site is called: not as the site, unless it is its value."""
        return {site.name: site.name if site.real else f"{site.name}_unconstrained" for site in self.latent}


class Watch(Messenger):  # type: ignore[misc]
    """Refuses, as the model runs with ``n`` records, statements that no model of independent records has."""

    def __init__(self, fn: Callable[..., Any], plate: str, n: int) -> None:
        self.plate, self.n = plate, n
        self.plates: dict[str, int] = {}
        super().__init__(fn)

    def process_message(self, msg: Any) -> None:
        kind, name = msg["type"], msg.get("name", "")
        if kind in OTHER_STATEMENTS:
            refuse(f"the statement {name or kind!r}", OTHER_STATEMENTS[kind])
        if kind == "sample" and isinstance(_inside(msg["fn"]), ImproperUniform):
            refuse(f"site {name!r} has an improper prior", "give it a proper one, such as dist.Normal(0, 10)")
        if kind == "plate":
            size, subsample = msg["args"]
            if subsample is not None and subsample != size:
                refuse(
                    f"plate {name!r} takes a subsample of {subsample}",
                    "leave subsample_size out; every record is read by the mechanisms, which pay for it",
                )
            if name == self.plate and size != self.n:
                refuse(
                    f"plate {name!r} has size {size} where there are {self.n} records",
                    "write its size as the length of an argument, such as len(y)",
                )
            self.plates[name] = size


def refuse(what: str, remedy: str) -> NoReturn:
    raise ValueError(f"the NumPyro model is refused: {what}: {remedy}")


def read_sites(model: Callable[..., Any], arguments: Arguments, plate: str) -> Sites:
    """The sites, by running the model on the shapes of two and of three records: no value is there to be read."""
    (two, plates_of_two), (three, plates_of_three) = (_traced(model, arguments, plate, n) for n in (2, 3))
    if plate not in plates_of_two:
        others = ", ".join(map(repr, plates_of_two)) or "none"
        refuse(
            f"there is no plate called {plate!r} (plates: {others})",
            f"put the observed sites into `with numpyro.plate({plate!r}, len(y)):`, or name yours with plate=",
        )
    for name, size in plates_of_two.items():
        if name != plate and plates_of_three.get(name) != size:
            refuse(
                f"plate {name!r} grows with the number of records, as {plate!r} does",
                "put all observed sites into one plate; the number of groups is a public constant (constants=)",
            )
    if two.keys() != three.keys():
        refuse("its sites depend on the number of records", "write observed sites as arrays within the plate")
    for site in two.values():
        _check(site, three[site.name], plate)
    kinds = {kind: tuple(s for s in two.values() if s.kind == kind) for kind in ("latent", "observed", "factor")}
    if not kinds["observed"] and not kinds["factor"]:
        refuse("it has no observed site", f"give an argument as obs= within the plate {plate!r}")
    if not kinds["latent"]:
        refuse("it has no latent site", "there is nothing to infer; give parameters a numpyro.sample")
    outside = tuple(s for s in two.values() if s.kind == "deterministic" and plate not in s.plates)
    return Sites(kinds["latent"], kinds["observed"], kinds["factor"], outside)


def _traced(
    model: Callable[..., Any], arguments: Arguments, plate: str, n: int
) -> tuple[dict[str, Site], Mapping[str, int]]:
    watch, found = Watch(model, plate, n), {}

    def once(key: Any) -> None:
        records = arguments.anywhere(key, n)
        sites = run(watch, arguments.given(records), key=key).sites
        found.update({name: _site(site) for name, site in sites.items() if site["type"] in ("sample", "deterministic")})

    with telling_errors(f"it fails with {n} records"):
        jax.eval_shape(once, jax.random.key(0))
    return found, watch.plates


class telling_errors:
    """What the model raises while it runs on shapes, with its reason; no record is there."""

    def __init__(self, what: str) -> None:
        self.what = what

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if error is None or not isinstance(error, Exception) or "NumPyro model is refused" in str(error):
            return
        if isinstance(error, LOOKS_AT_VALUES):
            refuse(
                f"it looks at values of its records while it is built ({type(error).__name__})",
                "give numbers such as that of groups as constants=, and use jax.numpy in place of numpy and if",
            )
        message = str(error).splitlines()[0] if str(error) else ""
        remedy = "it must run with any number of records, one included"
        refuse(f"{self.what}: {type(error).__name__}: {message}", remedy)


def _site(site: Any) -> Site:
    plates = tuple(frame.name for frame in site["cond_indep_stack"])
    shape = tuple(getattr(site["value"], "shape", ()))
    if site["type"] == "deterministic":
        return Site(site["name"], "deterministic", shape, plates)
    kind = "latent" if not site["is_observed"] else "factor" if is_factor(site) else "observed"
    weighted = site["scale"] is not None or isinstance(_inside(site["fn"], MaskedDistribution), MaskedDistribution)
    law, discrete = tuple(site["fn"].shape()), bool(site["fn"].support.is_discrete)
    return Site(site["name"], kind, shape, plates, discrete, is_real(site), weighted, law)


def _inside(distribution: Any, stop: Any = ()) -> Any:
    """A distribution without what plates, masks and events put around it."""
    while hasattr(distribution, "base_dist") and not isinstance(distribution, stop):
        distribution = distribution.base_dist
    return distribution


def _check(site: Site, with_more: Site, plate: str) -> None:
    """Refuse a site by which records would not be independent; ``with_more`` is the same with one record more."""
    where, name = plate in site.plates, f"{site.name!r}"
    if site.kind == "latent":
        if where or site.shape != with_more.shape:
            refuse(
                f"site {name} is latent and has a value for each record ({'inside' if where else 'outside'} the plate "
                f"{plate!r})",
                f"if it is what was observed, declare its argument in the schema; if it is not, {MARGINALISE}",
            )
        if site.discrete:
            refuse(f"site {name} is latent and discrete", f"{MARGINALISE}; or give it a continuous prior")
        if site.weighted:
            refuse(f"the prior of site {name} is scaled or masked", "leave handlers.scale and handlers.mask to records")
    elif site.kind in ("observed", "factor") and not where:
        what = f"site {name} is observed" if site.kind == "observed" else f"{name} is a factor"
        remedy = (
            f"put it into `with numpyro.plate({plate!r}, len(y)):`, as records that are independent given the latent "
            "sites; or make it a distribution of parameters alone"
            if site.kind == "observed"
            else "inside it a factor is part of a record's likelihood; a factor of parameters alone must be part of a "
            "prior, by the distribution of a site"
        )
        refuse(f"{what} outside the plate {plate!r}", remedy)
    elif site.kind == "observed" and site.shape != site.law_shape:
        refuse(
            f"site {name} observes values of shape {site.shape}, and its distribution with 2 records has the shape "
            f"{site.law_shape}",
            "each record must be one entry along the plate; look at to_event, and at dim= of the plates",
        )
