"""What `pip install dpmcmc` brings, and what is said where an extra is missing."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

from packaging.requirements import Requirement

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
NOT_IN_CORE = {
    "matplotlib", "arviz", "seaborn", "plotly", "bokeh", "jinja2",  # pictures and pages
    "sqlalchemy", "psycopg", "duckdb",  # databases
    "ray", "dask", "distributed", "pyspark",  # many machines
}  # fmt: skip


def brought(lines) -> set[str]:
    """All packages that requirements lead to, as far as they are installed here."""
    found: set[str] = set()
    waiting = [Requirement(line) for line in lines]
    while waiting:
        one = waiting.pop()
        name = re.sub(r"[-_.]+", "-", one.name).lower()
        if name in found or (one.marker and not one.marker.evaluate({"extra": ""})):
            continue
        found.add(name)
        try:
            waiting += [Requirement(line) for line in requires(name) or ()]
        except PackageNotFoundError:
            continue
    return found


def test_the_core_brings_nothing_that_plots_keeps_databases_or_distributes():
    core = brought(PROJECT["dependencies"])
    assert {"jax", "numpy", "typer"} <= core
    assert not core & NOT_IN_CORE


def test_every_extra_that_an_error_names_is_one():
    source = Path(__file__).parents[1] / "src"
    named = set(re.findall(r"dpmcmc\[([a-z,]+)\]'", "".join(path.read_text() for path in source.rglob("*.py"))))
    assert {"arviz", "ledger", "report"} <= named
    assert {part for each in named for part in each.split(",")} <= PROJECT["optional-dependencies"].keys()


CALLS = {
    "dp.Ledger": "ledger",
    "release.to_arviz()": "arviz",
    "release.plot()": "report",
    "dp.report(release, 'a.html')": "report",
}


def test_what_needs_an_extra_says_which_and_all_else_works_without():
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['sqlalchemy', 'arviz', 'matplotlib', 'jinja2']))\n"
        "import dpmcmc as dp; dp.sample; dp.dpvi; dp.Chain\n"
        "from tests.reporting.releases import release_of; release = release_of()\n"
        "assert 'Verdict: usable' in str(release); release.on_original_scale().summary()\n"
        + "".join(f"try: {call}\nexcept ImportError as error: print(error)\n" for call in CALLS)
    )
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    for line, extra in zip(said.splitlines(), CALLS.values(), strict=True):
        assert line.endswith(f"pip install 'dpmcmc[{extra}]'")
