"""Records that can be saved: arrays, and dictionaries, lists and tuples of them, as plain facts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpmcmc.models.base import PyTree
from dpmcmc.plain import Plain


@dataclass(frozen=True)
class PlainArray(Plain):
    """An array as plain numbers."""

    dtype: str
    shape: tuple[int, ...]
    values: tuple[float, ...]

    @classmethod
    def of(cls, array: Any) -> PlainArray:
        array = np.asarray(array)
        return cls(array.dtype.str, array.shape, tuple(array.ravel().tolist()))

    def array(self) -> np.ndarray:
        return np.array(self.values, dtype=np.dtype(self.dtype)).reshape(self.shape)


@dataclass(frozen=True)
class PlainTree(Plain):
    """A dictionary (with ``names``), a list or a tuple of arrays and of such trees."""

    container: str
    names: tuple[str, ...]
    parts: tuple[PlainArray | PlainTree, ...]

    def tree(self) -> PyTree:
        parts = [unpacked(part) for part in self.parts]
        if self.container == "dict":
            return dict(zip(self.names, parts, strict=True))
        return parts if self.container == "list" else tuple(parts)


def packed(tree: PyTree) -> PlainArray | PlainTree:
    """A pytree of arrays as plain facts; other containers than dictionaries by string, lists and tuples are refused."""
    if type(tree) is dict and all(type(name) is str for name in tree):
        return PlainTree("dict", tuple(tree), tuple(map(packed, tree.values())))
    if type(tree) in (list, tuple):
        return PlainTree(type(tree).__name__, (), tuple(map(packed, tree)))
    if not hasattr(tree, "dtype"):
        raise TypeError(f"records in a {type(tree).__name__} cannot be kept")
    return PlainArray.of(tree)


def unpacked(plain: PlainArray | PlainTree) -> PyTree:
    return plain.array() if isinstance(plain, PlainArray) else plain.tree()
