"""A release answers by its model: as the model would, also after it was saved, and never by another model."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import dpmcmc as dp

SCHEMA = dp.Schema(ill=dp.Boolean(), age=dp.Number(18, 90), plan=dp.Category(["free", "full"]), rest=dp.Number(0, 1))
MODEL = dp.regression("ill ~ age + plan", SCHEMA, "bernoulli")
NEW = {"age": [30, 60], "plan": ["full", "free"]}
HELD_OUT = NEW | {"ill": [True, False]}
KERNEL = dp.Chain(dp.dp_barker(step=0.05, clip=0.01), warmup=10)


def table(n=400):
    rng = np.random.default_rng(0)
    return {
        "age": rng.uniform(18, 90, n),
        "plan": rng.choice(["free", "full"], n),
        "ill": rng.random(n) < 0.3,
        "person": np.arange(n) // 2,
    }


def sampled(model, **settings):
    return dp.sample(model, model.encode(table()), 1.0, 1e-6, method=KERNEL, draws=40, progress=False, **settings)


@pytest.fixture(scope="module")
def release():
    return sampled(MODEL)


QUESTIONS = {
    "predict": (NEW,),
    "posterior_predictive": (NEW, 3),
    "marginal_effects": (NEW, {"age": (30, 60), "plan": ("free", "full")}),
    "log_predictive_density": (HELD_OUT,),
    "log_bayes_factor": (["plan"],),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_release_answers_as_its_model_does(question, release):
    arguments = QUESTIONS[question]
    found, wanted = getattr(release, question)(*arguments), getattr(MODEL, question)(release, *arguments)
    np.testing.assert_array_equal(np.asarray(found), np.asarray(wanted))


def test_draws_on_the_original_scale(release):
    assert str(release.on_original_scale()) == str(MODEL.on_original_scale(release))


@pytest.mark.parametrize("how", ["persons", "a start"])
def test_wrapped_models_answer_too(how):
    people = dp.PerUnit(MODEL, "person", most=2)
    made = sampled(people) if how == "persons" else sampled(MODEL, init=MODEL.init)
    np.testing.assert_array_equal(made.predict(NEW), MODEL.predict(made, NEW))


@pytest.fixture
def loaded(release, tmp_path):
    return dp.Release.load(release.save(tmp_path / "r.npz"))


def test_a_file_is_given_its_model_back(release, loaded):
    with pytest.raises(ValueError, match=r"does not know its model.*release\.with_model\(model\)"):
        loaded.predict(NEW)
    again = loaded.with_model(MODEL)
    assert again.predict(NEW).equals(release.predict(NEW))
    assert again.model is MODEL
    assert loaded.model is None
    assert loaded.with_model(dp.PerUnit(MODEL, "person", most=2)).predict(NEW).equals(release.predict(NEW))


OTHERS = {
    "other bounds": dp.regression("ill ~ age + plan", SCHEMA.with_columns(age="0..120"), "bernoulli"),
    "another reference": dp.regression(
        "ill ~ age + plan", SCHEMA.with_columns(ill=dp.Category(["true", "false"])), "bernoulli"
    ),
    "another rule": dp.regression(
        "ill ~ age + plan", SCHEMA.with_columns(plan=dp.Category(["free", "full"], missing="full")), "bernoulli"
    ),
    "other weights": dp.regression("ill ~ age + plan", SCHEMA, "bernoulli", weights="rest"),
    "another offset": dp.regression("ill ~ age + plan", SCHEMA, "bernoulli", offset="rest"),
}


@pytest.mark.parametrize("case", OTHERS)
def test_another_model_with_the_same_parameters_is_refused(case, loaded):
    with pytest.raises(ValueError, match="of another model, or of a table that was declared otherwise"):
        loaded.with_model(OTHERS[case])


def test_a_model_with_other_parameters_is_refused(loaded):
    with pytest.raises(ValueError, match=r"release has the parameters age, .*and the model age, intercept: give the"):
        loaded.with_model(dp.regression("ill ~ age", SCHEMA, "bernoulli"))


def test_what_makes_no_difference_is_none(release, loaded):
    """Priors, spaces, the order of terms, and columns that the formula does not name."""
    schema = SCHEMA.with_columns(rest=dp.Number(0, 2))
    same = dp.regression("ill ~ plan+age", schema, "logistic", priors={"age": dp.Normal(0, 1)})
    pd.testing.assert_frame_equal(loaded.with_model(same).predict(NEW), release.predict(NEW), rtol=1e-9)  # other sums


def test_the_model_is_neither_shown_nor_pickled(release):
    """A model of functions cannot be pickled, and a release of it can."""
    functions = dp.Model(lambda theta: 0.0, lambda theta, x: 0.0, init=dict.fromkeys(MODEL.names, 0.0))
    again = pickle.loads(pickle.dumps(replace(release, model=functions)))
    assert again.model is None
    assert again.draws.keys() == release.draws.keys()
    assert str(again) == str(release)
    assert again.with_model(MODEL).predict(NEW).equals(release.predict(NEW))


def test_a_model_without_predictions_says_so(release):
    with pytest.raises(TypeError, match=r"GaussianMean, has no predict\(release, ...\); dp.regression"):
        replace(release, model=dp.models.GaussianMean()).predict(NEW)
