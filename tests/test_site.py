"""The documentation site: built without a warning, every link resolves, and reading it asks nobody for anything."""

import json
import os
import posixpath
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import dpmcmc
from tests.pages import ROOT

pytestmark = pytest.mark.slow
ASSETS = {
    "img": "src",
    "script": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
    "embed": "src",
}
NOT_FETCHED = {"canonical", "prev", "next", "alternate"}  # relations of <link> that a browser does not load


class Page(HTMLParser):
    """What a page links to, what it loads, and its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.images_without_text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        has = dict(attrs)
        self.anchors |= {has[name] for name in ("id", "name") if has.get(name)}
        if tag == "a" and has.get("href") is not None:
            self.links.append(has["href"])
        if tag in ASSETS and has.get(ASSETS[tag]):
            self.loaded.append(has[ASSETS[tag]])
        if tag == "link" and has.get("rel") not in NOT_FETCHED:
            self.loaded.append(has["href"])
        if tag == "img" and "alt" not in has:
            self.images_without_text.append(has.get("src", ""))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built site: every page by its path."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stderr, done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site):
    return {
        path.relative_to(site).as_posix(): Page(path.read_text(encoding="utf-8"))
        for path in sorted(site.rglob("*.html"))
    }


def test_every_link_resolves(site, pages):
    broken = []
    for path, page in pages.items():
        for link in page.links + page.loaded:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            base = "" if path == "404.html" else posixpath.dirname(path)  # the page for what is missing has a base
            target = posixpath.normpath(posixpath.join(base, unquote(parts.path))) if parts.path else path
            target = target.lstrip("/")
            if (site / target).is_dir():
                target = posixpath.normpath(posixpath.join(target, "index.html"))
            has_anchor = target not in pages or unquote(parts.fragment) in pages[target].anchors | {""}
            if not (site / target).exists() or not has_anchor:
                broken.append((path, link))
    assert not broken, broken[:20]


def test_nothing_is_loaded_from_elsewhere(site, pages):
    for path, page in pages.items():
        for address in page.loaded:
            assert not urlsplit(address).netloc, f"{path} loads {address}"
    for sheet in site.rglob("*.css"):
        for address in re.findall(r"(?:url\(|@import)\s*[\"']?([^\"')\s;]+)", sheet.read_text(encoding="utf-8")):
            assert address.startswith("data:") or not urlsplit(address).netloc, f"{sheet.name} loads {address}"


def test_every_public_name_has_an_anchor(pages):
    anchors = set().union(*(page.anchors for path, page in pages.items() if path.startswith("reference/")))
    documented = {name.rpartition(".")[2] for name in anchors if name.startswith("dpmcmc.")}
    for name in dpmcmc._HOME:
        assert name in documented, f"dp.{name} is not in the reference"
    for module in ("models", "privacy", "metrics", "sklearn", "acceptance", "proposals"):
        for name in getattr(dpmcmc, module).__all__:
            assert name in documented, f"dp.{module}.{name} is not in the reference"


def test_every_command_is_there(pages):
    from typer.main import get_command

    from dpmcmc.cli import app

    for name in get_command(app).commands:
        assert f"dpmcmc-{name}" in pages["reference/command-line.html"].anchors


def test_search_works_without_a_server(site):
    entries = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))["docs"]
    found = {entry["location"].partition("#")[0] for entry in entries}
    assert {"index.html", "how-private.html", "comparison.html", "theory/filter.html"} <= found
    assert (site / "search" / "search_index.js").read_text(encoding="utf-8").startswith("var __index = ")


def test_formulas_are_drawn_by_the_browser(site):
    for path in sorted((site / "theory").glob("*.html")):
        text = path.read_text(encoding="utf-8").partition("<article")[2].partition("</article>")[0]
        shown = re.sub(r"<code>.*?</code>|<math.*?</math>", "", text, flags=re.S)
        assert "$" not in shown, f"{path.name}: a formula is shown as LaTeX"
    assert "<math" in (site / "theory" / "filter.html").read_text(encoding="utf-8")


def test_pictures_have_a_text(pages):
    for path, page in pages.items():
        assert not page.images_without_text, path


def test_docstrings_are_markdown(site):
    for path in sorted((site / "reference").glob("*.html")):
        assert not re.search(r":(func|class|meth|mod|attr):", path.read_text(encoding="utf-8")), path.name


def test_hidden_folders_are_not_published(site):
    assert not (site / "hooks").exists()
    assert not (site / "scripts").exists()
    assert not [path for path in Path(site).rglob("*.py")]
