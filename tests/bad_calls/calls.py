"""What a good call is, and values that are wrong for an argument of a kind."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import dpmcmc as dp


@dataclass(frozen=True)
class Good:
    """A call that works, and values that are wrong for each of its arguments, one at a time.

    ``reads`` are the arguments that hold records; ``runs`` says that the call begins a run, which is charged.
    """

    name: str
    function: Callable[..., Any]
    arguments: dict[str, Any]
    wrong: dict[str, tuple[Any, ...]]
    reads: tuple[str, ...] = ()
    runs: bool = False

    def __call__(self, **changed: Any) -> Any:
        return self.function(**(self.arguments | changed))

    def bad(self) -> Iterator[tuple[str, Any]]:
        """Each argument with each of its wrong values."""
        for argument, values in self.wrong.items():
            for value in values:
                yield argument, value


def given(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """The values but for None, which is right where an argument may be left out."""
    return tuple(value for value in values if value is not None)


NOT_NUMBERS = ("1", None, [1.0], {}, 1 + 2j, object(), math.nan, True)
FINITE = (math.inf, -math.inf, *NOT_NUMBERS)
NOT_NEGATIVE = (-1.0, *FINITE)
POSITIVE = (0, 0.0, *NOT_NEGATIVE)
OPEN_UNIT = (0, 1, 1.5, -0.5, math.inf, *NOT_NUMBERS)
HALF_OPEN_UNIT = (0, 1.5, -0.5, math.inf, *NOT_NUMBERS[:-1])
ABOVE_ONE = (1.0, 0.5, -1.0, *FINITE)
COUNT = (-3, 1.5, 3.0, math.inf, *NOT_NUMBERS)
WHOLE = (0, *COUNT)
SEEDS = (1.5, "1", -1, [1], math.nan, object(), True, b"1")
TEXT = (3, b"x", ["a"], object(), "no such thing", "")
NAMES = (3, b"x", ["a"], object(), "")
TRUTH = ("yes", 2, None, [True], 0.5, 1)
FUNCTION = (None, 3, "f", [len], {})
MODELS = (None, 3, "model", object(), {}, dp.Model, [1.0])
METHODS = ("chain", 3, object(), (), {}, dp.Chain, dp.Kernel, len)
SCHEMAS = (None, {}, "schema.toml", 3, [("age", dp.Number(0, 1))], dp.Schema)
SPENT = (3, "release.npz", object(), [3], {"epsilon": 1}, dp.Budget(1.0, 1e-6))
BUDGETS = (1.0, (1.0, 1e-3), "1", dp.Budget, [1.0, 1e-3], {"epsilon": 1.0})
CLIPS = (*given(POSITIVE), None, len, dp.ModelClip, dp.ConstantClip)
SCALES = (
    0,
    -1.0,
    math.inf,
    math.nan,
    "1",
    None,
    object(),
    [],
    [[0.1, 0.2]],
    [0.1, -1.0],
    ["a"],
    [[0.1], [0.2, 0.3]],
    True,
)
STEPS = (*SCALES, dp.RandomWalk)
PAIRS = (
    None,
    3,
    (),
    (1, 0),
    (0, 0),
    (0, math.inf),
    (math.nan, 1),
    "0..1",
    (0, 1, 2),
    {"low": 0},
    ("0", "1"),
    (None, 1),
)
BOUNDS = (None, 3, [], {}, "age", ["age"], {"": (0, 1)}, {3: (0, 1)}, *({"age": pair} for pair in PAIRS))
EVENTS = (None, 3, "gaussian", object(), [], dp.privacy.Gaussian)
LEVELS = (
    None,
    3,
    "abc",
    [],
    ["a"],
    ["a", "a", "b"],
    [["a"], ["b"], ["c"]],
    {"a", "b", "c"},
    [None, "b", "c"],
    ["a", 3, "b"],
)
