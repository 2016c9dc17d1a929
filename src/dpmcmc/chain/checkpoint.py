"""Checkpoints: a run that is cut off goes on as if it had not been.

A checkpoint is written before each chunk, with the key from which that chunk's coins and all later ones come. A chunk
that was cut off is therefore repeated with the same coins and gives the same bits: nothing is released twice and
nothing is paid twice. The file is as secret as the records: it holds the key of all random draws still to come, and a
hash of the records under that key, with which guesses of a record can be tested. It is written for its owner alone, at
once or not at all, under a digest with that key over every byte, and deleted when the run ends. One process at a time
runs on it (:func:`dpmcmc.files.locked`). How far the run has come is what its traces say, and not a number beside them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import jax
import numpy as np

from dpmcmc import files
from dpmcmc.chain.fingerprint import fingerprint
from dpmcmc.chain.plan import PlannedChains
from dpmcmc.chain.scan import ChainState, Trace, chunk_length, start_chains
from dpmcmc.files import sealed
from dpmcmc.models.base import PyTree
from dpmcmc.posterior import Posterior
from dpmcmc.randomness import RandomSource

_FORMAT = 3


@dataclass
class RunState:
    """A run between two chunks."""

    state: ChainState
    traces: list[Trace]
    chunks: int
    source: RandomSource

    @property
    def steps(self) -> int:
        return sum(len(trace.accepted) for trace in self.traces)

    def after(self, state: ChainState, trace: Trace) -> RunState:
        """The run after one more chunk; its random words are used up."""
        self.source.advance()
        return RunState(state, [*self.traces, trace], self.chunks + 1, self.source)


def write(path: Path, plan: PlannedChains, posterior: Posterior, run_state: RunState) -> None:
    """Replace the checkpoint by one that stands before the next chunk."""
    key = run_state.source.reveal_key()
    about = {
        "format": _FORMAT,
        "reproducible": run_state.source.reproducible,
        "fingerprint": fingerprint(plan, posterior, key),
    }
    arrays = _named("state", run_state.state)
    if run_state.traces:
        arrays |= _named(
            "trace",
            jax.tree.map(lambda *parts: np.concatenate(parts), *[(t.positions, t.accepted) for t in run_state.traces]),
        )
    files.write(path, sealed.pack("checkpoint", arrays, about, key))


def read(path: Path, plan: PlannedChains, posterior: Posterior, fresh: ChainState) -> RunState:
    """The run as it stood; an error if the file is not whole, or anything that determines the run has changed."""
    found = sealed.unpack("checkpoint", files.read(path, secret=True), path)
    source = RandomSource.from_key(found.extra, reproducible=bool(found.about.get("reproducible")))
    fault = _fault(found, plan, fresh) or _fault_at_start(found, plan, posterior, source)
    if not fault and found.about["fingerprint"] != fingerprint(plan, posterior, found.extra):
        fault = "the model, records, kernel or budget differ; its coins must not be used for these"
    if fault:
        raise files.FileError(
            f"the checkpoint {path} belongs to another run: {fault}. Restore what it was made with, or delete it and "
            "pay for a new run"
        )
    state = jax.tree.unflatten(jax.tree.structure(fresh), _leaves(found, "state"))
    *positions, accepted = _leaves(found, "trace") or [np.zeros(0, bool)]
    traces = [Trace(jax.tree.unflatten(jax.tree.structure(fresh.positions), positions), accepted)] if positions else []
    return RunState(state, traces, -(-len(accepted) // chunk_length(plan.steps)), source)


def _fault(found: sealed.Sealed, plan: PlannedChains, fresh: ChainState) -> str:
    """What in a file cannot be of a run of this plan: its parts, shapes, types, steps or spending; "" if nothing."""
    about, arrays = found.about, found.arrays
    if about.keys() != {"format", "reproducible", "fingerprint"} or about["format"] != _FORMAT:
        return f"it has format {about.get('format')!r}, and this version resumes format {_FORMAT}"
    if not isinstance(about["reproducible"], bool) or not isinstance(about["fingerprint"], str):
        return "its header is not one of a checkpoint"
    steps = arrays["trace0"].shape[:1] if "trace0" in arrays else None
    expected = _named("state", fresh)
    if steps is not None:  # an entry for every step before those of one state
        bits = np.zeros(plan.chains, bool)
        expected |= _named(
            "trace", jax.tree.map(lambda leaf: np.broadcast_to(leaf, (*steps, *leaf.shape)), (fresh.positions, bits))
        )
    if {name: (x.shape, x.dtype) for name, x in arrays.items()} != {n: (x.shape, x.dtype) for n, x in expected.items()}:
        return "its arrays have other names, shapes or types than the chains"
    count = 0 if steps is None else steps[0]
    *_, spent, alive = _leaves(found, "state")
    ends = [leaf[-1:].tobytes() for leaf in _leaves(found, "trace")[:-1]]
    if count and ends != [leaf.tobytes() for leaf in _leaves(found, "state")[: len(ends)]]:
        return "its traces do not end where its chains are"
    limit = 0.0 if plan.filter is None else plan.filter.limit
    if not 0 <= count <= plan.steps or (alive and count < plan.steps and count % chunk_length(plan.steps)):
        return f"it has {count} steps, which do not make whole chunks of the {plan.steps} that are planned"
    if not 0 <= spent <= limit:
        return f"it has spent {float(spent):g} of {limit:g}"
    return ""


def _fault_at_start(found: sealed.Sealed, plan: PlannedChains, posterior: Posterior, source: RandomSource) -> str:
    """Chains that have made no step stand where their key starts them: no steps were taken from the file."""
    if len(found.arrays.get("trace0", ())) or not _leaves(found, "state")[-1]:
        return ""
    start = _named("state", start_chains(plan.kernel, posterior, plan.chains, source))
    same = all(found.arrays[name].tobytes() == leaf.tobytes() for name, leaf in start.items())
    return "" if same else "it has no steps, and its chains are not where they start"


def _named(kind: str, tree: PyTree) -> dict[str, np.ndarray]:
    return {f"{kind}{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(tree))}


def _leaves(found: sealed.Sealed, kind: str) -> list[np.ndarray]:
    return [found.arrays[f"{kind}{i}"] for i in range(sum(name.startswith(kind) for name in found.arrays))]
