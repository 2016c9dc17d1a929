"""The release: everything that leaves, and nothing else that depends on the records."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from dpmcmc import files, saved
from dpmcmc.arguments import instance
from dpmcmc.diagnostics import arviz, summary
from dpmcmc.files import sealed, signatures
from dpmcmc.notebook import Shown
from dpmcmc.plain import Plain
from dpmcmc.predicting import Predicting
from dpmcmc.privacy import ZERO_OUT
from dpmcmc.quality import Quality
from dpmcmc.receipts import Guarantee, Receipt, round_up

_FEWEST = 4  # draws that a summary can be made of


@dataclass(frozen=True)
class Sums(Plain):
    """What was released of the records, kept so that draws can be made again: with another prior, or more of them."""

    def draws(self, model: Any, chains: int, draws: int, seed: int) -> np.ndarray:
        """Draws (chain, draw, parameter) of the posterior with the prior of ``model``."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Release(Predicting, Shown):
    """Posterior draws with their guarantee, receipts and quality.

    - ``draws``: a dictionary from parameter names to arrays (chain, draw, ...). Warm-up is included: use
      ``draws[name][:, release.warmup:]`` or :meth:`to_arviz`;
    - ``guarantee``: what holds for all of this together, or None (``no_guarantee`` then says why);
    - ``quality``: how good the draws are, as far as released quantities can tell;
    - ``receipts``, ``method``, ``settings``, ``notes``: what was charged, what ran, its public settings, and what to
      keep in mind;
    - ``sample_stats``: what was released beside the draws: a chain's accept bits, nothing for a likelihood release;
    - ``sums``: the released sums that the draws were made from, where the method keeps them (:meth:`redraw`);
    - ``model``: the model that was sampled, which answers :meth:`predict` and the like. Files and pickles do not hold
      it: see :meth:`with_model`.

    Every method is post-processing: it may be called any number of times at no cost.
    """

    draws: dict[str, np.ndarray]
    guarantee: Guarantee | None
    receipts: tuple[Receipt, ...]
    quality: Quality
    method: str
    settings: dict[str, Any] = field(default_factory=dict)
    sample_stats: dict[str, np.ndarray] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    no_guarantee: str = ""
    sums: Sums | None = None
    model: Any = None

    def __post_init__(self) -> None:
        if isinstance(declaration := getattr(self.model, "declaration", None), str):
            object.__setattr__(self, "settings", self.settings | {"declaration": declaration})
        study = getattr(self.model, "study", None)
        if isinstance(study, dict) and "study" not in self.settings:  # else it is kept, with the versions that ran
            object.__setattr__(self, "settings", self.settings | {"study": study})

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"model": None}  # models may hold functions, which cannot be pickled

    def with_model(self, model: Any) -> Release:
        """The release with the model that was sampled, which a file does not hold.

            release = dp.Release.load("visits.npz").with_model(model)

        A model with other parameters is refused, and so is one with another ``declaration`` (all that its parameters
        mean, as text), where both have one.
        """
        names = list(self.draws) if callable(model.init) else list(named_draws(model.init))
        if set(names) != set(self.draws):
            raise ValueError(
                f"the release has the parameters {', '.join(self.draws)}, and the model {', '.join(names)}: "
                "give the model that was sampled"
            )
        made, given = self.settings.get("declaration"), getattr(model, "declaration", None)
        if None not in (made, given) and made != given:
            raise ValueError(
                "the release is of another model, or of a table that was declared otherwise: give the model that was "
                f"sampled, which is\n{made}\nand not\n{given}"
            )
        return replace(self, model=model)

    @property
    def warmup(self) -> int:
        """Draws at the start of each chain that summaries leave out."""
        return int(self.settings.get("warmup", 0))

    @property
    def count(self) -> int:
        """Draws of each chain, warm-up included."""
        draws: int = next(iter(self.draws.values())).shape[1]
        return draws

    def attributes(self) -> dict[str, Any]:
        """Guarantee, quality and receipts as plain values, which go wherever the draws go."""
        found: dict[str, Any] = {
            "statement": self.statement(),
            "receipts": json.dumps([r.to_dict() for r in self.receipts]),
            "quality": json.dumps(self.quality.to_dict()),
            "verdict": self.quality.verdict,
        }
        if self.guarantee is not None:
            found |= {f"guarantee_{key}": value for key, value in asdict(self.guarantee).items()}
        return found

    def to_arviz(self) -> Any:
        """ArviZ InferenceData: warm-up in a group of its own; guarantee, quality and receipts in the attributes."""
        split, attributes = self.warmup, self.attributes()

        def part(arrays: dict[str, np.ndarray], which: slice) -> dict[str, np.ndarray] | None:
            return {name: values[:, which] for name, values in arrays.items()} or None

        warmup = slice(0, split)
        return arviz().from_dict(
            posterior=part(self.draws, slice(split, None)),
            sample_stats=part(self.sample_stats, slice(split, None)),
            warmup_posterior=part(self.draws, warmup) if split else None,
            warmup_sample_stats=part(self.sample_stats, warmup) if split else None,
            save_warmup=bool(split),
            attrs=attributes,
            posterior_attrs=attributes,
        )

    @property
    def kept(self) -> dict[str, np.ndarray]:
        """Draws without warm-up."""
        return {name: values[:, self.warmup :] for name, values in self.draws.items()}

    def summary(self) -> Any:
        """Means, standard deviations and 90 % intervals as a data frame, with diagnostics where draws are a chain."""
        return summary(self.kept, self.quality.diagnostics)

    def statement(self) -> str:
        """The guarantee and what ran, in words."""
        if self.guarantee is None:
            lines = [f"NO PRIVACY GUARANTEE: {self.no_guarantee or 'the algorithm is not private'}."]
        else:
            lines = [
                f"{self.guarantee}.",
                *([] if self.guarantee.relation != ZERO_OUT else [_of_values(self.guarantee)]),
                "The guarantee covers everything in this release (draws, summaries, quality figures, accept decisions) "
                "however accurate they are. It does not cover checkpoint files, error messages or other runs on the "
                f"same records. Accounting: {self.guarantee.method}; rounding errors are included "
                f"({round_up(self.guarantee.arithmetic, 2)} of epsilon).",
            ]
        return "\n".join([*lines, f"Method: {self.method}.", *self.notes])

    def __str__(self) -> str:
        verdict = f"Verdict: {self.quality.verdict}. {self.quality.reason}"
        if self.count - self.warmup < _FEWEST:
            return f"{verdict}\n{self.statement()}\nToo few draws for a summary."
        table = self.summary().to_string(float_format=lambda value: f"{value:.3g}")
        return f"{verdict}\n{self.statement()}\n\n{table}\n\n{self.quality.describe()}"

    __repr__ = __str__

    def redraw(
        self, model: Any = None, *, draws: int | None = None, chains: int | None = None, seed: int = 0
    ) -> Release:
        """New draws from the sums that were released, with the prior of ``model``, at no cost.

        ``model`` is the one that was sampled, which need not be given, or one that differs from it in its prior alone.
        Draws are not secret once the sums are released, so ``seed`` may be anything.
        """
        if self.sums is None:
            raise ValueError("this release keeps no sums to draw from again; chains of decisions have none")
        model = self.with_model(self.known_model(model)).model
        old = next(iter(self.draws.values())).shape
        made = self.sums.draws(model, chains or old[0], draws or old[1], seed)
        names = [(name, values.shape[2:]) for name, values in self.draws.items()]
        ends = np.cumsum([int(np.prod(shape, dtype=int)) for _, shape in names])
        parts = np.split(made, ends[:-1], axis=2)
        named = {name: part.reshape(*made.shape[:2], *s) for (name, s), part in zip(names, parts, strict=True)}
        settings = self.settings | {"chains": made.shape[0], "draws": made.shape[1]}
        method = f"{self.method}; drawn again from the released sums, {made.shape[0]} × {made.shape[1]} draws"
        note = "Verdict and quality are those of the first draws, with the prior of the model that was sampled."
        return replace(self, draws=named, settings=settings, method=method, notes=(*self.notes, note), model=model)

    def save(self, path: str | Path, *, key: str | Path | None = None) -> Path:
        """Write everything to one ``.npz`` file, at once or not at all, for its owner alone. No pickle.

        ``key``: the PEM file of an Ed25519 private key that signs the release (``dpmcmc keys`` makes one).
        """
        path = Path(path)
        if path.suffix != ".npz":
            raise ValueError(f"a release is saved as .npz, got {str(path)!r}")
        content = sealed.pack("release", *saved.contents(vars(self)))
        if key is not None:
            content = sealed.signed(content, signatures.sign(sealed.seal_of(content), key))
        files.write(path, content)
        return path

    @classmethod
    def load(cls, path: str | Path, *, trusted: str | Path | None = None) -> Release:
        """The release that :meth:`save` wrote; a :class:`dpmcmc.FileError` if anything in it cannot be.

        Its digest is checked, and its guarantee is computed again from its receipts (seconds for long chains). With
        ``trusted``, the PEM file of a public key, it must also be signed by the holder of that key: without, whoever
        can change the file can change receipts and draws as well.
        """
        path = Path(instance("path", path, (str, os.PathLike), "the path of a saved release"))
        return cls.of_content(files.read(path), path, trusted)

    @classmethod
    def of_content(cls, content: bytes, path: str | Path, trusted: str | Path | None = None) -> Release:
        """The release in the bytes of a file, which ``path`` names in errors: what :meth:`load` does with them."""
        found = sealed.unpack("release", content, path)
        if trusted is not None and not any(found.extra):
            raise files.FileError(f"{path} is not signed; it was to be, by the key in {trusted}")
        if trusted is not None and not signatures.verify(found.seal, found.extra, trusted):
            raise files.FileError(f"{path} was not signed by the key in {trusted}, or it was changed since")
        try:
            release = cls(**saved.fields(found.arrays, found.about))
            if not isinstance(release.sums, Sums | None):
                raise ValueError(f"its sums are a {type(release.sums).__name__}")
            for part in (release.statement, release.quality.describe):
                part()  # what cannot be printed is refused here
        except Exception as error:  # the digest is right, so somebody made it like this
            fault = str(error) or type(error).__name__
            raise files.FileError(f"{path} is not a release that dpmcmc saved: {fault}") from error
        return release


def _of_values(guarantee: Guarantee) -> str:
    """What a guarantee of presence says of values."""
    epsilon, delta = map(round_up, guarantee.under_substitution())
    return (
        f"The values of what is there are protected as well, less: ({epsilon}, {delta}) under substitution. "
        "Do not compare epsilon with that of a substitution guarantee."
    )


def issued(plan: Any, reproducible: bool) -> dict[str, Any]:
    """What a release takes from its plan: the model, the receipts, and the guarantee or why there is none."""
    guarantee = plan.guarantee
    if guarantee is None:
        why = "the algorithm is not private, or its arithmetic is not proven at this cost"
    elif reproducible:
        why = f"this run was made with seed=, so its noise can be recomputed; without a seed it would be {guarantee}"
    else:
        return {"model": plan.model, "guarantee": guarantee, "receipts": plan.receipts}
    *earlier, last = plan.receipts
    receipts = (*earlier, replace(last, reproducible=reproducible))
    return {"model": plan.model, "guarantee": None, "no_guarantee": why, "receipts": receipts}


def named_draws(positions: Any) -> dict[str, np.ndarray]:
    """A pytree of draws (chain, draw, ...) by parameter: a['b'][0] is called a.b.0, a bare array theta."""
    import jax

    def name(path: Any) -> str:
        parts = [str(getattr(entry, "key", getattr(entry, "idx", getattr(entry, "name", entry)))) for entry in path]
        return ".".join(parts) or "theta"

    return {name(path): np.asarray(leaf) for path, leaf in jax.tree_util.tree_flatten_with_path(positions)[0]}
