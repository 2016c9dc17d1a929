"""What a score release costs is what it says, whatever the records hold: one reader, one filter, noise used once."""

import jax
import numpy as np
import pytest

import dpmcmc as dp
from dpmcmc import privacy
from dpmcmc.mechanisms import totals
from dpmcmc.mechanisms.gaussian_sum import CHARGED_STD, NOISE_STD
from dpmcmc.mechanisms.totals import Program
from dpmcmc.posterior import Posterior
from dpmcmc.privacy.events import Compose, Gaussian
from dpmcmc.randomness import RandomSource
from dpmcmc.raveled import RaveledModel
from dpmcmc.scores import reader as reader_module
from dpmcmc.scores import run as run_module
from dpmcmc.scores import vectors
from dpmcmc.scores.reader import Reader
from dpmcmc.scores.run import release_sums
from tests.scores.problems import BARE, LINEAR, MU, linear_records, rule
from tests.scores.settings import few_simulated  # noqa: F401  (a fixture)

pytestmark = pytest.mark.usefixtures("few_simulated")

RAVELED = RaveledModel.of(LINEAR)
PROGRAMS = ("_covariate_bins", "_number_bins", "_norm_bins", "_sum")
"""What makes the programs that read records; what they leave, without noise, goes to ``with_noise`` alone."""


class Watched(Program):
    """A program that tells what it was asked, and what it left."""

    def __init__(self, name, real, tell):
        self.name, self.real, self.tell = name, real, tell

    def __call__(self, block, count, asked):
        whole = self.real(block, count, asked)
        self.tell(self.name, asked, whole)
        return whole


def watch(monkeypatch, tell):
    """Have every program tell that runs on records; those compiled ahead run on none (tests/scores/test_ahead.py)."""
    monkeypatch.setattr(run_module, "reads_ahead", lambda *asked: None)
    for name in PROGRAMS:
        made = getattr(reader_module, name)
        monkeypatch.setattr(reader_module, name, lambda *m, r=made, n=name: Watched(n, r(*m), tell))


class Spy:
    """Remembers how large a record's part may be in every program that runs, and the noise that is added to it."""

    def __init__(self, monkeypatch):
        self.multipliers, self.keys, self.whole = [], [], None
        self.add_noise = totals.with_noise
        watch(monkeypatch, self.told)
        monkeypatch.setattr(totals, "with_noise", self.noisy)

    def told(self, name, asked, whole):
        assert self.whole is None  # the last one has got its noise
        self.whole = whole
        if name == "_sum":
            *_, bound, self.unit = asked
            self.multipliers.append(CHARGED_STD / (2 * int(bound)))
        else:
            *_, edges, weight = asked
            self.multipliers.append(CHARGED_STD / (int(weight) * np.sqrt(2 * len(edges))))
            self.unit = 1 / weight

    def noisy(self, key, whole, unit):
        assert np.array_equal(whole, self.whole)
        assert unit == self.unit
        self.whole = None
        self.keys.append(tuple(np.asarray(key).tolist()))
        return self.add_noise(key, whole, unit)


@pytest.mark.parametrize("model", [LINEAR, BARE], ids=["simulates", "does not"])
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 10.0])
def test_what_runs_is_within_the_filter_and_no_noise_is_used_twice(epsilon, model, monkeypatch):
    """Σ 1/multiplier² of what the programs are given, in units, against the μ² that was charged."""
    plan = dp.plan(model, 5000, dp.Budget(epsilon, 1e-6))
    spy = Spy(monkeypatch)
    plan.sample(linear_records(), seed=1, progress=False)
    spent = sum(m**-2.0 for m in spy.multipliers)
    assert spent <= plan.rule.mu**2 * (1 + 1e-12)
    assert spent > 0.97 * plan.rule.mu**2 or min(spy.multipliers) < 1 + 1e-6  # all of it, but for the least noise
    assert min(spy.multipliers) >= 1
    assert len(spy.multipliers) == len(spy.keys) <= plan.rule.most_releases
    assert len(set(spy.keys)) == len(spy.keys)
    event = Compose(tuple(map(Gaussian, spy.multipliers)))
    assert float(privacy.epsilon(event, 1e-6)) <= epsilon
    receipt = plan.receipts[-1]
    assert receipt.filter == plan.rule
    assert float(receipt.filter.epsilon(1e-6)) <= plan.guarantee.epsilon <= epsilon


def test_a_budget_that_is_shared_is_not_overspent(monkeypatch):
    """With an earlier release the filter is what zCDP leaves of the budget."""
    budget = dp.Budget(1.0, 1e-6)
    first = dp.plan(LINEAR, 5000, dp.Budget(0.5, 5e-7))
    plan = dp.plan(LINEAR, 5000, budget, spent=first.sample(linear_records(), progress=False))
    spy = Spy(monkeypatch)
    release = plan.sample(linear_records(), progress=False)
    assert sum(m**-2.0 for m in spy.multipliers) <= plan.rule.mu**2 * (1 + 1e-12)
    assert first.rule.mu**2 / 2 + plan.rule.mu**2 / 2 <= privacy.ZcdpFilter.for_budget(1.0, 1e-6).limit
    assert release.guarantee.epsilon == 1.0
    assert len(release.receipts) == 2


class OnlyTypes:
    """What is public of records, and nothing else."""

    types = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), linear_records(2))


class Unreadable:
    """Records that nothing can be done with but to ask for noisy totals: no length, no arrays, no numbers."""

    n = 5000

    def __init__(self):
        self.records = OnlyTypes()


def answer(monkeypatch, expected=None):
    """Numbers in the place of noisy totals, the same for every data set; no record is looked at."""
    rng = np.random.default_rng(0)

    def noisy(records, program, asked, key, unit, every=1):
        assert expected is None or records is expected
        counts = asked[-2] if np.ndim(asked[-2]) == 2 else None
        size = 128 if counts is None else counts.shape[0] * (counts.shape[1] + 1)
        mean = 0.0 if counts is None else 5000 / (counts.shape[1] + 1)
        return mean + 50 * rng.normal(size=size)

    monkeypatch.setattr(reader_module, "noisy_total", noisy)


PUBLIC = dp.ScoreRelease(public_data=linear_records(300, seed=5))


@pytest.mark.parametrize(
    ("model", "method"), [(LINEAR, None), (BARE, None), (LINEAR, PUBLIC)], ids=["simulates", "does not", "public data"]
)
def test_nothing_but_noisy_totals_reads_records(model, method, monkeypatch):
    """With noisy totals replaced by noise, records that cannot be read go through a whole run."""
    plan, records = dp.plan(model, 5000, dp.Budget(1.0, 1e-6), method=method), Unreadable()
    answer(monkeypatch, records.records)
    outcome = release_sums(plan, records, RandomSource(0), plan.rule)
    assert np.all(np.isfinite(outcome.sums.weighted))
    assert np.all(np.isfinite(outcome.sums.draws(LINEAR, 1, 100, 0)))


@pytest.mark.parametrize("model", [LINEAR, BARE], ids=["simulates", "does not"])
def test_a_release_depends_on_records_through_what_was_released_alone(model, monkeypatch):
    """The same answers on two data sets: releases that agree to the last bit, quality, notes and settings included."""
    plan = dp.plan(model, 5000, dp.Budget(1.0, 1e-6))
    other = {"x": np.ones((5000, 2)), "y": np.full(5000, -1e6)}
    made = []
    for data in (linear_records(), other):
        with monkeypatch.context() as patch:
            answer(patch)
            made.append(plan.sample(data, seed=1, progress=False))
    one, two = made
    assert all(np.array_equal(one.draws[name], two.draws[name]) for name in LINEAR.names)
    assert (one.sums, one.settings, str(one)) == (two.sums, two.settings, str(two))
    assert repr(one.quality) == repr(two.quality)
    assert (one.receipts, one.sample_stats, one.notes) == (two.receipts, two.sample_stats, two.notes)


def test_planning_and_rehearsing_read_no_record(monkeypatch):
    """A plan has no records; what it rehearses with, it simulates."""
    plan = dp.plan(LINEAR, 5000, dp.Budget(1.0, 1e-6))
    assert plan.public_data is None
    assert not any(isinstance(value, Posterior) for value in vars(plan).values())


def reading(data, keys=None, most=1, mu=1.0):
    with jax.enable_x64(True):
        keys = np.arange(4 * most, dtype=np.uint64).reshape(most, 4) if keys is None else keys
        return Reader(RAVELED, Posterior(LINEAR, data), rule(mu, most), keys)


ARGUMENTS = (np.array([0.3, -0.2, 0.2]), np.diag([1.0, 3.0, 0.5]))
STRANGE = [np.nan, np.inf, -np.inf, 1e30, -1e300, 1.0, -1.0, 0.0]


def neighbours():
    """Data sets that differ in the first record: everything at an extreme, together or one by one."""
    data = linear_records(50)
    for value in STRANGE:
        for x, y in ((value, value), (value, 0.0), (0.0, value), (1.0, -value)):
            changed = {"x": data["x"].copy(), "y": data["y"].copy()}
            changed["x"][0], changed["y"][0] = x, y
            yield changed


@pytest.mark.parametrize("clip", [1e-3, 1.0, 1e6])
@pytest.mark.parametrize(
    ("kind", "width", "arguments"),
    [
        (vectors.scores, 3, ARGUMENTS),
        (vectors.curvatures, 6, ARGUMENTS),
        (vectors.moments, 5, (np.array([0.1, 0.2]), np.diag([30.0, 0.5]))),
    ],
    ids=["scores", "curvatures", "moments"],
)
def test_one_record_moves_a_sum_by_twice_the_clip_at_most(kind, width, arguments, clip):
    """The same secret noise on neighbouring data sets: what is left is the records' part, over the clip."""
    with jax.enable_x64(True):
        sums = np.stack([reading(data).total(kind, arguments, clip, width, 1.0).values for data in neighbours()])
    assert np.all(np.isfinite(sums))
    moved = np.linalg.norm(sums[:, None] - sums[None], axis=2)
    assert moved.max() <= 2 * (1 + 1e-9)
    if clip < 1:
        assert moved.max() > 0.9  # the bound is no larger than it must be by much


def counted_sizes(data):
    """Of curvatures: those of the linear model are its covariates' squares."""
    arguments = (ARGUMENTS[0], 100 * np.eye(3))
    return reading(data).number_counts(vectors.own_curvatures, arguments, np.tile(4.0 ** np.arange(10), (3, 1)), 1.0)


def test_one_record_moves_counts_by_what_is_charged_at_most():
    """√2 for norms, √(2k) for k columns, two covariates and the outcome, in records."""
    edges = np.array([0.1, 1.0, 10.0, 100.0])
    inner = np.tile(np.linspace(-0.9, 0.9, 19), (3, 1))
    with jax.enable_x64(True):
        norms = np.stack(
            [reading(data).norm_counts(vectors.scores, ARGUMENTS, edges, 1.0).values for data in neighbours()]
        )
        covariates = np.stack([reading(data).covariate_counts(inner, 1.0).values for data in neighbours()])
        sizes = np.stack([counted_sizes(data).values for data in neighbours()])
    for counts, most in ((norms, np.sqrt(2)), (covariates, np.sqrt(6)), (sizes, np.sqrt(6))):
        moved = np.sqrt(np.sum((counts[:, None] - counts[None]) ** 2, axis=(2, 3)))
        assert moved.max() <= most * (1 + 1e-6)
        assert moved.max() > 0.7 * most


def test_the_noise_is_as_large_as_is_said_and_paid_for():
    """200 keys, records that are all zero in the sum: the variance within 4.5 standard errors of what is said."""
    keys = RandomSource(3).random_words("noise", (200, 1, 4))
    data = linear_records(50)
    with jax.enable_x64(True):
        found = [reading(data, key, mu=0.5).total(vectors.scores, ARGUMENTS, 1.0, 3, 1.0) for key in keys]
        counts = [reading(data, key, mu=0.5).covariate_counts(np.zeros((3, 1)), 1.0) for key in keys]
    for released, sensitivity in ((found, 2.0), (counts, np.sqrt(6))):
        values, std = np.stack([x.values for x in released]).reshape(200, -1), released[0].std
        assert std == pytest.approx(2 * sensitivity, rel=1e-6)  # multiplier 1/μ
        assert abs(values.var(axis=0, ddof=1).mean() / std**2 - 1) < 4.5 * np.sqrt(2 / values.size)
    assert NOISE_STD > CHARGED_STD


def test_records_are_read_after_they_are_paid_for(monkeypatch):
    """Two releases are allowed: the third is refused, before a program runs."""
    ran = []
    watch(monkeypatch, lambda name, asked, whole: ran.append(name))
    with jax.enable_x64(True):
        reader = reading(linear_records(50), most=2)
        for _ in range(2):
            reader.total(vectors.scores, ARGUMENTS, 1.0, 3, 0.1)
        for ask in (
            lambda: reader.total(vectors.scores, ARGUMENTS, 1.0, 3, 0.1),
            lambda: reader.covariate_counts(np.zeros((3, 1)), 0.1),
        ):
            with pytest.raises((ValueError, ArithmeticError)):
                ask()
    assert ran == ["_sum", "_sum"]
    with pytest.raises(ValueError, match="2 releases need as many keys, got 1"):
        reading(linear_records(50), keys=np.zeros((1, 4), np.uint64), most=2)


def test_all_that_is_left_can_be_spent_and_no_more():
    with jax.enable_x64(True):
        reader = reading(linear_records(50), most=3, mu=MU)
        reader.covariate_counts(np.zeros((3, 1)), 0.3)
        assert reader.left == pytest.approx(0.7, rel=1e-3)
        reader.total(vectors.scores, ARGUMENTS, 1.0, 3, 5.0)  # more than there is: what there is
        assert reader.left < 1e-5


def test_without_a_seed_every_run_is_new_and_has_a_guarantee():
    data = linear_records()
    one, two = (dp.sample(LINEAR, data, 1.0, 1e-6, progress=False) for _ in range(2))
    assert one.guarantee is not None
    assert one.guarantee.epsilon == 1.0
    assert not np.any(np.array(one.sums.weighted) == np.array(two.sums.weighted))
    assert not np.any(one.draws["a"] == two.draws["a"])


def test_a_seed_issues_no_guarantee_and_repeats():
    data = linear_records()
    one, two = (dp.sample(LINEAR, data, 1.0, 1e-6, seed=4, progress=False) for _ in range(2))
    assert one.guarantee is None
    assert one.sums == two.sums
    assert np.array_equal(one.draws["a"], two.draws["a"])


def test_the_public_randomness_says_nothing_of_the_noise():
    """Simulations have a stream of their own; the noise's key is gone once the sums are made."""
    source = RandomSource(7)
    keys, public = source.random_words("noise", (4,)), source.random_words("public", (4,))
    assert not set(keys.tolist()) & set(public.tolist())
    source.advance()
    assert not set(keys.tolist()) & set(source.random_words("noise", (4,)).tolist())


def test_a_failed_run_counts_as_spent(monkeypatch):
    def broken(*told):
        raise ValueError("the machine went away")

    plan = dp.plan(LINEAR, 5000, dp.Budget(1.0, 1e-6))
    watch(monkeypatch, broken)
    with pytest.raises(RuntimeError, match="whole plan counts as spent") as failed:
        plan.sample(linear_records(), progress=False)
    assert failed.value.receipts == plan.receipts


@pytest.mark.parametrize(("epsilon", "delta"), [(1e-9, 1e-6), (1e-6, 1e-6), (1e-4, 1e-5), (1e-3, 1e-12)])
def test_a_budget_too_small_for_the_arithmetic_is_refused_before_it_is_charged(epsilon, delta):
    with pytest.raises(ValueError, match="raise epsilon or delta"):
        dp.plan(dp.models.LogisticRegression({"x": (0, 1)}), 20_000, dp.Budget(epsilon, delta))
