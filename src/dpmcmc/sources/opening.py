"""What a user gives as data, as a source where it is one: paths, and Ray's data sets."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from dpmcmc.sources.files import Files
from dpmcmc.sources.ray import OnRay, is_dataset


def opened(data: Any, model: Any) -> Any:
    """Arrays mapped from a .npy file, or tables that ``model.encode`` reads, block by block; other data as they are."""
    if isinstance(data, str | os.PathLike):
        if Path(data).suffix == ".npy":
            return np.load(data, mmap_mode="r")
        return Files(data, encoder(model, f"{os.fspath(data)!r} is a table"))
    if is_dataset(data):
        return OnRay(data, encoder(model, "a Ray data set is a table"))
    return data


def encoder(model: Any, what: str) -> Any:
    """How a model makes records of some rows of a table."""
    if hasattr(model, "most") and hasattr(model, "group"):
        raise TypeError(
            f"{what}, and records of one person may be anywhere in it, so persons cannot be read block by block: give "
            "model.encode(table), or arrays of grouped persons mapped from files"
        )
    encode = getattr(model, "encode", None)
    if encode is None:
        raise TypeError(
            f"{what}, and {type(model).__name__} has no encode(table): give arrays, or dp.Files(path, encode) with a "
            "function that makes records of tables"
        )
    return encode
