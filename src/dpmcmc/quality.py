"""How good a release is, in its own terms: each method has its own quality, and none borrows another's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dpmcmc.plain import Plain

USABLE, WIDE, NOT_USABLE = "usable", "wide", "not usable"


@dataclass(frozen=True)
class Quality(Plain):
    """What a release says of its draws, from released quantities and public settings alone.

    Subclasses add their numbers as fields and say what they mean in :meth:`describe`.
    """

    diagnostics: ClassVar[tuple[str, ...]] = ()
    """Columns of ``az.summary`` that mean something for these draws."""

    @property
    def verdict(self) -> str:
        """``usable``, ``wide`` (the noise rivals what the records leave open) or ``not usable``."""
        raise NotImplementedError

    @property
    def reason(self) -> str:
        """Why, and what to do about it, in a sentence."""
        raise NotImplementedError

    def describe(self) -> str:
        """One or two sentences for the person who reads the release."""
        raise NotImplementedError
