"""Functions of users that make records of tables, and what becomes of their errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from dpmcmc.records import Refused
from dpmcmc.sources.base import PyTree, SourceError

FAILED = (
    "encode failed on some rows of the table; what it said may hold a record, and is not passed on. Try it by itself "
    "on made-up rows: it is given a table that the encode method of a model or of a dp.Schema reads"
)

Encode = Callable[[Any], PyTree]


def encoded(encode: Encode, table: Any) -> PyTree:
    """``encode(table)`` as arrays.

    Guarantee: an error holds no cell. Refusals of a declared table are raised as they are, in fixed words; all else
    is one fixed message. Either is raised when the other error is gone, so that no chain of causes holds it.
    """
    failure: Exception = SourceError(FAILED)
    try:
        return jax.tree.map(np.asarray, encode(table))
    except Refused as refused:
        failure = type(refused)(*refused.args)
    except Exception:
        pass
    raise failure
