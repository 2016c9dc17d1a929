"""``dpmcmc plan``: what a budget would buy, before a record is read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer


def plan(
    model: Annotated[str, typer.Argument(help="Where the model is: file.py:name or package.module:name.")],
    n: Annotated[int, typer.Option(help="Number of records (public).")],
    epsilon: Annotated[float, typer.Option(help="Privacy budget ε.")] = 1.0,
    delta: Annotated[float | None, typer.Option(help="Privacy budget δ; 0.1/n if left out.")] = None,
    temperature: Annotated[float | None, typer.Option(help="Power of the likelihood, N0 / n.")] = None,
    method: Annotated[str, typer.Option(help="likelihood or chain.")] = "likelihood",
    relation: Annotated[
        str, typer.Option(help="What is protected: substitution (a record's values) or zero-out (whether it is there).")
    ] = "substitution",
) -> None:
    """What to expect of a private posterior of n records: errors, effective draws, and remedies. Reads no record."""
    import dpmcmc as dp
    from dpmcmc.arguments import whole

    try:
        whole("--n", n)
        methods = {"likelihood": dp.LikelihoodRelease, "chain": dp.Chain}
        if method not in methods:
            raise ValueError(f"--method must be {' or '.join(methods)}, got {method!r}")
        found = load_model(model)
        budget = dp.Budget(epsilon, 0.1 / n if delta is None else delta, relation)
        typer.echo(str(dp.plan(found, n, budget, temperature=temperature, method=methods[method]())))
    except (ValueError, TypeError) as error:
        raise typer.BadParameter(str(error)) from error


@contextmanager
def _named(source: str) -> Iterator[None]:
    """Whatever the user's own code raises while it loads, as a message that names the code."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ValueError(f"no module {source!r}: {error}") from error
    except (Exception, SystemExit) as error:
        raise ValueError(f"{source!r} cannot be loaded: {type(error).__name__}: {error}") from error


def load_model(where: str) -> Any:
    """The object called ``name`` in a file or module, from "file.py:name" or "package.module:name"."""
    import importlib
    import importlib.util

    source, _, name = where.rpartition(":")
    if not source or not name:
        raise ValueError(f"say where the model is as file.py:name or package.module:name, got {where!r}")
    if source.endswith(".py"):
        if not Path(source).is_file():
            raise ValueError(f"no file {source!r}")
        spec = importlib.util.spec_from_file_location(Path(source).stem, source)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        with _named(source):
            spec.loader.exec_module(module)
    else:
        with _named(source):
            module = importlib.import_module(source)
    if not hasattr(module, name):
        raise ValueError(f"{source} has no {name!r}")
    return getattr(module, name)
