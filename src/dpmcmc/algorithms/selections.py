"""One private choice among many candidates in place of a bit about two."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpmcmc.algorithms.registry import CLIP, RECORDS, Algorithm, Contract, register
from dpmcmc.algorithms.steps import as_proposal
from dpmcmc.chain.proposals import HiddenCentre, Orbit
from dpmcmc.chain.selection import Select
from dpmcmc.mechanisms.clip import Clip
from dpmcmc.privacy.catalogue import PURE_COMPOSED, Accounting
from dpmcmc.privacy.events import Selection


def dp_orbit(mean: Any, root: Any, count: int, clip: Clip | float, base: Any = None) -> Select:
    """One private choice among ``count`` points on an ellipse about a Gaussian fit N(mean, root rootᵀ).

    Choose it when a public or paid-for fit is at hand and privacy is scarce: any count costs the same.
    Guarantee: one selection of range 4·temperature·clip a step under substitution of one record.
    Exact for the posterior of the clipped log likelihoods. Reference: docs/theory/selection.md.
    """
    return Select(Orbit(mean, root, count, base), clip)


register(
    Algorithm(
        dp_orbit,
        target="exact for the clipped likelihood",
        needs="a Gaussian fit, a clip",
        example=lambda: dp_orbit(np.zeros(2), np.eye(2), 16, CLIP),
        contracts=(
            Contract(
                lambda proposal, clip: dp_orbit(1.0, 0.3, 4, clip),
                uses_proposal=False,
                one_bit=False,
            ),
        ),
        records=16 * RECORDS,
        accounting=Accounting(
            "selection",
            "one choice among any number of candidates; range is that of the change of utility",
            {"range": 0.01},
            lambda s: Selection(s["range"]),
            (PURE_COMPOSED,),
        ),
    )
)


def dp_hidden_centre(step: Any, count: int, clip: Clip | float, base: Any = None) -> Select:
    """One private choice among ``count`` points about a hidden centre. Choose it where no fit is at hand.

    Guarantee: one selection of range 4·temperature·clip a step under substitution of one record.
    Reference: docs/theory/selection.md.
    """
    return Select(HiddenCentre(as_proposal(step), count, base), clip)


register(
    Algorithm(
        dp_hidden_centre,
        target="exact unless clipped",
        needs="a clip",
        example=lambda: dp_hidden_centre(0.1, 16, CLIP),
        contracts=(Contract(lambda proposal, clip: dp_hidden_centre(proposal, 4, clip), one_bit=False),),
        records=16 * RECORDS,
    )
)
