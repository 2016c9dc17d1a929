"""Charges to put into a ledger, and records that they are for."""

import numpy as np

import dpmcmc as dp
from dpmcmc.charge import of_releases
from dpmcmc.privacy import Gaussian
from dpmcmc.receipts import Receipt

BUDGET = dp.Budget(1.0, 1e-6)
RECORDS = dp.Posterior(None, np.arange(12.0).reshape(6, 2))


def charge(multiplier=50.0, unit="record", purpose="sums"):
    """A receipt of one Gaussian sum: 0.5/multiplier² in zCDP."""
    return Receipt(purpose, 0.1, 1e-7, of_releases(1), event=Gaussian(multiplier), unit=unit)
