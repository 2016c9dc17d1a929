"""Imports point one way at every level, and importing changes nothing."""

import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import dpmcmc

SOURCE = Path(dpmcmc.__file__).parent

LAYERS = [
    {"arguments", "drawing"},
    {"plain", "diagnostics", "records", "predicting", "files", "notebook", "programs"},
    {"privacy", "sources"},
    {"models", "isolation", "randomness", "receipts", "quality", "progress"},
    {"posterior", "plain_trees"},
    {"mechanisms", "geometry", "raveled"},
    {"charge", "fit_path"},
    {"saved"},
    {"release"},
    {"method", "metrics"},
    {"ledger"},
    {"running"},
    {"chain", "likelihood", "posterior_draws", "scores", "variational"},
    {"algorithms", "methods"},
    {"sampling"},
    {"blackjax", "sklearn", "auditing", "study", "reporting"},
    {"commands"},
    {"cli"},
]
"""Rooms, from the ground up. A room imports from lower layers only: rooms of one layer do not know each other."""

LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}

INSIDE = {
    "chain": [
        {"proposals"},
        {"acceptance", "quality"},
        {"kernel"},
        {"selection", "length", "pricing", "plan", "scan", "laplace"},
        {"default", "fingerprint", "checkpoint", "thinning", "passes"},
        {"run"},
        {"rehearsal"},
        {"advice"},
        {"method"},
    ],
    "likelihood": [
        {"basis"},
        {"features", "regions", "simulation", "smc"},
        {"checks"},
        {"stages"},
        {"quality", "plan", "sums"},
        {"run", "rehearsal"},
        {"method"},
    ],
    "ledger": [
        {"errors", "store", "fingerprint"},
        {"entries", "balance"},
        {"book", "opening"},
        {"rules", "report"},
        {"ledger"},
    ],
    "records": [
        {"cells"},
        {"columns"},
        {"coding"},
        {"numbers", "dates", "levels", "files"},
        {"tables", "toml", "batches"},
        {"skeleton", "numeric", "identities"},
        {"schema"},
    ],
    "scores": [
        {"matrices", "marginals", "lengths", "radius", "plan", "mixing"},
        {"coordinates", "vectors"},
        {"reader", "picture", "curve"},
        {"importance", "trajectories", "walkers"},
        {"bent"},
        {"sums"},
        {"foresight", "measure"},
        {"description", "curvature", "step", "stand_in", "ahead"},
        {"normality", "recall", "rare"},
        {"stages"},
        {"quality"},
        {"run"},
        {"rehearsal"},
        {"method"},
    ],
}
"""The same within the large rooms. Files of one layer may import each other where a cycle is impossible."""

STRICT = {"records", "scores"}
"""Large rooms in which files of one layer do not know each other either."""


def files() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def name_of(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = {name_of(path): path for path in files()}


def imports(path: Path) -> set[str]:
    """Modules of the package that a file imports anywhere: at the top, inside functions, or for types alone."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "dpmcmc":
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in NAMES else node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.split(".")[0] == "dpmcmc"}
    return found - {name_of(path)}


GRAPH = {name: imports(path) for name, path in NAMES.items()}


def test_every_import_is_of_something_that_exists():
    for name, imported in GRAPH.items():
        assert imported <= NAMES.keys(), f"{name} imports {imported - NAMES.keys()}"


def test_no_file_imports_itself_through_others():
    """The package's own __init__ is left out: it loads names when they are first used."""
    graph = {name: imported - {"dpmcmc"} for name, imported in GRAPH.items() if name != "dpmcmc"}
    assert list(TopologicalSorter(graph).static_order())  # raises CycleError, with the cycle


def room(name: str, depth: int = 1) -> str:
    return name.split(".")[depth] if name.count(".") >= depth else ""


def test_rooms_import_from_lower_layers_only():
    for name, imported in GRAPH.items():
        if name == "dpmcmc":
            continue
        assert room(name) in LEVEL, f"{name} has no layer"
        for other in imported - {"dpmcmc"}:
            if room(other) != room(name):
                assert LEVEL[room(other)] < LEVEL[room(name)], f"{name} imports {other}, which is not below it"


@pytest.mark.parametrize("large", INSIDE)
def test_the_large_rooms_have_layers_too(large):
    level = {name: number for number, names in enumerate(INSIDE[large]) for name in names}
    for name, imported in GRAPH.items():
        if room(name) != large or not room(name, 2):
            continue
        assert room(name, 2) in level, f"{name} has no layer within {large}"
        for other in imported:
            if room(other) == large and room(other, 2) not in ("", room(name, 2)):
                most = level[room(name, 2)] - (large in STRICT)
                assert level[room(other, 2)] <= most, f"{name} imports {other}, which is not below it"


def test_only_the_charge_and_privacy_turn_events_into_epsilon():
    """What a guarantee says is decided in one place; chains ask how many steps fit, and show ε as they go."""
    allowed = {"dpmcmc.charge", "dpmcmc.chain.length", "dpmcmc.chain.run", "dpmcmc.chain.default"}
    for name, path in NAMES.items():
        if room(name) in ("privacy", "commands", "algorithms", "auditing") or name in allowed:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in (
                "privacy.epsilon", "privacy.delta", "privacy.max_steps", "gaussian_mu_limit", "Guarantee",
            ):  # fmt: skip
                assert name == "dpmcmc.receipts", f"{name} calls {ast.unparse(node.func)}"


def test_records_are_reduced_by_mechanisms_and_tests_alone():
    """``posterior.data`` is taken apart by chains in memory alone; others ask the source for totals, by one reader."""
    allowed = {"dpmcmc.posterior", "dpmcmc.sampling", "dpmcmc.chain.fingerprint"}
    allowed |= {"dpmcmc.chain.run", "dpmcmc.chain.passes", "dpmcmc.chain.selection"}  # whether they are elsewhere
    allowed |= {"dpmcmc.metrics.clipping"}  # not private, and says so
    for name, path in NAMES.items():
        if room(name) == "mechanisms" or ".acceptance." in name or ".proposals." in name or name in allowed:
            continue
        text = path.read_text()
        assert "posterior.data" not in text, f"{name} takes a posterior apart"
        readers = {
            "dpmcmc.likelihood.features",
            "dpmcmc.posterior_draws.method",
            "dpmcmc.scores.reader",
            "dpmcmc.variational",
            "dpmcmc.chain.passes",
        }
        readers |= {"dpmcmc.posterior", "dpmcmc.ledger.fingerprint", "dpmcmc.chain.fingerprint"}  # keyed hashes
        assert name in readers or "posterior.records" not in text, f"{name} reads records"


def python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_importing_is_silent_and_flips_no_flags():
    code = (
        "import jax; before = dict(jax.config.values); import dpmcmc; dpmcmc.sample; dpmcmc.models; dpmcmc.dp_barker; "
        "assert dict(jax.config.values) == before; "
        "from jax._src import xla_bridge; assert not xla_bridge._backends, 'a device was picked'"
    )
    assert python(code) == ""


def test_accounting_declared_tables_and_help_do_not_load_jax():
    assert python("from dpmcmc import Schema, privacy; import sys; assert 'jax' not in sys.modules") == ""
    code = (
        "import sys; from typer.testing import CliRunner; from dpmcmc.cli import app; "
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0; assert 'jax' not in sys.modules"
    )
    assert python(code) == ""


def test_every_public_name_resolves_in_any_order():
    for name in dpmcmc.__all__:
        assert getattr(dpmcmc, name) is not None
    assert set(dpmcmc.__all__) <= set(dir(dpmcmc))
    assert python("import dpmcmc as dp; dp.plan; assert callable(dp.sample), dp.sample") == ""


def test_files_and_functions_can_be_held_in_mind():
    """300 lines a file, 60 lines a function, 8 parameters; public entry points and the command line may take more."""
    wide = {"sample", "plan", "dpvi"}  # public entry points
    for name, path in NAMES.items():
        text = path.read_text()
        assert text.count("\n") <= 300, f"{name} has {text.count(chr(10))} lines"
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.FunctionDef) or room(name) == "commands" or node.name in wide:
                continue
            lines = node.end_lineno - node.lineno + 1
            assert lines <= 60, f"{name}.{node.name} has {lines} lines"
            given = [a for a in (*node.args.args, *node.args.kwonlyargs) if a.arg not in ("self", "cls")]
            assert len(given) <= 8, f"{name}.{node.name} has {len(given)} parameters"
