"""What plain regressions say of public rows is what the same regressions by formula say."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import dpmcmc as dp

models = dp.models
BOUNDS = {"age": (18, 90), "income": (0, 200)}
TOWNS = {"town": ["A", "B", "C"]}
LEVELS = ["poor", "fair", "good"]
SCHEMA = dp.Schema(
    ill=dp.Boolean(),
    count=dp.Number.count(50),
    amount=dp.Number(-20, 80),
    health=dp.Ordered(LEVELS),
    mode=dp.Category(LEVELS, reference="fair"),
    age=dp.Number(18, 90),
    income=dp.Number(0, 200),
    town=dp.Category(TOWNS["town"]),
    share=dp.Number(0, 3),
    exposure=dp.Number(-1, 2),
)


def by_formula(formula, family, **settings):
    return dp.regression(formula, SCHEMA, family, **settings)


PAIRS = {
    "ill": (models.LogisticRegression(BOUNDS), by_formula("ill ~ age + income", "bernoulli")),
    "amount": (
        models.LinearRegression(BOUNDS | {"share": (0, 3)}, outcome=(-20, 80), weights="share", groups=TOWNS),
        by_formula("amount ~ age + income + (1|town)", "gaussian", weights="share"),
    ),
    "count": (
        models.PoissonRegression(BOUNDS | {"exposure": (-1, 2)}, most=50, offset="exposure"),
        by_formula("count ~ age + income", "poisson", offset="exposure"),
    ),
    "health": (models.OrdinalRegression(BOUNDS, LEVELS), by_formula("health ~ age + income", "ordinal")),
    "mode": (
        models.CategoricalRegression(BOUNDS, LEVELS, reference="fair", groups=TOWNS),
        by_formula("mode ~ age + income + (1|town)", "categorical"),
    ),
}


def rows(n=6):
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "age": rng.uniform(10, 95, n),
            "income": rng.uniform(0, 200, n),
            "town": rng.choice(TOWNS["town"], n),
            "exposure": rng.uniform(-1, 2, n),
            "ill": rng.random(n) < 0.5,
            "count": rng.poisson(2, n),
            "amount": rng.uniform(-20, 80, n),
            "health": rng.choice(LEVELS, n),
            "mode": rng.choice(LEVELS, n),
        }
    )


@pytest.mark.parametrize(
    "outcome", [name if name == "amount" else pytest.param(name, marks=pytest.mark.slow) for name in PAIRS]
)
def test_plain_regressions_predict_as_those_by_formula(outcome):
    plain, formula = PAIRS[outcome]
    assert set(plain.names) == set(formula.names)
    rng = np.random.default_rng(0)
    release = SimpleNamespace(draws={name: 0.3 * rng.normal(size=(2, 20)) for name in plain.names}, warmup=3)
    table = rows()

    def same(found, wanted):
        np.testing.assert_allclose(found, wanted, rtol=1e-9)

    same(plain.predict(release, table.drop(columns=outcome)), formula.predict(release, table))
    same(plain.posterior_predictive(release, table), formula.posterior_predictive(release, table))
    density = formula.log_predictive_density(release, table)
    same(plain.log_predictive_density(release, table, outcome=outcome), density)
    changes = {"age": (30, 60)} | ({"town": ("A", "C")} if plain.groups else {})
    found, wanted = (model.marginal_effects(release, table, changes) for model in (plain, formula))
    same(found, wanted)
    assert found.index.get_level_values(0).tolist() == wanted.index.get_level_values(0).tolist()
    assert plain.prior_predictive(table, draws=7).shape == (7, len(table))


def test_rows_that_cannot_be_predicted_for_say_why():
    plain, _ = PAIRS["amount"]
    release = SimpleNamespace(draws={name: np.zeros((1, 8)) for name in plain.names}, warmup=0)
    for changes, words in (
        ({"age": (30, 100)}, "100 is no value of 'age', which is declared from 18 to 90"),
        ({"town": ("A", "D")}, "'D' is no label of 'town'; there are: A, B, C"),
        ({"share": (1, 2)}, "does not depend on 'share'; there are: age, income, town"),
        ({"age": 30}, "must be two values"),
    ):
        with pytest.raises(ValueError, match=words):
            plain.marginal_effects(release, rows(), changes)
    with pytest.raises(ValueError, match="the rows have missing values"):
        plain.predict(release, rows().assign(age=np.nan))
    with pytest.raises(TypeError, match="the formula says what the outcome is"):
        PAIRS["ill"][1].log_predictive_density(
            SimpleNamespace(draws={name: np.zeros((1, 8)) for name in PAIRS["ill"][0].names}, warmup=0),
            rows(),
            outcome="ill",
        )


def test_declarations_are_equal_where_parameters_mean_the_same():
    logistic = models.LogisticRegression
    one = logistic({"age": (18, 90), "income": (0, 200)})
    assert one.declaration == logistic({"income": [0.0, 200], "age": (np.float64(18), 90)}, prior_std=1).declaration
    for other in (
        logistic({"age": (18, 91), "income": (0, 200)}),
        logistic({"age": (18, 90), "income": (0, 200)}, offset="income"),
        models.PoissonRegression(BOUNDS),
    ):
        assert other.declaration != one.declaration
