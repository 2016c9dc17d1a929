"""Runs the pages of the gallery: their code blocks are the examples.

    python docs/scripts/gallery.py              # all pages, about ten minutes on 2 cores
    python docs/scripts/gallery.py linear mnist  # some

The blocks of docs/gallery/NAME.md run one after another in one namespace, in docs/gallery, where they save
img/NAME.png. What each prints is written below it into the page, and a digest of the code to the page's end, so that a
test can tell a page whose code has changed since it ran.

A page states its quick form in a comment, ``<!-- quick form: n = 2000; draws = 50 -->``: values that take the place of
the assignments ``n = …`` and ``draws = …`` of its code. Tests run it so; nothing is written into the page then.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import io
import os
import re
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib

GALLERY = Path(__file__).parents[1] / "gallery"
BLOCK = re.compile(r"```python\n(.*?)```\n(?:\n<!-- output -->\n.*?<!-- end of output -->\n)?", flags=re.S)
QUICK = re.compile(r"<!-- quick form: (.*?) -->", flags=re.S)
DIGEST = re.compile(r"\n<!-- ran as (\w+) -->\n")
WIDEST = 110  # characters of a printed line; longer ones are wrapped
STYLE = {
    "figure.figsize": (4.2, 3.2),  # inches: read as they are on a phone, larger elsewhere
    "figure.constrained_layout.use": True,
    "savefig.dpi": 200,
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.linewidth": 0.6,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
}


@dataclass(frozen=True)
class Page:
    """A page of the gallery: its text, and the code in it."""

    name: str
    text: str

    @classmethod
    def read(cls, name: str) -> Page:
        return cls(name, (GALLERY / f"{name}.md").read_text(encoding="utf-8"))

    @property
    def blocks(self) -> list[str]:
        return BLOCK.findall(self.text)

    @property
    def quick(self) -> dict[str, str]:
        """The values of the quick form, as they are written."""
        stated = QUICK.search(self.text)
        pairs = stated[1].split(";") if stated else []
        return {name.strip(): value.strip() for name, value in (pair.split("=") for pair in pairs)}

    @property
    def digest(self) -> str:
        """Of the code alone."""
        return hashlib.sha256("\n".join(self.blocks).encode()).hexdigest()[:16]

    @property
    def ran_as(self) -> str | None:
        """The digest of the code that made what the page shows."""
        found = DIGEST.search(self.text)
        return found[1] if found else None

    def with_output(self, printed: list[str]) -> Page:
        """The page with what its blocks printed below them."""
        remaining = iter(printed)

        def shown(block: re.Match[str]) -> str:
            lines = next(remaining).rstrip()
            code = f"```python\n{block[1]}```\n"
            return f"{code}\n<!-- output -->\n```text\n{lines}\n```\n<!-- end of output -->\n" if lines else code

        text = DIGEST.sub("", BLOCK.sub(shown, self.text)).rstrip()
        return Page(self.name, f"{text}\n\n<!-- ran as {self.digest} -->\n")


def names() -> list[str]:
    return sorted(path.stem for path in GALLERY.glob("*.md") if path.stem != "index")


def run(page: Page, folder: Path, quick: bool = False) -> tuple[dict[str, Any], list[str]]:
    """What the page's names stand for after its code has run in ``folder``, and what each block printed."""
    matplotlib.use("Agg")
    from matplotlib import pyplot

    space: dict[str, Any] = {"__name__": f"gallery_{page.name}"}
    changes, printed = page.quick if quick else {}, []
    trees = [ast.parse(block, f"{page.name}.md, block {number}") for number, block in enumerate(page.blocks)]
    for name, value in changes.items():
        _assign(trees, name, value)
    (folder / "img").mkdir(exist_ok=True)
    with contextlib.chdir(folder), matplotlib.rc_context(STYLE):
        for number, tree in enumerate(trees):
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(tree, f"{page.name}.md, block {number}", "exec"), space)
            printed.append("\n".join(map(_wrapped, out.getvalue().splitlines())))
        pyplot.close("all")
    return space, printed


def _assign(trees: list[ast.Module], name: str, value: str) -> None:
    """Replace what is assigned to ``name`` at the top level of the code."""
    found = [
        node
        for tree in trees
        for node in tree.body
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == [name]
    ]
    if len(found) != 1:
        raise ValueError(f"the quick form sets {name!r}, which the code assigns {len(found)} times at its top level")
    found[0].value = ast.copy_location(ast.parse(value, mode="eval").body, found[0].value)
    ast.fix_missing_locations(found[0])


def _wrapped(line: str) -> str:
    return line if len(line) <= WIDEST else textwrap.fill(line, WIDEST, break_on_hyphens=False)


def main(chosen: list[str]) -> None:
    for name in chosen or names():
        page = Page.read(name)
        _, printed = run(page, GALLERY)
        (GALLERY / f"{name}.md").write_text(page.with_output(printed).text, encoding="utf-8")
        print(name, *printed, sep="\n", flush=True)


if __name__ == "__main__":
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    main(sys.argv[1:])
