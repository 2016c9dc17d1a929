"""A figure as SVG within a page: its colours are the page's, its names its own, and it has words beside it."""

from __future__ import annotations

import io
import re
from typing import Any
from xml.etree import ElementTree

from dpmcmc.drawing.figures import ACCENT, FAINT, INK, OTHER, styled

_SVG, _LINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_COLOURS = {INK: "var(--ink)", FAINT: "var(--faint)", ACCENT: "var(--accent)", OTHER: "var(--other)"}
_BLACK = re.compile(r"(fill|stroke): ?#(?:000000|ffffff)")


def svg(figure: Any, name: str, title: str, description: str) -> str:
    """The figure as an SVG element.

    Every text in it is escaped. ``name`` tells its identifiers from those of other figures of the page; ``title`` and
    ``description`` are what a screen reader says.
    """
    with styled():
        figure.patch.set_alpha(0)
        for axis in figure.axes:
            axis.patch.set_alpha(0)
        written = io.BytesIO()
        figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", _LINK)
    root = ElementTree.fromstring(_without_doctype(written.getvalue().decode()))
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"):
                parent.remove(child)
    for element in root.iter():
        _own(element, name)
    root.attrib.pop("width", None)
    root.attrib.pop("height", None)
    root.attrib |= {"role": "img", "aria-labelledby": f"{name}-title {name}-desc", "class": "plot"}
    for tag, text in (("desc", description), ("title", title)):
        said = ElementTree.Element(f"{{{_SVG}}}{tag}", {"id": f"{name}-{tag}"})
        said.text = text
        root.insert(0, said)
    return ElementTree.tostring(root, encoding="unicode")


def _without_doctype(text: str) -> str:
    return re.sub(r"<!DOCTYPE[^>]*>", "", text)


def _own(element: Any, name: str) -> None:
    """Identifiers with the figure's name before them, and colours of the page."""
    for key, value in list(element.attrib.items()):
        if key == "id":
            element.set(key, f"{name}-{value}")
        elif value.startswith("#") and key in ("href", f"{{{_LINK}}}href"):
            element.set(key, f"#{name}-{value[1:]}")
        elif "url(#" in value:
            element.set(key, value.replace("url(#", f"url(#{name}-"))
        elif key in ("style", "fill", "stroke"):
            for given, own in _COLOURS.items():
                value = value.replace(given, own)
            element.set(key, value)
