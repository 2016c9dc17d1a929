"""The gallery: every page runs in quick form, shows what its code printed, and what it claims holds.

Runs here have a seed, so that a claim holds or not; the pages' own have none, and so a guarantee.
"""

import functools
import importlib.util
import itertools
import re
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

import dpmcmc as dp
from tests.likelihood.settings import cheap_sampler  # noqa: F401  (a fixture)
from tests.scores.settings import few_simulated  # noqa: F401  (a fixture)

SCRIPT = Path(__file__).parents[1] / "docs" / "scripts" / "gallery.py"
spec = importlib.util.spec_from_file_location("gallery", SCRIPT)
gallery = sys.modules["gallery"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(gallery)

NAMES = ["change-point", "hierarchical", "linear", "logistic", "mixture", "mnist", "poisson", "robust"]


@pytest.fixture
def seeded(monkeypatch):
    monkeypatch.setattr(dp, "sample", functools.partial(dp.sample, seed=1))
    monkeypatch.delenv("MNIST79", raising=False)


def ran(name, folder, quick):
    space, printed = gallery.run(gallery.Page.read(name), folder, quick=quick)
    assert (folder / "img" / f"{name}.png").stat().st_size > 10_000
    assert any(printed)
    return space


def away(private, mean):
    """Private standard deviations between the private mean and another."""
    return abs(np.mean(private) - mean) / np.std(private)


# pages as they stand


def test_there_are_eight_pages_and_the_index_shows_them():
    index = (gallery.GALLERY / "index.md").read_text()
    assert gallery.names() == NAMES
    for name in NAMES:
        assert f"](img/{name}.png)]({name}.md)" in index
        assert f"](img/{name}.png)" in gallery.Page.read(name).text


@pytest.mark.parametrize("name", NAMES)
def test_a_page_shows_what_its_code_printed(name):
    page = gallery.Page.read(name)
    assert page.ran_as == page.digest, f"run docs/scripts/gallery.py {name}: its code has changed since it ran"
    assert page.with_output(re.findall(r"```text\n(.*?)```", page.text, flags=re.S) + [""] * 9).ran_as == page.digest


def test_a_change_of_the_code_is_noticed():
    page = gallery.Page.read("linear")
    changed = gallery.Page("linear", page.text.replace("epsilon=1.0", "epsilon=2.0"))
    assert changed.ran_as != changed.digest


def test_a_quick_form_of_what_is_not_assigned_is_refused(tmp_path):
    page = gallery.Page("odd", "<!-- quick form: m = 2 -->\n```python\nn = 1\n```\n")
    with pytest.raises(ValueError, match="'m', which the code assigns 0 times"):
        gallery.run(page, tmp_path, quick=True)


# quick forms


@pytest.mark.usefixtures("seeded", "few_simulated")
def test_logistic(tmp_path):
    space = ran("logistic", tmp_path, quick=True)
    assert "without a seed it would be (1, 1e-06)" in space["release"].no_guarantee
    for name, sign in (("rate_marriage", -1), ("religious", -1), ("yrs_married", 1)):
        assert sign * np.mean(space["plain"][name]) > 0
        assert np.std(space["private"][name]) > np.std(space["plain"][name])


@pytest.mark.slow
@pytest.mark.usefixtures("seeded", "few_simulated")
def test_poisson(tmp_path):
    space = ran("poisson", tmp_path, quick=True)
    stds = {name: space["coefficients"].draws[name].std() for name in space["levels"]}
    assert max(stds, key=stds.get) == "health[poor]"


@pytest.mark.slow
@pytest.mark.usefixtures("seeded", "few_simulated")
def test_linear(tmp_path):
    space = ran("linear", tmp_path, quick=True)
    assert 0.85 < space["covered"] < 0.95
    low, high = np.quantile(space["release"].posterior_predictive(space["flats"]), [0.05, 0.95], axis=0)
    expected = space["release"].predict(space["flats"])
    assert np.all(high - low > 5 * (expected["95%"] - expected["5%"]))


@pytest.mark.slow
@pytest.mark.usefixtures("seeded", "few_simulated")
def test_robust(tmp_path):
    space = ran("robust", tmp_path, quick=True)
    for slope in (lambda name: space["slopes"][name].mean(), lambda name: space["plain"][name][0]):
        assert abs(slope("student-t") - 0.5) < abs(slope("gaussian") - 0.5)


@pytest.mark.usefixtures("seeded")
def test_change_point(tmp_path):
    space = ran("change-point", tmp_path, quick=True)
    draws = space["release"].draws
    assert all(values.dtype.kind == "i" for values in draws.values())
    assert draws["change"].min() >= 1
    assert draws["change"].max() < space["weeks"]
    assert space["full"].sum((1, 2)).argmax() + 1 == 16
    log = np.log([space["rates"], 1 - space["rates"]])  # the bound that the page states is true, and none is smaller
    pairs = itertools.product(range(len(space["rates"])), repeat=2)
    assert max(np.abs(log[:, here] - log[:, there]).max() for here, there in pairs) == pytest.approx(np.log(2))


@pytest.mark.usefixtures("seeded")
def test_the_change_points_proposal_is_symmetric(tmp_path):
    """Of 20 000 moves between two states, as many there as back: 4.5 standard deviations, false alarm 7e-6 each."""
    space = {}
    blocks = gallery.Page.read("change-point").blocks
    exec(blocks[0].replace("1_000_000", "10") + blocks[1], space)
    keys = jax.random.split(jax.random.key(0), 20_000)

    def moves(here, there):
        found = jax.vmap(lambda key: space["neighbour"](key, here))(keys)
        return int(np.all([np.asarray(found[name]) == there[name] for name in there], axis=0).sum())

    for here, there in (
        ({"change": 1, "early": 0, "late": 4}, {"change": 3, "early": 0, "late": 4}),
        ({"change": 25, "early": 0, "late": 4}, {"change": 25, "early": 0, "late": 3}),
    ):
        go, back = moves(here, there), moves(there, here)
        assert go > 1000
        assert abs(go - back) < 4.5 * np.sqrt(go + back)


@pytest.mark.slow
@pytest.mark.usefixtures("seeded", "cheap_sampler")
def test_mixture(tmp_path):
    space = ran("mixture", tmp_path, quick=True)
    words = space["in_words"](space["release"])
    assert np.all(np.asarray(words["simple"]) < np.asarray(words["hard"]))
    assert abs(space["best"][0] - 67.5) < 4.5 * space["std"][0]
    assert space["releases"][1000].quality.verdict == "not usable"


@pytest.mark.slow
@pytest.mark.usefixtures("seeded", "few_simulated")
def test_hierarchical(tmp_path):
    space = ran("hierarchical", tmp_path, quick=True)
    draws = space["sites"].draws
    level = draws["mean"][..., None] + draws["spread"][..., None] * draws["z"]
    np.testing.assert_allclose(draws["level"], level, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.usefixtures("seeded", "few_simulated")
def test_mnist(tmp_path):
    space = ran("mnist", tmp_path, quick=True)
    assert len(space["columns"]) == 27
    assert space["best"] > 0.9  # simulated digits, with a known difference
    assert space["right"][1.0] > space["best"] - 0.1


# whole pages, as they are printed


def check_logistic(space):
    for name, draws in space["private"].items():
        assert away(draws, space["plain"][name].mean()) < 4
        assert draws.std() > 0.95 * space["plain"][name].std()


def check_poisson(space):
    assert space["release"].quality.verdict == space["careful"].quality.verdict == "wide"
    for name in space["levels"]:
        assert away(space["coefficients"].draws[name], space["plain"][name][0]) < 4


def check_linear(space):
    assert 0.88 < space["covered"] < 0.92
    assert [space["fewer"][200].quality.verdict, space["release"].quality.verdict] == ["not usable", "usable"]


def check_robust(space):
    for name, draws in space["slopes"].items():
        assert away(draws, space["plain"][name][0]) < 4
    assert space["plain"]["gaussian"][0] < 0.46 < 0.48 < space["slopes"]["student-t"].mean() < 0.5


def check_change_point(space):
    assert space["distance"] < 0.25
    assert space["private"].argmax() + 1 == 16
    assert space["tenth"] < 0.3


def check_mixture(space):
    verdicts = {size: one.quality.verdict for size, one in space["releases"].items()}
    assert [verdicts[1000], verdicts[16_000], verdicts[50_000]] == ["not usable", "usable", "usable"]
    for at, name in enumerate(space["start"]):
        assert away(space["release"].kept[name], space["best"][at]) < 4


def check_hierarchical(space):
    plain = np.asarray(space["plain"]["level"])
    assert space["release"].quality.verdict != "not usable"
    assert all(away(space["levels"][:, at], plain[:, at].mean()) < 4 for at in range(8))


def check_mnist(space):
    assert all(right > space["best"] - 0.05 for epsilon, right in space["right"].items() if epsilon >= 1)


@pytest.mark.slow
@pytest.mark.usefixtures("seeded")
@pytest.mark.parametrize("name", NAMES)
def test_a_whole_page_shows_what_it_says(name, tmp_path):
    globals()[f"check_{name.replace('-', '_')}"](ran(name, tmp_path, quick=False))
