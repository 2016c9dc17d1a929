"""Persons with several records: grouped at random, clipped as a whole, and protected as a whole."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import dpmcmc as dp
from dpmcmc.auditing import Claim, Neighbours
from dpmcmc.auditing.sums import sum_experiment
from dpmcmc.models.contracts import check_model
from dpmcmc.posterior import Posterior
from dpmcmc.privacy import Gaussian, GaussianFilter
from dpmcmc.raveled import RaveledModel
from dpmcmc.scores import reader as reader_module
from dpmcmc.scores import vectors
from dpmcmc.scores.reader import Reader
from dpmcmc.sources import Arrays
from tests.models.families import FAMILIES

LOGISTIC, THETA = FAMILIES["logistic"]
PLAIN = dp.Model(
    lambda theta: -0.5 * theta**2,
    lambda theta, x: -0.5 * (x - theta) ** 2,
    0.0,
    simulate=lambda key, theta, n: theta + jax.random.normal(key, (n,)),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=40), st.integers(1, 5), st.integers(0, 2**31))
def test_every_person_keeps_records_of_their_own_as_many_as_count(of, most, seed):
    values = np.arange(len(of))
    people = dp.PerUnit(PLAIN, "person", most).group({"v": values}, np.array(of), seed)
    rows, counts = people["rows"]["v"], people["counts"]
    assert rows.shape == counts.shape == (len(set(of)), most)
    for person, own, count in zip(sorted(set(of)), rows, counts.sum(axis=1).astype(int), strict=True):
        held = [value for value in values if of[value] == person]
        assert count == min(len(held), most)
        assert len(set(own[:count])) == count
        assert set(own) <= set(held)
        assert np.all(own[count:] == own[0])


def test_which_records_of_a_person_count_is_chance():
    """Each of 4 of 6 is kept two times in three, and first one time in six: 5 standard errors over 3000 persons."""
    of = np.repeat(np.arange(3000), 6)
    rows = dp.PerUnit(PLAIN, "person", 4).group(np.tile(np.arange(6), 3000), of, seed=0)["rows"]
    first, kept = np.bincount(rows[:, 0], minlength=6), np.bincount(rows.ravel(), minlength=6)
    np.testing.assert_allclose(first / 3000, 1 / 6, atol=5 * np.sqrt(5 / 36 / 3000))
    np.testing.assert_allclose(kept / 3000, 2 / 3, atol=5 * np.sqrt(2 / 9 / 3000))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=40),
    st.lists(st.integers(0, 41), max_size=8),
    st.integers(1, 3),
    st.integers(0, 2**31),
)
def test_for_every_seed_other_persons_do_not_notice_one(of, more, most, seed):
    """Person 7 has one record, or others anywhere in the table: nobody else's rows or place in the list change."""
    people = dp.PerUnit(PLAIN, "person", most)
    sides = []
    for places in ([0], more or [3, 3]):
        rows = [(person, float(value)) for value, person in enumerate(of)]
        for place in places:
            rows.insert(place, (7, -1.0 - place))
        ids, values = zip(*rows, strict=True)
        sides.append(people.group(np.array(values), np.array(ids), seed))
    one, other = sides
    np.testing.assert_array_equal(one["rows"][:-1], other["rows"][:-1])
    np.testing.assert_array_equal(one["counts"][:-1], other["counts"][:-1])


def test_a_seed_chooses_again_and_none_chooses_anew():
    people, of = dp.PerUnit(PLAIN, "person", 1), np.repeat(np.arange(200), 5)
    one, two, other, secret = (people.group(np.arange(1000), of, seed)["rows"] for seed in (1, 1, 2, None))
    np.testing.assert_array_equal(one, two)
    assert np.mean(one != other) > 0.5
    assert np.mean(one != secret) > 0.5


@pytest.mark.parametrize(
    ("family", "most"),
    [(name, 3) if name == "logistic" else pytest.param(name, 3, marks=pytest.mark.slow) for name in FAMILIES]
    + [pytest.param("linear", 1, marks=pytest.mark.slow)],
)
def test_the_model_of_a_person_keeps_the_contract_of_models(family, most):
    model, theta = FAMILIES[family]
    check_model(dp.PerUnit(model, "person", most), theta, n=5000)


@pytest.mark.parametrize("most", [1, 2])
def test_a_model_without_covariates_keeps_it_too(most):
    check_model(dp.PerUnit(PLAIN, "person", most), 0.3, n=5000)


def panel(n=500, seed=0, most=4):
    rng = np.random.default_rng(seed)
    of = rng.integers(0, n // 3, n)
    of = np.concatenate([np.arange(n // 3), of])
    x = np.clip(rng.normal(size=(len(of), 2)) / 2 + rng.normal(size=(n // 3, 2))[of] / 3, -1, 1)
    y = (rng.random(len(of)) < 1 / (1 + np.exp(-0.3 + x[:, 0] - 0.5 * x[:, 1]))).astype(float)
    return {"x": x, "y": y}, of


def test_where_all_records_count_the_likelihood_is_that_of_the_records():
    records, of = panel()
    people = dp.PerUnit(LOGISTIC, "person", int(np.bincount(of).max()))
    data = people.group(records, of)
    with jax.enable_x64(True):
        for model, held in ((LOGISTIC, records), (people, data)):
            total = jax.value_and_grad(lambda t, m=model, h=held: Posterior(m, h).record_log_likelihoods(t).sum())
            value, slope = total(jax.tree.map(jnp.asarray, THETA))
            if model is LOGISTIC:
                expected = value, slope
        assert value == pytest.approx(float(expected[0]), rel=1e-12)
        for name in THETA:
            assert slope[name] == pytest.approx(float(expected[1][name]), rel=1e-9)


# privacy

MOST = 4
WORST = {
    "all at one corner": ([[1.0, 1.0]] * 50, [0.0] * 50),
    "at the other": ([[-1.0, -1.0]] * 50, [1.0] * 50),
    "the opposite of the first": ([[1.0, 1.0]] * 50, [1.0] * 50),
    "a single record": ([[1.0, -1.0]], [1.0]),
    "far outside what is declared": ([[1e9, -1e300]] * 7, [1e6] * 7),
    "infinite in between": ([[np.inf, 0.0], [0.0, 0.0]] * 3, [1.0, 0.0] * 3),
}


def with_person(x, y, seed=0):
    """The panel with these records in the place of its first person's."""
    records, of = panel(seed=seed)
    others = of != 0
    held = {"x": np.concatenate([records["x"][others], x]), "y": np.concatenate([records["y"][others], y])}
    return held, np.concatenate([of[others], np.zeros(len(y), int)])


def whole_sum(model, data, clip):
    """The sum of clipped scores in whole numbers, before noise, and the largest that one record can have in it."""
    raveled = RaveledModel.of(model)
    bound, unit = 2**20, 2.0**-20
    theta, root = np.array([0.3, -1.0, 0.5]), np.eye(3)
    return Arrays(data).total(reader_module._sum(raveled, vectors.scores), (theta, root, 1 / clip, bound, unit)), bound


@pytest.mark.parametrize("person", WORST)
def test_a_person_with_any_records_moves_a_sum_by_no_more_than_is_charged(person):
    """Twice the bound of one record's term, in whole numbers."""
    people = dp.PerUnit(LOGISTIC, "person", MOST)
    with jax.enable_x64(True):
        sums = []
        for x, y in (WORST["all at one corner"], WORST[person]):
            total, bound = whole_sum(people, people.group(*with_person(x, y), seed=1), clip=0.5)
            sums.append(total)
    assert np.linalg.norm((sums[1] - sums[0]).astype(float)) <= 2 * bound


def test_record_by_record_the_same_person_moves_it_by_far_more():
    with jax.enable_x64(True):
        sums = [whole_sum(LOGISTIC, with_person(*WORST[w])[0], clip=0.5) for w in ("all at one corner", "at the other")]
    assert np.linalg.norm((sums[1][0] - sums[0][0]).astype(float)) > 20 * sums[0][1]


def test_an_audit_finds_what_is_charged_and_no_more():
    """Two persons that point opposite ways: most of μ = 1 is attained, and no more (a false alarm in 1000 audits)."""
    people, clip = dp.PerUnit(LOGISTIC, "person", MOST), 0.05
    sides = [
        people.group(*with_person(*WORST[who]), seed=1) for who in ("all at one corner", "the opposite of the first")
    ]
    rule, raveled = GaussianFilter.of_mu(1.0, 1), RaveledModel.of(people)
    with jax.enable_x64(True):
        arguments = (jnp.asarray([0.3, -1.0, 0.5]), jnp.eye(3))

    def release(posterior, key):
        return Reader(raveled, posterior, rule, key[None]).total(vectors.scores, arguments, clip, 3, 1.0)

    claim = Claim(Gaussian(1.0))
    report = dp.audit(sum_experiment("persons", Neighbours.of(people, *sides), release, claim, ""), runs=5000)
    assert report.passed, report
    assert report.findings[0].mu.lower > 0.8
    assert report.findings[0].estimate.value == pytest.approx(1, abs=4 * np.sqrt(2.25 / 5000))  # the worst are that far


# releases


def test_guarantees_say_whom_they_protect_and_do_not_mix():
    people = dp.PerUnit(PLAIN, "person", 2)
    budget = dp.Budget(1.0, 1e-6)
    plan = dp.plan(people, 1000, budget)
    assert "substitution of all records of one person" in str(plan.guarantee)
    assert plan.receipts[-1].unit == "person"
    assert dp.Guarantee.from_dict(plan.guarantee.to_dict()) == plan.guarantee
    chain = dp.plan(people, 1000, budget, method=dp.dp_barker(step=0.1, clip=0.05))
    assert chain.guarantee.unit == "person"
    assert "of one record" in str(dp.plan(PLAIN, 1000, budget).guarantee)
    data = people.group(np.zeros(1000), np.arange(1000))
    fit = dp.dpvi(people, data, 0.3, 1e-7, steps=5)
    assert fit.guarantee.unit == "person"
    with pytest.raises(ValueError, match="protects one person, and this run protects one record"):
        dp.plan(PLAIN, 1000, budget, spent=fit)
    assert dp.plan(people, 1000, budget, spent=fit).guarantee.unit == "person"


def exact(model, data):
    """Mode and standard deviations of the posterior of the records, by its curvature."""
    raveled = RaveledModel.of(model)
    with jax.enable_x64(True):
        cost = vectors.fit_of(raveled)
        records = jax.tree.map(jnp.asarray, data)
        count = jnp.asarray(float(len(data["y"])))
        mode = minimize(lambda t: [np.asarray(part, float) for part in cost(jnp.asarray(t), records, count)],
                        np.zeros(raveled.dimension), jac=True).x  # fmt: skip
        hessian = jax.hessian(lambda t: cost(t, records, count)[0])(jnp.asarray(mode))
    return mode, np.sqrt(np.diag(np.linalg.inv(np.asarray(hessian))))


@pytest.mark.slow
def test_a_release_for_persons_finds_the_posterior_of_their_records():
    records, of = panel(24_000, seed=3)
    people = dp.PerUnit(LOGISTIC, "person", int(np.bincount(of).max()))
    release = dp.sample(people, people.group(records, of), 1.0, 1e-6, seed=0, progress=False)
    mode, std = exact(LOGISTIC, records)
    drawn = np.stack([release.draws[name].reshape(-1) for name in sorted(LOGISTIC.names)])  # as raveled
    assert release.quality.verdict != "not usable"
    assert release.settings["n"] == len(set(of.tolist()))
    assert np.all(np.abs(drawn.mean(axis=1) - mode) < 4 * drawn.std(axis=1))
    assert np.all(drawn.std(axis=1) > 0.9 * std)


def test_a_chain_decides_by_persons():
    """A person's log ratio is clipped as a whole: the sum of whole numbers moves by what one record is allowed."""
    people = dp.PerUnit(PLAIN, "person", 3)
    clip = 0.05
    ratios = []
    for values in ([9.0, 9.0, 9.0], [-9.0]):
        held = np.concatenate([np.linspace(-1, 1, 30), values])
        data = people.group(held, np.concatenate([np.arange(30), np.full(len(values), 99)]), seed=0)
        posterior = Posterior(people, jax.tree.map(jnp.asarray, data))
        terms = posterior.record_log_likelihoods(0.4) - posterior.record_log_likelihoods(0.1)
        unclipped, clipped = np.asarray(terms), np.clip(np.asarray(terms), -clip, clip)
        assert abs(unclipped[-1]) > 2 * clip
        ratios.append(clipped)
    assert np.array_equal(ratios[0][:-1], ratios[1][:-1])
    assert abs(ratios[0].sum() - ratios[1].sum()) == pytest.approx(2 * clip)
    plan = dp.plan(people, 31, dp.Budget(2.0, 1e-6), method=dp.dp_barker(step=0.1, clip=clip), draws=20, chains=1)
    release = plan.sample(data, seed=0, progress=False)
    assert release.draws["theta"].shape[1] >= 20


# tables


def table_of(ids):
    return {"person": ids, "a": [0.1, 0.2, 0.3, 0.4], "b": [0.0, 1.0, 2.0, 3.0], "y": [0, 1, 0, 1]}


@pytest.mark.parametrize("ids", [["u", "v", "u", "w"], [7, 8, 7, 9], np.array([7.0, 8.0, 7.0, 9.0]), [True, False] * 2])
def test_persons_are_told_by_a_column(ids, tmp_path):
    people = dp.PerUnit(LOGISTIC, "person", 3)
    data = people.encode(table_of(ids), outcome="y")
    held = sorted(np.unique(ids, return_counts=True)[1])
    assert sorted(data["counts"].sum(axis=1)) == held
    path = tmp_path / "table.csv"
    rows = zip(*table_of(ids).values(), strict=True)
    path.write_text("\n".join(["person,a,b,y", *(",".join(map(str, row)) for row in rows)]))
    np.testing.assert_array_equal(sorted(people.encode(path, outcome="y")["counts"].sum(axis=1)), held)


SECRET = "7.31 secret"


@pytest.mark.parametrize(
    ("ids", "says"),
    [
        ([SECRET, None, "u", "v"], "'person' says whose record it is, and has missing values"),
        ([1.0, np.nan, 2.0, 3.0], "whole numbers|missing values"),
        (np.array([1.0, np.nan, 2.0, 3.0]), "missing values"),
        ([SECRET, 1, 2, 3], "all be text or all be whole numbers"),
        (np.array([2**60, 2**60 + 1, 2, 3]), "beyond 2⁵³"),
        (["u", "v"], "different lengths|differ in number"),
    ],
)
def test_identities_that_cannot_be_told_are_refused_without_them(ids, says):
    with pytest.raises((TypeError, ValueError), match=says) as refused:
        dp.PerUnit(LOGISTIC, "person", 3).encode(table_of(ids), outcome="y")
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: dp.PerUnit(LOGISTIC, "person", 0), "most.*got 0"),
        (lambda: dp.PerUnit(LOGISTIC, "person", 2.5), "most.*2.5"),
        (lambda: dp.PerUnit(LOGISTIC, " Record", 2), "cannot be called"),
        (lambda: dp.PerUnit(LOGISTIC, "", 2), "column that says whose"),
        (lambda: dp.PerUnit(LOGISTIC, None, 2), "column that says whose"),
        (lambda: dp.PerUnit(dp.PerUnit(LOGISTIC, "person", 2), "household", 2), "model of one record"),
        (lambda: dp.PerUnit(LOGISTIC, "person", 2).group(np.zeros(3), [1, 2]), "differ in number"),
    ],
)
def test_mistakes_name_the_value(make, says):
    with pytest.raises((TypeError, ValueError), match=says):
        make()
