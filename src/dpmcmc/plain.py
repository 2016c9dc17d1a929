"""Facts that can be saved: frozen dataclasses as plain dictionaries, and back.

Everything in a saved release besides its arrays (events, filters, quality) is a :class:`Plain`. Subclasses register
themselves by name, so a class of yours survives saving and loading wherever it has been imported.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, Self


class Plain:
    """A dataclass whose fields are numbers, strings, booleans, None, tuples of these, or other plain facts."""

    _kinds: ClassVar[dict[str, type[Plain]]] = {}

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        known = Plain._kinds.get(cls.__name__, cls)
        if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            raise TypeError(
                f"{cls.__module__}.{cls.__qualname__} is saved by its name, which {known.__module__}."
                f"{known.__qualname__} has already; choose another"
            )
        Plain._kinds[cls.__name__] = cls

    def to_dict(self) -> dict[str, Any]:
        """A dictionary of plain values (JSON) from which :meth:`from_dict` restores an equal object."""
        fields = {f.name: _plain(getattr(self, f.name)) for f in dataclasses.fields(self)}  # type: ignore[arg-type]
        return {"kind": type(self).__name__, **fields}

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> Self:
        """What :meth:`to_dict` saved, if it is one of this class."""
        fields = dict(saved)
        name = fields.pop("kind")
        kind = Plain._kinds.get(name)
        if kind is None or not issubclass(kind, cls):
            known = sorted(name for name, kind in Plain._kinds.items() if issubclass(kind, cls) and kind is not cls)
            raise ValueError(
                f"unknown {cls.__name__.lower()} {name!r}; known: {', '.join(known)}. "
                "If it is your own, import the module that defines it before loading"
            )
        return kind(**{key: _restored(value) for key, value in fields.items()})


def _plain(value: Any) -> Any:
    if isinstance(value, Plain):
        return value.to_dict()
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def _restored(value: Any) -> Any:
    if isinstance(value, dict) and "kind" in value:
        return Plain.from_dict(value)
    if isinstance(value, list):
        return tuple(_restored(item) for item in value)
    return value
