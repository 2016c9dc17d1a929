"""Fingerprints of records: a keyed hash of every array, with a key that is kept in the ledger alone.

Without the key, a fingerprint is 256 random bits, and says only whether two releases read the same array under the same
name. With the key, guesses of a whole array can be tested, so the key is as secret as the records.
"""

from __future__ import annotations

import hashlib
import json
import secrets

import jax

from dpmcmc.posterior import Posterior

KEY_BYTES = 32


def new_key() -> str:
    return secrets.token_hex(KEY_BYTES)


def commitment(key: str) -> str:
    """A hash that tells the key from any other, and nothing else of it."""
    return hashlib.sha256(f"dpmcmc ledger key {key}".encode()).hexdigest()


def shape_of(posterior: Posterior) -> str:
    """What is public about the records: the names, types and shapes of their arrays."""
    named, _ = jax.tree_util.tree_flatten_with_path(posterior.types)
    arrays = [[jax.tree_util.keystr(path), str(leaf.dtype), [posterior.n, *leaf.shape]] for path, leaf in named]
    return json.dumps(arrays)


def fingerprints(posterior: Posterior, key: str) -> tuple[str, ...]:
    """One for every array of records, in order: the same wherever they are. Hashed block by block."""
    return posterior.records.marks(key)
