"""A problem of the bank: a model, and records for it from a seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.flatten_util import ravel_pytree

from dpmcmc_experiments.figures import rng_of

FAMILIES = (
    "logistic", "linear", "poisson", "negative binomial", "student-t", "hierarchical", "mixture",
    "ordinal", "categorical",
)  # fmt: skip
LARGEST_DELTA = 1e-6

Records = Any  # arrays with a common leading axis, as ``dp.sample`` takes them
Parameters = Any  # as the model's ``init``


@dataclass(frozen=True, eq=False)
class Problem:
    """What a release is asked for, and what is known of the right answer.

    - ``make_model()``: the model, made when it is first needed;
    - ``make(model, rng, folder)``: records, and the parameters they were drawn at, None if they were not drawn from
      the model. Real records use neither ``rng`` nor, unless ``file`` is given, ``folder``;
    - ``from_model``: whether records are drawn from the model, so that intervals can be held against the truth;
    - ``file``: what the folder of data sets must hold;
    - ``starts``: where to look for modes, raveled parameters, besides the model's own start;
    - ``warp``: raveled parameters as a function of others in which the posterior is nearer to a normal.
    """

    name: str
    family: str
    about: str
    make_model: Callable[[], Any]
    make: Callable[[Any, np.random.Generator, Path | None], tuple[Records, Parameters | None]]
    from_model: bool = False
    file: str = ""
    starts: tuple[tuple[float, ...], ...] = ()
    is_real: bool = False
    warp: Callable[[Any], Any] | None = None

    @cached_property
    def model(self) -> Any:
        return self.make_model()

    def is_available(self, folder: Path | None) -> bool:
        return not self.file or (folder is not None and (folder / self.file).exists())

    def data(self, seed: int = 0, folder: Path | None = None) -> Records:
        """Records of a data seed; real ones are the same for all."""
        return self.drawn(seed, folder)[0]

    def drawn(self, seed: int = 0, folder: Path | None = None) -> tuple[Records, np.ndarray | None]:
        """Records, and the raveled parameters they were drawn at (None unless drawn from the model)."""
        if not self.is_available(folder):
            raise FileNotFoundError(f"{self.name} is read from a folder: give --data with {self.file}")
        rng = rng_of("trust", self.name, 0 if self.is_real else seed)
        records, truth = self.make(self.model, rng, folder)
        if (truth is not None) != self.from_model:
            raise ValueError(f"{self.name}: from_model is {self.from_model}, but the truth is {truth!r}")
        return records, None if truth is None else raveled(truth)


def raveled(theta: Parameters) -> np.ndarray:
    """Parameters as one vector, in the order of a release's draws, in double precision."""
    with jax.enable_x64(True):
        flat, _ = ravel_pytree(jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), theta))
        return np.asarray(flat)


def parameter_names(theta: Parameters) -> list[str]:
    """A name for each entry of :func:`raveled`."""
    names = []
    for path, leaf in jax.tree_util.tree_flatten_with_path(theta)[0]:
        name = ".".join(str(getattr(entry, "key", getattr(entry, "idx", entry))) for entry in path) or "theta"
        size = int(np.size(leaf))
        names += [name] if np.ndim(leaf) == 0 else [f"{name}[{i}]" for i in range(size)]
    return names


def size_of(records: Records) -> int:
    return int(jax.tree.leaves(records)[0].shape[0])


def delta_of(n: int) -> float:
    """δ of all releases: 10⁻⁶, or 0.1/n where that is smaller (more than 10⁵ records)."""
    return min(LARGEST_DELTA, 0.1 / n)
