"""ArviZ, without the announcements and warnings that it prints on the way."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any


@lru_cache(maxsize=1)
def arviz() -> Any:
    """The module; its announcement of a future version is not for our users."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        import arviz as az
    return az


@contextmanager
def quietly() -> Iterator[Any]:
    """The module, with its log and its warnings off: what a diagnostic cannot tell is NaN, and we say why ourselves."""
    log = logging.getLogger("arviz")
    before = log.level
    log.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield arviz()
    finally:
        log.setLevel(before)
