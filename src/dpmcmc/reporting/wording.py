"""The guarantee in plain words: by what it says itself, for people who do not read symbols."""

from __future__ import annotations

import math
from typing import Any

from dpmcmc.privacy import ZERO_OUT
from dpmcmc.receipts import RECORD, Guarantee, round_up
from dpmcmc.release import Release


def whom(unit: str) -> str:
    """Whom a guarantee protects."""
    return "one record" if unit == RECORD else f"all records of one {unit}"


def differs(guarantee: Guarantee) -> str:
    """How another table may differ from the one at hand."""
    if guarantee.relation == ZERO_OUT:
        return f"lacks {whom(guarantee.unit)}, in a place that is left empty"
    return f"has other values in {whom(guarantee.unit)}"


def in_words(guarantee: Guarantee) -> list[str]:
    """What (ε, δ) means, and for whom."""
    factor = math.exp(min(guarantee.epsilon, 700.0))
    limit = f"{round_up(factor, 3)} times" if factor < 1e6 else "an astronomical number of times"
    share = 1 / guarantee.delta if guarantee.delta > 0 else math.inf
    return [
        f"There is a limit to what anybody can learn from this report about {whom(guarantee.unit)}, whatever else they "
        "know and however much they compute. The smaller ε and δ are, the less that is.",
        f"Compare the table as it is with any table that {differs(guarantee)}. No conclusion that can be drawn from "
        f"this release is more than {limit} as likely "
        f"with the one as with the other, up to a probability of {round_up(guarantee.delta)} (one in {share:,.0f}).",
        "It does not protect what is true of many: if the study finds that smokers fall ill more often, that says "
        "something about every smoker, in the table or not.",
    ]


def in_symbols(guarantee: Guarantee) -> str:
    """The definition, with the numbers in it."""
    return (
        f"Pr[M(D) ∈ S] ≤ exp({round_up(guarantee.epsilon)}) · Pr[M(D′) ∈ S] + {round_up(guarantee.delta)} for all sets "
        f"S of outcomes and all tables D, D′ that differ by {guarantee.relation} of {whom(guarantee.unit)}"
    )


VERDICTS = {
    "usable": ("Usable", "The intervals can be read as usual; they include the privacy noise."),
    "wide": ("Usable, but wide", "The privacy noise, or what it hides, is a large part of the intervals."),
    "not usable": ("Not usable", "No conclusion should be drawn from the figures below."),
}


def verdict(release: Release) -> dict[str, str]:
    """The verdict as the head of the page shows it."""
    name, meaning = VERDICTS.get(release.quality.verdict, (release.quality.verdict, ""))
    kind = {"usable": "good", "wide": "fair"}.get(release.quality.verdict, "bad")
    return {"name": name, "meaning": meaning, "reason": release.quality.reason, "kind": kind}


def receipts(release: Release) -> list[dict[str, Any]]:
    """What was charged, one row for each."""
    return [
        {
            "purpose": receipt.purpose,
            "epsilon": round_up(receipt.epsilon),
            "delta": round_up(receipt.delta),
            "whom": whom(receipt.unit),
            "relation": receipt.relation,
            "reproducible": receipt.reproducible,
        }
        for receipt in release.receipts
    ]
