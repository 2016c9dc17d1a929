"""Whole numbers of batch terms keep their range in narrow floating types."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpmcmc.mechanisms.moments import sum_and_spread, whole_terms


@pytest.mark.parametrize("dtype", [jnp.float16, jnp.bfloat16, jnp.float32, jnp.float64])
def test_terms_stay_within_their_levels(dtype):
    with jax.enable_x64(True):
        terms = jnp.asarray([0.02, -0.02, 6e4, -6e4, np.inf, -np.inf, np.nan, 0.0], dtype)
        whole = np.asarray(whole_terms(terms, 0.05, 2**24, margin=8))
        total, spread = sum_and_spread(jnp.asarray(whole))
    assert np.abs(whole).max() == 2**24 - 8
    assert whole[-2] == 0
    assert int(total) == whole.sum()
    assert 0 <= float(spread) <= 8.0 * 2**48
