"""Every function of JAX that takes one to four numbers: found by looking, so that new ones are found too."""

import inspect
import warnings

import jax
import jax.numpy as jnp
from jax.extend.core import Literal

MODULES = {"jax.scipy.special": jax.scipy.special, "jax.nn": jax.nn, "jax.numpy": jnp, "jax.lax": jax.lax}
MODULES |= {
    f"jax.scipy.stats.{name}": module
    for name, module in vars(jax.scipy.stats).items()
    if hasattr(module, "logpdf") or hasattr(module, "logpmf") or hasattr(module, "cdf")
}

MOST_ARGUMENTS = 4

WITHOUT_END = ("exp1", "expn", "expi")
"""Exponential integrals: for some numbers a loop in JAX's code never ends, with this library or without."""


def scalar(function, count):
    """``function`` of ``count`` numbers as one real number, or None if it is no such function."""
    shapes = [jax.ShapeDtypeStruct((), jnp.float64)] * count

    def real(*given):
        made = jax.tree.leaves(function(*given))
        if not made or any(not hasattr(leaf, "dtype") or leaf.size > 64 for leaf in made):
            raise TypeError
        leaves = [jnp.ravel(jnp.real(leaf)) if jnp.iscomplexobj(leaf) else jnp.ravel(leaf) for leaf in made]
        return jnp.sum(jnp.concatenate([leaf.astype(jnp.float64) for leaf in leaves]))

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = jax.make_jaxpr(real)(*shapes)
    except Exception:
        return None
    used = [atom for equation in program.eqns for atom in equation.invars if not isinstance(atom, Literal)]
    return real if all(any(atom is variable for atom in used) for variable in program.jaxpr.invars) else None


def counts(function):
    """How many numbers a function may be given, from its signature."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return range(1, MOST_ARGUMENTS + 1)
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = [p for p in places if p.default is p.empty]
    several = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    return range(max(len(needed), 1), min(MOST_ARGUMENTS, MOST_ARGUMENTS if several else len(places)) + 1)


def found(modules):
    """Name → (function of numbers, how many numbers), with as few numbers as it takes."""
    functions = {}
    with jax.enable_x64(True):
        for module in modules:
            for name, member in sorted(vars(MODULES[module]).items()):
                if name.startswith("_") or not callable(member) or isinstance(member, type) or name in WITHOUT_END:
                    continue
                made = ((scalar(member, count), count) for count in counts(member))
                first = next((each for each in made if each[0] is not None), None)
                if first is not None:
                    functions[f"{module}.{name}"] = first
    return functions


def with_orders():
    """Functions that need a whole number beside real ones."""
    special = jax.scipy.special
    orders = {
        "polygamma": lambda k: lambda x: special.polygamma(k, x),
        "multigammaln": lambda k: lambda x: special.multigammaln(x, k + 1),
        "bessel_jn": lambda k: lambda x: special.bessel_jn(x, v=k)[-1],
        "integer_pow": lambda k: lambda x: jax.lax.integer_pow(x, k),
    }
    with jax.enable_x64(True):
        made = {f"{name}({k})": (scalar(make(k), 1), 1) for name, make in orders.items() for k in (1, 2, 3)}
    assert all(function is not None for function, _ in made.values())
    return made
