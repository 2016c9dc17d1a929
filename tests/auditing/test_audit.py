"""Audits of the library itself: everything private is audited, by what dp.sample runs, and nothing is accused."""

import json

import jax
import numpy as np
import pytest
from typer.testing import CliRunner

import dpmcmc as dp
from dpmcmc import algorithms
from dpmcmc.algorithms import ALGORITHMS
from dpmcmc.auditing import Claim, Experiment, Neighbours, View, register_audit
from dpmcmc.auditing.algorithms import AUDITS, experiments_of
from dpmcmc.auditing.entry import MECHANISMS, guaranteed, names
from dpmcmc.auditing.fits import RECORDS, compiled_fits, opposite_scores
from dpmcmc.auditing.sums import many, score_sums
from dpmcmc.auditing.worst import FLIP, two_states
from dpmcmc.cli import app
from dpmcmc.fit_path import FitPath
from dpmcmc.mechanisms import stream
from dpmcmc.mechanisms.gaussian_sum import GaussianSum
from dpmcmc.posterior import Posterior
from dpmcmc.randomness import RandomSource
from dpmcmc.scores.reader import Noisy
from dpmcmc.variational import coordinates

PRIVATE = [name for name, algorithm in ALGORITHMS.items() if algorithm.contracts[0].private]


@pytest.mark.parametrize("name", PRIVATE)
def test_every_private_algorithm_has_experiments_with_claims(name):
    experiments = experiments_of(ALGORITHMS[name])
    assert name in AUDITS
    assert len(experiments) >= len(ALGORITHMS[name].contracts)
    for experiment in experiments:
        assert experiment.name.startswith(name)
        assert experiment.about
        assert all(view.claim is not None and view.claim.event is not None for view in experiment.views)


def test_a_report_says_what_was_found_and_what_an_audit_cannot_show():
    report = dp.audit("dp_barker", runs=2000)
    assert report.passed
    assert [found.view for found in report.findings] == ["1 step", "3 steps"] * 3
    for found in report.findings:
        assert 0 < found.epsilon.certain < found.epsilon.lower < found.epsilon.claimed
        assert found.share == found.epsilon.lower / found.epsilon.claimed
    text = str(report)
    assert "None of 6 claims is exceeded" in text
    assert "cannot show that one is true" in text
    assert report.markdown().count("\n") == 7
    assert json.loads(json.dumps(report.to_dict()))["findings"][0]["mechanism"] == "dp_barker"


def test_a_kernel_of_ones_own_is_audited_against_a_claim_of_ones_own():
    kernel = dp.dp_barker(FLIP, clip=1.0)
    at = two_states(0.0)
    assert dp.audit(kernel, neighbours=at, runs=1000).passed
    assert not dp.audit(kernel, neighbours=at, claim=(0.2, 1e-6), runs=1000).passed
    assert not dp.audit(kernel, neighbours=at, claim=dp.privacy.BarkerBit(0.2), runs=1000).passed
    assert dp.audit(algorithms.metropolis(FLIP), neighbours=at, runs=200).findings[0].verdict == "no claim"


def test_an_algorithm_that_registers_gets_an_audit(monkeypatch):
    monkeypatch.delitem(AUDITS, "dp_barker")
    assert [one.name for one in experiments_of(ALGORITHMS["dp_barker"])] == ["dp_barker", "dp_barker, varying cost"]
    monkeypatch.setitem(AUDITS, "dp_barker", AUDITS.get("dp_barker"))
    mine = Experiment("mine", lambda *_: None, (), (100, 100))
    register_audit("dp_barker")(lambda: [mine])
    assert experiments_of(ALGORITHMS["dp_barker"]) == [mine]


@pytest.mark.slow
def test_sums_made_at_once_are_those_of_the_reader():
    """To the last bit; where they are not, every run is made by the reader."""
    experiment = score_sums()[0]
    one, again = experiment.run(0, 50, RandomSource(3)), experiment.run(0, 50, RandomSource(3))
    assert np.array_equal(one, again)
    keys = RandomSource(3).random_words("noise", (50, *stream.KEY_SHAPE))

    def other_noise(posterior, key):
        return Noisy(np.array([float(key[0] % 1000)]), 1.0)

    with jax.enable_x64(True):
        made = many(other_noise, Posterior(dp.models.GaussianMean(1), np.zeros((2, 1))), keys)
    assert np.array_equal(made[:, 0], (keys[:, 0] % 1000).astype(float))


@pytest.mark.slow
def test_the_fits_are_those_of_dpvi():
    """The same keys and path give the fit that dpvi returns."""
    neighbours, steps, epsilon, delta = opposite_scores(), 3, 4.0, 1e-6
    model, data = neighbours.models[0], neighbours.data[0]
    fit = dp.dpvi(model, data, epsilon, delta, steps=steps, seed=5)
    origin, scale, unravel, typical = coordinates(model, RECORDS)
    total = GaussianSum.of_multiplier(2.0 * typical, fit.event.event.noise_multiplier)
    assert total.event(RECORDS) == fit.event.event
    source = RandomSource(5)
    with jax.enable_x64(True):
        keys = source.random_words("noise", (steps, *stream.KEY_SHAPE))
        z = jax.random.normal(jax.random.key(int(source.random_words("path", (1,))[0] >> 1)), (steps, 1))
        posterior = Posterior.check(model, data).on_device()
        run = compiled_fits(total, FitPath.of(posterior, scale, origin, unravel, steps, True), unravel)
        mean, _ = run(posterior, keys[None], z[None].astype(np.float64))
    assert np.allclose(origin + scale @ np.asarray(mean)[0], fit.mean, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", guaranteed())
def test_no_claim_is_exceeded_and_most_of_it_is_attained(name):
    """The quick audit. In one of a thousand seeds a true claim would be accused; this one is fixed."""
    report = dp.audit(name, quick=True)
    assert report.passed, report
    first = {found.mechanism: found for found in reversed(report.findings)}
    for mechanism in ("dp_barker", "dp_penalty", "dp_orbit", "dp_hidden_centre", "dpvi"):
        assert mechanism not in first or first[mechanism].share > 0.8
    if name in ("scores", "likelihood"):
        assert all(found.share > 0.8 for found in report.findings)


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="unknown mechanism 'dp_baker'; known: all, dp_barker"):
        dp.audit("dp_baker")
    with pytest.raises(ValueError, match="at least 100, got 5"):
        dp.audit("dp_barker", runs=5)
    with pytest.raises(ValueError, match="a named mechanism has its own"):
        dp.audit("dp_barker", claim=(1.0, 0.0))
    with pytest.raises(ValueError, match="2 records and 3"):
        Neighbours.of(dp.models.GaussianMean(1), np.zeros((2, 1)), np.zeros((3, 1)))
    with pytest.raises(ValueError, match="differ in 2 records"):
        Neighbours.of(dp.models.GaussianMean(1), np.zeros((3, 1)), np.array([[0.0], [1.0], [2.0]]))


def test_the_command():
    run = CliRunner()
    listed = run.invoke(app, ["audit"])
    assert all(name in listed.stdout for name in names())
    assert set(MECHANISMS) <= set(guaranteed())
    found = run.invoke(app, ["audit", "published_fast_mh", "--runs", "1000", "--json"])
    assert found.exit_code == 1
    assert json.loads(found.stdout)["findings"][0]["verdict"] == "EXCEEDED"
    table = run.invoke(app, ["audit", "published_fast_mh", "--runs", "1000"])
    assert "1 of 1 claim exceeded" in table.stdout
    assert run.invoke(app, ["audit", "dp_baker"]).exit_code == 2


def test_a_claim_that_is_no_epsilon_cannot_be_audited():
    claim = Claim(dp.privacy.MetropolisBit(1.0))
    view = View("it", claim, lambda released: released)
    experiment = Experiment("bit", lambda side, runs, source: np.arange(runs) % 2, (view,), (100, 100))
    with pytest.raises(ValueError, match="no finite epsilon"):
        dp.audit(experiment, runs=100)
