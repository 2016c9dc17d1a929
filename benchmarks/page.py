"""docs/results/speed.md, from the JSON files of all comparisons."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from benchmarks.harness import RESULTS, STABLE, line, read

PAGE = Path(__file__).parent.parent / "docs" / "results" / "speed.md"
HEAD = f"""# Speed

Made by `make bench` (python -m benchmarks) from benchmarks/results. Seconds are medians over the rounds of one run, in
which the two sides take turns; the ratio is the median of the ratios within a round, and beside it stand the smallest
and the largest. A limit is enforced where the ratios' range is at most {STABLE:.0%} of their median; seconds without
a ratio depend on the machine and are never enforced.
"""
COLUMNS = "| what | seconds | ratio | range over rounds | limit | within |\n|---|---|---|---|---|---|"


def page(folder: Path = RESULTS) -> str:
    parts = [HEAD]
    for path in sorted(folder.glob("*.json")):
        about = (import_module(f"benchmarks.{path.stem}").__doc__ or path.stem).strip()
        title, _, rest = about.partition("\n")
        parts.append("\n".join(filter(None, [f"## {title.rstrip('.')}\n", rest.strip() and rest.strip() + "\n"])))
        parts.append("\n".join([COLUMNS, *map(line, read(path))]) + "\n")
    return "\n".join(parts)


def write_page() -> None:
    PAGE.write_text(page())
