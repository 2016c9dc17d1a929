"""``dpmcmc plan``: what a budget would buy, before a record is read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from dpmcmc.commands.endings import endings


def plan(
    what: Annotated[
        str,
        typer.Argument(
            metavar="STUDY_OR_MODEL", help="A study file (.toml), or a model: file.py:name or package.module:name."
        ),
    ],
    n: Annotated[
        int | None, typer.Option(help="Number of records or persons (public); of a study, counted if left out.")
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="Privacy budget ε; 1, or the study's, if left out.")] = None,
    delta: Annotated[float | None, typer.Option(help="Privacy budget δ; 0.1/n, or the study's, if left out.")] = None,
    temperature: Annotated[float | None, typer.Option(help="Power of the likelihood, N0 / n.")] = None,
    method: Annotated[str | None, typer.Option(help="likelihood or chain, of a model.")] = None,
    relation: Annotated[
        str | None,
        typer.Option(help="What is protected: substitution (a record's values) or zero-out (whether it is there)."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """What to expect of a private posterior: errors, effective draws, and remedies. Reads no record."""
    from dpmcmc.arguments import whole  # here, since it loads NumPy

    with endings():
        study = what.endswith(".toml")
        if n is not None:
            whole("--n", n)
        if study and (temperature is not None or method is not None):
            raise ValueError("--temperature and --method are for models of your own; a study says all in its file")
        asked = {"epsilon": epsilon, "delta": delta, "relation": relation}
        given = {name: value for name, value in asked.items() if value is not None}
        made = _of_study(what, n, given) if study else _of_model(what, n, given, temperature, method)
        typer.echo(_json(made) if json else str(made))


def _of_study(file: str, n: int | None, asked: dict[str, Any]) -> Any:
    """The plan of a study, with what was ``asked`` of its budget in the place of what the file says."""
    from dataclasses import replace

    from dpmcmc.study.running import check_header, counted, opened_ledger, planned
    from dpmcmc.study.study import Study

    study = Study.read(file)
    if n is None and not study.path.is_file():
        raise ValueError(f"there is no table {str(study.path)!r} to count: give the number of records or persons, --n")
    if study.path.is_file():
        check_header(study)
    opened_ledger(study)
    return planned(study, counted(study) if n is None else n, replace(study.budget, **asked))


def _of_model(where: str, n: int | None, asked: dict[str, Any], temperature: float | None, method: str | None) -> Any:
    import dpmcmc as dp

    if n is None:
        raise ValueError("give the number of records, --n")
    methods = {"likelihood": dp.LikelihoodRelease, "chain": dp.Chain}
    if method is not None and method not in methods:
        raise ValueError(f"--method must be {' or '.join(methods)}, got {method!r}")
    found = load_model(where)
    budget = dp.Budget(**({"epsilon": 1.0, "delta": 0.1 / n} | asked))
    return dp.plan(found, n, budget, temperature=temperature, method=methods[method or "likelihood"]())


def _json(plan: Any) -> str:
    from json import dumps

    said = str(plan)  # rehearses
    expected = getattr(plan, "expected", None)
    guarantee = plan.guarantee
    return dumps(
        {
            "n": plan.n,
            "guarantee": None if guarantee is None else guarantee.to_dict(),
            "expected": None if expected is None else {"verdict": expected.verdict, **expected.to_dict()},
            "said": said,
        },
        indent=1,
    )


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
