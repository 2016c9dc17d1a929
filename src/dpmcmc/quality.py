"""How good a release is, in its own terms: each method has its own quality, and none borrows another's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dpmcmc.plain import Plain


@dataclass(frozen=True)
class Quality(Plain):
    """What a release says of its draws, from released quantities and public settings alone.

    Subclasses add their numbers as fields and say what they mean in :meth:`describe`.
    """

    diagnostics: ClassVar[tuple[str, ...]] = ()
    """Columns of ``az.summary`` that mean something for these draws."""

    def describe(self) -> str:
        """One or two sentences for the person who reads the release."""
        raise NotImplementedError
