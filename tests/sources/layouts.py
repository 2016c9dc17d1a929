"""The same records in every layout that there is."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv, feather, parquet

import dpmcmc as dp

SCHEMA = dp.Schema(
    age=dp.Number(0, 100), plan=dp.Category(["basic", "plus"], reference="basic"), visits=dp.Number.count(20)
)
MODEL = dp.regression("visits ~ age + plan", SCHEMA, family="poisson")


def table(n, seed=0):
    """Public rows with a little of everything."""
    rng = np.random.default_rng(seed)
    plan = rng.integers(0, 2, n)
    age = rng.uniform(0, 100, n).round(3)
    visits = rng.poisson(np.exp(0.2 + 0.008 * age + 0.5 * plan)).clip(0, 20).astype(float)
    return pa.table({"age": age, "plan": np.array(["basic", "plus"])[plan], "visits": visits})


@dataclass
class Layout:
    """How to write a table, and what to give as data then."""

    name: str
    write: Any  # (folder, table) → data


def arrays(folder, rows):
    return MODEL.encode(rows)


def mapped(folder, rows):
    found = {}
    for name, values in MODEL.encode(rows).items():
        np.save(folder / f"{name}.npy", values)
        found[name] = np.load(folder / f"{name}.npy", mmap_mode="r")
    return found


def one_parquet(folder, rows):
    parquet.write_table(rows, folder / "rows.parquet", row_group_size=700)
    return folder / "rows.parquet"


def parquet_folder(folder, rows):
    parts = folder / "parts"
    parts.mkdir()
    third = rows.num_rows // 3
    for number, part in enumerate((rows[:third], rows[third : third + 1], rows[third + 1 :])):
        parquet.write_table(part, parts / f"part-{number}.parquet", row_group_size=513)
    return str(parts)


def one_feather(folder, rows):
    feather.write_feather(rows, folder / "rows.feather", chunksize=999)
    return folder / "rows.feather"


def one_csv(folder, rows):
    csv.write_csv(rows, folder / "rows.csv")
    return folder / "rows.csv"


def german_csv(folder, rows):
    def line(age, plan, visits):
        return f"{'' if age is None else f'{age:.3f}'};{plan};{visits:g}".replace(".", ",")

    lines = [line(*cells) for cells in zip(*(column.to_pylist() for column in rows.columns), strict=True)]
    (folder / "rows.txt").write_text("\n".join(["age;plan;visits", *lines]), encoding="cp1252")
    return dp.CSV(folder / "rows.txt", separator=";", decimal=",", encoding="cp1252")


def stored(folder, rows):
    """An object store that fsspec knows: one in memory."""
    import fsspec

    place = f"memory://{folder.name}"
    with fsspec.open(f"{place}/rows.parquet", "wb") as file:
        parquet.write_table(rows, file)
    return dp.Files(place, MODEL.encode)


IN_MEMORY = [Layout("arrays", arrays), Layout("mapped", mapped)]
STREAMED = [
    Layout("parquet", one_parquet),
    Layout("parquet folder", parquet_folder),
    Layout("feather", one_feather),
    Layout("csv", one_csv),
    Layout("german csv", german_csv),
    Layout("object store", stored),
]
LAYOUTS = IN_MEMORY + STREAMED
