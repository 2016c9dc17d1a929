"""The study: everything that a file says, checked, and nothing of the records."""

from __future__ import annotations

import os
import platform
import re
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from dpmcmc import __version__
from dpmcmc.privacy import SUBSTITUTION, Budget
from dpmcmc.receipts import RECORD
from dpmcmc.records import CSV, Schema
from dpmcmc.study import columns, sections
from dpmcmc.study.places import Places, StudyError
from dpmcmc.study.regression import StudyRegression, mistakes_at, parsed_formula, protected, regression_of

PACKAGES = ("jax", "numpy", "scipy", "dp-accounting", "cryptography")


@dataclass(frozen=True)
class LedgerSettings:
    """Which ledger pays, and the budget of everything that it will ever pay for."""

    where: str
    dataset: str
    budget: Budget


@dataclass(frozen=True)
class Study:
    """What a study file says. Paths are relative to the file's folder.

        study = Study.read("study.toml")

    Reading it reads no table. Every mistake is a :class:`StudyError` that names file, line, key and value, and says
    what is allowed.
    """

    places: Places
    folder: Path
    title: str
    table: Path | CSV
    schema: Schema
    regression: StudyRegression
    model: Any
    budget: Budget
    unit: str
    ledger: LedgerSettings | None
    release: Path
    report: Path

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Study:
        """The study in a file."""
        file = Path(path)
        try:
            text = file.read_text(encoding="utf-8")
        except OSError as error:
            raise StudyError(
                f"the study file {str(file)!r} cannot be read: {error.strerror}; `dpmcmc new TABLE` writes one"
            ) from None
        except UnicodeDecodeError:
            raise StudyError(f"{file} is not text in UTF-8; allowed: a TOML file, as `dpmcmc new` writes it") from None
        return cls.parse(text, str(file), file.parent)

    @classmethod
    def parse(cls, text: str, source: str, folder: Path = Path()) -> Study:
        """The study in a text; ``source`` is what errors call it."""
        places = Places(text.removeprefix("\ufeff"), source)
        given = sections.read(places)
        model, top, output = given["model"], given[""], given["output"]
        parsed = parsed_formula(places, model["formula"])
        schema = columns.declared(places, given["columns"], columns.names_in(parsed, given["columns"]))
        about = {"file": Path(source).name, "text": places.text, "versions": versions()}
        regression = regression_of(places, model, given["priors"], schema, about)
        privacy = given["privacy"]
        with mistakes_at(places, ("privacy", "epsilon")):
            budget = budget_of(privacy)
        return cls(
            places,
            folder,
            str(top.get("title", Path(top["table"]).stem)),
            _table(places, folder, top["table"], given.get("csv", {})),
            schema,
            regression,
            protected(places, regression, privacy),
            budget,
            privacy.get("protects", RECORD),
            _ledger(places, folder, given.get("ledger"), budget.relation),
            folder / output["release"],
            folder / output["report"],
        )

    @cached_property
    def path(self) -> Path:
        """The table's file."""
        return Path(os.fspath(self.table))

    def describe(self) -> str:
        """The formula, the table and whom the study protects, in a line each."""
        whom = "one record" if self.unit == RECORD else f"all records of one {self.unit}"
        return "\n".join(
            [
                f"Study: {self.title} ({self.places.source})",
                f"Table: {self.path}",
                f"Model: {self.regression.formula}, {self.regression.family}",
                f"Protects: {whom}",
            ]
        )


def study_of(release: Any) -> Study | None:
    """The study that a release was made by, which it keeps; None if it was made otherwise."""
    about = release.settings.get("study")
    if not isinstance(about, dict) or not isinstance(about.get("text"), str):
        return None
    return Study.parse(about["text"], str(about.get("file", "the study in the release")))


def versions() -> dict[str, str]:
    """The versions that a run is made with."""
    found = {"python": platform.python_version(), "dpmcmc": __version__}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _table(places: Places, folder: Path, path: str, how: dict[str, Any]) -> Path | CSV:
    file = folder / path
    if how:
        try:
            return CSV(file, **how)
        except (TypeError, ValueError) as error:
            key = next((name for name in how if re.match(rf"CSV: {name}\b", str(error))), None)
            path_of = ("csv",) if key is None else ("csv", key)
            allowed = ", ".join(sections.SECTIONS["csv"]) if key is None else sections.SECTIONS["csv"][key].allowed
            raise places.error(path_of, str(error), allowed) from None
    if file.suffix.lower() not in (".csv", ".parquet"):
        raise places.error(
            ("table",), "its name does not say what it is",
            "a .csv or .parquet file; for other text files a section [csv] that says how they are written",
        )  # fmt: skip
    return file


def budget_of(given: dict[str, Any]) -> Budget:
    """The budget that a section of a study names."""
    return Budget(float(given["epsilon"]), float(given["delta"]), given.get("relation", SUBSTITUTION))


def _ledger(places: Places, folder: Path, given: dict[str, Any] | None, relation: str) -> LedgerSettings | None:
    """The ledger's settings; its relation is the release's unless the section names one."""
    if given is None:
        return None
    where = given["file"]
    if "://" in where:
        with mistakes_at(places, ("ledger", "file")):
            secret = urlsplit(where).password
        if secret is not None:
            hidden = where.replace(secret, "…")
            raise StudyError(
                f"{places.source}, line {places.line('ledger', 'file')}: ledger.file = {hidden!r}: it has a password, "
                "and a study file is public; allowed: a URL without it, and the password in PGPASSWORD or ~/.pgpass"
            )
    else:
        where = str(folder / where)
    with mistakes_at(places, ("ledger", "epsilon")):
        return LedgerSettings(where, given["dataset"], budget_of({"relation": relation} | given))
