"""Facts that can be saved: frozen dataclasses as plain dictionaries, and back.

Everything in a saved release besides its arrays (events, filters, quality) is a :class:`Plain`. Subclasses register
themselves by name, so a class of yours survives saving and loading wherever it has been imported.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from functools import cache
from typing import Any, ClassVar, Self

LEFT_OUT = {"left out where default": True}
"""Metadata of a field that was added later: where it has its default, a fact is saved as it was before."""


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
        fields = {f.name: _plain(getattr(self, f.name)) for f in self._saved()}
        return {"kind": type(self).__name__, **fields}

    def _saved(self) -> list[dataclasses.Field[Any]]:
        """The fields, but for those that were added later and have their default."""
        every = dataclasses.fields(self)  # type: ignore[arg-type]
        return [f for f in every if not (f.metadata.get(*LEFT_OUT) and getattr(self, f.name) == f.default)]

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> Self:
        """What :meth:`to_dict` saved, if it is one of this class and its fields are of the types it declares."""
        fields = dict(saved)
        name = fields.pop("kind")
        kind = Plain._kinds.get(name)
        if kind is None or not issubclass(kind, cls):
            known = sorted(name for name, kind in Plain._kinds.items() if issubclass(kind, cls) and kind is not cls)
            raise ValueError(
                f"unknown {cls.__name__.lower()} {name!r}; known: {', '.join(known)}. "
                "If it is your own, import the module that defines it before loading"
            )
        restored = {key: _restored(value) for key, value in fields.items()}
        for key, hint in _declared(kind).items():  # type: ignore[arg-type]
            if key in restored and not _is_of(restored[key], hint):
                raise ValueError(f"{name}: {key} is declared as {hint}, got {restored[key]!r:.60}")
        return kind(**restored)


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


@cache
def _declared(kind: type[Plain]) -> dict[str, Any]:
    """Types of the fields; none where they are not names that a module knows (a class within a function)."""
    try:
        hints = typing.get_type_hints(kind)
    except (NameError, TypeError):
        return {}
    return {f.name: hints[f.name] for f in dataclasses.fields(kind)}  # type: ignore[arg-type]


def _is_of(value: Any, hint: Any) -> bool:
    """Whether a plain value is of a declared type. Whole numbers are numbers, and so are booleans."""
    inner, origin = typing.get_args(hint), typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return any(_is_of(value, one) for one in inner)
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        if inner[1:] == (Ellipsis,):
            return all(_is_of(item, inner[0]) for item in value)
        return len(value) == len(inner) and all(map(_is_of, value, inner))
    if hint is float:
        return isinstance(value, float | int)
    return not isinstance(hint, type) or isinstance(value, hint)
