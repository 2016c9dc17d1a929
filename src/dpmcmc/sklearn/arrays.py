"""Arrays of numbers from whatever scikit-learn's users pass, refused in words that say nothing of the values.

scikit-learn's own ``check_array`` quotes values in its messages: the text that is no number, the whole array where it
has one axis too few. Here messages name types and shapes, which are public, and of values only that some are refused.
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import DataConversionWarning


def matrix(X: Any) -> np.ndarray:
    """X as float64, one row a record; finite."""
    return as_numbers(rows(X), "X")


def rows(X: Any) -> np.ndarray:
    """X as an array of any type, one row a record."""
    array = as_array(X, "X")
    if array.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {array.ndim}D array instead: X has shape {array.shape}. Reshape your data either "
            "using array.reshape(-1, 1) if it has a single feature or array.reshape(1, -1) if it has a single sample"
        )
    for size, what in zip(array.shape, ("sample", "feature"), strict=True):
        if size == 0:
            raise ValueError(f"X has 0 {what}(s) (shape={array.shape}) while a minimum of 1 is required.")
    return array


def vector(y: Any) -> np.ndarray:
    """y as float64, one number a record; finite."""
    return as_numbers(column(y), "y")


def column(y: Any) -> np.ndarray:
    """y with one axis; a single column of a matrix is taken for one, with scikit-learn's warning."""
    array = as_array(y, "y")
    if array.ndim == 2 and array.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected; y.ravel() gives one",
            DataConversionWarning,
            stacklevel=4,
        )
        return array.ravel()
    if array.ndim != 1:
        raise ValueError(f"y should be a 1d array, got an array of shape {array.shape} instead")
    return array


def as_numbers(values: Any, name: str) -> np.ndarray:
    """Values as float64, finite: types that are not numbers, and values that are none, are refused."""
    array = as_array(values, name)
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} has dtype {array.dtype}")
    if array.dtype.kind not in "biufO":
        kind = array.dtype.type.__name__  # without the length of its longest text
        raise ValueError(f"{name} has dtype {kind}, and must hold numbers: encode it by a rule fixed beforehand")
    numbers = None
    with suppress(TypeError, ValueError, OverflowError), np.errstate(all="ignore"):
        numbers = array.astype(np.float64)
    if numbers is None:  # raised here, where no chain of causes holds an error that quotes a value
        raise TypeError(
            f"{name} has values that are no numbers (each argument must be a string of digits or a number): "
            "encode them by a rule fixed beforehand"
        )
    if not np.all(np.isfinite(numbers)):
        raise ValueError(
            f"Input {name} contains NaN or infinity: drop or impute such records by a rule fixed beforehand, or give "
            "bounds=dp.Schema(...), which declares what becomes of missing values"
        )
    return numbers


def as_array(values: Any, name: str) -> np.ndarray:
    """An array as it is, of any type; what has no axes, is sparse or hides values behind a mask is refused."""
    if sparse.issparse(values):
        raise TypeError(f"Sparse data was passed for {name}, but dense data is required: use {name}.toarray()")
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array: fill what is masked by a rule fixed beforehand")
    with suppress(TypeError, ValueError):
        return np.asarray(values)
    raise ValueError(f"{name} is no array: its rows must have one length, got {type(values).__name__}")
