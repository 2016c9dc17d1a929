"""Every method on every source: the same release for the same seed."""

import numpy as np
import pytest

import dpmcmc as dp
from dpmcmc.posterior import Posterior
from dpmcmc.sources import Arrays
from tests.sources.layouts import LAYOUTS, MODEL, one_csv, one_parquet, table

ROWS = table(3000)
KERNELS = {
    "barker": dp.dp_barker(step=0.05, clip=0.1),
    "penalty": dp.dp_penalty(step=0.05, clip=0.1, std=1.0),
    "distance clip": dp.Kernel(dp.RandomWalk(0.05), dp.Barker(dp.DistanceClip(1.0))),
    "selection": dp.algorithms.dp_hidden_centre(step=0.05, count=4, clip=0.1),
}


def same(one, two):
    return one.draws.keys() == two.draws.keys() and all(np.array_equal(one.draws[k], two.draws[k]) for k in one.draws)


@pytest.mark.parametrize(
    "name",
    ["barker", *(pytest.param(name, marks=pytest.mark.slow) for name in ("selection", "penalty", "distance clip"))],
)
def test_chains_on_files_are_those_in_memory(name, tmp_path):
    """Per-record values are computed by another compiled program, and yet every decision is the same here."""

    def run(data):
        chain = dp.Chain(KERNELS[name], warmup=0)
        return dp.sample(MODEL, data, 20.0, 1e-5, method=chain, draws=30, seed=1, progress=False)

    memory, streamed = run(MODEL.encode(ROWS)), run(one_parquet(tmp_path, ROWS))
    assert same(memory, streamed)
    assert np.array_equal(memory.sample_stats["accepted"], streamed.sample_stats["accepted"])
    assert 0 < memory.sample_stats["accepted"].mean() < 1


def cut_off(path, after):
    """A source whose process is stopped in a pass."""
    source, passes = dp.Files(path, MODEL.encode), []
    real = source.total

    def total(program, arguments=()):
        passes.append(0)
        if len(passes) == after:
            raise KeyboardInterrupt
        return real(program, arguments)

    source.total = total
    return source


@pytest.mark.slow
def test_chains_go_on_from_their_checkpoint(tmp_path):
    """Stopped in a pass and resumed: one charge; and with a seed, the chain of a run that was not stopped."""
    path, budget = one_parquet(tmp_path, ROWS), dp.Budget(10.0, 1e-6)

    def planned(name):
        chain = dp.Chain(KERNELS["barker"], warmup=0, checkpoint=None if name is None else tmp_path / name)
        return dp.plan(MODEL, 3000, budget, method=chain, draws=120)

    ledger = dp.Ledger.create(tmp_path / "l.db", dataset="visits", budget=dp.Budget(20.0, 1e-5))
    with pytest.raises(KeyboardInterrupt):
        planned("a.npz").sample(cut_off(path, 90), ledger=ledger, progress=False)
    release = planned("a.npz").sample(path, ledger=ledger, progress=False)
    assert (release.settings["stopped"], len(ledger.book.reservations)) == ("budget spent", 1)
    with pytest.raises(KeyboardInterrupt):
        planned("b.npz").sample(cut_off(path, 90), seed=4, progress=False)
    with pytest.raises(ValueError, match="another"):
        planned("b.npz").sample(MODEL.encode(table(3000, seed=9)), seed=4, progress=False)
    resumed = planned("b.npz").sample(path, seed=4, progress=False)
    assert same(resumed, planned(None).sample(path, seed=4, progress=False))


@pytest.mark.parametrize(
    "kernel",
    [
        dp.dp_barker_subsampled(step=0.05, batch=100),
        dp.dp_sgld(step=1e-6, clip=1.0),
    ],
    ids=["subsampled", "gradients"],
)
def test_what_needs_random_access_is_refused_by_name(kernel, tmp_path):
    with pytest.raises(ValueError, match=r"reads some of the records.*Files gives totals over all"):
        dp.sample(MODEL, one_parquet(tmp_path, ROWS), 1.0, 1e-5, method=kernel, progress=False)


@pytest.mark.parametrize("layouts", [LAYOUTS[2:5:2], pytest.param(LAYOUTS, marks=pytest.mark.slow)], ids=["few", "all"])
def test_fits_are_the_same_everywhere(layouts, tmp_path):
    fits = [dp.dpvi(MODEL, MODEL.encode(ROWS), 1.0, 1e-5, steps=5, seed=2)]
    for layout in layouts:
        (tmp_path / layout.name).mkdir()
        fits.append(dp.dpvi(MODEL, layout.write(tmp_path / layout.name, ROWS), 1.0, 1e-5, steps=5, seed=2))
    assert all(np.array_equal(fit.mean, fits[0].mean) and np.array_equal(fit.root, fits[0].root) for fit in fits)


@pytest.mark.slow
@pytest.mark.parametrize(
    "method",
    [dp.ScoreRelease(), dp.LikelihoodRelease(), dp.PosteriorDraws(1.0, 64)],
    ids=["scores", "likelihood", "posterior draws"],
)
def test_the_defaults_release_the_same_everywhere(method, tmp_path):
    """Over two blocks."""
    rows, releases = table(70_000), []
    for layout in LAYOUTS:
        (tmp_path / layout.name).mkdir()
        data = layout.write(tmp_path / layout.name, rows)
        releases.append(dp.sample(MODEL, data, 1.0, 1e-6, method=method, seed=2, progress=False))
    assert all(same(release, releases[0]) and str(release) == str(releases[0]) for release in releases)


@pytest.mark.slow
def test_the_default_on_text(tmp_path):
    """A path is enough; a release, its guarantee and a charge."""
    release = dp.sample(MODEL, one_csv(tmp_path, ROWS), 1.0, 1e-5, seed=2, progress=False)
    assert same(release, dp.sample(MODEL, MODEL.encode(ROWS), 1.0, 1e-5, seed=2, progress=False))


def test_persons_mapped_from_files(tmp_path):
    """Grouped persons are arrays like any other."""
    people = dp.PerUnit(MODEL, "person", most=2)
    grouped = people.group(MODEL.encode(ROWS), np.arange(3000) // 2, seed=0)
    np.save(tmp_path / "x.npy", grouped["rows"]["x"])
    mapped = {**grouped, "rows": {**grouped["rows"], "x": np.load(tmp_path / "x.npy", mmap_mode="r")}}
    key = "03" * 32
    assert Posterior.check(people, mapped).records.marks(key) == Arrays(grouped).marks(key)
