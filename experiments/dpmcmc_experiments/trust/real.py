"""Problems on real records: the RAND health insurance data, a census extract, and smaller tables of statsmodels.

The census extract (``adult.data``, UCI) is read from the folder of data sets; the others come with statsmodels. Bounds
are public: what is known of a column without looking, or round numbers about its range.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import dpmcmc as dp
from dpmcmc_experiments.trust.base import Problem
from dpmcmc_experiments.utility.regression import CENSUS, COLUMNS

Bounds = Mapping[str, tuple[float, float]]
CENSUS_FILE = "adult.data"

HEALTH = {"lncoins": (0.0, 4.7), "idp": (0.0, 1.0), "physlm": (0.0, 1.0), "disea": (0.0, 60.0)}
HEALTH_MORE = HEALTH | {"lpi": (0.0, 8.0), "fmde": (0.0, 9.0), "hlthf": (0.0, 1.0), "hlthp": (0.0, 1.0)}
MARRIAGE = {
    "rate_marriage": (1, 5),
    "age": (17, 45),
    "yrs_married": (0, 25),
    "children": (0, 6),
    "religious": (1, 4),
    "educ": (9, 20),
}
ELECTION = {"TVnews": (0, 7), "selfLR": (1, 7), "PID": (0, 6), "age": (18, 100), "educ": (1, 7), "income": (1, 24)}
SCHOOLS = {
    "LOWINC": (0, 100),
    "PERMINTE": (0, 100),
    "AVYRSEXP": (0, 40),
    "PERSPENK": (0, 15),
    "PTRATIO": (5, 40),
    "PCTYRRND": (0, 100),
}
TRAVEL = {"ttme": (0, 120), "invc": (0, 250), "invt": (0, 1500), "hinc": (0, 100), "psize": (1, 6)}
CARDS = {"AGE": (18, 90), "INCOME": (0, 20), "OWNRENT": (0, 1)}
COURSE = {"GPA": (0, 4), "TUCE": (0, 30), "PSI": (0, 1)}


@lru_cache(maxsize=4)
def packaged(name: str) -> pd.DataFrame:
    return import_module(f"statsmodels.datasets.{name}").load_pandas().data


@lru_cache(maxsize=1)
def census(folder: Path) -> pd.DataFrame:
    """The 32 561 records as read, and 0/1 columns made of them."""
    table = pd.read_csv(folder / CENSUS_FILE, names=COLUMNS, skipinitialspace=True, na_values="?")
    return table.assign(
        male=table["sex"] == "Male",
        married=table["marital"].str.startswith("Married-civ"),
        white=table["race"] == "White",
        government=table["workclass"].str.contains("gov", na=False),
        gained=table["gain"] > 0,
        rich=table["income"].str.startswith(">50"),
    )


LEVELS: dict[str, tuple[str, ...]] = {
    "workclass": ("Federal-gov", "Local-gov", "State-gov", "Self-emp-inc", "Self-emp-not-inc", "Without-pay"),
    "marital": (
        "Married-civ-spouse", "Married-AF-spouse", "Married-spouse-absent", "Divorced", "Separated", "Widowed",
    ),
    "occupation": (
        "Adm-clerical", "Armed-Forces", "Craft-repair", "Exec-managerial", "Farming-fishing", "Handlers-cleaners",
        "Machine-op-inspct", "Priv-house-serv", "Prof-specialty", "Protective-serv", "Sales", "Tech-support",
        "Transport-moving",
    ),
    "relationship": ("Husband", "Wife", "Own-child", "Other-relative", "Unmarried"),
    "race": ("Black", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other"),
    "country": (
        "Mexico", "Philippines", "Germany", "Canada", "Puerto-Rico", "El-Salvador", "India", "Cuba", "England",
    ),
}  # fmt: skip
"""Levels that get a column of their own; what is left over (Private, Never-married, White, …) is the base."""

CENSUS_NUMBERS = {"age": (17, 90), "years": (1, 16), "hours": (0, 99), "male": (0, 1), "gained": (0, 1)}
CENSUS_ALL: Bounds = CENSUS_NUMBERS | {f"{name}={level}": (0, 1) for name, found in LEVELS.items() for level in found}


def census_all(folder: Path) -> pd.DataFrame:
    """The 30 162 complete records with a 0/1 column for each of :data:`LEVELS`."""
    table = census(folder).dropna()
    columns = {f"{name}={level}": table[name] == level for name, found in LEVELS.items() for level in found}
    return pd.concat([table, pd.DataFrame(columns)], axis=1)


def _real(
    name: str,
    family: str,
    about: str,
    make_model: Callable[[], Any],
    table: Callable[[Path | None], Any],
    file: str = "",
) -> Problem:
    """Records encoded from a table whose outcome is the column ``outcome``."""

    def make(model: Any, rng: np.random.Generator, folder: Path | None) -> tuple[Any, None]:
        return model.encode(table(folder), "outcome"), None

    return Problem(name, family, about, make_model, make, file=file, is_real=True)


def _with(name: str, outcome: Callable[[pd.DataFrame], Any]) -> Callable[[Path | None], pd.DataFrame]:
    def table(folder: Path | None) -> pd.DataFrame:
        found = packaged(name)
        return found.assign(outcome=np.asarray(outcome(found), np.float64))

    return table


def _of_census(read: Callable[[Path], pd.DataFrame], bounds: Bounds) -> Callable[[Path | None], pd.DataFrame]:
    def table(folder: Path | None) -> pd.DataFrame:
        assert folder is not None
        found = read(folder)
        return found[list(bounds)].astype(np.float64).assign(outcome=found["rich"].astype(np.float64))

    return table


def problems() -> list[Problem]:
    m = dp.models
    visits, any_visit = _with("randhie", lambda t: t["mdvis"]), _with("randhie", lambda t: t["mdvis"] > 0)
    affair, rating = _with("fair", lambda t: t["affairs"] > 0), _with("fair", lambda t: t["rate_marriage"])
    vote, card = _with("anes96", lambda t: t["vote"]), _with("ccard", lambda t: t["AVGEXP"])
    grade, choice = _with("spector", lambda t: t["GRADE"]), _with("modechoice", lambda t: t["choice"])
    score = _with("star98", lambda t: 100 * t["NABOVE"] / (t["NABOVE"] + t["NBELOW"]))
    food = _with("engel", lambda t: t["foodexp"])
    without_rating = {name: bounds for name, bounds in MARRIAGE.items() if name != "rate_marriage"}
    return [
        _real("rand-poisson", "poisson", "doctor visits, 4 covariates", lambda: m.PoissonRegression(HEALTH), visits),
        _real("rand-nb", "negative binomial", "doctor visits, 4 covariates",
              lambda: m.NegativeBinomialRegression(HEALTH), visits),
        _real("rand-nb-8", "negative binomial", "doctor visits, 8 covariates",
              lambda: m.NegativeBinomialRegression(HEALTH_MORE), visits),
        _real("rand-visit", "logistic", "any doctor visit, 8 covariates",
              lambda: m.LogisticRegression(HEALTH_MORE), any_visit),
        _real("census-8", "logistic", "income above 50 000, 8 covariates", lambda: m.LogisticRegression(CENSUS),
              _of_census(census, CENSUS), CENSUS_FILE),
        _real("census-all", "logistic", f"income above 50 000, {len(CENSUS_ALL)} columns, complete records",
              lambda: m.LogisticRegression(CENSUS_ALL), _of_census(census_all, CENSUS_ALL), CENSUS_FILE),
        _real("fair-affair", "logistic", "any extramarital affair", lambda: m.LogisticRegression(MARRIAGE), affair),
        _real("fair-rating", "linear", "rating of a marriage, five values",
              lambda: m.LinearRegression(without_rating, outcome=(0, 6)), rating),
        _real("anes-vote", "logistic", "vote of 944 persons", lambda: m.LogisticRegression(ELECTION), vote),
        _real("mode-choice", "logistic", "choice of a way to travel, 840 rows",
              lambda: m.LogisticRegression(TRAVEL), choice),
        _real("star-schools", "linear", "share of pupils above the median, 303 districts",
              lambda: m.LinearRegression(SCHOOLS, outcome=(0, 100)), score),
        _real("engel-food", "student-t", "food expenditure of 235 households",
              lambda: m.StudentTRegression({"income": (0, 6000)}, outcome=(0, 3000)), food),
        _real("credit-cards", "linear", "expenditure of 72 persons, skewed",
              lambda: m.LinearRegression(CARDS, outcome=(0, 2000)), card),
        _real("spector-grade", "logistic", "grades of 32 students", lambda: m.LogisticRegression(COURSE), grade),
    ]  # fmt: skip
