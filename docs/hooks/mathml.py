"""LaTeX between dollar signs becomes MathML when the site is built, with a font beside it: no script, no network."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any
from unicodedata import lookup, name

import ziamath
from latex2mathml.converter import convert
from markdown import Markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor
from mkdocs.structure.files import File

DISPLAYED = r"(?<![\\$])\$\$(.+?)\$\$"
INLINE = r"(?<![\\$\w])\$(?![\s$])([^$]*?[^\s$\\])\$(?!\d)"
VARIANT = re.compile(r'<(m[in]) mathvariant="(double-struck|script|bold)">(\w)</m[in]>')
BIG = re.compile(r'<mo minsize="[^"]*" maxsize="[^"]*">[^<]*</mo>')  # in a row, so that it stretches under an exponent
AFTER_CODE_BEFORE_ESCAPES = 185  # backticks have 190 in Python-Markdown, backslashes 180


@cache
def mathml(latex: str, display: str) -> str:
    """A formula as MathML. One that cannot be read ends the build: a page must not show raw LaTeX."""
    tree = convert(re.sub(r"\s+", " ", latex.strip()), display=display)
    if "\\" in tree:
        raise ValueError(f"no MathML for all of ${latex}$: write the formula in another way")
    return BIG.sub(r"<mrow>\g<0></mrow>", VARIANT.sub(letter, tree))


def letter(match: re.Match[str]) -> str:
    """A letter in another alphabet as the character that it is: browsers know no ``mathvariant`` but "normal"."""
    tag, variant, plain = match.groups()
    kind = name(plain).replace("LATIN ", "").replace("LETTER ", "")
    candidates = (f"MATHEMATICAL {variant.upper()} {kind}", f"{variant.upper()} {kind}")
    return f"<{tag}>{next(lookup(full) for full in candidates if is_character(full))}</{tag}>"


def is_character(full_name: str) -> bool:
    try:
        return bool(lookup(full_name))
    except KeyError:
        return False


class Formula(InlineProcessor):
    """Formulas of one kind: "inline" or "block"."""

    def __init__(self, pattern: str, md: Markdown, display: str) -> None:
        super().__init__(pattern, md)
        self.display = display

    def handleMatch(self, m: re.Match[str], data: str) -> tuple[str, int, int]:  # type: ignore[override]
        return self.md.htmlStash.store(mathml(m[1], self.display)), m.start(0), m.end(0)


class Formulas(Extension):
    """$...$ and $$...$$ in Markdown, as Git hosts read them."""

    def extendMarkdown(self, md: Markdown) -> None:
        for kind, pattern, display in (("displayed", DISPLAYED, "block"), ("inline", INLINE, "inline")):
            formula = Formula(pattern, md, display)
            md.inlinePatterns.register(formula, f"mathml {kind}", AFTER_CODE_BEFORE_ESCAPES + (display == "block"))


def on_config(config: Any) -> Any:
    config.markdown_extensions.append(Formulas())
    return config


def on_files(files: Any, config: Any) -> Any:
    font = Path(ziamath.__file__).parent / "fonts" / "STIXTwoMath-Regular.ttf"  # SIL Open Font License
    files.append(File.generated(config, "assets/math.ttf", abs_src_path=str(font)))
    return files
