"""Walks of one component: the right target with every test, and what they remember."""

import arviz as az
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import halfnorm, kstest

import dpmcmc as dp
from dpmcmc.chain.acceptance import Barker, Metropolis, Penalty
from dpmcmc.chain.kernel import Kernel
from dpmcmc.chain.proposals import GuidedWalk, OneComponent, Sphere

SCALE = (0.5, 0.25)
STD = np.array([0.4, 0.2])

KERNELS = {
    "one component, barker": Kernel(OneComponent(SCALE), Barker(100.0)),
    "one component, penalty": Kernel(OneComponent(SCALE), Penalty(100.0, std=1.0)),
    "one component in turn, barker": Kernel(OneComponent(SCALE, cyclic=True), Barker(100.0)),
    "guided, barker": Kernel(GuidedWalk(SCALE), Barker(100.0)),
    "guided, penalty": Kernel(GuidedWalk(SCALE), Penalty(100.0, std=1.0)),
    "sphere, penalty": Kernel(Sphere(SCALE), Penalty(100.0, std=1.0)),
}


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_recovers_a_correlated_gaussian(kernel):
    """Records pull on a sum of the parameters; the prior does the rest."""
    records = np.random.default_rng(0).normal(0.3, 1.0, 10)
    direction = np.array([1.0, 2.0])
    model = dp.Model(
        log_prior=lambda theta: -0.5 * jnp.sum((theta / STD) ** 2),
        log_likelihood=lambda theta, x: -0.5 * (x - theta @ direction) ** 2,
        init=np.zeros(2),
    )
    covariance = np.linalg.inv(np.diag(STD**-2) + 10 * np.outer(direction, direction))
    mean = covariance @ direction * records.sum()
    release = dp.sample(
        model,
        records,
        epsilon=1e12,
        delta=1e-6,
        method=dp.Chain(kernel, warmup=200),
        draws=5800,
        chains=8,
        seed=4,
        progress=False,
    )
    draws = release.draws["theta"][:, 200:]
    for j in range(2):
        assert abs(draws[..., j].mean() - mean[j]) < 4 * float(az.mcse(draws[..., j], method="mean"))
        assert abs(draws[..., j].var() / covariance[j, j] - 1) < 0.1


def moves(walk, memory=None, count=2000):
    with jax.enable_x64(True):
        here = jnp.zeros(3)
        memory = walk.init(here) if memory is None else memory
        keys = jax.random.split(jax.random.key(0), count)
        return jax.vmap(lambda key: walk.propose(key, here, memory))(keys)


def test_one_component_moves_alone_and_all_have_their_turn():
    steps = np.asarray(moves(OneComponent((1.0, 2.0, 3.0))).position)
    assert np.all((steps != 0).sum(1) == 1)
    for j, scale in enumerate((1.0, 2.0, 3.0)):
        own = steps[steps[:, j] != 0, j]
        assert abs(len(own) / 2000 - 1 / 3) < 4 * np.sqrt(2 / 9 / 2000)
        assert kstest(own / scale, "norm").pvalue > 1e-4


def test_in_turn_goes_round():
    walk = OneComponent(1.0, cyclic=True)
    with jax.enable_x64(True):
        memory, moved = walk.init(jnp.zeros(3)), []
        for step in range(6):
            move = walk.propose(jax.random.key(step), jnp.zeros(3), memory)
            moved.append(int(np.argmax(np.asarray(move.position) != 0)))
            assert move.memory_if_accepted == move.memory_if_rejected
            memory = move.memory_if_rejected
    assert moved == [0, 1, 2, 0, 1, 2]


def test_a_guided_walk_keeps_its_direction_if_accepted_and_turns_if_rejected():
    directions = jnp.array([1, -1, 1], jnp.int8)
    move = moves(GuidedWalk(2.0), directions)
    steps = np.asarray(move.position)
    assert np.all((steps != 0).sum(1) == 1)
    assert np.all(steps * np.asarray(directions) >= 0)
    assert kstest(np.abs(steps).sum(1) / 2, halfnorm.cdf).pvalue > 1e-4
    assert np.all(np.asarray(move.memory_if_accepted) == np.asarray(directions))
    turned = np.asarray(move.memory_if_rejected) != np.asarray(directions)
    assert np.array_equal(turned, steps != 0)


def test_a_guided_walk_strides_further_than_a_random_walk():
    """With a test that accepts most short moves: more effective draws from the same number of decisions."""
    model = dp.models.GaussianMean(2)
    records = np.random.default_rng(1).normal(size=(50, 2))

    def ess(walk):
        kernel = Kernel(walk, Metropolis())
        release = dp.sample(
            model, records, method=dp.Chain(kernel, warmup=200), draws=4800, chains=4, seed=0, progress=False
        )
        return float(az.ess(release.draws["theta"][:, 200:, 0], method="mean"))

    assert ess(GuidedWalk(0.1)) > 1.5 * ess(OneComponent(0.1))


def test_public_mistakes_are_refused():
    for walk in (OneComponent, GuidedWalk):
        with pytest.raises(ValueError, match="one number per parameter"):
            walk(np.eye(2))
        with pytest.raises(ValueError, match="positive"):
            walk(-1.0)
        with pytest.raises(ValueError, match="2 entries for 3"):
            walk((1.0, 2.0)).init(jnp.zeros(3))
        with pytest.raises(TypeError, match="integer"):
            walk(1.0).init(jnp.arange(3))
