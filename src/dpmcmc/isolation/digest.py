"""What a program is, as a number: its equations and every constant in it, however deep, and nothing about this process.

Two programs with the same digest compute the same. It is what compiled programs are cached by, and what a checkpoint
knows its run by.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal
from jax.extend.random import threefry_prng_impl

from dpmcmc.isolation.walk import equations

NEVER_CALLED = frozenset(["custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr"])
"""Functions among their parameters are rules for derivatives: a program that takes a derivative holds what comes of
them, and one that does not never calls them."""

_JAX = Path(jax.__file__).parent

IGNORED = frozenset(["debug_info", "name", "ctx_mesh", "inline", "compiler_options_kvs", "keep_unused"])


class NotTold(ValueError):
    """A program calls a function that is not a program: no digest can say what that does."""


def digest_of(program: ClosedJaxpr, size: int = 32) -> bytes:
    """The digest of a program; :class:`NotTold` where it leaves JAX (callbacks)."""
    return _Writer(size).program(program)


def has_rules(program: ClosedJaxpr) -> bool:
    """Whether rules for derivatives that are not JAX's own are in the program: its digest does not cover them."""
    rules = [equation.params for equation in equations(program) if equation.primitive.name in NEVER_CALLED]
    return not all(str(_JAX) in _source(parameters.get("call_jaxpr")) for parameters in rules)


def _source(program: Any) -> str:
    """Where the function of a program was written, as far as JAX tells."""
    jaxpr = program.jaxpr if isinstance(program, ClosedJaxpr) else program
    return str(getattr(getattr(jaxpr, "debug_info", None), "func_src_info", ""))


def update(digest: Any, tree: Any) -> None:
    """Add the arrays of a tree, with their shapes and types."""
    for leaf in jax.tree.leaves(tree):
        digest.update(_array(leaf))


def _array(value: Any) -> bytes:
    if isinstance(value, jax.Array) and jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key):
        return f"{value.dtype}".encode() + _array(jax.random.key_data(value))
    array = np.ascontiguousarray(value)
    return f"{array.dtype}{np.shape(value)}|".encode() + array.tobytes()


class _Writer:
    """Digests programs, each once: a helper that is called many times is one program."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.known: dict[int, tuple[Any, bytes]] = {}

    def program(self, program: Jaxpr | ClosedJaxpr) -> bytes:
        if id(program) not in self.known:
            self.known[id(program)] = (program, self._program(program))  # kept, so that its id stays its own
        return self.known[id(program)][1]

    def _program(self, program: Jaxpr | ClosedJaxpr) -> bytes:
        digest = hashlib.blake2b(digest_size=self.size)
        jaxpr, constants = (program.jaxpr, program.consts) if isinstance(program, ClosedJaxpr) else (program, ())
        numbers: dict[Any, int] = {}

        def declare(variables: Any) -> None:
            for variable in variables:
                numbers[variable] = len(numbers)
                digest.update(f"{_type(variable.aval)};".encode())

        def use(atoms: Any) -> None:
            for atom in atoms:
                literal = isinstance(atom, Literal)
                digest.update(self.value(atom.val) + _type(atom.aval).encode() if literal else b"%d," % numbers[atom])

        declare(jaxpr.constvars)
        declare(jaxpr.invars)
        digest.update(b"".join(self.value(value) for value in constants))
        for equation in jaxpr.eqns:
            name = equation.primitive.name
            digest.update(f"\n{name}[".encode())
            for key, value in sorted(equation.params.items()):
                if key not in IGNORED and not (callable(value) and name in NEVER_CALLED):
                    digest.update(f"{key}=".encode() + self.value(value, name))
            use(equation.invars)
            digest.update(b"->")
            declare(equation.outvars)
        digest.update(b"\nin ")
        use(jaxpr.outvars)
        return digest.digest()

    def value(self, value: Any, primitive: str = "a constant") -> bytes:
        """A constant or a parameter of an equation."""
        if isinstance(value, Jaxpr | ClosedJaxpr):
            return self.program(value)
        if isinstance(value, type(threefry_prng_impl)):
            return f"{value.name}{value.tag};".encode()
        if isinstance(value, tuple | list):
            return b"(" + b",".join(self.value(part, primitive) for part in value) + b")"
        if isinstance(value, dict):
            return self.value(sorted((str(key), part) for key, part in value.items()), primitive)
        if isinstance(value, np.ndarray | np.generic | jax.Array) or hasattr(value, "__array__"):
            return _array(value)
        text = repr(value)
        if (callable(value) and not isinstance(value, type)) or re.search(r"\bat 0x[0-9a-f]+", text):
            raise NotTold(
                f"a function is called from within JAX's primitive {primitive!r}, and no digest can say what it does"
            )
        return f"{type(value).__name__}:{text};".encode()


def _type(aval: Any) -> str:
    return (
        f"{aval.dtype if hasattr(aval, 'dtype') else aval}{getattr(aval, 'shape', '')}{getattr(aval, 'weak_type', '')}"
    )
