"""A folder in the navigation stands for its pages; the first page has no list of pages at its side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

INDEXES = ("index.md", "README.md")


def pages(docs: Path, folder: str) -> list[str]:
    """The pages of a folder, its index first, with their paths in docs/."""
    found = sorted((docs / folder).glob("*.md"), key=lambda page: (page.name not in INDEXES, page.name))
    return [page.relative_to(docs).as_posix() for page in found]


def unfolded(item: Any, docs: Path) -> Any:
    """The navigation with every "folder/" replaced by its pages; a section without pages is left out (None)."""
    if isinstance(item, list):
        return [part for part in (unfolded(part, docs) for part in item) if part is not None]
    if isinstance(item, dict):
        (title, value), *_ = item.items()
        value = unfolded(value, docs)
        return {title: value} if value else None
    return pages(docs, item) if isinstance(item, str) and item.endswith("/") and item != "reference/" else item


def on_config(config: Any) -> Any:
    config.nav = unfolded(config.nav, Path(config.docs_dir))
    return config


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    if page.is_homepage:
        page.meta["hide"] = ["navigation"]
    return markdown
