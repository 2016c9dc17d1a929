"""Imports point one way, and importing changes nothing."""

import ast
import subprocess
import sys
from pathlib import Path

import dpmcmc

SOURCE = Path(dpmcmc.__file__).parent

LAYERS = [
    {"privacy"},
    {"randomness", "models", "mechanisms", "posterior", "receipts"},
    {"proposals"},
    {"acceptance"},
    {"kernel", "selection"},
    {"algorithms", "pricing", "geometry", "likelihood"},
    {"planning", "chain"},
    {"checkpoint", "progress", "release", "metrics"},
    {"sampling", "initialise"},
    {"commands"},
    {"cli"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


def room(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    """Rooms of the package that a file imports when it is loaded (imports inside functions happen later)."""
    found = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "dpmcmc":
            parts = node.module.split(".")
            found |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
    return found


def test_every_file_has_a_place_and_imports_point_one_way():
    for path in SOURCE.rglob("*.py"):
        if room(path) == "__init__":
            continue
        assert room(path) in LEVEL, f"{path} has no layer"
        for imported in imports(path):
            if imported == room(path):
                continue
            assert LEVEL[imported] <= LEVEL[room(path)], f"{path} imports {imported}, a layer above it"


def python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_importing_is_silent_and_flips_no_flags():
    code = (
        "import jax; before = dict(jax.config.values); import dpmcmc; dpmcmc.sample; dpmcmc.models; dpmcmc.dp_barker; "
        "assert dict(jax.config.values) == before; "
        "from jax._src import xla_bridge; assert not xla_bridge._backends, 'a device was picked'"
    )
    assert python(code) == ""


def test_accounting_and_help_do_not_load_jax():
    assert python("from dpmcmc import privacy; import sys; assert 'jax' not in sys.modules") == ""
    code = (
        "import sys; from typer.testing import CliRunner; from dpmcmc.cli import app; "
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0; assert 'jax' not in sys.modules"
    )
    assert python(code) == ""


def test_every_public_name_resolves():
    for name in dpmcmc.__all__:
        assert getattr(dpmcmc, name) is not None
    assert set(dpmcmc.__all__) <= set(dir(dpmcmc))
