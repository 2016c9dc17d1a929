"""Compiled programs are shared by all tests of a run, and property-based tests try the same cases in every run.

HYPOTHESIS_PROFILE=explore tries new cases instead: for whoever looks for failures, not for deciding on a change.
"""

import os
import tempfile
from pathlib import Path

import jax
from hypothesis import settings

settings.register_profile("fixed", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


def pytest_configure(config):
    """One folder for all workers of a run; a new one every run, so that nothing is carried from one to the next."""
    folder = os.environ.setdefault("DPMCMC_TEST_PROGRAMS", tempfile.mkdtemp(prefix="dpmcmc-programs-"))
    Path(folder).mkdir(exist_ok=True)
    jax.config.update("jax_compilation_cache_dir", folder)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)


def pytest_unconfigure(config):
    if not hasattr(config, "workerinput"):
        import shutil

        shutil.rmtree(os.environ["DPMCMC_TEST_PROGRAMS"], ignore_errors=True)
