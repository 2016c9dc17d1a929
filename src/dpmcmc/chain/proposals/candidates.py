"""Sets of candidates to choose one from, drawn from released history alone.

A set is used with probability weights such that it would have been drawn equally likely from each of its members; then
choosing one of them ∝ weight is a Gibbs step and leaves the posterior as it is (docs/theory/selection.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.flatten_util import ravel_pytree

from dpmcmc.arguments import numbers, shown, whole
from dpmcmc.chain.proposals.base import PrivateProposal, Proposal
from dpmcmc.chain.proposals.random_walk import RandomWalk, check_real, nested_tuple
from dpmcmc.mechanisms.choice import MOST_CANDIDATES
from dpmcmc.models.base import PyTree


class Candidates(NamedTuple):
    """K positions (stacked along a leading axis), the present one first; weight k is exp(``log_corrections``[k])·π."""

    positions: PyTree
    log_corrections: Array


class CandidateSet(Protocol):
    """Draws candidates from the position and a key. No record enters, so a set costs nothing."""

    @property
    def count(self) -> int:
        """K, the present position included."""

    @property
    def base(self) -> Any:
        """The point that utilities are taken against, raveled; None for the present position."""

    def check(self, position: PyTree) -> None:
        """Refuse parameters that the set cannot move."""

    def draw(self, key: Array, position: PyTree) -> Candidates:
        """The candidates."""


@dataclass(frozen=True)
class Orbit:
    """K points of an ellipse through θ: μ + (θ−μ) cos φ_k + z sin φ_k, φ_k = 2πk/K, z ~ N(0, Σ).

    ``mean`` is μ (a vector over the raveled parameters, or a pytree like them) and ``root`` a matrix A with A Aᵀ = Σ
    (or a vector of standard deviations, or one number): a public or privately made Gaussian fit of the posterior.
    Weights are π(θ_k) / N(θ_k; μ, Σ), so the better the fit, the more equal they are, and the move forgets where it
    came from. ``base``, the point utilities are taken against, is μ unless given.

    Choose it when a fit is at hand: one choice then moves across the whole posterior. Make Σ wide, about
    1.6 posterior standard deviations: where π/N is large the chain stays long.
    Reference: Neal (1999) and Murray, Adams & MacKay (2010) for rotations of a Gaussian pair; docs/theory/selection.md.
    """

    mean: Any
    root: Any
    count: int
    base: Any = None

    def __post_init__(self) -> None:
        whole("Orbit: count", self.count, 3, MOST_CANDIDATES, "two points are θ and 2μ − θ, which reach no others")
        root = np.asarray(RandomWalk(self.root).scale)  # the same forms
        if root.ndim == 2 and not np.linalg.cond(root) < 1e12:
            raise ValueError("Orbit: root must be invertible; its columns span fewer directions than the parameters")
        object.__setattr__(self, "mean", _raveled("Orbit: mean", self.mean))
        object.__setattr__(self, "root", nested_tuple(root))
        object.__setattr__(self, "base", self.mean if self.base is None else _raveled("Orbit: base", self.base))
        if root.ndim and len(root) != len(self.mean):
            raise ValueError(f"Orbit: root has {len(root)} rows and mean {len(self.mean)} entries")

    def __str__(self) -> str:
        return f"{self.count} points of an orbit"

    def check(self, position: PyTree) -> None:
        check_real(position, "Orbit")
        RandomWalk(self.root).init(position)
        check_size("Orbit: mean", self.mean, position)
        check_size("Orbit: base", self.base, position)

    def draw(self, key: Array, position: PyTree) -> Candidates:
        flat, unravel = ravel_pytree(position)
        mean, root = jnp.asarray(self.mean, jnp.float64), jnp.asarray(self.root, jnp.float64)
        away = flat.astype(jnp.float64) - mean
        x = jnp.linalg.solve(root, away) if root.ndim == 2 else away / root
        z = jax.random.normal(key, flat.shape, jnp.float64)
        angles = 2 * np.pi * jnp.arange(self.count)[:, None] / self.count
        around = x * jnp.cos(angles) + z * jnp.sin(angles)  # (K, d), standard normal coordinates
        points = mean + (around @ root.T if root.ndim == 2 else around * root)
        points = points.astype(flat.dtype).at[0].set(flat)  # θ itself, to the last bit
        return Candidates(jax.vmap(unravel)(points), 0.5 * jnp.sum(around**2, axis=1))  # −log N(θ_k; μ, Σ)


@dataclass(frozen=True)
class HiddenCentre:
    """A centre proposed from θ, and K − 1 candidates proposed from the centre.

    ``proposal`` is any proposal without a memory: :class:`RandomWalk`, :class:`Sphere`, a user's own (then integer
    parameters are welcome), or the scale of a random walk. Weights are π(θ_k) q(m|θ_k)/q(θ_k|m), which is π(θ_k) for
    a symmetric one. Utilities are taken against ``base``, or, left out, against the present position: then a clip
    bounds the log ratios of one move, as in a two-point test, and can be as small as those are.

    Exact where nothing is clipped. Where something is, a given ``base`` still has a target, the posterior of the
    clipped log likelihoods; the present position as base has none that is known.

    Choose it when no fit of the posterior is at hand.
    Reference: Tjelmeland (2004) and Neal (2003) for the hidden centre; docs/theory/selection.md.
    """

    proposal: Any
    count: int
    base: Any = None

    def __post_init__(self) -> None:
        two = "for two candidates take Barker's test, which costs half the range"
        whole("HiddenCentre: count", self.count, 3, MOST_CANDIDATES, two)
        if isinstance(self.proposal, type):
            raise TypeError(f"HiddenCentre: proposal must be one made with its scale, got {shown(self.proposal)}")
        if isinstance(self.proposal, PrivateProposal):
            raise TypeError(
                f"HiddenCentre: proposal must be public, and {type(self.proposal).__name__} reads records to propose"
            )
        if not hasattr(self.proposal, "propose"):
            object.__setattr__(self, "proposal", RandomWalk(self.proposal))
        if self.base is not None:
            object.__setattr__(self, "base", _raveled("HiddenCentre: base", self.base))

    def __str__(self) -> str:
        return f"{self.count} candidates around a hidden centre, by {self.proposal}"

    def check(self, position: PyTree) -> None:
        if jax.tree.leaves(self.proposal.init(position)):
            raise TypeError(f"HiddenCentre: {type(self.proposal).__name__} has a memory; take a proposal without one")
        if self.base is not None:
            check_size("HiddenCentre: base", self.base, position)

    def draw(self, key: Array, position: PyTree) -> Candidates:
        proposal: Proposal = self.proposal
        centre_key, *keys = jax.random.split(key, self.count)
        centre = proposal.propose(centre_key, position, ())
        moves = jax.vmap(lambda k: proposal.propose(k, centre.position, ()))(jnp.stack(keys))
        positions = jax.tree.map(lambda here, others: jnp.concatenate([here[None], others]), position, moves.position)
        back = jnp.broadcast_to(jnp.asarray(moves.log_correction, jnp.float64), (self.count - 1,))
        return Candidates(positions, jnp.append(-jnp.asarray(centre.log_correction, jnp.float64), back))


def check_size(name: str, raveled: Any, position: PyTree) -> None:
    """Refuse a point with another number of entries than the parameters have."""
    size = sum(leaf.size for leaf in jax.tree.leaves(position))
    if len(raveled) != size:
        raise ValueError(f"{name} has {len(raveled)} entries for {size} parameters")


def _raveled(what: str, point: PyTree) -> Any:
    leaves = [numbers(what, leaf) for leaf in jax.tree.leaves(point)] or [numbers(what, point)]
    return nested_tuple(np.concatenate([np.ravel(leaf) for leaf in leaves]))
