"""Ways in which a file, and what is in it, can be changed by accident or by hand."""

import copy
import math

import numpy as np

ODD = (
    None, True, False, -1, 0, 1, 3, 10**30, 1e308, -1e308, 5e-324, math.nan, math.inf, "", "x", "substitution", [], {},
    [[]], [None], {"kind": "Gaussian"}, {"kind": "NonPrivate", "reason": ""}, {"kind": 3}, {"kind": "Repeat"},
    {"kind": "Arithmetic", "log_error": -1.0, "tail": 0.0},
)  # fmt: skip


def of_bytes(rng, content):
    """The content with some of its bytes changed, lost, doubled, moved or cut off; never the same."""
    while True:
        data = bytearray(content)
        at, size = int(rng.integers(len(data))), int(rng.integers(1, 40))
        match rng.integers(7):
            case 0:
                data[at] ^= 1 << int(rng.integers(8))
            case 1:
                data[at] = int(rng.integers(256))
            case 2:
                del data[at : at + size]
            case 3:
                data[at:at] = rng.bytes(size)
            case 4:
                data[at : at + size] = bytes(len(data[at : at + size]))
            case 5:
                other = int(rng.integers(len(data)))
                data[at : at + size] = data[other : other + size]
            case 6:
                del data[at:]
        if data != content:
            return bytes(data)


def of_json(rng, about):
    """The JSON with one of its nodes replaced, removed, or another one beside it."""
    about = copy.deepcopy(about)
    places = list(_places(about))
    holder, name = places[rng.integers(len(places))]
    value, how = holder[name], rng.integers(5)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if how == 0:
        del holder[name]
    elif how == 1 and isinstance(holder, dict):
        holder[f"{name}2"] = value
    elif how == 2 and number:
        holder[name] = value * [1 - 1e-9, 0.5, 2, -1, 1 + 1e-9, 1e-6][rng.integers(6)]
    elif how == 3:
        there, key = places[rng.integers(len(places))]
        holder[name] = copy.deepcopy(there[key])
    else:
        holder[name] = ODD[rng.integers(len(ODD))]
    return about


def of_arrays(rng, arrays):
    """The arrays with one of them lost, renamed, doubled, or of another shape or type."""
    arrays = dict(arrays)
    name = list(arrays)[rng.integers(len(arrays))]
    values = arrays[name]
    match rng.integers(7):
        case 0:
            del arrays[name]
        case 1:
            arrays[f"{name}0"] = arrays.pop(name)
        case 2:
            arrays[f"{name}0"] = values
        case 3:
            arrays[name] = values[..., None]
        case 4:
            arrays[name] = values[: len(values) // 2] if values.ndim else np.stack([values, values])
        case 5:
            arrays[name] = values.astype(np.int8 if values.dtype != np.int8 else np.float32)
        case 6:
            arrays[name] = values.ravel()[:0]
    return arrays


def _places(node):
    """(container, key) of every node below."""
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        yield node, key
        yield from _places(value)
