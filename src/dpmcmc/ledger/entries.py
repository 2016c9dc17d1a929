"""The entries of a ledger: what each says, as text, and the chain of digests that ties every one to all before it.

An entry is a line of JSON. Its digest is SHA-256 over the digest of the entry before and the line itself, so that a
change of any line changes every later digest: who keeps the last one (the *head*) can tell whether anything before it
was changed, removed, added or put in another order.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any, ClassVar

from dpmcmc.ledger.errors import LedgerDamaged

FORMAT = 1
FIRST = hashlib.sha256(b"dpmcmc ledger").hexdigest()
"""The digest before the first entry."""


def digest_after(before: str, line: str) -> str:
    """The digest of an entry, given that of the entry before it."""
    return hashlib.sha256(f"{before}\n{line}".encode()).hexdigest()


class Entry:
    """One line of a ledger. Numbers must be finite and not negative: no entry can lower what was spent."""

    kind: ClassVar[str]
    _kinds: ClassVar[dict[str, type[Entry]]] = {}

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        Entry._kinds[cls.kind] = cls

    def line(self) -> str:
        """The entry as a line of JSON."""
        return json.dumps({"kind": self.kind, **asdict(self)}, sort_keys=True, allow_nan=False)  # type: ignore[call-overload]


def entry_of(line: str, number: int) -> Any:
    """The entry that a line holds; :class:`LedgerDamaged`, naming it, if it holds none."""
    try:
        given = json.loads(line)
        kind = Entry._kinds[given.pop("kind")]
        return kind(**{field.name: _checked(field, given) for field in fields(kind)})  # type: ignore[arg-type]
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, OverflowError):
        raise LedgerDamaged(f"entry {number} is not one that this version of dpmcmc writes", number) from None


_TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float": (int, float),
    "dict[str, Any]": (dict,),
    "tuple[str, ...]": (list,),
}


def _checked(field: Any, given: dict[str, Any]) -> Any:
    """A field of the type that it is declared with; for numbers, finite and not negative."""
    if field.name not in given and field.default is not MISSING:
        return field.default
    value: Any = given[field.name]
    if isinstance(value, bool) or not isinstance(value, _TYPES[field.type]):
        raise TypeError
    if isinstance(value, int | float) and not (math.isfinite(value) and value >= 0):
        raise ValueError
    if isinstance(value, list):
        if not all(isinstance(one, str) for one in value):
            raise TypeError
        return tuple(value)
    return float(given[field.name]) if field.type == "float" else value


@dataclass(frozen=True)
class Opening(Entry):
    """The first entry: the data set, whom the ledger protects, its budget, and the rule that holds for all of it.

    ``rule`` names the filter; ``log_error`` and ``tail`` are set aside for finite precision, whatever runs. ``key`` is
    a hash of the secret key of fingerprints.
    """

    kind = "open"

    format: int
    dataset: str
    epsilon: float
    delta: float
    unit: str
    relation: str
    rule: str
    log_error: float
    tail: float
    key: str
    at: str
    by: str


@dataclass(frozen=True)
class Reservation(Entry):
    """A charge, written before a record is read: spent from then on, whatever becomes of the run.

    ``zcdp`` is its price, ``receipt`` what it is the price of. ``shape`` describes the records as far as that is
    public, ``records`` are their fingerprints. ``checkpoint`` is the file from which the run can go on.
    """

    kind = "reserve"

    name: str
    purpose: str
    zcdp: float
    log_error: float
    tail: float
    receipt: dict[str, Any]
    n: int
    shape: str
    records: tuple[str, ...]
    checkpoint: str
    at: str
    by: str


@dataclass(frozen=True)
class Settlement(Entry):
    """The release of reservation ``of`` is finished and stored: in a file, or here if ``file`` is empty."""

    kind = "settle"

    of: int
    file: str
    sha256: str
    at: str


@dataclass(frozen=True)
class Failure(Entry):
    """The run of reservation ``of`` raised an error. It stays spent."""

    kind = "fail"

    of: int
    error: str
    at: str


@dataclass(frozen=True)
class Admission(Entry):
    """Records that may be read: once a ledger has such an entry, all others are refused."""

    kind = "admit"

    n: int
    records: tuple[str, ...]
    at: str
    by: str
