"""What a mechanism costs: events, their Rényi curves, and the accountant. NumPy and SciPy only.

from dpmcmc.privacy import BarkerBit, Repeat, epsilon, max_steps

max_steps(BarkerBit(shift=0.01), epsilon=1.0, delta=1e-6)
epsilon(Repeat(BarkerBit(shift=0.01), 2000), delta=1e-6)
"""

from dpmcmc.privacy import batch_gaussian, poisson, subsampling  # noqa: F401  (they register Rényi curves)
from dpmcmc.privacy.account import delta, epsilon, fits, max_steps, parts, pure
from dpmcmc.privacy.bound import Bound, Steps
from dpmcmc.privacy.budget import Budget
from dpmcmc.privacy.calibration import calibrate
from dpmcmc.privacy.convert import renyi_limit, zcdp_limit
from dpmcmc.privacy.events import (
    BarkerBit,
    Compose,
    Event,
    Gaussian,
    MetropolisBit,
    NonPrivate,
    PenaltyBit,
    PoissonBarkerBit,
    Repeat,
    Selection,
    SubsampledBarkerBit,
    SubsampledGaussian,
    SubsampledPenaltyBit,
    check_speaks_of,
    range_of,
)
from dpmcmc.privacy.filter import (
    CurveFilter,
    Filter,
    GaussianFilter,
    RenyiFilter,
    ZcdpFilter,
    best_order,
    zcdp,
    zcdp_of,
)
from dpmcmc.privacy.relations import ADD_REMOVE, SUBSTITUTION, ZERO_OUT, check_relation, reach
from dpmcmc.privacy.renyi import renyi, renyi_of
from dpmcmc.privacy.spending import Spending
from dpmcmc.privacy.twins import twin, under

__all__ = [
    "ADD_REMOVE",
    "SUBSTITUTION",
    "ZERO_OUT",
    "BarkerBit",
    "Bound",
    "Budget",
    "Compose",
    "CurveFilter",
    "Event",
    "Filter",
    "Gaussian",
    "GaussianFilter",
    "MetropolisBit",
    "NonPrivate",
    "PenaltyBit",
    "PoissonBarkerBit",
    "RenyiFilter",
    "Repeat",
    "Selection",
    "Spending",
    "Steps",
    "SubsampledBarkerBit",
    "SubsampledGaussian",
    "SubsampledPenaltyBit",
    "ZcdpFilter",
    "best_order",
    "calibrate",
    "check_relation",
    "check_speaks_of",
    "delta",
    "epsilon",
    "fits",
    "max_steps",
    "parts",
    "pure",
    "range_of",
    "reach",
    "renyi",
    "renyi_limit",
    "renyi_of",
    "twin",
    "under",
    "zcdp",
    "zcdp_limit",
    "zcdp_of",
]
