"""A light sampler for tests of what runs and what it costs, where the quality of the draws does not matter."""

import pytest

from dpmcmc.likelihood import simulation, smc, stages


@pytest.fixture
def cheap_sampler(monkeypatch):
    """Few particles, few moves, few simulated records. Compiled programs hold these, so they are forgotten after."""
    for module, name, value in (
        (smc, "MOVES", 1),
        (smc, "LAST_MOVES", 1),
        (smc, "MOST_TEMPERATURES", 4),
        (simulation, "SIMULATED", 1024),
        (stages, "ANCHORS", 64),
        (stages, "PILOT_PARTICLES", 32),
        (stages, "LEAST_PARTICLES", 16),
        (stages, "GROUPS", 8),
    ):
        monkeypatch.setattr(module, name, value)
    smc._compiled.cache_clear()
    yield
    smc._compiled.cache_clear()
