"""Chains of private decisions in a BlackJAX loop: a plan and its records as ``SamplingAlgorithm(init, step)``.

BlackJAX steps are functions that a loop may run in any order and number, for many chains at once, from keys that
anybody may know. A guarantee needs decisions that are counted, with coins that nobody knows. So a step here asks a
:class:`Meter` on the host before it decides: the meter charges the decision, or refuses it, and gives it random words
that no other decision has.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.experimental import io_callback

from dpmcmc.chain.kernel import State
from dpmcmc.chain.method import ChainPlan
from dpmcmc.chain.pricing import PriceTable
from dpmcmc.chain.scan import chunk_length
from dpmcmc.mechanisms.needs import drawn, kinds
from dpmcmc.mechanisms.self_test import check_backend
from dpmcmc.method import posterior_of
from dpmcmc.models.base import PyTree, WithInit
from dpmcmc.posterior import Posterior, start
from dpmcmc.randomness import RandomSource
from dpmcmc.receipts import Guarantee, Receipt
from dpmcmc.release import issued
from dpmcmc.running import check_kept, reserve
from dpmcmc.sources import is_records, streamed

if TYPE_CHECKING:
    from dpmcmc.ledger import Ledger

try:
    from blackjax.base import SamplingAlgorithm
except ImportError as error:
    raise ImportError("dpmcmc.blackjax needs BlackJAX: pip install 'dpmcmc[blackjax]'") from error


class PublicState(NamedTuple):
    """One chain between two steps: released, every part of it. Nothing here is a function of unreleased values."""

    position: PyTree
    memory: PyTree


class PublicInfo(NamedTuple):
    """What a step released beside its state.

    ``is_paid`` is False where the budget did not pay for the step, which then did not happen: the state is the one
    before it, and is not a draw. The acceptance probability is private, and is not here.
    """

    is_accepted: Array
    is_paid: Array


class Meter:
    """Charges every decision before it is made, and gives it secret random words of its own.

    It counts what runs, not what a state says: a loop that starts again from an old state, or runs chains side by
    side, pays for every decision. Words come from ChaCha20 with a key from the operating system, in blocks as
    ``plan.sample`` draws them, so that the same ``seed`` gives the same words there and here.
    """

    def __init__(self, plan: ChainPlan, source: RandomSource, limit: float) -> None:
        self.most, self.made, self.spent = plan.steps * plan.chains, 0, 0.0
        self._limit, self._source = limit, source
        self._needs = plan.kernel.random_words(plan.n)
        self._block = chunk_length(plan.steps) * plan.chains
        self._lock, self._process = threading.Lock(), os.getpid()
        self._words: dict[str, np.ndarray] = {}

    def __reduce__(self) -> Any:
        raise TypeError("a meter cannot be copied or pickled: its random words are for one decision each")

    def nothing(self) -> tuple[np.bool_, dict[str, np.ndarray]]:
        """What :meth:`pay` returns where a decision is not paid for."""
        return np.bool_(False), {
            purpose: np.zeros(kind.shape, kind.dtype) for purpose, kind in kinds(self._needs, ()).items()
        }

    def pay(self, price: float) -> tuple[np.bool_, dict[str, np.ndarray]]:
        """Whether one more decision is paid for, and its random words."""
        if os.getpid() != self._process:
            raise RuntimeError("a chain belongs to the process that made it: a fork would use its coins again")
        with self._lock:
            after = (self.spent + price) * (1 + 2**-50)
            if self.made >= self.most or not after <= self._limit:
                self._refuse()
                return self.nothing()
            at = self.made % self._block
            if at == 0:
                self._next_block()
            self.made, self.spent = self.made + 1, after
            return np.bool_(True), {purpose: words[at] for purpose, words in self._words.items()}

    def _next_block(self) -> None:
        if self.made > 0:
            self._source.advance()
        self._words = drawn(self._source, self._needs, (self._block,))

    def _refuse(self) -> None:
        self.most = self.made  # a filter that was at its end stays there, as in plan.sample
        warnings.warn(
            f"the budget is spent after {self.made} decisions: further steps do not move, and have is_paid=False",
            stacklevel=1,
        )


class PrivateSamplingAlgorithm(SamplingAlgorithm):  # type: ignore[misc]
    """``SamplingAlgorithm(init, step)`` of a private chain, with what its decisions cost together.

    ``guarantee`` and ``receipts`` are those of the plan: they cover all decisions that ``step`` ever makes, however it
    is called, and may be given to another run as ``spent=``. ``decisions`` counts those that were made.
    """

    guarantee: Guarantee | None
    no_guarantee: str
    receipts: tuple[Receipt, ...]
    _meter: Meter

    @property
    def decisions(self) -> int:
        """Decisions made so far, of all chains together."""
        return self._meter.made


def as_sampling_algorithm(
    plan: ChainPlan, data: PyTree, *, seed: int | None = None, ledger: Ledger | None = None
) -> PrivateSamplingAlgorithm:
    """The planned chains on ``data`` as a BlackJAX algorithm: ``init(position)`` and ``step(rng_key, state)``.

        plan = dp.plan(model, n, dp.Budget(1.0, 1e-6), method=dp.dp_barker(step=0.1, clip=0.01), chains=1)
        algorithm = dp.blackjax.as_sampling_algorithm(plan, data)
        with jax.enable_x64(True):
            final, (states, infos) = blackjax.util.run_inference_algorithm(
                key, algorithm, num_steps=plan.steps, initial_position=model.init
            )

    Run it under jit, ``jax.lax.scan`` or a Python loop, with ``jax.vmap`` for several chains. The plan's chains × steps
    decisions may be made, and no more: further steps do not move (:class:`PublicInfo`), and a warning says so.
    Positions given to ``init`` must be public. ``seed`` repeats the random words, for tests and public data: no
    guarantee then. Per-record values are computed anew in every step, since a state that kept them would hand them out;
    ``plan.sample`` is up to twice as fast for that reason. A ``ledger`` is charged for the whole plan before this
    returns; its entry stays open, as the library does not see where the draws go.

    Guarantee: the plan's, for all states and infos of all steps together, under the relation of its budget. It does not
    rest on ``rng_key``, which draws proposals alone and need not be secret. Records enter a compiled loop when it
    runs: the program, and caches of it, hold none.
    """
    if not isinstance(plan, ChainPlan):
        raise TypeError(
            f"plan must be that of a chain, dp.plan(..., method=dp.dp_barker(...)), got {type(plan).__name__}"
        )
    if plan.checkpoint is not None:
        raise ValueError(
            f"a BlackJAX loop writes no checkpoint, and the plan has checkpoint={str(plan.checkpoint)!r}: plan without"
        )
    check_kept(ledger)
    if streamed(data) or is_records(data):
        raise TypeError(
            f"a BlackJAX loop reads arrays, in memory or mapped, got {type(data).__name__}: give model.encode(table), "
            "or run plan.sample(data), which reads records where they are"
        )
    source, posterior = RandomSource(seed), posterior_of(plan, data)
    check_backend()
    plan.check(posterior)
    if ledger is not None:
        booking = reserve(plan, posterior, source, ledger)
        plan = replace(plan, receipts=(*plan.receipts[:-1], booking.receipt))
    prices = None if plan.filter is None else PriceTable.of(plan.kernel, plan.filter)
    meter = Meter(plan, source, np.inf if prices is None else prices.limit)
    algorithm = PrivateSamplingAlgorithm(_init(plan), _step(plan, posterior, meter, prices))
    algorithm.receipts, algorithm._meter = plan.receipts, meter
    statement = issued(plan, source.reproducible)
    algorithm.guarantee, algorithm.no_guarantee = statement["guarantee"], statement.get("no_guarantee", "")
    return algorithm


def _init(plan: ChainPlan) -> Callable[..., PublicState]:
    def init(position: PyTree, rng_key: Array | None = None) -> PublicState:
        _check_precision()
        given = start(WithInit(plan.model, position), rng_key)
        return PublicState(given, plan.kernel.start(given))

    return init


def _step(
    plan: ChainPlan, posterior: Posterior, meter: Meter, prices: PriceTable | None
) -> Callable[[Array, PublicState], tuple[PublicState, PublicInfo]]:
    kernel, model, temperature = plan.kernel, plan.model, plan.temperature
    held = jax.tree.map(np.array, posterior)  # a copy, as programs read its memory
    carried, nothing = _narrow(held), _narrow(meter.nothing())

    def pay(price: Any, depends_on: Any) -> Any:
        return _narrow(meter.pay(float(np.ascontiguousarray(price).view(np.float64)[0])))

    def price_of(key: Array, state: PublicState) -> Array:
        """What the step costs, in the unit of the filter: from public values alone."""
        if prices is None:
            return jnp.asarray(0.0)
        now = State(*state, cache=())
        nothing = Posterior(model, None, temperature)  # where the cost varies, proposals read no records
        shift = kernel.shift(model, temperature, now, kernel.propose(key, {}, nothing, now))
        return prices(shift * (1 + 1e-6))  # the test may evaluate its bound in other roundings

    def step(rng_key: Array, state: PublicState) -> tuple[PublicState, PublicInfo]:
        _check_precision()
        price = jax.lax.bitcast_convert_type(price_of(rng_key, state), jnp.uint32)
        # the meter is given a part of all that a decision depends on, so that jax.vmap asks it once for every chain
        depends_on = jax.tree.map(lambda leaf: jnp.ravel(leaf)[:1], (_bits(rng_key), state))
        paid, words = _wide(io_callback(pay, _shapes(nothing), price, depends_on), meter.nothing())
        records = _wide(jax.pure_callback(lambda: carried, _shapes(carried)), held)
        now = kernel.init(records, *state)
        move = kernel.propose(rng_key, words, records, now)
        later, accepted = kernel.decide(words, records, now, move)
        released = PublicState(later.position, later.memory)
        kept = jax.tree.map(lambda new, old: jnp.where(paid, new, old), released, state)
        return kept, PublicInfo(accepted & paid, paid)

    return step


def _narrow(tree: PyTree) -> PyTree:
    """Leaves of 64 bits as pairs of 32: JAX would round others on threads where it has not been told to use 64."""
    return jax.tree.map(lambda leaf: leaf.reshape(-1).view(np.uint32) if leaf.dtype.itemsize == 8 else leaf, tree)


def _wide(narrow: PyTree, like: PyTree) -> PyTree:
    """The leaves that :func:`_narrow` was given, in a compiled function."""

    def leaf(found: Array, old: np.ndarray) -> Array:
        if old.dtype.itemsize != 8:
            return found
        return jax.lax.bitcast_convert_type(found.reshape(*old.shape, 2), old.dtype)

    return jax.tree.map(leaf, narrow, like)


def _shapes(tree: PyTree) -> PyTree:
    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), tree)


def _bits(key: Array) -> Array:
    typed = jnp.issubdtype(key.dtype, jax.dtypes.prng_key)
    return jax.random.key_data(key) if typed else key


def _check_precision() -> None:
    if jnp.result_type(float) != np.float64:
        raise RuntimeError(
            "private decisions are made in 64 bits: run the loop, init included, within `with jax.enable_x64(True):`, "
            "or call jax.config.update('jax_enable_x64', True) first"
        )
