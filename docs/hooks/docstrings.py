"""Docstrings as Markdown: roles become links, Guarantee and Reference paragraphs, and pages of docs/ links."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from griffe import Extension, Object

sys.path.insert(0, str(Path(__file__).parent))
from public_names import entries

PUBLIC = {path for names in entries().values() for path in names.values()}
BY_NAME = {path.rpartition(".")[2]: path for path in sorted(PUBLIC, key=len, reverse=True)}


def role(match: re.Match[str]) -> str:
    """A reST role as a link, if the reference has its target, or as code."""
    target = match[1].lstrip("~")
    shown = target.rpartition(".")[2] if match[1].startswith("~") else target.replace("dpmcmc.", "dp.", 1)
    head, _, last = target.rpartition(".")
    path = next((path for path in (target, BY_NAME.get(last, "")) if path in PUBLIC), None)
    owner = BY_NAME.get(head.rpartition(".")[2]) if path is None else None
    return f"[`{shown}`][{path or owner}]" if path or owner else f"`{shown}`"


def page_link(match: re.Match[str]) -> str:
    """A page of docs/ as a link from the reference, which is one folder down."""
    return f"[{match[1]}](../{match[1]}.md)"


def markdown(text: str) -> str:
    """A docstring of this package as Markdown."""
    text = re.sub(r":(?:func|class|meth|mod|attr|data):`([^`]+)`", role, text)
    text = re.sub(r"\bdocs/([\w/-]+)\.md\b", page_link, text)
    return re.sub(r"\n(Guarantee|Reference|References):", r"\n\n**\1:**", text)


class Docstrings(Extension):
    """Rewrites every docstring once, when it is read."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = markdown(obj.docstring.value)
