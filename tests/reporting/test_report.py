"""The report: what it must say, and that no name in a study becomes markup."""

import dataclasses
import json
from html.parser import HTMLParser

import numpy as np
import pytest
from typer.testing import CliRunner

import dpmcmc as dp
from dpmcmc.cli import app
from dpmcmc.drawing import panels
from dpmcmc.drawing.figures import shortened
from dpmcmc.reporting import html
from dpmcmc.reporting.budgets import budget_curve
from dpmcmc.scores.sums import ScoreSums
from dpmcmc.study.study import versions
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


@pytest.mark.parametrize("levels", [30, pytest.param(200, marks=pytest.mark.slow)])
def test_a_hostile_study_is_shown_whole_and_harmless(levels):
    release = release_of(hostile(levels))
    page = checked(html(release, title="<script>alert('title')</script> مرحبا"))
    assert OUTCOME in page.text
    assert COLUMN in page.text
    for level in LEVELS[1:levels]:
        assert " ".join(f"place[{level}]".split()) in page.text
    assert "{{ 7 * 7 }}" in page.text
    assert "<i>unit</i>" in page.text
    assert page.text.count("Forest plot of the coefficients") == -(-levels // 24)  # 24 rows a picture
    assert len(release.on_original_scale().draws) == levels + 1


def test_other_releases_have_a_report_too():
    rng = np.random.default_rng(0)
    release = dataclasses.replace(release_of(), draws={"theta": rng.normal(size=(2, 200, 2, 2))}, model=None)
    page = checked(html(release))
    assert "theta[1, 0]" in page.text


def test_a_release_is_small_and_escaped_in_a_notebook():
    shown = release_of(hostile(60))._repr_html_()
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


def test_a_saved_release_is_enough_for_its_report_and_predictions(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    release_of().save("release.npz")
    said = CliRunner().invoke(app, ["report", "release.npz"])
    assert said.exit_code == 0, said.output
    page = checked((tmp_path / "release.html").read_text(encoding="utf-8"))
    assert "Visits" in page.text
    assert "visits ~ age + plan + log(income)" in page.text
    assert CliRunner().invoke(app, ["report", "release.npz"]).exit_code == 2  # it is there now
    (tmp_path / "new.csv").write_text("age,plan,income\n30,free,20\n60,full,80\n")
    said = CliRunner().invoke(app, ["predict", "release.npz", "new.csv", "--json"])
    assert said.exit_code == 0, said.output
    found = json.loads(said.stdout)
    assert [row["row"] for row in found] == [0, 1]
    expected = release_of().predict({"age": [30, 60], "plan": ["free", "full"], "income": [20.0, 80.0]})
    np.testing.assert_allclose([row["mean"] for row in found], expected["mean"], rtol=1e-6)


def test_a_release_of_another_kind_says_that_it_keeps_no_study(tmp_path):
    release = dataclasses.replace(release_of(), model=None)
    release.settings.pop("study")
    release.save(tmp_path / "release.npz")
    (tmp_path / "new.csv").write_text("age\n30\n")
    said = CliRunner().invoke(app, ["predict", str(tmp_path / "release.npz"), str(tmp_path / "new.csv")])
    assert said.exit_code == 2
    assert "keeps no study" in said.output


def test_what_is_said_of_the_last_sum_is_what_its_probability_says():
    assert "the last sum agrees with the others (p = 0.6)" in checked(html(release_of(), title="Visits")).text
    bad = checked(html(release_of(surprise=1e-9), title="Visits")).text
    assert "the last sum contradicts the others (p = 1e-09)" in bad
    assert "agrees with the others" not in bad


def test_a_study_keeps_the_version_of_the_code_that_ran():
    assert versions()["dpmcmc"] == dp.__version__


AGE = 'type = "number"\nbounds = [18, 90]\nunit = "year"'
DATED = GOOD.replace(AGE, 'type = "date"\nbounds = [2020-01-01, 2022-12-31]')


def test_dates_are_dates_and_what_hardly_changed_is_named():
    assert DATED != GOOD
    release = release_of(DATED)
    name = "plan[full]"
    mean, std = release.model.priors[name]
    release.draws[name] = mean + std * np.random.default_rng(1).normal(size=release.draws[name].shape)
    page = checked(html(release))
    assert "per day" in page.text
    assert "dates are at their first bound" in page.text
    assert f"The records told hardly anything of {name}" in page.text
    assert "2021" in page.text


def test_levels_with_long_names_are_told_apart_in_pictures():
    column = "Region of residence by the official classification"
    levels = ("northern counties", "southern counties", "elsewhere")
    labels = [shortened(f"{column}[{level}, without its capital]") for level in levels]
    assert len(set(labels)) == 3
    assert all(len(label) <= 40 for label in labels)
    rows = np.array([[1.0, 0.1, 0.8, 1.2], [1.1, 0.1, 0.9, 1.3], [50.0, 900.0, 0.0, 3000.0]])
    figure = panels("place", levels, rows, 100 * rows, "visits")
    axis = figure.axes[0]
    assert axis.get_xlim()[1] < 3
    assert [text.get_text() for text in axis.texts] == list(levels)


def test_a_saved_release_keeps_the_versions_that_ran(paid, tmp_path):
    """Read again by other versions, the report is of those that made it."""
    study = dict(paid.settings["study"]) | {"versions": {"python": "0.0.1", "dpmcmc": "0.0.2"}}
    settings = dict(paid.settings) | {"study": study}
    kept = dataclasses.replace(paid, settings=settings).with_model(paid.model)
    assert kept.settings["study"]["versions"]["python"] == "0.0.1"
    assert "Version 0.0.2" in checked(html(kept)).text
