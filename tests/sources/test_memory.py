"""Files that are larger than the memory that a fit may have."""

import os

import pytest
from benchmarks.out_of_core import measured


@pytest.mark.slow
def test_a_table_is_fitted_within_two_gigabytes():
    """``DPMCMC_GIGABYTES=20`` for as much Parquet; an allocation beyond 2 GB fails (RLIMIT_DATA)."""
    found = measured(float(os.environ.get("DPMCMC_GIGABYTES", "2")), memory=2.0)
    assert found["peak_gigabytes"] < 2.0
    assert found["verdict"] == "usable"
