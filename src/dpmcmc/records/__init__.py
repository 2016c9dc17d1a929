"""Where private values live: tables with declared columns become records of numbers.

A column is declared from public knowledge (``numbers``, ``dates``, ``levels``), a schema is a set of them, and tables
of any library are read by it. Nothing here loads JAX.
"""

from dpmcmc.records.cells import Refused, RefusedType, RefusedValue
from dpmcmc.records.columns import Column
from dpmcmc.records.dates import Date
from dpmcmc.records.files import CSV
from dpmcmc.records.identities import identities, identities_of
from dpmcmc.records.levels import Boolean, Category, Ordered
from dpmcmc.records.numbers import Number
from dpmcmc.records.numeric import numeric
from dpmcmc.records.schema import Schema
from dpmcmc.records.tables import check_columns, check_lengths

__all__ = [
    "CSV",
    "Boolean",
    "Category",
    "Column",
    "Date",
    "Number",
    "Ordered",
    "Refused",
    "RefusedType",
    "RefusedValue",
    "Schema",
    "check_columns",
    "check_lengths",
    "identities",
    "identities_of",
    "numeric",
]
