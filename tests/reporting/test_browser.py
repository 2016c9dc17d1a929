"""The report in Debian's Chromium: no error, no request, nothing that axe-core objects to, at two widths, both modes.

``make browser-test`` installs Chromium and axe-core, and then fails where this would be left out.
"""

import os
import tempfile
from pathlib import Path

import pytest

from dpmcmc.reporting import html
from tests.reporting.releases import fitted_report, hostile, release_of

CHROMIUM = os.environ.get("DPMCMC_CHROMIUM", "/usr/bin/chromium")
AXE = Path(os.environ.get("DPMCMC_AXE", Path(__file__).parents[2] / ".venv/browser/node_modules/axe-core/axe.min.js"))
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run",
]  # fmt: skip
MISSING = not (Path(CHROMIUM).exists() and AXE.exists())

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(MISSING and "DPMCMC_BROWSER" not in os.environ, reason="`make browser-test` installs a browser"),
]


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    made = {
        "usual": fitted_report(folder),
        "bad": html(release_of(surprise=1e-9, reproducible=True), title="Visits"),
        "hostile": html(release_of(hostile()), title="<script>alert('title')</script> مرحبا"),
    }
    for part in ("Other budgets on the same records", "What is left for this data set", "The study file"):
        assert part in made["usual"]
    for name, text in made.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["usual", "bad", "hostile"])
def test_in_a_browser(pages, name, scheme, width):
    from playwright.sync_api import sync_playwright

    said: list[str] = []
    with sync_playwright() as driver, tempfile.TemporaryDirectory() as profile:
        context = driver.chromium.launch_persistent_context(
            profile,
            executable_path=CHROMIUM,
            args=FLAGS,
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
        )
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda r: None if r.url.startswith(("file:", "data:")) else said.append(r.url))
        page.goto((pages / f"{name}.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width  # nothing is wider than the window
        keep = os.environ.get("DPMCMC_SCREENSHOTS")
        if keep:
            page.screenshot(path=Path(keep) / f"{name}-{scheme}-{width}.png", full_page=True)
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "content"
        assert said == []
        context.new_cdp_session(page).send("Page.setBypassCSP", {"enabled": True})  # for axe, which is a script
        page.reload()
        page.evaluate(AXE.read_text(encoding="utf-8"))
        found = page.evaluate("axe.run()")
        context.close()
    assert [(each["id"], each["nodes"][0]["html"][:200]) for each in found["violations"]] == []
    assert len(found["passes"]) > 20
