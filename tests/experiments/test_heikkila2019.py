"""The figures of Heikkilä et al. (2019), quick: tables, shapes, directions; and what the recipes compute themselves."""

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from scipy.stats import norm

import dpmcmc as dp
from dpmcmc.chain.proposals import PlainLangevin
from dpmcmc_experiments.figures import Settings, reproduce
from dpmcmc_experiments.heikkila2019 import FIGURES, errors, langevin, lessened, prices, study

QUICK = Settings(quick=True)
pytestmark = pytest.mark.xdist_group("heikkila2019")  # the quick study runs once, in one worker


@pytest.fixture(scope="session")
def quick(tmp_path_factory):
    out = tmp_path_factory.mktemp("results")
    checks = {}
    for name, figure in FIGURES.items():
        checks[name] = reproduce("heikkila2019", name, figure, out, QUICK, Console(quiet=True))
    return out / "heikkila2019", checks


def test_every_figure_of_the_paper_is_there():
    figures = ["fig1a", "fig1b", "fig1c", "fig2", "fig3", "figS4", "figS5", "figS6"]
    assert list(FIGURES) == [*figures, "clip_bias", "gains"]


@pytest.mark.slow
def test_quick_claims_hold(quick):
    _, checks = quick
    failed = [(name, check) for name, found in checks.items() for check in found if not check.holds]
    assert all(checks.values())
    assert not failed


@pytest.mark.slow
def test_tables_and_pictures_are_written(quick):
    folder, _ = quick
    for name, figure in FIGURES.items():
        table = pd.read_csv(folder / f"{name}.csv")
        assert len(table) > 1
        assert (folder / f"{name}.png").exists() == (figure.draw is not None)
    gains = pd.read_csv(folder / "gains.csv")
    assert {"paper", "figure", "setting", "measure", "published", "ours", "ratio"} <= set(gains)
    assert gains[["published", "ours", "ratio"]].notna().all(axis=None)


@pytest.mark.slow
def test_every_published_budget_is_in_the_tables(quick):
    folder, _ = quick
    assert len(pd.read_csv(folder / "fig1a.csv")) == 300
    assert len(pd.read_csv(folder / "fig1b.csv")) == 488


@pytest.mark.slow
def test_errors_have_all_methods_and_rise_in_price(quick):
    folder, _ = quick
    rows = pd.read_csv(folder / "fig3.csv")
    assert set(rows["method"]) == set(errors.METHODS)
    for _, chain in rows.groupby(["method", "chain"]):
        assert chain["iteration"].is_monotonic_increasing
        assert chain["epsilon_published"].is_monotonic_increasing
        assert (chain["epsilon_dpmcmc"] < chain["epsilon_published"]).all()


def test_records_are_those_of_the_published_code():
    rng = np.random.RandomState(123)
    first = []
    for _ in range(5):
        coin = rng.rand()
        first.append(rng.normal(0 if coin > 0.5 else 1, np.sqrt(2)))
    data = study.published_records()
    assert data.shape == (1_000_000,)
    np.testing.assert_array_equal(data[:5], first)


def test_quadrature_agrees_with_the_independent_one():
    known = study.SUMMARY["exact"]
    for power, name in ((1.0, "exact_tempered_posterior"), (2.0, "posterior_squared")):
        found = study.exact_moments(study.published_records(), power=power)
        np.testing.assert_allclose(found, [known[name]["mean"], known[name]["var"]], atol=1e-5)


def test_record_gradients():
    theta, x = np.array([0.3, -0.8]), np.array([-2.0, 0.1, 3.0])
    with jax.enable_x64(True):
        known = [jax.grad(study.MODEL.log_likelihood)(jnp.asarray(theta), one) for one in x]
    np.testing.assert_allclose(study.record_gradients(theta, x), known, atol=1e-12)


def test_the_variational_start_is_far_from_the_posterior():
    start = np.array(study.variational_start(True))
    begin = 2 * np.random.RandomState(123).randn(4)[:2]
    assert np.all(np.abs(start - begin) < 1)  # 1000 steps of at most about 0.001
    assert start[1] > 2  # posterior: 0.02 ± 0.85


def test_running_moments_are_of_the_positions_from_burn_in_on():
    positions = np.random.default_rng(0).normal(size=(2, 50, 2))
    times = 10 * np.arange(1, 51)
    found = errors.moments_along(positions, times, 100, np.array([200, 495]))
    for row, last in ((0, 20), (1, 49)):
        kept = positions[:, 9:last]
        np.testing.assert_allclose(found[:, row, :2], kept.mean(axis=1), atol=1e-12)
        np.testing.assert_allclose(found[:, row, 2:], kept.var(axis=1), atol=1e-12)


def test_published_drift_is_sgld_of_the_squared_posterior():
    """One step from the same batch: twice the drift, as in the published code."""
    data, theta, step = study.published_records()[:50], np.array([0.4, 0.2]), 0.02
    squared = dp.models.TiedMixture(study.MODEL.variance, tuple(v / 2 for v in study.MODEL.prior_variances))
    kernel = dp.Kernel(langevin.Every(PlainLangevin(step), 1), dp.acceptance.Always())
    moved = dp.sample(
        squared,
        data,
        method=dp.Chain(kernel, warmup=0),
        draws=1,
        chains=1000,
        temperature=0.4,
        init=theta,
        seed=1,
        progress=False,
    ).draws["theta"][:, 0]
    slope = 0.2 * study.record_gradients(theta, data).sum(axis=0) - theta / np.array(study.MODEL.prior_variances)
    offset = (moved.mean(axis=0) - theta - step * slope) / np.sqrt(step / 1000)
    assert np.all(np.abs(offset) < 4)
    np.testing.assert_allclose(moved.var(axis=0), step, rtol=0.2)


def test_many_moves_in_one_are_as_many():
    data, step = study.published_records()[:50], 1e-3
    kernel = dp.Kernel(langevin.Every(PlainLangevin(step), 25), dp.acceptance.Always())
    moved = dp.sample(
        study.MODEL, data, method=dp.Chain(kernel, warmup=0), draws=1, chains=1000, temperature=1e-9, init=np.zeros(2),
        seed=1, progress=False,
    ).draws["theta"][:, 0]  # fmt: skip
    np.testing.assert_allclose(moved.var(axis=0), 25 * step, rtol=0.2)


def test_prices_as_published():
    assert prices.mcmc_published(20_000) == pytest.approx(study.NUMBERS["total"]["epsilon"], abs=1e-4)
    assert prices.sgld_published(6_000_000) == pytest.approx(study.NUMBERS["dp_sgld"]["epsilon_at_T"], abs=1e-4)
    assert prices.sgld_published(100_000) == pytest.approx(study.NUMBERS["dp_sgld"]["epsilon_at_burn_in"], abs=1e-4)


def test_the_batches_of_the_right_drift_cost_what_they_draw():
    event = langevin.right_kernel(1_000_000).event(1_000_000, 1e-4)
    assert (event.batch, event.sampling, event.relation) == (100, "without_replacement", "substitution")


def test_distance_is_to_the_nearer_mode():
    assert lessened.distance(np.array([[0.0, 1.0], [1.0, -1.0]])) == 0
    assert lessened.distance(np.array([[0.0, 1.3], [1.0, -1.4]])) == pytest.approx(np.sqrt((0.09 + 0.16) / 2))


def test_moments_on_a_mesh():
    axes = np.linspace(-8, 8, 201), np.linspace(-9, 9, 201)
    log = norm.logpdf(axes[0], 0.5, 0.7)[:, None] + norm.logpdf(axes[1], -1.0, 1.2)[None, :]
    np.testing.assert_allclose(study.mesh_moments(axes, log), [[0.5, -1.0], [0.49, 1.44]], atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fig1a", "fig1b"])
def test_a_figure_without_chains_is_reproduced(name, tmp_path):
    """The complete quick form is in the slow suite; this is its frame, and accounting that takes seconds."""
    checks = reproduce("heikkila2019", name, FIGURES[name], tmp_path, QUICK, Console(quiet=True))
    assert checks
    assert all(check.holds for check in checks), [check for check in checks if not check.holds]
    assert len(pd.read_csv(tmp_path / "heikkila2019" / f"{name}.csv")) > 1
