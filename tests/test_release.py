"""A release says what it is, and everything in it can be saved, a user's own events included."""

import subprocess
import sys
from dataclasses import dataclass, replace

import numpy as np
import pytest

import dpmcmc as dp
from dpmcmc import privacy
from dpmcmc.chain.quality import ChainQuality
from dpmcmc.charge import Purse, of_draws
from dpmcmc.plain import Plain
from dpmcmc.privacy import Event

MODEL = dp.models.GaussianMean(2)
RECORDS = np.random.default_rng(0).normal(size=(400, 2))


INNER = privacy.Gaussian(3.0)


@dataclass(frozen=True)
class CoinOfMyOwn(Event):
    """An event that this library has never heard of, with settings of every plain kind."""

    bias: float
    name: str = "mine"
    inner: Event = INNER
    table: tuple[tuple[float, float], ...] = ((0.0, 1.0),)


@privacy.renyi_of.register
def _(event: CoinOfMyOwn, orders: np.ndarray) -> np.ndarray:
    return np.full_like(orders, event.bias)


@pytest.fixture(scope="module")
def release():
    kernel = dp.dp_barker(step=0.05, clip=0.005)
    return dp.sample(MODEL, RECORDS, 1.0, 1e-6, method=dp.Chain(kernel, warmup=20), draws=60, progress=False)


def test_a_users_own_event_survives_saving(release, tmp_path):
    event = privacy.Compose((privacy.Repeat(CoinOfMyOwn(0.1), 3), CoinOfMyOwn(0.2, "other", table=((1.0, 2.0),))))
    guarantee, receipt = Purse(dp.Budget(10.0, 1e-6), of_draws(4)).charge("mine", event)
    mine = replace(release, guarantee=guarantee, receipts=(receipt,))
    loaded = dp.Release.load(mine.save(tmp_path / "mine.npz"))
    assert (loaded.guarantee, loaded.receipts) == (mine.guarantee, mine.receipts)
    assert 0 < float(privacy.epsilon(loaded.receipts[-1].event, 1e-6)) < 10


def test_an_event_that_is_not_imported_says_what_to_do():
    with pytest.raises(ValueError, match=r"unknown event 'NotHere'; known: BarkerBit.*import the module"):
        Event.from_dict({"kind": "NotHere"})
    with pytest.raises(ValueError, match="unknown event 'ZcdpFilter'"):
        Event.from_dict(privacy.ZcdpFilter(0.1).to_dict())


def test_two_classes_of_one_name_are_refused():
    with pytest.raises(TypeError, match=r"saved by its name, which .*CoinOfMyOwn has already"):
        type("CoinOfMyOwn", (Plain,), {"__qualname__": "elsewhere.CoinOfMyOwn"})


def test_chains_say_how_many_draws_they_are_worth(release):
    assert isinstance(release.quality, ChainQuality)
    summary = release.summary()
    assert release.quality.effective_draws == pytest.approx(summary["ess_bulk"].min())
    assert release.quality.r_hat == pytest.approx(summary["r_hat"].max())
    assert f"smallest effective sample size {release.quality.effective_draws:.0f}" in str(release)


@pytest.mark.parametrize(
    ("quality", "words"),
    [
        (ChainQuality(400.0, 1.0, 100, 1.0), "about 0.05 standard deviations of these draws. "),
        (ChainQuality(30.0, 1.0, 100, 1.0), "that of tails and intervals larger"),
        (ChainQuality(400.0, 1.2, 100, 1.0), "not converged"),
        (ChainQuality(float("nan"), 1.0, 100, 0.5), "tempered to count as 50; effective draws and R-hat cannot"),
    ],
)
def test_a_chain_is_not_read_as_better_than_it_is(quality, words):
    assert words in quality.describe()


def test_a_chain_that_never_moves_has_no_quality():
    still = {"theta": np.zeros((2, 50))}
    assert not np.isfinite(ChainQuality.of(still, 0, 10, 1.0).r_hat)
    assert np.isnan(ChainQuality.of({"theta": np.zeros((2, 3))}, 0, 10, 1.0).effective_draws)


def test_a_single_chain_is_compared_with_itself(caplog):
    """R-hat of its halves; no warning, and no empty column in the table."""
    kernel = dp.dp_barker(step=0.05, clip=0.005)
    release = dp.sample(MODEL, RECORDS, 1.0, 1e-6, method=kernel, draws=60, chains=1, progress=False)
    assert np.isfinite(release.quality.r_hat)
    assert "r_hat" not in release.summary().columns
    assert "nan" not in str(release).lower()
    assert not [record for record in caplog.records if record.name.startswith("arviz")]


def test_nothing_is_printed_but_the_release():
    """ArviZ announces its next version with a warning; a user of a release did not ask."""
    code = (
        "import warnings, numpy as np, dpmcmc as dp; warnings.simplefilter('always');"
        "r = dp.sample(dp.models.GaussianMean(), np.zeros((50, 1)), 1.0, 1e-6, method=dp.dp_barker(0.1, 0.01), draws=9,"
        " progress=False); str(r); r.to_arviz()"
    )
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ran.stdout == ""
    assert "FutureWarning" not in ran.stderr
    assert "arviz" not in ran.stderr.lower()


@pytest.mark.parametrize("count", [2, 60])
def test_the_verdict_comes_first(count, release):
    """Whoever prints a release reads first whether it can be used, and why."""
    few = replace(release, draws={name: x[:, : count + 20] for name, x in release.draws.items()})
    assert str(few).startswith(f"Verdict: {release.quality.verdict}. {release.quality.reason}\n")
    assert str(few).splitlines()[1] == f"{release.guarantee}."
    assert release.to_arviz().attrs["verdict"] == release.quality.verdict


def test_what_keeps_no_sums_cannot_be_drawn_again(release):
    with pytest.raises(ValueError, match=r"keeps no sums to draw from again; chains of decisions have none"):
        release.redraw(MODEL)


def test_a_release_can_be_read_where_it_was_not_made(release, tmp_path):
    """In a new process, with nothing imported but the package."""
    path = release.save(tmp_path / "draws.npz")
    code = f"import dpmcmc as dp; print(dp.Release.load({str(path)!r}).quality.verdict)"
    ran = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert ran.stdout.strip() == release.quality.verdict, ran.stderr


def test_what_is_not_a_release_is_refused(tmp_path):
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    with pytest.raises(ValueError, match="is not a saved release"):
        dp.Release.load(tmp_path / "other.npz")
