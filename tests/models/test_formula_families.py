"""Levels, groups, offsets, weights and settings by formula: densities and predictions are those by hand."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import softmax

import dpmcmc as dp
from dpmcmc.models.contracts import check_model

SCHEMA = dp.Schema(
    visits=dp.Number.count(1000),
    amount=dp.Number(-20, 80),
    ill=dp.Boolean(),
    health=dp.Ordered(["poor", "fair", "good", "best"]),
    travel=dp.Category(["bus", "car", "train"], reference="car"),
    age=dp.Number(18, 90),
    plan=dp.Category(["free", "full"]),
    school=dp.Category(["u", "v", "w"]),
    years=dp.Number(0.5, 10),
    base=dp.Number(-5, 15),
    copies=dp.Number(0, 4),
)


def table(n=60, seed=0):
    rng = np.random.default_rng(seed)
    found = {
        "visits": rng.poisson(3, n),
        "amount": rng.normal(30, 10, n).clip(-20, 80),
        "ill": rng.random(n) < 0.4,
        "health": rng.choice(["poor", "fair", "good", "best"], n),
        "travel": rng.choice(["bus", "car", "train"], n),
        "age": rng.uniform(18, 90, n),
        "plan": rng.choice(["free", "full"], n),
        "school": rng.choice(["u", "v", "w"], n),
        "years": rng.uniform(0.5, 10, n),
        "base": rng.uniform(-5, 15, n),
        "copies": rng.uniform(0, 4, n),
    }
    return pd.DataFrame(found)


MODELS = {
    "ordinal": dp.regression("health ~ age*plan", SCHEMA, "ordinal"),
    "ordinal by group": dp.regression("health ~ age + (1|school)", SCHEMA, "ordinal", offset="base"),
    "categorical": dp.regression("travel ~ age + plan", SCHEMA, "categorical"),
    "categorical without intercept": dp.regression("travel ~ 0 + plan", SCHEMA, "categorical", weights="copies"),
    "categorical by group": dp.regression("travel ~ plan + (1|school)", SCHEMA, "categorical"),
    "groups": dp.regression("amount ~ age + (1|school)", SCHEMA),
    "groups alone": dp.regression("ill ~ 1 + (1|school) + (1|plan)", SCHEMA, "bernoulli"),
    "offset": dp.regression("visits ~ age + plan", SCHEMA, "poisson", offset="log(years)"),
    "offset in the formula": dp.regression("visits ~ age + offset(log(years))", SCHEMA, "negative binomial"),
    "offset without intercept": dp.regression("amount ~ 0 + plan", SCHEMA, offset="base"),
    "offset and weights": dp.regression("amount ~ age + (1|school)", SCHEMA, offset="base", weights="copies"),
    "weights": dp.regression("ill ~ age", SCHEMA, "bernoulli", weights="copies"),
    "known sigma": dp.regression("amount ~ age + plan", SCHEMA, sigma=7.0),
    "degrees of freedom": dp.regression("amount ~ age", SCHEMA, "student-t", df=2.5),
}


def parameters(model, seed=0):
    rng = np.random.default_rng(seed)
    return {name: rng.uniform(-0.4, 0.4) for name in model.names}


def quick(*names):
    """These models in the quick suite, the others in the slow one."""
    return [name if name in names else pytest.param(name, marks=pytest.mark.slow) for name in MODELS]


@pytest.mark.parametrize("name", quick("offset and weights"))
def test_every_model_keeps_the_contract(name):
    check_model(MODELS[name], parameters(MODELS[name]), n=4_000)


def predictor(model, coefficients, public, level=""):
    """η on the scale of the table, written out."""

    def called(name):
        return name if not level else f"{name[:-1]}, {level}]" if name.endswith("]") else f"{name}[{level}]"

    columns = {name: values for name, values in model.design_matrix(public).items() if called(name) in coefficients}
    eta = np.zeros(len(public)) + sum(coefficients[called(name)] * values for name, values in columns.items())
    if "log(years)" in (model.offset or model.formula):
        eta = eta + np.log(public["years"])
    if model.offset == "base":
        eta = eta + public["base"]
    for group in ("school", "plan"):
        if f"(1|{group})" in model.formula:
            eta = eta + public[group].map(lambda label, of=group: coefficients[called(f"1|{of}[{label}]")])
    return np.asarray(eta)


def probabilities(model, coefficients, public):
    """Of each level."""
    if model.outcome == "travel":
        bus, train = (predictor(model, coefficients, public, level) for level in ("bus", "train"))
        return softmax(np.stack([bus, np.zeros(len(bus)), train], axis=1), axis=1)
    thresholds = np.array([value for name, value in coefficients.items() if name.startswith("threshold[")])
    at_most = stats.logistic.cdf(thresholds - predictor(model, coefficients, public)[:, None])
    return np.diff(at_most, axis=1, prepend=0.0, append=1.0)


def law(model, coefficients, public):
    """Log density of the outcomes, and what to expect."""
    if model.likelihood.classes:
        each, codes = probabilities(model, coefficients, public), list(model.schema[model.outcome].labels)
        return np.log([row[codes.index(y)] for row, y in zip(each, public[model.outcome], strict=True)]), each
    eta, y = predictor(model, coefficients, public), public[model.outcome].to_numpy().astype(float)
    if model.outcome == "ill":
        found = stats.bernoulli(1 / (1 + np.exp(-eta)))
    elif model.outcome == "visits":
        r = coefficients.get("concentration")
        found = stats.poisson(np.exp(eta)) if r is None else stats.nbinom(r, r / (r + np.exp(eta)))
    elif model.family == "student-t":
        found = stats.t(2.5, eta, coefficients["sigma"])
    else:
        found = stats.norm(eta, coefficients.get("sigma", 7.0))
    return (found.logpdf if model.outcome == "amount" else found.logpmf)(y), found.mean()


@pytest.mark.parametrize("name", MODELS)
def test_the_log_likelihood_is_that_of_the_original_scale_times_the_weight(name):
    model, public = MODELS[name], table()
    here, there = parameters(model, 1), parameters(model, 2)
    with jax.enable_x64(True):
        each = jax.vmap(model.log_likelihood, (None, 0))
        arrays = [{key: jnp.asarray(value) for key, value in theta.items()} for theta in (here, there)]
        found = np.asarray(each(arrays[1], model.encode(public)) - each(arrays[0], model.encode(public)))
    near, far = (law(model, model.original(theta), public)[0] for theta in (here, there))
    weights = public["copies"] if model.weights else 1.0
    np.testing.assert_allclose(found, weights * (far - near), rtol=1e-8, atol=1e-8)


def repeated(model, count=50, seed=0):
    """A release whose draws are all the same."""
    draws = {name: np.full((2, count), value) for name, value in parameters(model, seed).items()}
    return SimpleNamespace(draws=draws, warmup=0)


@pytest.mark.parametrize("name", quick("ordinal by group", "categorical without intercept", "offset and weights"))
def test_predictions_are_those_by_hand(name):
    model, public = MODELS[name], table(5)
    coefficients = model.original(parameters(model))
    log_density, mean = law(model, coefficients, public)
    release, rows = repeated(model, 2000), public.drop(columns=[model.outcome, "copies"])
    found = model.predict(release, rows)
    np.testing.assert_allclose(found["mean"], mean.ravel(), rtol=1e-9)
    np.testing.assert_allclose(found["5%"], found["95%"])
    np.testing.assert_allclose(model.log_predictive_density(release, public), log_density, rtol=1e-8)
    outcomes = model.posterior_predictive(release, rows)
    assert outcomes.shape == (4000, 5)
    if model.likelihood.classes:
        assert list(found.index.names) == ["row", model.outcome]
        np.testing.assert_allclose(found["mean"].unstack().sum(axis=1), 1.0)
        seen = np.stack([(outcomes == code).mean(axis=0) for code in range(mean.shape[1])], axis=1)
        assert np.all(np.abs(seen - mean) < 5 * np.sqrt(mean * (1 - mean) / 4000))  # a false alarm in 60 000
    elif model.family != "student-t":  # whose averages are not nearly normal
        error = outcomes.std(axis=0) / np.sqrt(4000)
        assert np.all(np.abs(outcomes.mean(axis=0) - mean) < 5 * error)


@pytest.mark.parametrize("name", ["ordinal", "categorical by group", "groups", "offset", "weights"])
def test_marginal_effects_are_average_differences(name):
    model, public = MODELS[name], table(40)
    change = ("plan", ("free", "full")) if "plan" in model.inputs else ("age", (30, 60))
    coefficients = model.original(parameters(model))
    ends = [law(model, coefficients, public.assign(**{change[0]: value}))[1].mean(axis=0) for value in change[1]]
    found = model.marginal_effects(repeated(model), public, dict([change]))
    np.testing.assert_allclose(found["mean"], np.ravel(ends[1] - ends[0]), rtol=1e-8, atol=1e-12)
    assert len(found) == max(len(model.likelihood.classes), 1)
    assert f"{change[0]}: {change[1][0]} → {change[1][1]}" in str(found)


def test_densities_and_effects_average_over_draws():
    model, public = MODELS["weights"], table(7)
    seeds = range(6)
    draws = [parameters(model, seed) for seed in seeds]
    release = SimpleNamespace(draws={name: np.array([[one[name] for one in draws]]) for name in model.names}, warmup=0)
    each = np.stack([law(model, model.original(one), public)[0] for one in draws])
    np.testing.assert_allclose(model.log_predictive_density(release, public), np.log(np.exp(each).mean(axis=0)))
    means = [
        [law(model, model.original(one), public.assign(age=age))[1].mean() for age in (20.0, 80.0)] for one in draws
    ]
    change = np.diff(means, axis=1)[:, 0]
    found = model.marginal_effects(release, public, {"age": (20, 80)}).iloc[0]
    np.testing.assert_allclose(found, [change.mean(), change.std(), *np.quantile(change, [0.05, 0.95])])


def test_rows_in_blocks_are_rows_at_once(monkeypatch):
    model, public = MODELS["ordinal"], table(9)
    whole = model.predict(repeated(model), public), model.marginal_effects(repeated(model), public, {"age": (30, 60)})
    monkeypatch.setattr("dpmcmc.models.predictions.NUMBERS", 400)
    assert whole[0].equals(model.predict(repeated(model), public))
    pd.testing.assert_frame_equal(whole[1], model.marginal_effects(repeated(model), public, {"age": (30, 60)}))


def test_prior_predictive_outcomes_have_the_priors_variance():
    """At the centre of the bounds y ~ N(centre, (2.5 half)² + σ²): moments of 20 000 within 5 standard errors."""
    model = MODELS["known sigma"]
    outcomes = model.prior_predictive({"age": [54.0], "plan": ["free"]}, draws=20_000)
    assert outcomes.shape == (20_000, 1)
    variance = (2.5 * 50) ** 2 + 7.0**2
    assert abs(outcomes.mean() - 30.0) < 5 * np.sqrt(variance / 20_000)
    assert abs(outcomes.var() / variance - 1) < 5 * np.sqrt(2 / 20_000)


@pytest.mark.slow
@settings(max_examples=8, deadline=None)
@given(st.integers(3, 9), st.integers(0, 1000))
def test_thresholds_are_in_order_and_levels_equally_likely_by_default(count, seed):
    levels = [f"l{i}" for i in range(count)]
    schema = dp.Schema(y=dp.Ordered(levels), a=dp.Number(-3, 7))
    model = dp.regression("y ~ a", schema, "ordinal")
    with jax.enable_x64(True):
        middle = model.likelihood.expected(*model.to_family(jax.tree.map(jnp.asarray, model.init), jnp.zeros((1, 1))))
    np.testing.assert_allclose(middle, np.full((1, count), 1 / count), rtol=1e-9)
    drawn = model.original({name: np.asarray(v) for name, v in model.sample_prior(jax.random.key(seed)).items()})
    thresholds = [value for name, value in drawn.items() if name.startswith("threshold[")]
    assert len(thresholds) == count - 1
    assert np.all(np.diff(thresholds) > 0)


def test_names_are_those_of_bambi():
    assert list(MODELS["categorical"].original(parameters(MODELS["categorical"]))) == [
        "intercept[bus]", "age[bus]", "plan[full, bus]", "intercept[train]", "age[train]", "plan[full, train]"
    ]  # fmt: skip
    grouped = MODELS["groups"]
    assert list(grouped.original(parameters(grouped))) == [
        "intercept", "age", "1|school_sigma", "1|school[u]", "1|school[v]", "1|school[w]", "sigma"
    ]  # fmt: skip
    assert "1|school            N(0, sigma²), 3 groups" in str(grouped)
    assert "threshold[poor|fair]" in MODELS["ordinal"].original(parameters(MODELS["ordinal"]))


def test_priors_of_groups_levels_and_gaps_can_be_stated():
    stated = {"1|school_log_sigma": dp.Normal(2.0, 0.1), "age": dp.Normal(1, 2)}
    model = dp.regression("amount ~ age + (1|school)", SCHEMA, priors=stated)
    assert model.original_priors["1|school_log_sigma"] == dp.Normal(2.0, 0.1)
    np.testing.assert_allclose(model.priors["1|school_log_sigma"], (2.0 - np.log(50), 0.1))
    usual = MODELS["groups"]
    np.testing.assert_allclose(usual.priors["1|school_log_sigma"], (-1.0, 1.0))
    stated = {"age": dp.Normal(0, 3), "age[bus]": dp.Normal(1, 4), "intercept[train]": dp.Normal(2, 5)}
    levels = dp.regression("travel ~ age", SCHEMA, "categorical", priors=stated).original_priors
    assert (levels["age[bus]"], levels["age[train]"]) == (dp.Normal(1, 4), dp.Normal(0, 3))
    assert levels["intercept[train]"] == dp.Normal(2, 5)
    gaps = dp.regression("health ~ age", SCHEMA, "ordinal", priors={"log_gap[fair|good]": dp.Normal(0.5, 0.2)})
    assert gaps.original_priors["log_gap[fair|good]"] == dp.Normal(0.5, 0.2)


def test_models_differ_by_offset_weights_and_settings():
    same = dp.regression("amount ~ age", SCHEMA, "student-t", df=2.5)
    assert same == MODELS["degrees of freedom"] != dp.regression("amount ~ age", SCHEMA, "student-t")
    assert MODELS["weights"] != dp.regression("ill ~ age", SCHEMA, "bernoulli")
    assert MODELS["offset"] != dp.regression("visits ~ age + plan", SCHEMA, "poisson")


@pytest.mark.parametrize(
    ("formula", "given", "message"),
    [
        ("health ~ 0 + age", {"family": "ordinal"}, "thresholds of the family 'ordinal' take"),
        ("travel ~ age", {"family": "ordinal"}, "needs at least three levels in order"),
        ("health ~ age", {"family": "categorical"}, "needs at least three levels, dp.Category"),
        ("partly ~ age", {"family": "ordinal"}, "to which no rule for missing or other values adds one"),
        ("travel ~ age", {"family": "categorical", "offset": "base"}, "no offset"),
        ("amount ~ age + (age|school)", {}, "intercepts can vary by a declared group, and slopes cannot"),
        ("amount ~ age + (1 + age|school)", {}, "slopes cannot"),
        ("amount ~ age - (1|school)", {}, "not of the form"),
        ("amount ~ age:(1|school)", {}, "not of the form"),
        ("amount ~ age + (1|school/plan)", {}, "not of the form"),
        ("amount ~ age + (1|school) + (1|school)", {}, "groups of 'school' twice"),
        ("amount ~ school + (1|school)", {}, "'school' as a term and as a group"),
        ("amount ~ age + (1|base)", {}, "declare it as dp.Category, with its levels"),
        ("amount ~ age + (1|shcool)", {}, "did you mean 'school'"),
        ("travel ~ age + (1|travel)", {"family": "categorical"}, "own offset, weight or group"),
        ("amount ~ age", {"offset": "amount"}, "own offset, weight or group"),
        ("amount ~ age", {"offset": "plan"}, "declare a number with bounds"),
        ("amount ~ age", {"offset": "basis"}, "no column 'basis'"),
        ("amount ~ age + offset(base)", {"offset": "years"}, "two offsets"),
        ("amount ~ age + offset(base) + offset(years)", {}, "has 2 offsets"),
        ("amount ~ age:offset(base)", {}, "an offset is a term of its own"),
        ("amount ~ age", {"weights": "base"}, "not negative"),
        ("amount ~ age", {"weights": "plan"}, "declare a number with bounds"),
        ("amount ~ age", {"weights": "log(years)"}, "not negative"),
        ("amount ~ age", {"sigma": -1.0}, "sigma must be positive"),
        ("amount ~ age", {"family": "student-t", "df": 0.0}, "df must be positive"),
    ],
)
def test_what_cannot_be_is_refused_with_the_remedy(formula, given, message):
    schema = SCHEMA.with_columns(partly=dp.Ordered(["low", "mid", "high"], missing="level"))
    with pytest.raises(ValueError, match=message):
        dp.regression(formula, schema, **given)


def test_parameters_with_the_same_name_are_refused():
    schema = SCHEMA.with_columns({"threshold": dp.Category(["none", "poor|fair"]), "1|school_sigma": dp.Number(0, 1)})
    with pytest.raises(ValueError, match="same name on the scale of the table"):
        dp.regression("health ~ threshold", schema, "ordinal")
    with pytest.raises(ValueError, match="same name on the scale of the table"):
        dp.regression("amount ~ `1|school_sigma` + (1|school)", schema)
    with pytest.raises(ValueError, match="two parameters have the same name"):
        dp.models.CategoricalRegression({"a": (0, 1), "a[x]": (0, 1)}, outcome=("z", "y", "x, y"))


def test_other_mistakes_are_named():
    with pytest.raises(TypeError, match="'gaussian' has only sigma, got df=3"):
        dp.regression("amount ~ age", SCHEMA, df=3)
    with pytest.raises(TypeError, match="'poisson' has no settings, got sigma=1"):
        dp.regression("visits ~ age", SCHEMA, "poisson", sigma=1)
    with pytest.raises(TypeError, match="offset must be the name of a declared column, got 3"):
        dp.regression("amount ~ age", SCHEMA, offset=3)
    model, public = MODELS["ordinal"], table(3)
    for changes, message in [
        ({"age": (30, 200)}, "200 is no value of 'age', which is declared as 18 to 90"),
        ({"plan": ("free", "flul")}, "flul|refuses"),
        ({"income": (1, 2)}, "does not depend on 'income'; there are: age, plan"),
        ({"age": 30}, r"two values, \(before, after\), got 30"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.marginal_effects(repeated(model), public, changes)


@pytest.mark.parametrize("column", ["school", "health", "copies"])
def test_values_of_groups_outcomes_and_weights_are_treated_as_declared(column):
    """What is refused is refused with a message that is the same for all records; numbers move to their bounds."""
    model = dp.regression("health ~ age + (1|school)", SCHEMA, "ordinal", weights="copies")
    public = table(4)
    if column == "copies":
        records = model.encode(public.assign(copies=[-3.0, 2.0, 4.0, 1e9]))
        weights = np.asarray(jax.vmap(model.weight)(records))
        np.testing.assert_allclose(weights, [0.0, 2.0, 4.0, 4.0], rtol=1e-6)
        return
    messages = set()
    for place in range(4):
        cells = public[column].tolist()
        cells[place] = f"planted{place}"
        with pytest.raises(ValueError, match=column) as refused:
            model.encode(public.assign(**{column: cells}))
        messages.add(str(refused.value))
    assert len(messages) == 1
    assert "planted" not in messages.pop()


def recovers(model, records, truth, epsilon=2.0):
    """A default release covers the truth within 5 standard deviations, and is much narrower than the prior."""
    release = dp.sample(model, model.encode(records), epsilon, 1e-6, seed=1, progress=False)
    assert release.quality.verdict != "not usable", release.quality.reason
    summary = model.on_original_scale(release).summary()
    for name, value in truth.items():
        assert abs(summary.loc[name, "mean"] - value) < 5 * summary.loc[name, "sd"], (name, summary)
    return release, summary


def people(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng, {"age": rng.uniform(18, 90, n), "plan": rng.choice(["free", "full"], n)}


@pytest.mark.slow
def test_a_private_release_of_ordered_levels_recovers_the_truth():
    """Five parameters within 5 standard deviations: a false alarm in 300 000, were the seed drawn anew."""
    rng, records = people(20_000)
    truth = {"threshold[poor|fair]": 0.0, "threshold[fair|good]": 1.0, "threshold[good|best]": 2.5}
    truth |= {"age": 0.02, "plan[full]": -0.7}
    latent = 0.02 * records["age"] - 0.7 * (records["plan"] == "full") + rng.logistic(size=20_000)
    codes = np.searchsorted([0.0, 1.0, 2.5], latent)
    records["health"] = np.array(["poor", "fair", "good", "best"])[codes]
    model = dp.regression("health ~ age + plan", SCHEMA, "ordinal")
    release, summary = recovers(model, records, truth)
    assert summary.loc["age", "sd"] < 0.1 * model.original_priors["age"].std
    rows = {name: values[:100] for name, values in records.items()}
    predicted = model.predict(release, rows)["mean"].unstack()
    wanted = probabilities(model, truth, pd.DataFrame(rows))
    assert np.abs(predicted[["poor", "fair", "good", "best"]].to_numpy() - wanted).max() < 0.03


@pytest.mark.slow
def test_a_private_release_of_categories_recovers_the_truth():
    rng, records = people(20_000, 1)
    truth = {"intercept[bus]": -1.0, "age[bus]": 0.02, "plan[full, bus]": 0.6}
    truth |= {"intercept[train]": 0.5, "age[train]": -0.01, "plan[full, train]": -0.5}
    model = dp.regression("travel ~ age + plan", SCHEMA, "categorical")
    each = probabilities(model, truth, pd.DataFrame(records))
    records["travel"] = np.array(["bus", "car", "train"])[(rng.random((20_000, 1)) > each.cumsum(axis=1)).sum(axis=1)]
    recovers(model, records, truth)


@pytest.mark.slow
def test_a_private_release_with_groups_recovers_their_effects():
    rng, records = people(20_000, 2)
    schools = [f"s{i}" for i in range(8)]
    effects = dict(zip(schools, rng.normal(0, 0.7, 8), strict=True))
    records["school"] = rng.choice(schools, 20_000)
    eta = -1.0 + 0.02 * records["age"] + np.array([effects[school] for school in records["school"]])
    records["ill"] = rng.random(20_000) < 1 / (1 + np.exp(-eta))
    schema = SCHEMA.with_columns(school=dp.Category(schools))
    model = dp.regression("ill ~ age + (1|school)", schema, "bernoulli")
    release, _ = recovers(model, records, {"age": 0.02, "1|school_sigma": 0.7})
    draws = model.on_original_scale(release).draws
    for school, effect in effects.items():  # the schools' own intercepts are well known
        own = draws["intercept"] + draws[f"1|school[{school}]"] + 54 * draws["age"]
        assert abs(own.mean() - (-1.0 + 54 * 0.02 + effect)) < 5 * own.std()
        assert own.std() < 0.2


@pytest.mark.slow
def test_a_private_release_with_offset_and_weights_recovers_the_truth():
    rng, records = people(20_000, 3)
    records |= {"years": rng.uniform(0.5, 10, 20_000), "copies": rng.integers(0, 4, 20_000)}
    truth = {"intercept": -1.5, "age": 0.015, "plan[full]": 0.4}
    rate = records["years"] * np.exp(-1.5 + 0.015 * records["age"] + 0.4 * (records["plan"] == "full"))
    records["visits"] = rng.poisson(rate)
    wrong = rng.random(20_000) < 0.3  # records that do not count
    records["visits"] = np.where(wrong, 0, records["visits"])
    records["copies"] = np.where(wrong, 0, records["copies"] + 1)
    schema = SCHEMA.with_columns(visits=dp.Number.count(200))
    recovers(
        dp.regression("visits ~ age + plan", schema, "poisson", offset="log(years)", weights="copies"), records, truth
    )
