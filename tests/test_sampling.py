"""Runs: interrupted, resumed, released, saved."""

import json
import os
import shutil
import signal
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpmcmc as dp
from dpmcmc.chain import run as runs
from dpmcmc.chain import scan
from dpmcmc.privacy import Repeat
from dpmcmc.receipts import round_up

MODEL = dp.models.GaussianMean(2)
RECORDS = np.random.default_rng(0).normal(size=(400, 2))
CONSTANT = dp.dp_barker(step=0.05, clip=0.005)
VARYING = dp.dp_barker(step=0.05, clip=dp.DistanceClip(0.1))


def run(kernel=CONSTANT, steps=300, checkpoint=None, model=MODEL, records=RECORDS, **settings):
    """``steps`` of two chains, a quarter of them as warm-up."""
    warmup = None if steps is None else steps // 4
    method = dp.Chain(kernel, warmup=warmup, checkpoint=checkpoint)
    draws = None if steps is None else steps - warmup
    defaults = {"epsilon": 1.0, "delta": 1e-6, "method": method, "chains": 2, "draws": draws, "progress": False}
    return dp.sample(model, records, **defaults | settings)


class CutOff(BaseException):
    """The machine went away: no handler of errors runs."""


def cut_after(monkeypatch, chunks):
    """Let so many chunks finish; the next one dies after it has read the records and before it is saved."""
    real, done = scan.run_chunk, []

    def run_chunk(*args):
        result = real(*args)
        if len(done) == chunks:
            raise CutOff
        done.append(1)
        return result

    monkeypatch.setattr(runs, "run_chunk", run_chunk)


@pytest.mark.parametrize("kernel", [CONSTANT, VARYING], ids=["constant cost", "varying cost"])
@pytest.mark.parametrize("seed", [pytest.param(9, marks=pytest.mark.slow), None], ids=["seeded", "secret"])
def test_a_resumed_run_is_bit_for_bit_the_uninterrupted_one(kernel, seed, tmp_path, monkeypatch):
    path = tmp_path / "run.ckpt"
    with monkeypatch.context() as patch:
        cut_after(patch, 2)
        with pytest.raises(CutOff):
            run(kernel, seed=seed, checkpoint=path)
    twin = tmp_path / "twin.ckpt"
    shutil.copy(path, twin)

    resumed = run(kernel, seed=seed, checkpoint=path)
    with monkeypatch.context() as patch:  # once more from the same place, cut again in between
        cut_after(patch, 1)
        with pytest.raises(CutOff):
            run(kernel, seed=seed, checkpoint=twin)
    again = run(kernel, seed=seed, checkpoint=twin)
    assert np.array_equal(resumed.draws["theta"], again.draws["theta"])
    assert np.array_equal(resumed.sample_stats["accepted"], again.sample_stats["accepted"])
    if seed is not None:
        straight = run(kernel, seed=seed)
        assert np.array_equal(resumed.draws["theta"], straight.draws["theta"])
        assert resumed.receipts == straight.receipts  # paid once, and in full
    assert not path.exists()
    assert not twin.exists()


def test_a_checkpoint_is_for_its_owner_only_and_for_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "run.ckpt"
    with monkeypatch.context() as patch:
        cut_after(patch, 1)
        with pytest.raises(CutOff):
            run(checkpoint=path)
    assert path.stat().st_mode & 0o077 == 0
    for other in (
        {"epsilon": 0.9},
        {"kernel": dp.dp_barker(step=0.06, clip=0.005)},
        {"chains": 3},
        {"temperature": 0.9},
    ):
        with pytest.raises(ValueError, match="belongs to another run"):
            run(checkpoint=path, **other)
    changed = RECORDS.copy()
    changed[7, 0] += 1e-9
    with pytest.raises(ValueError, match="belongs to another run"):
        run(checkpoint=path, records=changed)
    with pytest.raises(ValueError, match="belongs to another run"):
        run(checkpoint=path, model=dp.models.GaussianMean(2, prior_std=3.0))


def test_a_first_chunk_that_is_cut_off_is_repeated_with_the_same_coins(tmp_path, monkeypatch):
    path, seen, real = tmp_path / "run.ckpt", [], scan.run_chunk

    def dying(*args):
        seen.append(real(*args)[1].accepted)
        raise CutOff

    with monkeypatch.context() as patch:
        patch.setattr(runs, "run_chunk", dying)
        with pytest.raises(CutOff):
            run(checkpoint=path)
    assert np.array_equal(run(checkpoint=path).sample_stats["accepted"][:, : len(seen[0])].T, seen[0])


def test_ctrl_c_returns_what_ran_and_can_be_resumed(tmp_path, monkeypatch):
    path, real, done = tmp_path / "run.ckpt", scan.run_chunk, []

    def run_chunk(*args):
        done.append(1)
        if len(done) == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return real(*args)

    before = signal.getsignal(signal.SIGINT)
    with monkeypatch.context() as patch:
        patch.setattr(runs, "run_chunk", run_chunk)
        stopped = run(checkpoint=path)
    assert signal.getsignal(signal.SIGINT) is before
    assert 0 < stopped.count < stopped.settings["steps"]
    assert "interrupted" in str(stopped)
    whole = run(checkpoint=path)
    assert stopped.guarantee == whole.guarantee  # the whole plan was paid for, whatever ran
    assert np.array_equal(whole.draws["theta"][:, : stopped.count], stopped.draws["theta"])


def test_sampling_works_off_the_main_thread():
    releases = []
    worker = threading.Thread(target=lambda: releases.append(run(steps=10)))
    worker.start()
    worker.join()
    assert releases[0].sample_stats["accepted"].shape == (2, 10)


def test_every_chain_is_paid_for():
    one, four = run(chains=1, steps=100), run(chains=4, steps=100)
    assert one.receipts[0].event == Repeat(CONSTANT.event(400), 100)
    assert four.receipts[0].event == Repeat(CONSTANT.event(400), 400)
    assert four.guarantee.epsilon > 1.5 * one.guarantee.epsilon


def test_the_guarantee_is_what_was_charged_and_no_more_than_the_budget():
    release = run(steps=50)
    assert release.guarantee.epsilon == release.receipts[0].epsilon < 1.0
    assert 0.99 < run(steps=None).guarantee.epsilon <= 1.0
    assert round_up(release.guarantee.epsilon) in str(release)


def test_a_seed_issues_no_guarantee_and_is_not_kept():
    release = run(seed=123456789, steps=50)
    assert release.guarantee is None
    assert "NO PRIVACY GUARANTEE" in str(release)
    assert "123456789" not in str(release) + json.dumps(release.settings)


@pytest.mark.parametrize("kernel", [CONSTANT, VARYING], ids=["constant cost", "varying cost"])
def test_save_and_load_give_the_same_release(kernel, tmp_path):
    release = run(kernel, steps=60)
    loaded = dp.Release.load(release.save(tmp_path / "draws.npz"))
    assert np.array_equal(loaded.draws["theta"], release.draws["theta"])
    assert np.array_equal(loaded.sample_stats["accepted"], release.sample_stats["accepted"])
    assert loaded.quality == release.quality
    assert loaded.guarantee == release.guarantee
    assert loaded.receipts == release.receipts
    assert str(loaded) == str(release)
    with pytest.raises(ValueError, match=r"saved as \.npz"):
        release.save(tmp_path / "draws.csv")


def test_arviz_gets_draws_warmup_and_guarantee(tmp_path):
    release = run(steps=80)
    data = release.to_arviz()
    assert data.posterior["theta"].shape == (2, 60, 2)
    assert data.warmup_posterior["theta"].shape == (2, 20, 2)
    assert data.posterior.attrs["guarantee_epsilon"] == release.guarantee.epsilon
    data.to_netcdf(str(tmp_path / "draws.nc"))
    assert set(release.summary().columns) >= {"mean", "sd", "ess_bulk", "r_hat"}


def test_a_release_holds_only_what_was_paid_for():
    """Everything in a release is a draw, an accept bit, or computed from public settings."""
    release = run(steps=40)
    assert set(vars(release)) == {
        "draws",
        "guarantee",
        "receipts",
        "quality",
        "method",
        "settings",
        "sample_stats",
        "notes",
        "no_guarantee",
        "sums",
        "model",  # public; not saved, and not in pickles
    }
    assert release.sums is None  # a chain releases its draws and nothing that they come from
    assert set(release.settings) == {"n", "chains", "steps", "warmup", "temperature", "model", "stopped"}


def test_parameters_may_be_any_pytree():
    model = dp.Model(
        log_prior=lambda theta: -0.5 * (theta["a"] ** 2 + (theta["b"][0] ** 2).sum()),
        log_likelihood=lambda theta, x: -0.5 * (x[0] - theta["a"]) ** 2 - 0.5 * (x[1] - theta["b"][0][1]) ** 2,
        init={"a": 0.0, "b": (np.zeros(2),)},
    )
    release = dp.sample(
        model, RECORDS, 1.0, 1e-6, method=dp.Chain(CONSTANT, warmup=5), draws=15, chains=3, progress=False
    )
    assert {name: values.shape for name, values in release.draws.items()} == {"a": (3, 20), "b.0": (3, 20, 2)}


def test_chains_may_start_at_places_that_the_model_draws():
    import jax

    model = dp.Model(MODEL.log_prior, MODEL.log_likelihood, init=lambda key: jax.random.normal(key, (2,)))
    release = dp.sample(
        model, RECORDS, 1.0, 1e-6, method=dp.Chain(CONSTANT, warmup=1), draws=4, chains=3, progress=False
    )
    assert len(np.unique(release.draws["theta"][:, 0, 0])) == 3


def test_a_progress_bar_shows_steps_epsilon_and_acceptance(capfd):
    run(steps=120, progress=True)
    shown = capfd.readouterr().err
    assert "120/120 steps" in shown
    assert "of 1" in shown
    assert "accepted" in shown


def test_the_default_chain_fits_a_model_that_can_simulate_itself():
    plan = dp.plan(MODEL, 3_000_000, dp.Budget(1.0, 1e-7), method=dp.Chain())
    assert plan.guarantee.epsilon <= 1.0
    assert plan.temperature == 1.0
    assert plan.effective_draws > 30
    small = dp.plan(MODEL, 2_000, dp.Budget(1.0, 1e-6), method=dp.Chain())
    assert small.temperature < 1.0
    assert "Tempered" in str(small)
    with pytest.raises(ValueError, match="simulate="):
        dp.plan(dp.Model(lambda t: 0.0, lambda t, x: -t * x, init=0.0), 100, dp.Budget(1.0, 1e-6), method=dp.Chain())


def laplace(bounded):
    """Records with Laplace noise: one record's log ratio is at most |θ' − θ|, and about that for most."""
    known = {"log_ratio_bound": lambda theta, new: jnp.abs(new - theta)} if bounded else {}
    return dp.Model(
        log_prior=lambda theta: -0.5 * theta**2 / 100,
        log_likelihood=lambda theta, x: -jnp.abs(x - theta),
        init=0.0,
        simulate=lambda key, theta, n: theta + jax.random.laplace(key, (n,)),
        **known,
    )


@pytest.mark.slow
def test_a_bound_that_the_model_proves_is_used_where_it_is_cheaper():
    """It is 1/3.5 of the metric's here: a move costs a twelfth, and is exact. In a large regression it is dear."""
    budget = dp.Budget(1.0, 1e-6)
    exact, clipped = (dp.plan(laplace(bounded), 10_000, budget, method=dp.Chain()) for bounded in (True, False))
    assert exact.kernel.acceptance.clip == dp.ModelClip()
    assert isinstance(clipped.kernel.acceptance.clip, dp.DistanceClip)
    assert exact.temperature > 3 * clipped.temperature or exact.effective_draws > 3 * clipped.effective_draws
    for covariates, kind in ((1, dp.ModelClip), (8, dp.DistanceClip)):
        regression = dp.models.LogisticRegression({str(k): (0, 1) for k in range(covariates)})
        assert isinstance(dp.plan(regression, 10_000, budget, method=dp.Chain()).kernel.acceptance.clip, kind)
