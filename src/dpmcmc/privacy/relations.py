"""Neighbouring relations: what may differ between two data sets that a release must not tell apart.

- Substitution: the values of one record. How many records there are is public.
- Zero-out: whether one record is there. Records sit in slots, whose number is public; on one side a slot is empty, and
  an empty slot adds exactly nothing: 0 to every sum, no count to any bin, 0 to every log ratio.

A record that comes or goes moves a sum half as far as one that changes from an extreme to the opposite one, so under
zero-out the same noise costs less, for a promise that is weaker: docs/theory/relations.md says by how much.
"""

from __future__ import annotations

from dpmcmc.arguments import one_of

SUBSTITUTION = "substitution"
ZERO_OUT = "zero-out"
ADD_REMOVE = "add_remove"
"""As published accountants have it, with a number of records that is not public. Priced here, and never promised."""

PROMISED = (SUBSTITUTION, ZERO_OUT)
"""The relations that a budget may be for."""

_REACH = {SUBSTITUTION: 2, ZERO_OUT: 1}


def reach(relation: str) -> int:
    """How far one record moves a sum, in units of the largest norm of a record's term: 2 from one extreme to the
    opposite one, 1 from something to nothing.

    Counts by bin move by √reach in every column, for a record leaves one bin and enters another, or does one of the
    two. Reference: docs/theory/relations.md, Claims 1 and 2.
    """
    return _REACH[check_relation("relation", relation)]


def check_relation(what: str, relation: str) -> str:
    """One of the relations that can be promised."""
    remedy = "substitution protects the values of a record, zero-out whether it is there"
    return one_of(what, relation, PROMISED, remedy)  # type: ignore[no-any-return]
