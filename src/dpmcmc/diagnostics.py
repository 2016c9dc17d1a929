"""ArviZ, without the warnings that it prints when it is loaded."""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import Any


@lru_cache(maxsize=1)
def arviz() -> Any:
    """The module; its announcement of a future version is not for our users."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        import arviz as az
    return az
