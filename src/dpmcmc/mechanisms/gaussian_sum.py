"""Sums of clipped per-record vectors with Gaussian noise, in whole numbers, so that the guarantee holds on a machine.

Each record's vector is scaled into a ball, rounded to whole numbers and added as integers; discrete Gaussian noise,
drawn from exact tables with 192 secret bits a draw, is added to every coordinate. No floating-point number carries
noise: the release is a fixed function of integers.

Reference: docs/theory/gaussian-sums.md; Canonne, Kamath & Steinke (2020) for the discrete Gaussian; Micciancio & Walter
(2017) for building a wide one from narrow ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpmcmc.arguments import positive
from dpmcmc.isolation import each_record
from dpmcmc.mechanisms.blocks import block_of, in_blocks
from dpmcmc.posterior import Posterior
from dpmcmc.privacy.events import Event, Gaussian, SubsampledGaussian
from dpmcmc.privacy.filter import LEAST_MULTIPLIER
from dpmcmc.privacy.relations import SUBSTITUTION, reach

BASE_STD = 32
"""Standard deviation of the discrete Gaussian in the table."""

FARTHEST = 400
"""The table ends here, 12.5 standard deviations out; a draw beyond would have probability 8e-36."""

RATIO = 16
DRAWS = 6
"""The noise is Σⱼ RATIOʲ Xⱼ over DRAWS draws X of the table."""

NOISE_STD = BASE_STD * math.sqrt((RATIO ** (2 * DRAWS) - 1) / (RATIO**2 - 1))
"""Standard deviation of the noise in units, about 3.4e7."""

CHARGED_STD = math.sqrt(NOISE_STD**2 - 1 / 12) * (1 - 2**-50)
"""That of the continuous Gaussian which, rounded to whole numbers, is the noise."""

LARGEST_BOUND = math.floor(CHARGED_STD / LEAST_MULTIPLIER)
"""The largest L2 norm, in units, that one record's term may have: that of the least noise multiplier of zero-out."""

MOST_COORDINATES = 2**14

NOISE_ERROR = 2.0**-48
"""Bound on the relative error of the noise's probabilities, per release (adds twice to ε)."""

NOISE_TAIL = 2.0**-66
"""What one release adds to δ for noise farther out than the bound above holds."""

WORDS = (DRAWS, 3)
"""Secret 64-bit words that one coordinate of noise needs."""


@dataclass(frozen=True)
class GaussianSum:
    """Σ clip(vᵢ) + N(0, ``std``² I) over per-record vectors, each clipped to L2 norm ``clip``.

    Guarantee: :meth:`event`. Clipped vectors are rounded to whole numbers of a unit; ``clip`` bounds the *rounded*
    vector, so under substitution the sum moves by at most 2·``clip``, under zero-out by ``clip``, and the noise is
    relative to that. Vectors with an entry that is not finite count as zero; any function of one record may be summed.

    Give ``std`` directly where the noise has a second job, or by its multiplier (:meth:`of_multiplier`).
    """

    clip: float
    std: float
    relation: str = SUBSTITUTION

    def __post_init__(self) -> None:
        positive("GaussianSum: clip", self.clip)
        positive("GaussianSum: std", self.std)
        if not self._asked >= LEAST_MULTIPLIER * (1 - 1e-9):
            raise ValueError(
                f"noise multiplier {self._asked:.4g} is below {LEAST_MULTIPLIER:g}, the least that is "
                "proven in machine arithmetic; take more noise (a smaller clip or step)"
            )
        self.check_dimension(1)

    @classmethod
    def of_multiplier(cls, clip: float, noise_multiplier: float, relation: str = SUBSTITUTION) -> GaussianSum:
        """The sum whose noise is ``noise_multiplier`` times its sensitivity, ``clip`` times 2 or, under zero-out, 1."""
        return cls(clip, reach(relation) * clip * noise_multiplier, relation)

    @property
    def _asked(self) -> float:
        return self.std / (reach(self.relation) * self.clip)

    @property
    def unit(self) -> float:
        """What a whole number stands for."""
        return self.std / NOISE_STD

    @property
    def bound(self) -> int:
        """The largest L2 norm of one record's vector of whole numbers."""
        return math.floor(self.clip / self.unit * (1 + 2**-48))

    @property
    def noise_multiplier(self) -> float:
        """Standard deviation of the noise over the L2 sensitivity, bound or under substitution 2·bound, in units."""
        return CHARGED_STD / (reach(self.relation) * self.bound)

    def event(self, n: int, batch: int | None = None) -> Event:
        """One release over all ``n`` records, or over a fresh ``batch`` of them drawn without replacement."""
        if batch is None:
            return Gaussian(self.noise_multiplier, self.relation)
        multiplier = reach(self.relation) * self.noise_multiplier  # relative to one norm
        return SubsampledGaussian(multiplier, n, batch, "without_replacement", self.relation)

    def check_dimension(self, dimension: int) -> None:
        """Refuse vectors that the whole numbers would hold too coarsely: rounding may add √d/2 units to a norm."""
        least = max(2, 4 * math.sqrt(dimension))
        if self.bound < least or dimension > MOST_COORDINATES:
            raise ValueError(
                f"a sum of vectors of {dimension} numbers can be released with noise multipliers up to "
                f"{CHARGED_STD / reach(self.relation) / least:.3g} and up to {MOST_COORDINATES} numbers; got a "
                f"multiplier of {self._asked:.4g}: take less noise (a larger clip or step, or fewer repetitions)"
            )

    def __call__(self, words: Array, vectors: Array) -> Array:
        """The noisy sum (float64) of ``vectors``, one row per record, from secret ``words`` of shape (d, DRAWS, 3)."""
        return (self.whole_sum(vectors) + discrete_gaussian(words)).astype(jnp.float64) * self.unit

    def of_gradients(self, words: Array, posterior: Posterior, flat: Array, unravel: Any) -> Array:
        """The noisy sum of ∇ log p(xᵢ|θ) over all records, block by block: the same whole numbers, faster."""
        return self.of_records(words, posterior.data, lambda block: record_gradients(posterior, flat, unravel, block))

    def of_records(self, words: Array, data: Any, vectors: Callable[[Any], Array]) -> Array:
        """The noisy sum over all records of ``vectors(block of records)``, one row a record, block by block.

        The clip and the noise are compiled in; :func:`noisy_sum` is the same with both as arguments of the program.
        """
        self.check_dimension(words.shape[0])
        return noisy_sum(words, data, vectors, self.bound, self.unit)

    def whole_sum(self, vectors: Array) -> Array:
        """Σ round(clip(vᵢ)) in units: :func:`whole_sum`. Private."""
        self.check_dimension(vectors.shape[1])
        return whole_sum(vectors, self.bound, self.unit)


def noisy_sum(
    words: Array, data: Any, vectors: Callable[[Any], Array], bound: Array | int, unit: Array | float
) -> Array:
    """Σ clip(vᵢ) with Gaussian noise over all records: ``GaussianSum.of_records`` for any ``bound`` and ``unit``.

    Both may be traced, so that one compiled program serves every clip and noise multiplier:

        run = jax.jit(lambda words, data, bound, unit: noisy_sum(words, data, vectors, bound, unit))
        total.check_dimension(d)                            # what depends on the bound is checked before the call
        run(words, data, total.bound, total.unit)           # costs total.event(n)

    ``vectors`` maps a block of records to (rows, d), in any scale: the clip is ``bound``·``unit``. Columns of zeros are
    allowed (drop their noise afterwards), so that few widths are compiled; they cost a margin of √d/2 units.

    Guarantee: Gaussian(CHARGED_STD / (2·bound)), under zero-out (… / bound), whatever ``unit`` and ``vectors`` are.
    """
    width, total = words.shape[0], whole_total(data, vectors, bound, unit)
    if total.shape != (width,):
        raise ValueError(f"noise for {width} numbers was given, and vectors of {total.shape[0]}")
    return (total + discrete_gaussian(words)).astype(jnp.float64) * unit


def whole_total(
    data: Any, vectors: Callable[[Any], Array], bound: Array | int, unit: Array | float, count: Array | None = None
) -> Array:
    """:func:`whole_sum` over the first ``count`` records (all), a few at a time. Private."""
    width = jax.eval_shape(vectors, data).shape[1]

    def add(records: Any, counted: Array) -> Array:
        return whole_sum(vectors(records), bound, unit, counted)

    return in_blocks(add, data, count, block_of(width))


def whole_sum(vectors: Array, bound: Array | int, unit: Array | float, counted: Array | None = None) -> Array:
    """Σ round(clip(vᵢ)) in units, one row of ``vectors`` a record; rows that are not ``counted`` add 0. Private.

    Guarantee: each term is a vector of whole numbers of L2 norm at most ``bound`` (and at most ``LARGEST_BOUND``),
    which is checked exactly; what floats got wrong before ends there. Reference: docs/theory/gaussian-sums.md, Lemma 1.
    """
    need_64_bits()
    records, dimension = vectors.shape
    if dimension > MOST_COORDINATES:
        raise ValueError(f"sums of up to {MOST_COORDINATES} numbers can be released, got {dimension}")
    radius = jnp.clip(jnp.asarray(bound, jnp.int64), 0, LARGEST_BOUND).astype(jnp.float64)
    ball = jnp.maximum(radius - math.sqrt(dimension) / 2, 0.0)  # rounding moves a vector by √d/2 at most
    columns = vectors.T  # one long row per number: reductions over the few numbers of a record run along it
    finite = jnp.all(jnp.isfinite(columns), axis=0)
    units = jnp.where(finite, columns, 0).astype(jnp.float64) * (1 / jnp.asarray(unit, jnp.float64))
    largest = jnp.maximum(jnp.max(jnp.abs(units), axis=0), 1.0)
    norm = largest * jnp.sqrt(jnp.sum((units * (1 / largest)) ** 2, axis=0))
    rounded = jnp.round(units * jnp.minimum(1.0, ball / norm))
    whole = jnp.where(jnp.isnan(rounded), 0.0, jnp.clip(rounded, -radius, radius))
    kept = jnp.where(inside(whole, radius) & (True if counted is None else counted), whole, 0)
    if records * LARGEST_BOUND >= 2**53:  # below, every sum over records is exact in float64
        kept = kept.astype(jnp.int64)
    return jnp.sum(kept, axis=1).astype(jnp.int64)


def need_64_bits() -> None:
    """Refuse to run where JAX would narrow 64-bit numbers silently, noise and whole numbers alike."""
    if jax.dtypes.canonicalize_dtype(np.float64) != np.float64:
        raise ValueError("sums with noise need 64 bits: run them inside jax.enable_x64(True)")


def inside(whole: Array, radius: Array) -> Array:
    """Whether each column of whole numbers, none above ``LARGEST_BOUND``, has an L2 norm of at most ``radius``.

    Exact in float64: the sum of squares is compared with a number below 2^53, whatever the order of addition (Lemma 1).
    """
    return jnp.sum(whole**2, axis=0) <= radius**2


FORWARD = 16
"""Up to so many parameters, gradients are taken one parameter at a time (forward mode), all records at once."""


def record_gradients(posterior: Posterior, flat: Array, unravel: Any, records: Any = None) -> Array:
    """∇ log p(xᵢ|θ) over the raveled θ, one row per record (all, or the ``records`` given): private."""
    records = posterior.data if records is None else records

    def log_likelihood(raveled: Array, record: Any) -> Array:
        return posterior.model.log_likelihood(unravel(raveled), record)

    def slope(along: Array, raveled: Array, record: Any) -> Array:
        return jax.jvp(lambda at: log_likelihood(at, record), (raveled,), (along,))[1]

    if flat.size <= FORWARD:
        try:
            forward = jax.vmap(lambda along: each_record(slope, (along, flat), records), out_axes=1)
            return forward(jnp.eye(flat.size, dtype=flat.dtype))
        except TypeError:  # a model with a rule of its own for reverse mode only
            pass
    return each_record(jax.grad(log_likelihood), (flat,), records)


def discrete_gaussian(words: Any, on: Any = jnp) -> Any:
    """Σⱼ 16ʲ Xⱼ from random 64-bit words of shape (…, DRAWS, 3): a discrete Gaussian of std ``NOISE_STD``.

    ``on`` is the library of the arrays: ``jnp`` within compiled programs, ``np`` on the host. Both give the same.
    """
    draws = table_draw(words[..., 0], words[..., 1], words[..., 2], on)
    return on.sum(draws * on.asarray(RATIO ** np.arange(DRAWS), np.int64), axis=-1)


def table_draw(high: Any, middle: Any, low: Any, on: Any = jnp) -> Any:
    """A discrete Gaussian of std ``BASE_STD`` from a uniform 192-bit integer, by bisection in the table."""
    table = on.asarray(thresholds())

    def halved(level: Any, index: Any) -> Any:
        step = 512 >> level
        a, b, c = on.moveaxis(table[index + step - 1], -1, 0)  # is the threshold ≤ the uniform, as 192-bit integers?
        passed = (a < high) | ((a == high) & ((b < middle) | ((b == middle) & (c <= low))))
        return on.where(passed, index + step, index)

    index = on.zeros(high.shape, np.int64)
    if on is np:
        for level in range(10):
            index = halved(level, index)
    else:
        index = jax.lax.fori_loop(0, 10, halved, index)
    return on.minimum(index, 2 * FARTHEST) - FARTHEST


@lru_cache(maxsize=1)
def thresholds() -> np.ndarray:
    """⌊2¹⁹² P(X ≤ k)⌋ for k from −FARTHEST, as three 64-bit words each, padded to 1024 rows by the largest integer."""
    with localcontext() as context:
        context.prec = 90
        weights = [(Decimal(-k * k) / (2 * BASE_STD**2)).exp() for k in range(-FARTHEST, FARTHEST + 1)]
        total, running, whole = sum(weights), Decimal(0), []
        for weight in weights[:-1]:
            running += weight
            whole.append(int(running / total * 2**192))
    whole += [2**192 - 1] * (1024 - len(whole))
    mask = 2**64 - 1
    return np.array([[value >> 128, (value >> 64) & mask, value & mask] for value in whole], np.uint64)
