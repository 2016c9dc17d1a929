"""A light run for tests of what is read and what it costs, where the quality of the draws does not matter."""

import pytest

from dpmcmc.scores import run


@pytest.fixture
def few_simulated(monkeypatch):
    """Sixteen times fewer simulated records."""
    monkeypatch.setattr(run, "MANY", 2048)
