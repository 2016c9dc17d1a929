"""Whether records hold NaN or infinity, found block by block."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from dpmcmc.sources.base import PyTree, Records


def not_finite(block: PyTree, count: int, arguments: Any = ()) -> np.ndarray:
    """How many values of each column of each array are NaN or infinite, one after the other: private."""
    found = []
    for leaf in jax.tree.leaves(block):
        if np.issubdtype(leaf.dtype, np.inexact):
            wrong = ~np.isfinite(leaf[:count])
            found.append(wrong.reshape(count, -1).sum(axis=0, dtype=np.int64))
    return np.concatenate(found) if found else np.zeros(0, np.int64)


def check_finite(records: Records) -> None:
    """Refuse records with NaN or infinity, by their number in each column. Reads all records once."""
    wrong = records.total(not_finite)
    if not wrong.any():
        return
    listed = []
    for path, leaf in jax.tree_util.tree_flatten_with_path(records.types)[0]:
        if np.issubdtype(leaf.dtype, np.inexact):
            own, wrong = np.split(wrong, [int(np.prod(leaf.shape, dtype=int))])
            if own.any():
                listed.append(f"data{jax.tree_util.keystr(path)}: {_counted(own, records.n, leaf.ndim)}")
    raise ValueError(
        f"the data hold NaN or infinity ({'; '.join(listed)}); drop or impute such records by a rule fixed beforehand"
    )


def _counted(own: np.ndarray, n: int, dimensions: int) -> str:
    if dimensions == 0:
        return f"{own.sum()} of {n}"
    columns = ", ".join(f"column {j}: {count}" for j, count in enumerate(own) if count)
    return f"{own.sum()} values ({columns})"
