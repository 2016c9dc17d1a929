"""What a run of chains is, so that a checkpoint is never resumed by another one with the same coins."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from dpmcmc import __version__
from dpmcmc.chain.plan import PlannedChains
from dpmcmc.isolation import NotTold, digest_of, traced, update
from dpmcmc.mechanisms.needs import kinds
from dpmcmc.models.base import PyTree
from dpmcmc.posterior import Posterior, start
from dpmcmc.sources import block_rows, is_records, like


def fingerprint(plan: PlannedChains, posterior: Posterior, key: bytes) -> str:
    """A keyed hash of everything that determines the run besides its coins: plan, model, start, kernel and records.

    Model and kernel enter as the programs that run, with every constant in them, those of helpers included.

    Guarantee: runs with the same fingerprint compute the same from the same coins. What runs a function outside JAX
    (callbacks) is refused, as nothing says what that does.
    """
    digest = hashlib.blake2b(key=hashlib.blake2b(key, digest_size=32).digest(), digest_size=32)
    kernel = re.sub(r"0x[0-9a-f]+", "", repr(plan.kernel))  # functions in it are told by their programs
    settings = [plan.n, plan.chains, plan.steps, plan.warmup, plan.temperature, str(plan.budget), kernel, *_setting()]
    digest.update(json.dumps([*settings, *(receipt.to_dict() for receipt in plan.receipts)]).encode())
    with jax.enable_x64(True):
        theta = jax.tree.map(np.asarray, start(posterior.model, jax.random.key(0)))
        for program in _programs(plan, posterior, theta):
            digest.update(program)
    update(digest, theta)  # a start that was paid for elsewhere is not another one of the same price
    if is_records(posterior.data):
        digest.update(json.dumps(posterior.records.marks(digest.copy().hexdigest())).encode())
    else:
        update(digest, posterior.data)
    return digest.hexdigest()


def _setting() -> list[str]:
    """What else decides which bits a program computes from the same coins: versions, the device, flags of compilers."""
    device = jax.devices()[0]
    flags = (jax.config.jax_threefry_partitionable, os.environ.get("XLA_FLAGS", ""))  # type: ignore[attr-defined]
    versions = (__version__, jax.__version__, jax.lib.__version__)
    return [*map(str, (*versions, platform.machine(), device.platform, device.device_kind, *flags))]


def _programs(plan: PlannedChains, posterior: Posterior, theta: PyTree) -> Iterator[bytes]:
    """Digests of what runs: the log likelihood of a record, the log prior, and a step with its price."""
    model, record = posterior.model, posterior.types
    if is_records(posterior.data):  # by the types of a block: what runs is made of the same functions
        posterior = Posterior(model, like(record, block_rows(record)), posterior.temperature)
    for function, arguments in (
        (model.log_likelihood, (theta, record)),
        (model.log_prior, (theta,)),
        (lambda given, records: _one_step(plan, given, records), (theta, posterior)),
    ):
        try:
            yield digest_of(traced(function, *arguments)[0])
        except NotTold as error:
            raise ValueError(
                f"a checkpoint cannot tell this run from another one: {error}. Write model and kernel without "
                "callbacks, or run without a checkpoint"
            ) from error


def _one_step(plan: PlannedChains, theta: PyTree, posterior: Posterior) -> Any:
    """A step of the kernel, whose program tells a user's proposal or test from another, and what it is charged."""
    kernel = plan.kernel
    theta = jax.tree.map(jax.numpy.asarray, theta)
    state = kernel.init(posterior, theta, kernel.start(theta))
    random_words = {
        purpose: jax.numpy.zeros(kind.shape, kind.dtype)
        for purpose, kind in kinds(kernel.random_words(plan.n), ()).items()
    }
    move = kernel.propose(jax.random.key(0), random_words, posterior, state)
    varies = plan.filter is not None
    shift = kernel.shift(posterior.model, posterior.temperature, state, move) if varies else ()
    return kernel.decide(random_words, posterior, state, move), shift
