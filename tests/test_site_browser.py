"""The site in Debian's Chromium, opened from disk: no error, no request to anybody, and the search finds pages.

``make browser-test`` installs Chromium, and then fails where this would be left out.
"""

import os
import tempfile
from pathlib import Path

import pytest

from tests.test_site import site  # noqa: F401  (a fixture)

CHROMIUM = os.environ.get("DPMCMC_CHROMIUM", "/usr/bin/chromium")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not Path(CHROMIUM).exists() and "DPMCMC_BROWSER" not in os.environ,
        reason="`make browser-test` installs a browser",
    ),
]


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api") if "DPMCMC_BROWSER" not in os.environ else None
    if playwright is None:
        from playwright import sync_api as playwright
    with playwright.sync_playwright() as driver, tempfile.TemporaryDirectory() as profile:
        yield driver.chromium.launch_persistent_context(profile, executable_path=CHROMIUM, args=FLAGS)


@pytest.fixture
def heard(browser):
    """A page, and everything that goes wrong in it or leaves it."""
    page, said = browser.new_page(), []
    page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: None if request.url.startswith(("file:", "data:")) else said.append(request.url))
    yield page, said
    page.close()


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("path", ["index", "how-private", "theory/filter", "reference/sampling", "results/trust"])
def test_a_page_is_quiet_and_fits(site, heard, path, width):  # noqa: F811  (the fixture)
    page, said = heard
    page.set_viewport_size({"width": width, "height": 900})
    page.goto((site / f"{path}.html").as_uri())
    page.wait_for_load_state("networkidle")
    assert not said
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_search_finds_a_page(site, heard):  # noqa: F811  (the fixture)
    page, said = heard
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto((site / "index.html").as_uri())
    page.click(".md-search__input")
    page.type(".md-search__input", "ledger")  # key by key: the search listens to keys
    page.wait_for_selector(".md-search-result__item a[href*='/ledger.html']", state="attached", timeout=20_000)
    assert not said
