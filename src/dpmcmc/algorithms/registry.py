"""The register of algorithms: everything that goes through all of them starts from here.

The table of docs/algorithms.md has a row for each entry, :mod:`dpmcmc.algorithms.contracts` checks each of its set-ups,
and ``dpmcmc account`` knows it by name if it has an accounting. An algorithm of your own joins from your own module:

    register(
        Algorithm(
            my_barker,
            target="exact unless clipped",
            needs="a clip",
            example=lambda: my_barker(0.1, CLIP),
            contracts=(Contract(my_barker),),
        )
    )
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dpmcmc.chain.kernel import KernelLike
from dpmcmc.privacy.catalogue import Accounting, Settings

RECORDS = 100_000
"""Number of records in the table of docs/algorithms.md."""

CLIP = 0.01
"""Largest log ratio of one record in the table."""

BATCH = 1000
"""Records in a batch in the table."""

TEMPERED = 0.01
"""Temperature of the batch algorithms in the table: the records count as 1000."""


@dataclass(frozen=True)
class Contract:
    """A set-up of an algorithm, and what is promised of it: the checks of :mod:`~dpmcmc.algorithms.contracts` hold.

    ``make(proposal, clip)`` gives a kernel for a problem in which no record's log ratio exceeds ``clip``; what it does
    with the two is its own business. ``variant`` tells several set-ups of one algorithm apart.

    - ``exact``: it targets the posterior where nothing is clipped;
    - ``uses_proposal``: it moves as it is told;
    - ``one_bit``: it is a full-data test, whose bit has a known probability at every value of its statistic (kernels of
      other forms check events and neighbours in tests of their own);
    - ``private``: a budget pays for it.
    """

    make: Callable[[Any, float], KernelLike]
    variant: str = ""
    exact: bool = True
    uses_proposal: bool = True
    one_bit: bool = True
    private: bool = True


@dataclass(frozen=True)
class Algorithm:
    """A recipe and what is known about it.

    - ``recipe``: the function that makes a kernel; the algorithm has its name;
    - ``target``, ``needs``: what it samples and what it asks for, in the words of the table;
    - ``example``: the kernel at the table's setting (``RECORDS``, ``CLIP``, ...), at ``temperature``;
    - ``records``: evaluations of a record's density that a step of the example takes, or a word if that varies;
    - ``contracts``: set-ups that must pass the contracts, the usual one first;
    - ``accounting``: what one iteration costs, by settings, for ``dpmcmc account``.
    """

    recipe: Callable[..., KernelLike]
    target: str
    needs: str
    example: Callable[[], KernelLike]
    contracts: tuple[Contract, ...]
    records: float | str = RECORDS
    temperature: float = 1.0
    accounting: Accounting | None = None

    def __post_init__(self) -> None:
        variants = [contract.variant for contract in self.contracts]
        if not variants or len(set(variants)) < len(variants):
            raise ValueError(f"{self.name} needs contracts of different variants, at least one; got {variants!r}")

    @property
    def name(self) -> str:
        return self.recipe.__name__

    @property
    def named_contracts(self) -> dict[str, Contract]:
        """The contracts by algorithm and variant."""
        return {", ".join(filter(None, (self.name, contract.variant))): contract for contract in self.contracts}

    @property
    def home(self) -> tuple[str, str]:
        """Where the recipe is defined."""
        return self.recipe.__module__, self.recipe.__qualname__


#: Every registered algorithm by the name of its recipe, in the order of the tables.
ALGORITHMS: dict[str, Algorithm] = {}


def register(algorithm: Algorithm) -> Algorithm:
    """Add an algorithm; a name that another one has already raises."""
    for other in ALGORITHMS.values():
        same_name = other.name == algorithm.name or _account_name(other) == _account_name(algorithm) != ""
        if same_name and other.home != algorithm.home:
            raise ValueError(
                f"{'.'.join(algorithm.home)} and {'.'.join(other.home)} have one name; choose another for the recipe "
                "or its accounting"
            )
    ALGORITHMS[algorithm.name] = algorithm
    return algorithm


def accountings() -> dict[str, Accounting]:
    """The algorithms that can be accounted by name."""
    found = [algorithm.accounting for algorithm in ALGORITHMS.values() if algorithm.accounting is not None]
    return {accounting.name: accounting for accounting in found}


def accounting(name: str) -> Accounting:
    """The accounting of that name; an unknown one raises with the known."""
    known = accountings()
    if name not in known:
        raise ValueError(f"unknown algorithm {name!r}; known: {', '.join(known)}")
    return known[name]


def standard_cases() -> list[tuple[Accounting, Settings]]:
    """Every accounting at each of the settings at which tables show it."""
    return [(one, case) for one in accountings().values() for case in one.cases]


def _account_name(algorithm: Algorithm) -> str:
    return "" if algorithm.accounting is None else algorithm.accounting.name
