"""A release as a file: what goes in, and what must hold of what comes out.

A loaded release is the one that was saved, or an error. Beyond the digest, everything is checked that can be, against
whoever edits a file and computes its digest again: every array has the name, type and shape that the file lists, draws
have the chains and lengths of the settings, and the guarantee is one for which its receipts pay
(:func:`dpmcmc.charge.check_guarantee`). Whether receipts and draws are those of a run is known by a signature alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpmcmc.charge import check_guarantee
from dpmcmc.plain import Plain
from dpmcmc.quality import Quality
from dpmcmc.receipts import Guarantee, Receipt

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT = 4
_ROOMS = ("draws", "sample_stats")
_PARTS = {"format", "arrays", "guarantee", "receipts", "quality", "method", "settings", "notes", "no_guarantee", "sums"}


def contents(fields: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Arrays and JSON of a release, from its fields by name."""
    arrays = {f"{room}/{name}": np.asarray(values) for room in _ROOMS for name, values in fields[room].items()}
    for name, values in arrays.items():
        if values.dtype.kind not in "biuf":
            raise TypeError(f"{name} holds {values.dtype}; a release saves numbers and booleans")
    about = {
        "format": FORMAT,
        "arrays": _listing(arrays),
        "guarantee": _plain(fields["guarantee"]),
        "receipts": [receipt.to_dict() for receipt in fields["receipts"]],
        "quality": fields["quality"].to_dict(),
        "method": fields["method"],
        "settings": fields["settings"],
        "notes": list(fields["notes"]),
        "no_guarantee": fields["no_guarantee"],
        "sums": _plain(fields["sums"]),
    }
    return arrays, about


def fields(arrays: dict[str, np.ndarray], about: dict[str, Any]) -> dict[str, Any]:
    """The fields of the release that was saved; ValueError, or what a parser raises, if it cannot have been."""
    if about.get("format") != FORMAT:
        raise ValueError(f"it has format {about.get('format')!r}, and this version reads format {FORMAT}")
    if about.keys() != _PARTS:
        raise ValueError(f"its parts are {sorted(about)}")
    if about["arrays"] != _listing(arrays):
        raise ValueError("its arrays are not those that it lists")
    for name, kind in (("method", str), ("settings", dict), ("notes", list), ("receipts", list), ("no_guarantee", str)):
        if not isinstance(about[name], kind):
            raise ValueError(f"{name} is no {kind.__name__}")
    if not all(isinstance(note, str) for note in about["notes"]):
        raise ValueError("a note is not text")
    found = {
        "guarantee": None if about["guarantee"] is None else Guarantee.from_dict(about["guarantee"]),
        "receipts": tuple(Receipt.from_dict(receipt) for receipt in about["receipts"]),
        "quality": Quality.from_dict(about["quality"]),
        "method": about["method"],
        "settings": about["settings"],
        "notes": tuple(about["notes"]),
        "no_guarantee": about["no_guarantee"],
        "sums": None if about["sums"] is None else Plain.from_dict(about["sums"]),
    }
    for room in _ROOMS:
        found[room] = {
            name.removeprefix(f"{room}/"): values for name, values in arrays.items() if name.startswith(f"{room}/")
        }
    _check_shapes(found["draws"], found["sample_stats"], found["settings"])
    _check_claim(found["guarantee"], found["receipts"], found["no_guarantee"])
    return found


def _plain(fact: Plain | None) -> dict[str, Any] | None:
    return None if fact is None else fact.to_dict()


def _listing(arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Names, types and shapes, as JSON has them."""
    return {name: [values.dtype.str, list(values.shape)] for name, values in arrays.items()}


def _check_shapes(draws: dict[str, np.ndarray], stats: dict[str, np.ndarray], settings: dict[str, Any]) -> None:
    """Draws are (chain, draw, ...): all of one number of chains and draws, which the settings state."""
    if not draws:
        raise ValueError("it has no draws")
    shapes = {values.shape[:2] for values in (*draws.values(), *stats.values())}
    if len(shapes) > 1 or any(len(shape) < 2 for shape in shapes):
        raise ValueError(f"its arrays begin with different chains and draws: {sorted(shapes)}")
    ((chains, count),) = shapes
    whole = {name: settings[name] for name in ("chains", "draws", "steps", "warmup", "n") if name in settings}
    if not all(isinstance(value, int) and not isinstance(value, bool) for value in whole.values()):
        raise ValueError(f"its settings have numbers that are not whole: {whole}")
    stated = (whole.get("chains", chains), whole.get("draws", count))
    if stated != (chains, count) or count > whole.get("steps", count) or not 0 <= whole.get("warmup", 0) <= count:
        raise ValueError(f"its draws are {chains} chains of {count}, and its settings say {whole}")


def _check_claim(guarantee: Guarantee | None, receipts: tuple[Receipt, ...], no_guarantee: str) -> None:
    if guarantee is None:
        return
    if no_guarantee:
        raise ValueError(f"it has a guarantee and says why it has none: {no_guarantee!r:.80}")
    try:
        check_guarantee(guarantee, receipts)
    except (ValueError, ArithmeticError) as error:
        raise ValueError(f"its guarantee does not follow from its receipts: {error}") from error
