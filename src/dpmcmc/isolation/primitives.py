"""Which primitives of JAX keep records apart once they are applied to many at a time, and why.

What is not named here is refused: a primitive that a later JAX adds is not allowed before somebody has looked at it.

Reference: docs/theory/isolation.md, whose lemma and assumptions the groups refer to.
"""

from __future__ import annotations


def _named(text: str) -> frozenset[str]:
    return frozenset(text.split())


ELEMENTWISE = _named(
    """
    abs acos acosh add add_any and asin asinh atan atan2 atanh bessel_i0e bessel_i1e bitcast_convert_type cbrt
    ceil clamp clz complex conj convert_element_type copy copy_p cos cosh device_put digamma div eq eq_to erf
    erf_inv erfc exp exp2 expm1 floor ge gt imag integer_pow is_finite le le_to lgamma log log1p logistic lt
    lt_to max min mul mulhi name ne neg nextafter not optimization_barrier or platform_index polygamma
    population_count pow real reduce_precision rem round rsqrt select_n shift_left shift_right_arithmetic
    shift_right_logical sign sin sinh sqrt square stop_gradient sub tan tanh xor zeta
    """
)
"""Entry by entry, without loops that data decide on."""

FREEZING = _named("igamma igamma_grad_a igammac")
"""Entry by entry, by a loop that runs as long as any entry needs and leaves those alone that have converged."""

MOVEMENT = _named(
    """
    broadcast_in_dim broadcast_to concatenate dynamic_slice dynamic_update_slice empty empty2 gather iota pad
    reshape rev scatter scatter-add scatter-max scatter-min scatter-mul scatter-sub scatter_add scatter_max
    scatter_min scatter_mul scatter_sub select_and_gather_add select_and_scatter select_and_scatter_add slice
    sort split squeeze stack tile top_k transpose unstack
    """
)
"""Entries are moved within a record: places that a record computes are places in its own row."""

REDUCTIONS = _named(
    """
    argmax argmin conv_general_dilated cumlogsumexp cummax cummin cumprod cumsum dot_general fft reduce
    reduce_and reduce_max reduce_min reduce_or reduce_prod reduce_sum reduce_window reduce_window_max
    reduce_window_min reduce_window_sum reduce_xor
    """
)
"""Sums and products within a record, whose order the shapes decide on."""

MATRICES = _named(
    """
    cholesky cholesky_update eig eigh geqp3 geqrf hessenberg householder_product lu lu_pivots_to_permutation
    ormqr qr schur svd symmetric_product triangular_solve tridiagonal tridiagonal_solve
    """
)
"""Linear algebra: on a CPU one matrix at a time (LAPACK). Elsewhere, records are taken one at a time."""

CALLS = _named(
    """
    call checkpoint closed_call composite cond core_call custom_jvp_call custom_linear_solve custom_vjp_call
    custom_vjp_call_jaxpr jit pjit remat remat2 scan while
    """
)
"""Programs within a program, each of which is looked at. A loop or branch that a record decides on becomes, for many
records, one that leaves those alone that are done, or takes both branches and selects."""

RANDOM = _named(
    """
    random_bits random_clone random_fold_in random_gamma random_seed random_split random_unwrap random_wrap
    threefry2x32
    """
)
"""Draws from a given key, which is a number like others. Threefry keys only: others draw for all records from the first
record's key."""

ONE_AT_A_TIME = _named("regularized_incomplete_beta")
"""For many entries at once, a loop runs until the last has converged and goes on changing the others: records are taken
one at a time instead."""

KNOWN = ELEMENTWISE | FREEZING | MOVEMENT | REDUCTIONS | MATRICES | CALLS | RANDOM | ONE_AT_A_TIME

REMEDIES = {
    "pure_callback": "it leaves the compiled program, and is given all records at once",
    "io_callback": "it leaves the compiled program, and what it does there nobody can check",
    "debug_callback": "it shows values of records to whoever reads the output; take jax.debug.print and callbacks out",
    "debug_print": "it shows values of records to whoever reads the output; take jax.debug.print out",
    "ffi_call": "it leaves the compiled program, and is given all records at once",
    "custom_vmap_call": "its rule for many records sees all of them at once; take jax.custom_batching out",
    "custom_partitioning": "its rule sees all records at once; take it out",
    "shard_map": "it may exchange values between records; leave the distribution of records to the library",
    "rng_bit_generator": "for many records it draws from the first record's key; use jax.random.key(seed)",
    "rng_uniform": "its numbers come from nowhere that can be repeated; use jax.random with a key",
    "pallas_call": "it is a program of its own that cannot be looked into",
}
"""Why a primitive is refused, where more can be said than that it is not known."""
