"""Posteriors without privacy on public data sets of statsmodels are its estimates, on the scale of the table.

With wide priors, posterior and likelihood differ by terms of second order: means by about d/√n standard errors, and
standard deviations by a share of about d/n. Tolerances are these, with 5 standard errors of the importance sampling.
"""

import jax
import numpy as np
import pytest
import statsmodels.api as sm
from scipy.special import logsumexp
from statsmodels.miscmodels.ordinal_model import OrderedModel

import dpmcmc as dp
from dpmcmc_experiments.trust.base import Problem, parameter_names
from dpmcmc_experiments.trust.density import density
from dpmcmc_experiments.trust.reference import exact, newton, weighted_draws

DRAWS = 4000


def wide(formula, schema, family, **given):
    """The regression with priors that say next to nothing, but for groups'."""
    usual = dp.regression(formula, schema, family, **given)
    stated = {
        name: dp.Normal(prior.mean, 100 * prior.std)
        for name, prior in usual.original_priors.items()
        if not name.startswith("1|")
    }
    return dp.regression(formula, schema, family, **given, priors=stated)


def posterior(model, public):
    """Mean, standard deviation and simulation error of each parameter on the scale of the table."""
    problem = Problem("public", "", "", lambda: model, lambda *_: None)
    made, records = density(problem), model.encode(public)
    draws, log_weights = weighted_draws(made, records, [newton(made, records, made.start)], DRAWS, heavy=True)
    weights = np.exp(log_weights - logsumexp(log_weights))
    with jax.enable_x64(True):
        theta = {name: np.asarray(values) for name, values in jax.vmap(made.unravel)(draws).items()}
    found = {}
    for name, values in model.original(theta).items():
        mean = weights @ values
        sd = np.sqrt(weights @ (values - mean) ** 2)
        found[name] = mean, sd, sd * np.sqrt(np.sum(weights**2))
    return found


def agrees(found, names, estimates, errors, n):
    """Means within 2d/√n and simulation error, standard deviations within 5 %."""
    for name, estimate, error in zip(names, estimates, errors, strict=True):
        mean, sd, simulation = found[name]
        assert abs(mean - estimate) < 2 * len(found) / np.sqrt(n) * error + 5 * simulation, (
            name,
            mean,
            estimate,
            error,
        )
        assert abs(sd / error - 1) < 0.05 + 5 * simulation / sd, (name, sd, error)


@pytest.mark.slow
def test_ordinal_regression_of_the_happiness_of_marriages():
    data = sm.datasets.fair.load_pandas().data
    data["rate_marriage"] = data["rate_marriage"].astype(int)
    columns = {"age": (15, 50), "yrs_married": (0, 30), "religious": (1, 4)}
    schema = dp.Schema({name: dp.Number(*bounds) for name, bounds in columns.items()})
    schema = schema.with_columns(rate_marriage=dp.Ordered([1, 2, 3, 4, 5]))
    model = wide("rate_marriage ~ age + yrs_married + religious", schema, "ordinal")
    found = posterior(model, data)
    fit = OrderedModel(data["rate_marriage"], data[list(columns)], distr="logit").fit(method="bfgs", disp=False)
    agrees(found, columns, fit.params[:3], fit.bse[:3], len(data))
    thresholds = [f"threshold[{k}|{k + 1}]" for k in range(1, 5)]
    wanted = fit.model.transform_threshold_params(fit.params.to_numpy())[1:-1]
    for name, value in zip(thresholds, wanted, strict=True):
        mean, sd, simulation = found[name]
        assert abs(mean - value) < 2 * len(found) / np.sqrt(len(data)) * sd + 5 * simulation, name


def test_categorical_regression_of_parties():
    data = sm.datasets.anes96.load_pandas().data
    data = data.assign(
        party=np.array(["left", "left", "none", "none", "none", "right", "right"])[data["PID"].astype(int)]
    )
    columns = {"age": (18, 95), "educ": (1, 7), "income": (1, 24)}
    schema = dp.Schema({name: dp.Number(*bounds) for name, bounds in columns.items()})
    schema = schema.with_columns(party=dp.Category(["left", "none", "right"], reference="none"))
    model = wide("party ~ age + educ + income", schema, "categorical")
    found = posterior(model, data)
    codes = data["party"].map({"none": 0, "left": 1, "right": 2})
    fit = sm.MNLogit(codes, sm.add_constant(data[list(columns)])).fit(disp=False)
    for at, level in enumerate(["left", "right"]):
        names = [f"{name}[{level}]" for name in ("intercept", *columns)]
        agrees(found, names, fit.params[at], fit.bse[at], len(data))


def test_weighted_poisson_regression_of_visits_with_an_offset():
    data = sm.datasets.randhie.load_pandas().data.iloc[:5000]
    data = data.assign(idp=data["idp"] == 1)
    schema = dp.Schema(
        mdvis=dp.Number.count(100),
        disea=dp.Number(0, 60),
        idp=dp.Boolean(),
        lpi=dp.Number(0, 8),
        lncoins=dp.Number(0, 5),
    )
    model = wide("mdvis ~ disea + idp", schema, "poisson", offset="log1p(lpi)", weights="lncoins")
    columns = model.design_matrix(data)
    fit = sm.GLM(
        data["mdvis"], np.stack(list(columns.values()), axis=1), sm.families.Poisson(),
        offset=np.log1p(data["lpi"]), freq_weights=data["lncoins"],
    ).fit()  # fmt: skip
    agrees(posterior(model, data), columns, fit.params, fit.bse, len(data))


@pytest.mark.slow
def test_investments_by_firm_are_those_of_a_mixed_model():
    """Slopes within 0.2 standard errors of REML's; those ignore that the variances are estimated: 10 % for these."""
    data = sm.datasets.grunfeld.load_pandas().data
    firms = sorted(data["firm"].unique())
    schema = dp.Schema(
        invest=dp.Number(0, 1500), value=dp.Number(0, 6500), capital=dp.Number(0, 2500), firm=dp.Category(firms)
    )
    model = wide("invest ~ value + capital + (1|firm)", schema, "gaussian")
    known = exact(Problem("firms", "", "", lambda: model, lambda *_: None), model.encode(data))
    names = parameter_names(model.init)
    fit = sm.MixedLM.from_formula("invest ~ value + capital", data, groups="firm").fit(reml=True)
    for column in model.design.columns:
        at, scale = names.index(column.name), 750 / column.scale
        assert abs(known.mean[at] * scale - fit.params[column.name]) < 0.2 * fit.bse[column.name]
        assert abs(known.sd[at] * scale / fit.bse[column.name] - 1) < 0.1
