"""Checkpoints: a run that is cut off goes on as if it had not been.

A checkpoint is written before each chunk, with the key from which that chunk's coins and all later ones come. A chunk
that was cut off is therefore repeated with the same coins and gives the same bits: nothing is released twice and
nothing is paid twice. The file is as secret as the records: it holds the key of all random draws still to come, and a
hash of the records under that key, with which guesses of a record can be tested. It is written for its owner alone and
deleted when the run ends.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from dpmcmc.chain.fingerprint import fingerprint
from dpmcmc.chain.plan import PlannedChains
from dpmcmc.chain.scan import ChainState, Trace
from dpmcmc.posterior import Posterior
from dpmcmc.randomness import RandomSource


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
    about = {"chunks": run_state.chunks, "reproducible": run_state.source.reproducible, "traces": len(run_state.traces)}
    arrays: dict[str, Any] = {
        "about": np.frombuffer(json.dumps(about).encode(), np.uint8),
        "key": np.frombuffer(key, np.uint8),
        "fingerprint": np.array(fingerprint(plan, posterior, key)),
    }
    if run_state.traces:
        joined = jax.tree.map(
            lambda *parts: np.concatenate(parts), *[(t.positions, t.accepted) for t in run_state.traces]
        )
        arrays |= {f"trace{i}": leaf for i, leaf in enumerate(jax.tree.leaves(joined))}
    arrays |= {f"state{i}": leaf for i, leaf in enumerate(jax.tree.leaves(run_state.state))}
    temporary = path.with_name(path.name + ".new")
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        np.savez(file, **arrays)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def read(path: Path, plan: PlannedChains, posterior: Posterior, fresh: ChainState) -> RunState:
    """The run as it stood, or an error if anything that determines it has changed."""
    with np.load(path, allow_pickle=False) as saved:
        about = json.loads(saved["about"].tobytes())
        key = saved["key"].tobytes()
        if str(saved["fingerprint"]) != fingerprint(plan, posterior, key):
            raise ValueError(
                f"the checkpoint {path} belongs to another run: the model, records, kernel or budget differ; its coins "
                "must not be used for these. Restore what it was made with, or delete it and pay for a new run"
            )

        def leaves(kind: str) -> list[np.ndarray]:
            return [saved[f"{kind}{i}"] for i in range(sum(name.startswith(kind) for name in saved))]

        state = jax.tree.unflatten(jax.tree.structure(fresh), leaves("state"))
        traces = []
        if about["traces"]:
            *positions, accepted = leaves("trace")
            traces = [Trace(jax.tree.unflatten(jax.tree.structure(fresh.positions), positions), accepted)]
    return RunState(state, traces, about["chunks"], RandomSource.from_key(key, reproducible=about["reproducible"]))
