"""What couples records, or hides them, is refused: the message names the site and the remedy, and no record is read."""

import functools

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd
import pytest
from numpyro.contrib.control_flow import scan

import dpmcmc as dp

SCHEMA = dp.Schema(x=dp.Number(0, 1), g=dp.Category(["a", "b"]), y=dp.Number(-5, 5))
OUTSIDE = np.linspace(0, 1, 20)
SERIES, LISTED = pd.Series(OUTSIDE), OUTSIDE.tolist()


def sigma():
    return numpyro.sample("sigma", dist.HalfNormal(1.0))


def latent_for_each_record(y):
    with numpyro.plate("records", len(y)):
        rate = numpyro.sample("rate", dist.Normal(0, 1))
        numpyro.sample("y", dist.Normal(rate, sigma_of_records()), obs=y)


def sigma_of_records():
    return 1.0


def latent_for_each_record_without_a_plate(y):
    rate = numpyro.sample("rate", dist.Normal(0, 1).expand([len(y)]))
    with numpyro.plate("records", len(y)):
        numpyro.sample("y", dist.Normal(rate, 1.0), obs=y)


def component_of_each_record(y):
    s = sigma()
    with numpyro.plate("records", len(y)):
        part = numpyro.sample("part", dist.Bernoulli(0.5))
        numpyro.sample("y", dist.Normal(part, s), obs=y)


def imputed(x, y):
    s = sigma()
    with numpyro.plate("records", len(y)):
        numpyro.sample("y", dist.Normal(0.0, s), obs=y, obs_mask=x > 0.5)


def undeclared_outcome(x, z=None):
    s = sigma()
    with numpyro.plate("records", len(x)):
        numpyro.sample("z", dist.Normal(x, s), obs=z)


def discrete_parameter(y):
    count = numpyro.sample("count", dist.Poisson(3.0))
    with numpyro.plate("records", len(y)):
        numpyro.sample("y", dist.Normal(count, 1.0), obs=y)


def observed_without_a_plate(x, y):
    s = sigma()
    with numpyro.plate("records", len(y)):
        numpyro.sample("x", dist.Normal(0.0, 1.0), obs=x)
    numpyro.sample("y", dist.Normal(x, s), obs=y)


def process(x, y):
    s = sigma()
    kernel = jnp.exp(-((x[:, None] - x) ** 2)) + s * jnp.eye(len(x))
    numpyro.sample("y", dist.MultivariateNormal(jnp.zeros(len(x)), kernel), obs=y)
    with numpyro.plate("records", len(y)):
        numpyro.sample("x", dist.Normal(0.0, 1.0), obs=x)


def no_plate(y):
    numpyro.sample("y", dist.Normal(sigma(), 1.0), obs=y)


def another_plate(y):
    s = sigma()
    with numpyro.plate("data", len(y)):
        numpyro.sample("y", dist.Normal(0.0, s), obs=y)


def two_plates(x, y):
    s = sigma()
    with numpyro.plate("records", len(y)):
        numpyro.sample("y", dist.Normal(0.0, s), obs=y)
    with numpyro.plate("others", len(x)):
        numpyro.sample("x", dist.Normal(0.0, s), obs=x)


def subsampled(y):
    s = sigma()
    with numpyro.plate("records", len(y), subsample_size=1) as rows:
        numpyro.sample("y", dist.Normal(0.0, s), obs=y[rows])


def plate_of_fixed_size(y):
    s = sigma()
    with numpyro.plate("records", 20):
        numpyro.sample("y", dist.Normal(0.0, s), obs=y)


def factor_outside(y):
    s = sigma()
    numpyro.factor("pull", -jnp.sum((y - s) ** 2))
    with numpyro.plate("records", len(y)):
        numpyro.sample("y", dist.Normal(0.0, s), obs=y)


def standardised(x, y):
    s = sigma()
    with numpyro.plate("records", len(y)):
        numpyro.sample("y", dist.Normal((x - x.mean()) / 2, s), obs=y)


def lagged(y):
    s = sigma()
    with numpyro.plate("records", len(y)):
        numpyro.sample("y", dist.Normal(0.5 * jnp.concatenate([jnp.zeros(1), y[:-1]]), s), obs=y)


def events_of_all_records(y):
    s = sigma()
    with numpyro.plate("records", len(y)):
        numpyro.sample("y", dist.Normal(jnp.zeros(len(y)), s).to_event(1), obs=y)


def prior_from_records(y):
    s = numpyro.sample("s", dist.HalfNormal(jnp.std(y) + 1.0))
    with numpyro.plate("records", len(y)):
        numpyro.sample("y", dist.Normal(0.0, s), obs=y)


def support_from_records(y):
    s = numpyro.sample("s", dist.Uniform(0.0, 1.0 + y.max() ** 2))
    with numpyro.plate("records", len(y)):
        numpyro.sample("y", dist.Normal(0.0, 1.0 + s), obs=y)


def prior_from_the_number_of_records(y):
    s = numpyro.sample("s", dist.Normal(0.0, 1 / len(y)))
    with numpyro.plate("records", len(y)):
        numpyro.sample("y", dist.Normal(s, 1.0), obs=y)


def groups_are_counted(g, y):
    with numpyro.plate("groups", len(np.unique(g))):
        effect = numpyro.sample("effect", dist.Normal(0, 1))
    with numpyro.plate("records", len(y)):
        numpyro.sample("y", dist.Normal(effect[g], 1.0), obs=y)


def groups_are_counted_by_jax(g, y):
    with numpyro.plate("groups", g.max() + 1):
        effect = numpyro.sample("effect", dist.Normal(0, 1))
    with numpyro.plate("records", len(y)):
        numpyro.sample("y", dist.Normal(effect[g], 1.0), obs=y)


def records_from_outside(y):
    s = sigma()
    with numpyro.plate("records", len(y)):
        numpyro.sample("y", dist.Normal(OUTSIDE[: len(y)], s), obs=y)


def series_from_outside(y):
    s = sigma()
    with numpyro.plate("records", len(y)):
        numpyro.sample("y", dist.Normal(SERIES.mean(), s), obs=y)


def list_from_outside(y):
    s = sigma()
    with numpyro.plate("records", len(y)):
        numpyro.sample("y", dist.Normal(sum(LISTED), s), obs=y)


def records_inside_a_lambda(y):
    s, centre = sigma(), lambda: OUTSIDE.mean()
    with numpyro.plate("records", len(y)):
        numpyro.sample("y", dist.Normal(centre(), s), obs=y)


class HoldsRecords:
    __name__ = "holds_records"

    def __init__(self):
        self.held = OUTSIDE

    def __call__(self, y):
        s = sigma()
        with numpyro.plate("records", len(y)):
            numpyro.sample("y", dist.Normal(self.held.mean(), s), obs=y)


def outcomes_from_outside(x):
    s = sigma()
    with numpyro.plate("records", len(x)):
        numpyro.sample("y", dist.Normal(x, s), obs=outside(len(x)))


def outside(n):
    return jnp.linspace(0, 1, n)


def function_of_the_outcome(y):
    s = sigma()
    with numpyro.plate("records", len(y)):
        numpyro.sample("y", dist.Normal(0.0, s), obs=jnp.exp(y))


def seen_twice(y):
    s = sigma()
    with numpyro.plate("records", len(y)):
        numpyro.sample("one", dist.Normal(0.0, s), obs=y)
        numpyro.sample("two", dist.Normal(1.0, s), obs=y)


def later_first(x, y):
    s = sigma()
    with numpyro.plate("records", len(y)):
        numpyro.sample("y", dist.Normal(x, s), obs=y)
        numpyro.sample("x", dist.Normal(0.0, 1.0), obs=x)


def no_prior(y):
    s = numpyro.param("s", 1.0)
    with numpyro.plate("records", len(y)):
        numpyro.sample("y", dist.Normal(0.0, s), obs=y)


def improper(y):
    s = numpyro.sample("s", dist.ImproperUniform(dist.constraints.real, (), ()))
    with numpyro.plate("records", len(y)):
        numpyro.sample("y", dist.Normal(s, 1.0), obs=y)


def scaled_prior(y):
    with numpyro.handlers.scale(scale=2.0):
        s = sigma()
    with numpyro.plate("records", len(y)):
        numpyro.sample("y", dist.Normal(0.0, s), obs=y)


def a_scan(y):
    s = sigma()
    scan(lambda carry, at: (numpyro.sample("y", dist.Normal(carry, s), obs=at), None), 0.0, y)


def nothing_observed(y):
    s = sigma()
    with numpyro.plate("records", len(y)):
        numpyro.deterministic("y", s + y)


def nothing_latent(y):
    with numpyro.plate("records", len(y)):
        numpyro.sample("y", dist.Normal(0.0, 1.0), obs=y)


def next_to_the_second(x, y):
    s = sigma()
    with numpyro.plate("records", len(y)):
        numpyro.sample("y", dist.Normal(x - x[1], s), obs=y)


def only_with_many(x, y):
    s, mean = sigma(), jnp.squeeze(x[:, None])
    with numpyro.plate("records", len(mean)):
        numpyro.sample("y", dist.Normal(mean, s), obs=y)


def undeclared(n, y):
    with numpyro.plate("records", n):
        numpyro.sample("y", dist.Normal(sigma(), 1.0), obs=y)


def any_arguments(**columns):
    no_plate(**columns)


def array_by_default(y, z=OUTSIDE):
    no_plate(y)


REFUSED = {
    latent_for_each_record: "site 'rate' is latent .*inside the plate 'records'.*marginalise.*StudentT",
    latent_for_each_record_without_a_plate: "site 'rate' is latent .*outside the plate.*marginalise",
    component_of_each_record: "site 'part' is latent .*marginalise.*MixtureSameFamily",
    imputed: "site 'y_unobserved' is latent and has a value for each record.*marginalise",
    undeclared_outcome: "site 'z' is latent .*declare its argument in the schema",
    discrete_parameter: "site 'count' is latent and discrete.*continuous prior",
    observed_without_a_plate: r"site 'y' is observed outside the plate 'records'.*with numpyro\.plate\('records'",
    process: "site 'y' is observed outside the plate 'records'",
    no_plate: r"no plate called 'records' \(plates: none\): put the observed sites into",
    another_plate: r"no plate called 'records' \(plates: 'data'\).*plate=",
    two_plates: "plate 'others' grows with the number of records.*one plate",
    subsampled: "plate 'records' takes a subsample of 1: leave subsample_size out",
    plate_of_fixed_size: r"plate 'records' has size 20 where there are 2 records: .*len\(y\)",
    factor_outside: "'pull' is a factor outside the plate 'records': .*prior",
    standardised: "one record at site 'y' changes when other records change: .*mean.*constants=",
    lagged: "one record at site 'y' changes when other records change: .*order",
    events_of_all_records: r"site 'y' observes values of shape \(2,\), .*shape \(2, 2\): .*to_event",
    prior_from_records: "the prior of site 's' depends on records.*public knowledge",
    support_from_records: "the prior of site 's' depends on records",
    prior_from_the_number_of_records: "the prior of site 's' depends on records, or on how many there are",
    groups_are_counted: r"looks at values of its records .*constants=",
    groups_are_counted_by_jax: r"looks at values of its records .*constants=",
    records_from_outside: r"the variable 'OUTSIDE' from outside, an array of shape \(20,\): make it an argument",
    series_from_outside: "the variable 'SERIES' from outside",
    list_from_outside: "the variable 'LISTED' from outside",
    records_inside_a_lambda: "the variable 'OUTSIDE' from outside",
    HoldsRecords(): "the variable 'held' from outside",
    outcomes_from_outside: "site 'y' observes what is no argument .*obs=",
    function_of_the_outcome: "site 'y' observes what is no argument .*without a function around it",
    seen_twice: "two sites observe the argument 'y': observe each argument once",
    later_first: "site 'y' depends on the argument 'x', which site 'x' observes after it: put site 'x' first",
    no_prior: r"'s': numpyro\.param is a parameter without a prior; make it a numpyro\.sample",
    improper: "site 's' has an improper prior: give it a proper one",
    scaled_prior: "the prior of site 'sigma' is scaled or masked",
    a_scan: "scan and cond are not offered",
    nothing_observed: "no observed site: give an argument as obs=",
    nothing_latent: "no latent site",
    next_to_the_second: "one record at site 'y' changes when other records change",
    only_with_many: "fails with a single record.*any number of records, one included",
    undeclared: r"its argument 'n' is no declared column: .*constants=\{'n'",
    any_arguments: r"\*\*columns has no name",
    array_by_default: "the default of its argument 'z' is an array: .*constants=",
    functools.partial(array_by_default, y=OUTSIDE): r"functools\.partial with arguments \('y'\): .*constants=",
}


@pytest.mark.parametrize("model", REFUSED, ids=lambda model: getattr(model, "__name__", "partial"))
def test_what_is_refused_says_which_site_and_what_to_do(model):
    with pytest.raises(ValueError, match=REFUSED[model]):
        dp.from_numpyro(model, SCHEMA)


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"model": 3}, TypeError, "a NumPyro model is a function, got 3"),
        ({"schema": {"y": (0, 1)}}, TypeError, r"schema must be a dp\.Schema"),
        ({"constants": {"k": 3}}, ValueError, "has no argument 'k'; its arguments are 'y'"),
        ({"constants": {"y": 3}}, ValueError, "'y' is given as a constant and declared as a column"),
        ({"stacked": {"y": "x"}}, TypeError, "takes a list of columns, got 'x'"),
        ({"stacked": {"y": ["z"]}}, ValueError, "declares no column 'z'"),
        ({"stacked": {"y": ["x", "x"]}}, ValueError, "'x' is given to the model twice"),
        ({"stacked": {"z": ["x"]}}, ValueError, "has no argument 'z'"),
        ({"schema": dp.Schema(q=dp.Number(0, 1))}, ValueError, "its argument 'y' is no declared column"),
    ],
)
def test_mistakes_in_what_is_declared_are_told(given, error, says):
    with pytest.raises(error, match=says):
        dp.from_numpyro(**{"model": another_plate, "schema": SCHEMA, "plate": "data"} | given)
