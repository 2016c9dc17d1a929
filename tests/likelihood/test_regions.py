"""Regions: evenly filled, and never left."""

import jax
import jax.numpy as jnp
import numpy as np

import dpmcmc as dp
from dpmcmc.likelihood import smc
from dpmcmc.likelihood.regions import Normal
from dpmcmc.raveled import RaveledModel


def test_nothing_lies_beyond_the_reach():
    """A likelihood that rises without bound outside: the sampler stays where it is told to."""
    model = dp.Model(lambda t: 0.0, lambda t, x: x * jnp.sum(t**2), init=np.zeros(2))
    normal = Normal(np.array([1.0, 0.0]), np.array([[1.0, 0.0], [0.5, 0.3]]))
    with jax.enable_x64(True):
        begin = normal.evenly(jax.random.key(0), 8 * 64, 2.0)
        assert normal.distances(begin).max() <= 2.0 + 1e-12
        problem = smc.Problem(
            records=np.ones(1),
            weights=jnp.ones((8, 1)),
            power=jnp.asarray(5.0),
            centre=jnp.asarray(normal.centre),
            root=jnp.asarray(normal.root),
            reach=jnp.asarray(2.0),
            from_prior=jnp.asarray(False),
            evenly=jnp.asarray(True),
        )
        draws, _ = smc.sample(RaveledModel.of(model), problem, begin.reshape(8, 64, 2), jax.random.key(1))
    assert normal.distances(draws.reshape(-1, 2)).max() <= 2.0 + 1e-9
