"""The code of the documentation: which blocks there are, and running those of a page."""

import ast
import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
FENCED = re.compile(r"^(?:<!-- not run: (.*?) -->\n)?^```(\w*)\n(.*?)^```", flags=re.S | re.M)


class Block(NamedTuple):
    """A fenced block: its language, its text, and why it is not run, if the page says so."""

    language: str
    text: str
    not_run: str


def blocks(page: str) -> list[Block]:
    """The blocks of a page, by its path in the repository."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return [Block(language, code, reason) for reason, language, code in FENCED.findall(text)]


def all_pages() -> list[str]:
    found = [ROOT / "README.md", *sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md"))]
    return list(dict.fromkeys(page.relative_to(ROOT).as_posix() for page in found))


def pages_with(language: str) -> list[str]:
    return [page for page in all_pages() if any(block.language == language for block in blocks(page))]


def python_of(page: str) -> list[str]:
    """The Python that a reader of the page runs, block by block."""
    return [block.text for block in blocks(page) if block.language == "python" and not block.not_run]


def run_page(page: str) -> tuple[dict, list[str]]:
    """All Python blocks of a page, one after another in one namespace; and the blocks."""
    code = python_of(page)
    space = {"__name__": f"page_{Path(page).stem}"}
    for number, block in enumerate(code):
        exec(compile(block, f"{page}, block {number}", "exec"), space)
    return space, code


def run_by_a_test() -> set[str]:
    """Pages that a test runs by name: ``run_page("docs/...")`` in a file of tests."""
    found = set()
    for file in (ROOT / "tests").rglob("test_*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "run_page" and node.args:
                found.add(getattr(node.args[0], "value", None))
    return found - {None}
