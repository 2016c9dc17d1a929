"""A Gaussian fitted privately to the posterior by variational inference: a result, or the start of a chain."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from dpmcmc import files
from dpmcmc.arguments import positive, truth, whole
from dpmcmc.charge import Purse, check_guarantee, of_releases
from dpmcmc.files import sealed
from dpmcmc.fit_path import FitPath, compiled_gradients
from dpmcmc.geometry import geometry
from dpmcmc.mechanisms import stream
from dpmcmc.mechanisms.gaussian_sum import GaussianSum, record_gradients
from dpmcmc.mechanisms.totals import noisy_total
from dpmcmc.models.base import ModelLike, PyTree, check_model_like
from dpmcmc.models.units import unit_of
from dpmcmc.plain import Plain
from dpmcmc.plain_trees import packed, unpacked
from dpmcmc.posterior import Posterior, check_data
from dpmcmc.privacy import SUBSTITUTION, Budget, Event, Repeat
from dpmcmc.privacy.filter import LEAST_MULTIPLIER
from dpmcmc.randomness import RandomSource, check_seed
from dpmcmc.raveled import RaveledModel
from dpmcmc.receipts import Guarantee, Receipt, receipts_of
from dpmcmc.running import check_kept, run_paid
from dpmcmc.sources import like

if TYPE_CHECKING:
    from dpmcmc.ledger import Ledger

CLIP = 2.0  # over the root mean square of a record's gradient in the model's own metric


@dataclass(frozen=True, eq=False)
class Fit:
    """A Gaussian N(``mean``, ``root`` ``root``ᵀ) over the raveled parameters, private, with what it cost.

    ``position`` is the mean as the model's parameters: give it to ``dp.sample`` as ``init``, and the fit as ``spent``.
    ``root`` scales a random walk.
    """

    mean: np.ndarray
    root: np.ndarray
    position: PyTree
    receipts: tuple[Receipt, ...]
    guarantee: Guarantee | None
    method: str

    @property
    def covariance(self) -> np.ndarray:
        covariance: np.ndarray = self.root @ self.root.T
        return covariance

    @property
    def event(self) -> Event:
        """What the fit itself did."""
        event = self.receipts[-1].event
        assert event is not None
        return event

    def check(self) -> None:
        """Refuse (ValueError) a fit whose parts are not of one fit, or whose guarantee its receipts do not pay for."""
        size = sum(np.size(leaf) for leaf in jax.tree.leaves(self.position))
        if self.mean.shape != (size,) or self.root.shape != (size, size):
            raise ValueError(f"{size} parameters have a mean of {self.mean.shape} and a root of {self.root.shape}")
        if not all(part.dtype == np.float64 and np.isfinite(part).all() for part in (self.mean, self.root)):
            raise ValueError("its mean and root must be finite numbers of type float64")
        if not self.receipts or self.receipts[-1].event is None:
            raise ValueError("it has no receipt of what it did")
        if self.guarantee is not None:
            check_guarantee(self.guarantee, self.receipts)

    def __str__(self) -> str:
        promise = f"{self.guarantee}" if self.guarantee else "NO PRIVACY GUARANTEE (made with seed=)"
        spread = ", ".join(
            f"{m:.4g} ± {s:.2g}" for m, s in zip(self.mean, np.sqrt(np.diag(self.covariance)), strict=True)
        )
        return f"{promise}.\nGaussian fit ({self.method}): {spread}."

    def save(self, path: str | Path) -> Path:
        """Write everything to one ``.npz`` file, at once or not at all, for its owner alone. No pickle."""
        path = Path(path)
        if path.suffix != ".npz":
            raise ValueError(f"a fit is saved as .npz, got {str(path)!r}")
        about = {
            "guarantee": None if self.guarantee is None else self.guarantee.to_dict(),
            "receipts": [receipt.to_dict() for receipt in self.receipts],
            "position": packed(jax.tree.map(np.asarray, self.position)).to_dict(),
            "method": self.method,
        }
        files.write(path, sealed.pack("fit", {"mean": self.mean, "root": self.root}, about))
        return path

    @classmethod
    def load(cls, path: str | Path) -> Fit:
        """The fit that :meth:`save` wrote; a :class:`dpmcmc.FileError` if anything in it cannot be."""
        found = sealed.unpack("fit", files.read(Path(path)), path)
        try:
            about = found.about
            fit = cls(
                found.arrays["mean"],
                found.arrays["root"],
                unpacked(Plain.from_dict(about["position"])),  # type: ignore[arg-type]
                tuple(Receipt.from_dict(receipt) for receipt in about["receipts"]),
                None if about["guarantee"] is None else Guarantee.from_dict(about["guarantee"]),
                str(about["method"]),
            )
            fit.check()
        except Exception as error:  # the digest is right, so somebody made it like this
            fault = str(error) or type(error).__name__
            raise files.FileError(f"{path} is not a fit that dpmcmc saved: {fault}") from error
        return fit


@dataclass(frozen=True, eq=False)
class PlannedFit:
    """A fit whose cost fits the budget: what will be released, ``steps`` times, and the space that it moves in."""

    total: GaussianSum
    steps: int
    full_rank: bool
    scale: np.ndarray
    origin: np.ndarray
    unravel: Any
    guarantee: Guarantee | None
    receipts: tuple[Receipt, ...]

    def run(self, posterior: Posterior, source: RandomSource) -> Fit:
        """The fit to the posterior's records."""
        with jax.enable_x64(True):
            keys = source.random_words("noise", (self.steps, *stream.KEY_SHAPE))
            public = jax.random.key(int(source.random_words("path", (1,))[0] >> 1))
            z = np.asarray(jax.random.normal(public, (self.steps, len(self.origin))), np.float64)
            mean, root = self._fitted(posterior, keys, z)
        centre = self.origin + self.scale @ mean
        with jax.enable_x64(True):
            position = jax.device_get(self.unravel(jnp.asarray(centre)))
        method = "full-rank" if self.full_rank else "mean-field"
        guarantee = None if source.reproducible else self.guarantee
        *earlier, last = self.receipts
        receipts = (*earlier, replace(last, reproducible=source.reproducible))
        return Fit(centre, self.scale @ root, position, receipts, guarantee, method)

    def _fitted(self, posterior: Posterior, keys: np.ndarray, z: np.ndarray) -> Any:
        """A pass over the records for every step; all else is small, and public."""
        path = FitPath.of(posterior, self.scale, self.origin, self.unravel, self.steps, self.full_rank)
        program = compiled_gradients(RaveledModel.of(posterior.model, like(posterior.types, 1)))
        place, step, state = jax.jit(path.place), jax.jit(path.step), path.begin()
        states = []
        for key, now in zip(keys, z, strict=True):
            asked = (np.asarray(place(state, now)), self.scale, self.total.bound, self.total.unit)
            state = step(state, now, noisy_total(posterior.records, program, asked, key, self.total.unit))
            states.append(jax.device_get(state))
        return path.end(states)


def dpvi(
    model: ModelLike,
    data: PyTree,
    epsilon: float,
    delta: float,
    *,
    steps: int = 200,
    full_rank: bool = True,
    temperature: float = 1.0,
    clip: float = CLIP,
    public_data: PyTree | None = None,
    relation: str = SUBSTITUTION,
    spent: Any = (),
    ledger: Ledger | None = None,
    save_to: str | Path | None = None,
    seed: int | None = None,
) -> Fit:
    """Fit a Gaussian to the posterior by variational inference with noisy clipped gradients (DPVI).

    Each step draws one public θ = mean + root·z, releases Σ clip(∇ log p(xᵢ|θ)) with Gaussian noise, and takes a step
    of Adam on the evidence bound. As z is public, the gradients for the mean and for the root, diagonal (``full_rank``
    False) or triangular, all follow from that one sum: a root costs no privacy, and only the d numbers of a score are
    clipped.

    All is done in the model's own metric (:func:`dpmcmc.geometry.geometry`, which simulates records or takes public
    ones as ``public_data``): ``clip`` is in units of a record's typical gradient there.

    - ``steps``: more steps travel farther with more noise each; the budget is divided among them.
    - ``relation``: what of a record is protected, its values or whether it is there, as in :func:`dpmcmc.sample`.
    - ``spent``: what was released from the same records before and shares the budget, as in :func:`dpmcmc.sample`.
    - ``ledger``, ``save_to``: the ledger that is charged, and a new ``.npz`` file for the fit, as in
      :func:`dpmcmc.sample`; :meth:`Fit.load` reads it.
    - ``seed``: repeatable noise for tests and public data; no guarantee is then issued.

    Guarantee: ``steps`` Gaussian releases under the ``relation``, (``epsilon``, ``delta``) altogether.
    Reference: Jälkö, Dikmen & Honkela (2017); Heikkilä et al. (2019), supplement, as the start of their chains.
    """
    budget = Budget(epsilon, delta, relation)
    check_model_like("model", model)
    steps, full_rank = whole("steps", steps), truth("full_rank", full_rank)
    positive("clip", clip)
    check_seed(seed)
    check_kept(ledger, save_to)
    receipts_of(spent)
    posterior = Posterior.check(model, data, temperature)
    n = posterior.n
    origin, scale, unravel, typical = coordinates(model, temperature * n, public_data)
    with jax.enable_x64(True):  # refuses what it cannot take
        few, nothing = like(posterior.types, 2), Posterior(model, None, temperature)
        jax.eval_shape(lambda records: record_gradients(nothing, jnp.asarray(origin), unravel, records), few)
    purse = Purse(budget, of_releases(steps), receipts_of(spent), unit_of(model))
    # steps Gaussians of multiplier m are one with μ = √steps/m (Dong, Roth & Su 2022)
    total = GaussianSum.of_multiplier(clip * typical, max(math.sqrt(steps) / purse.mu, LEAST_MULTIPLIER), relation)
    guarantee, receipt = purse.charge("variational fit", Repeat(total.event(n), steps))
    receipts, source = (*purse.earlier, receipt), RandomSource(seed)
    planned = PlannedFit(total, steps, full_rank, scale, origin, unravel, guarantee, receipts)
    fit: Fit = run_paid(
        planned, posterior, source, lambda booked: booked.run(posterior, source), ledger=ledger, save_to=save_to
    )
    return fit


def coordinates(model: ModelLike, records: float, public_data: PyTree | None = None) -> tuple[Any, Any, Any, float]:
    """Origin and scale of coordinates θ = origin + scale·φ in which the posterior has about unit covariance, what makes
    parameters of a vector, and the root mean square of a record's gradient there. No record enters."""
    shape = geometry(model, None if public_data is None else check_data(public_data))
    with jax.enable_x64(True):
        flat, unravel = ravel_pytree(shape.theta)
    scale = shape.posterior_root(records)
    typical = math.sqrt(max(np.trace(scale.T @ shape.fisher @ scale), np.finfo(float).tiny))
    return np.asarray(flat, np.float64), scale, unravel, typical
