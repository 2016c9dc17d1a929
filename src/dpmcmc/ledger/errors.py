"""What can be wrong with a ledger, in words of ours: whoever opens one never meets the database's own errors."""

from __future__ import annotations


class LedgerError(ValueError):
    """A ledger that cannot be used as asked: it is not there, cannot be written, or does not take what was given."""


class LedgerDamaged(LedgerError):
    """A ledger whose entries are not what was written. ``entry`` is the number of the first that is wrong."""

    def __init__(self, message: str, entry: int | None = None) -> None:
        super().__init__(message)
        self.entry = entry
