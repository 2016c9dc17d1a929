"""The blocks of a Ray data set as one table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dpmcmc.records.batches import ROWS, Rows
from dpmcmc.records.cells import RefusedValue, guarded
from dpmcmc.records.files import File


@dataclass(frozen=True)
class Dataset:
    """Tables in Ray's object store, in the order in which the data set has them. Holds references, and no rows."""

    references: tuple[Any, ...]
    counts: tuple[int, ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, ray: Any, dataset: Any) -> Dataset:
        ready = guarded(
            lambda: dataset.materialize(),
            "the Ray data set cannot be made; what Ray says may hold a record, and is not passed on: see its logs",
        )
        references = ready.to_arrow_refs()
        number = ray.remote(lambda table: (table.num_rows, table.column_names))
        found = ray.get([number.remote(reference) for reference in references])
        filled = [(reference, rows, names) for reference, (rows, names) in zip(references, found, strict=True) if rows]
        if not filled:
            raise RefusedValue("the data are empty: 0 records")
        return cls(tuple(one[0] for one in filled), tuple(one[1] for one in filled), tuple(filled[0][2]))

    @property
    def header(self) -> File:
        return File(list(self.names), None, lambda columns: {})

    @property
    def seekable(self) -> bool:
        return True

    def count(self) -> int:
        return sum(self.counts)

    def read(self, wanted: Sequence[str], first: int = 0) -> Iterator[Rows]:
        """Rows from number ``first`` on: tables before it are not fetched."""
        import ray

        for reference, count in zip(self.references, self.counts, strict=True):
            if count <= first:
                first -= count
                continue
            table, first = ray.get(reference).select(list(wanted)).slice(first), 0
            for batch in table.to_batches(ROWS):
                yield Rows(batch)
