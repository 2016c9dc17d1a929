"""Fingerprints of records: a keyed hash of every array, with a key that is kept in the ledger alone.

Without the key, a fingerprint is 256 random bits, and says only whether two releases read the same array under the same
name. With the key, guesses of a whole array can be tested, so the key is as secret as the records.
"""

from __future__ import annotations

import hashlib
import json
import secrets

import jax
import numpy as np

from dpmcmc.posterior import Posterior

KEY_BYTES = 32


def new_key() -> str:
    return secrets.token_hex(KEY_BYTES)


def commitment(key: str) -> str:
    """A hash that tells the key from any other, and nothing else of it."""
    return hashlib.sha256(f"dpmcmc ledger key {key}".encode()).hexdigest()


def shape_of(posterior: Posterior) -> str:
    """What is public about the records: the names, types and shapes of their arrays."""
    named, _ = jax.tree_util.tree_flatten_with_path(posterior.data)
    return json.dumps([[jax.tree_util.keystr(path), str(leaf.dtype), list(leaf.shape)] for path, leaf in named])


def fingerprints(posterior: Posterior, key: str) -> tuple[str, ...]:
    """One for every array of records, in order."""
    named, _ = jax.tree_util.tree_flatten_with_path(posterior.data)
    return tuple(_fingerprint(jax.tree_util.keystr(path), np.ascontiguousarray(leaf), key) for path, leaf in named)


def _fingerprint(name: str, array: np.ndarray, key: str) -> str:
    digest = hashlib.blake2b(key=bytes.fromhex(key), digest_size=32, person=b"dpmcmc ledger")
    digest.update(json.dumps([name, array.dtype.str, array.shape]).encode())  # by name: two equal columns look unlike
    digest.update(array.data if array.size else b"")
    return digest.hexdigest()
