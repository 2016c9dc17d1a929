"""What a user gives as data, as a source where it is one: paths, and Ray's data sets."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from dpmcmc.sources.arrays import Arrays
from dpmcmc.sources.base import is_records
from dpmcmc.sources.files import Files
from dpmcmc.sources.ray import OnRay, is_dataset


def opened(data: Any, model: Any) -> Any:
    """Arrays mapped from a .npy file, or tables that ``model.encode`` reads, block by block; other data as they are."""
    if isinstance(data, str | os.PathLike):
        if _is_array(data):
            return np.load(data, mmap_mode="r")
        return Files(data, encoder(model, f"{os.fspath(data)!r} is a table"))
    if is_dataset(data):
        return OnRay(data, encoder(model, "a Ray data set is a table"))
    return data


def streamed(data: Any) -> bool:
    """Whether records are made of some rows of a table at a time, and not given as arrays, in memory or mapped."""
    if isinstance(data, str | os.PathLike):
        return not _is_array(data)
    return is_dataset(data) or (is_records(data) and not isinstance(data, Arrays))


def _is_array(path: str | os.PathLike[str]) -> bool:
    return Path(path).suffix == ".npy"


def encoder(model: Any, what: str) -> Any:
    """How a model makes records of some rows of a table."""
    encode = getattr(model, "encode", None)
    if model is None:
        raise TypeError(f"{what}: give the model as well, whose encode(table) makes records of it")
    if encode is None:
        raise TypeError(
            f"{what}, and {type(model).__name__} has no encode(table): give arrays, or dp.Files(path, encode) with a "
            "function that makes records of tables"
        )
    return encode
