"""The report: what it must say, and that no name in a study becomes markup."""

import dataclasses
from html.parser import HTMLParser

import numpy as np
import pytest

import dpmcmc as dp
from dpmcmc.reporting import html
from dpmcmc.reporting.budgets import budget_curve
from dpmcmc.scores.sums import ScoreSums
from tests.reporting.releases import COLUMN, LEVELS, OUTCOME, hostile, release_of
from tests.study.studies import GOOD

VOID = {"meta", "link", "br", "img", "hr", "input"}


class Page(HTMLParser):
    """Elements, their attributes, and the text of the page; refuses what does not close."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements, self.open, self.words = [], [], []
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def checked(text: str) -> Page:
    """A page that loads nothing, runs nothing and has every identifier once."""
    page = Page(text)
    names = [tag for tag, _ in page.elements]
    assert not {"script", "iframe", "object", "embed", "img", "form", "b", "i"} & set(names)
    assert names.count("style") == names.count("title") - names.count("svg") == names.count("main") == 1
    for _, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on")]
        for name in ("src", "href", "xlink:href"):
            assert attributes.get(name, "#").startswith(("#", "data:,"))
    identities = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(set(identities)) == len(identities)
    for _, attributes in page.elements:
        for target in attributes.get("aria-labelledby", "").split():
            assert target in identities
    return page


@pytest.fixture(scope="module")
def paid():
    """A release as the default method makes them: with sums, from which a curve over budgets can be had."""
    sums = ScoreSums(precision=((1.0,),), weighted=(0.0,), centre=(0.0,))
    return dataclasses.replace(release_of(), sums=sums)


def test_it_says_first_whether_it_can_be_used(paid):
    for verdict, figures in (("usable", {}), ("wide", {"mean_error": 1.5}), ("not usable", {"surprise": 1e-9})):
        release = release_of(**figures)
        assert release.quality.verdict == verdict
        page = checked(html(release, title="Visits"))
        shown = {"usable": "Usable", "wide": "Usable, but wide", "not usable": "Not usable"}[verdict]
        before, _, after = page.text.partition("Verdict: ")
        assert after.startswith(shown)
        assert "differentially private" not in before.partition("Report of a")[2].replace(
            "differentially private post", ""
        )
        assert release.quality.reason in page.text


def test_it_says_what_is_promised_and_to_whom(paid):
    page = checked(html(paid))
    assert str(paid.guarantee) in page.text
    assert "substitution of one record" in page.text
    assert "2.72 times as likely" in page.text
    assert "Pr[M(D) ∈ S] ≤ exp(1) · Pr[M(D′) ∈ S] + 1e-06" in page.text
    assert "No ledger was given" in page.text


def test_persons_are_named():
    text = GOOD.replace('protects = "record"', 'protects = "person"\nmost = 3')
    assert "all records of one person" in checked(html(release_of(text))).text


def test_a_release_without_a_guarantee_says_so():
    page = checked(html(release_of(reproducible=True)))
    assert "This release has no privacy guarantee." in page.text
    assert "times as likely" not in page.text


def test_every_coefficient_is_there_with_its_prior(paid):
    page = checked(html(paid))
    for name in paid.on_original_scale().draws:
        assert name in page.text
    low, high = np.quantile(paid.on_original_scale().draws["age"], [0.05, 0.95])
    assert f"{low:.3g}".replace("-", "−") in page.text
    assert f"{high:.3g}".replace("-", "−") in page.text
    assert "Rate ratio" in page.text
    assert "per year" in page.text


def test_what_the_ledger_has_left(paid, tmp_path):
    ledger = dp.Ledger.create(tmp_path / "l.db", dataset="<b>clinic</b>", budget=dp.Budget(3.0, 1e-5))
    page = checked(html(paid, ledger=ledger))
    assert "<b>clinic</b>" in page.text
    assert ledger.head in page.text.replace(" ", "")


def test_a_larger_budget_buys_less_noise(paid):
    curve = budget_curve(paid)
    assert np.all(np.diff(curve.errors) < 0)
    assert np.all(curve.low <= curve.errors)
    assert np.all(curve.errors <= curve.high)
    epsilon, error, widening, _ = curve.at(1.0)
    assert (epsilon, round(error, 9), round(widening, 9)) == (1.0, 0.4, 1.1)
    assert budget_curve(release_of()) is None
    assert budget_curve(dataclasses.replace(paid, guarantee=None)) is None


def test_a_hostile_study_is_shown_whole_and_harmless():
    release = release_of(hostile())
    page = checked(html(release, title="<script>alert('title')</script> مرحبا"))
    assert OUTCOME in page.text
    assert COLUMN in page.text
    for level in LEVELS[1:]:
        assert " ".join(f"place[{level}]".split()) in page.text
    assert "{{ 7 * 7 }}" in page.text
    assert "<i>unit</i>" in page.text
    assert page.text.count("Forest plot of the coefficients") == 9  # 197 rows, 24 a picture


def test_other_releases_have_a_report_too():
    rng = np.random.default_rng(0)
    release = dataclasses.replace(release_of(), draws={"theta": rng.normal(size=(2, 200, 2, 2))}, model=None)
    page = checked(html(release))
    assert "theta[1, 0]" in page.text


def test_a_release_is_small_and_escaped_in_a_notebook():
    shown = release_of(hostile())._repr_html_()
    page = Page(shown)
    assert not {"script", "img", "b", "i"} & {tag for tag, _ in page.elements}
    assert "… and" in page.text
    assert len(shown) < 30_000
    assert "Verdict: usable" in page.text


def test_pictures_of_a_release():
    import matplotlib

    matplotlib.use("Agg")
    release = release_of()
    assert len(release.plot().texts) == len(release.draws)
    assert len(release.plot("densities", names=["age"])) == 1
    assert len(release.on_original_scale().plot().texts) == len(release.on_original_scale().draws)
    with pytest.raises(ValueError, match="'violin'"):
        release.plot("violin")
    with pytest.raises(ValueError, match="'nothing'"):
        release.plot(names=["nothing"])


def test_the_report_is_written_whole_or_not_at_all(tmp_path):
    release = release_of()
    with pytest.raises(ValueError, match=r"\.pdf"):
        dp.report(release, tmp_path / "a.pdf")
    with pytest.raises(TypeError, match=r"dp\.Release"):
        dp.report("release.npz", tmp_path / "a.html")
    with pytest.raises(dp.FileError):
        dp.report(release, tmp_path / "nowhere" / "a.html")
    assert dp.report(release, tmp_path / "a.html").read_text().startswith("<!DOCTYPE html>")
