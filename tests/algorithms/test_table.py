"""The table of docs/algorithms.md is what the registered algorithms give."""

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_table_is_up_to_date():
    made = runpy.run_path(str(ROOT / "docs" / "scripts" / "algorithm_table.py"))
    assert made["table"]() in (ROOT / "docs" / "algorithms.md").read_text()
