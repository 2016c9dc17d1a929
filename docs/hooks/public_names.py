"""Which page of the reference has which public names. A name of the package that no page has ends the build."""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple

import dpmcmc


class Page(NamedTuple):
    """A page of the reference: names of ``dpmcmc`` itself, then modules, with all names of theirs that are new."""

    title: str
    about: str
    names: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()


PAGES = {
    "sampling": Page(
        "Plans, samples, releases",
        "From a model and records to a release, and what a release can do.",
        (
            *("sample", "plan", "Release", "Guarantee", "Receipt", "Quality", "report", "Plan", "Method", "Posterior"),
            *("coarsened", "RunFailed", "FileError"),
        ),
    ),
    "tables": Page(
        "Tables and where they are",
        "What a table holds, declared from public knowledge, and files, clusters and persons.",
        ("Schema", "Number", "Category", "Ordered", "Boolean", "Date", "CSV", "Files", "OnRay", "PerUnit"),
    ),
    "models": Page("Models", "A model of your own, and ready-made ones.", ("regression", "from_numpyro"), ("models",)),
    "methods": Page(
        "Methods",
        "Ways to a posterior: the two defaults, chains, a few exact draws, and a private normal fit.",
        (
            *("ScoreRelease", "ScorePlan", "LikelihoodRelease", "LikelihoodPlan", "Chain", "ChainPlan"),
            *("PosteriorDraws", "PosteriorDrawsPlan"),
        ),
        ("variational",),
    ),
    "algorithms": Page(
        "Algorithms", "Kernels for a chain by one call each, and the registry of them.", modules=("algorithms",)
    ),
    "kernels": Page(
        "Parts of kernels",
        "A kernel is a proposal and a test; clips bound what one record adds to a test.",
        ("Kernel", "ConstantClip", "DistanceClip", "ModelClip"),
        ("proposals", "acceptance"),
    ),
    "ledger": Page("Ledgers", "What was spent on a data set.", ("Ledger", "LedgerError", "LedgerDamaged"), ("ledger",)),
    "privacy": Page("Accounting", "Events, what they cost, and budgets. Needs no JAX.", modules=("privacy",)),
    "auditing": Page("Audits", "What mechanisms give away at least.", modules=("auditing",)),
    "metrics": Page("Metrics", "Distances, moments, predictions.", modules=("metrics",)),
    "sklearn": Page("scikit-learn", "Regressions as estimators.", modules=("sklearn",)),
    "blackjax": Page("BlackJAX", "Chains in a BlackJAX loop.", modules=("blackjax",)),
}


def names_of(module: str) -> list[str]:
    """The public names of a module: ``__all__``, what it imports by name (``x as x``), or what it defines."""
    loaded = import_module(f"dpmcmc.{dpmcmc._MODULES.get(module, module)}")
    if hasattr(loaded, "__all__"):
        return list(loaded.__all__)
    package = hasattr(loaded, "__path__")
    found = [
        name
        for name, value in vars(loaded).items()
        if not name.startswith("_") and hasattr(value, "__doc__") and type(value).__name__ != "module"
        if (package and _is_ours(value)) or getattr(value, "__module__", None) == loaded.__name__
    ]
    return found


def _is_ours(value: object) -> bool:
    return str(getattr(value, "__module__", type(value).__module__)).startswith("dpmcmc") or isinstance(value, dict)


def entries() -> dict[str, dict[str, str]]:
    """Page → (what a user writes after ``dp.`` → full path), every name once."""
    pages: dict[str, dict[str, str]] = {}
    seen: set[int] = set()
    for page, (_, _, names, modules) in PAGES.items():
        written = [(name, getattr(dpmcmc, name)) for name in names]
        for module in modules:
            home = import_module(f"dpmcmc.{dpmcmc._MODULES.get(module, module)}")
            own = [(name, getattr(home, name)) for name in names_of(module)]
            written += [(name if name in dpmcmc._HOME else f"{module}.{name}", value) for name, value in own]
        pages[page] = {}
        for name, value in written:
            if id(value) not in seen or isinstance(value, str | float | int):
                pages[page][name] = f"dpmcmc.{name}"
                seen.add(id(value))
    missing = set(dpmcmc._HOME) - {name for page in pages.values() for name in page}
    missing |= set(dpmcmc._MODULES) - {module for page in PAGES.values() for module in page.modules}
    if missing:
        raise ValueError(f"public, but on no page of the reference (docs/hooks/public_names.py): {sorted(missing)}")
    return pages
