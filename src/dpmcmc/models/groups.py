"""Groups of records whose intercepts vary around a common one: names, priors, codes and effects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpmcmc.arguments import instance, shown, text
from dpmcmc.records import Category, Schema

Labels = Sequence[str | int]
LOG_SPREAD_PRIOR = (-1.0, 1.0)  # the groups' standard deviation, on the scale of η: between 0.05 and 2.6 with 95 %


def log_spread(group: str) -> str:
    """The name of the log of the groups' standard deviation τ."""
    return f"1|{group}_log_sigma"


def deviation(group: str, label: str | int) -> str:
    """The name of one group's standardised deviation z, whose effect is τz."""
    return f"1|{group}_z[{label}]"


def group_priors(groups: Mapping[str, Labels]) -> dict[str, tuple[float, float]]:
    """log τ ~ N(−1, 1), z ~ N(0, 1): what records say of τ and of the effects stays apart where they say little."""
    found = {}
    for group, labels in groups.items():
        found[log_spread(group)] = LOG_SPREAD_PRIOR
        found |= {deviation(group, label): (0.0, 1.0) for label in labels}
    return found


def check_groups(groups: Mapping[str, Labels]) -> None:
    """Every group column has at least two labels, none twice."""
    instance("groups", groups, Mapping, "a mapping of columns to their labels such as {'school': ['a', 'b']}")
    for group, labels in groups.items():
        text("groups: the name of a column", group)
        if not isinstance(labels, Sequence) or isinstance(labels, str) or len(labels) < 2:
            raise ValueError(f"groups: {group!r} needs a list of at least two labels, got {shown(labels)}")
        try:
            Category(list(labels))
        except (TypeError, ValueError) as error:
            raise type(error)(f"groups: {group!r}: {error}") from None


def encode_groups(groups: Mapping[str, Labels], table: Any) -> list[np.ndarray]:
    """A column of codes in [−1, 1] for each; what is not declared is refused."""
    if not groups:
        return []
    codes = Schema({group: Category(list(labels)) for group, labels in groups.items()}).encode(table)
    return [to_unit(codes[group], len(labels)) for group, labels in groups.items()]


def any_groups(groups: Mapping[str, Labels], key: Array, n: int) -> list[Array]:
    """Columns of codes in [−1, 1], of any groups."""
    keys = jax.random.split(key, max(len(groups), 1))
    return [
        to_unit(jax.random.randint(one, (n,), 0, len(labels)), len(labels))
        for one, labels in zip(keys, groups.values(), strict=False)
    ]


def to_unit(code: Any, count: int) -> Any:
    """0 … count − 1 as evenly spaced numbers from −1 to 1."""
    return 2.0 * code / (count - 1) - 1.0


def from_unit(unit: Array, count: int) -> Array:
    """The code whose number is nearest."""
    return jnp.clip(jnp.round((unit + 1.0) * (count - 1) / 2.0), 0, count - 1).astype(int)


def effects(own: Callable[[str], Array], group: str, labels: Labels, spread: Callable[[Array], Array]) -> Array:
    """τz of each group, from parameters by name; ``spread`` is τ from its log."""
    return spread(own(log_spread(group))) * jnp.stack([own(deviation(group, label)) for label in labels])
