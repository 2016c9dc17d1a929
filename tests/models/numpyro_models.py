"""NumPyro models as their users write them, with declared tables, parameters at which to look at them, and records."""

from functools import lru_cache
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

import dpmcmc as dp

GROUPS = 4


def linear(age, income=None):
    level = numpyro.sample("level", dist.Normal(0, 5))
    slope = numpyro.sample("slope", dist.Normal(0, 0.5))
    sigma = numpyro.sample("sigma", dist.HalfNormal(3.0))
    with numpyro.plate("records", len(age)):
        numpyro.sample("income", dist.Normal(level + slope * (age - 50) / 10, sigma), obs=income)


def hierarchical(school, hours, score=None, *, schools=GROUPS):
    mean = numpyro.sample("mean", dist.Normal(0, 2))
    spread = numpyro.sample("spread", dist.HalfNormal(1.0))
    slope = numpyro.sample("slope", dist.Normal(0, 1))
    with numpyro.plate("schools", schools):
        z = numpyro.sample("z", dist.Normal(0, 1))
    effect = numpyro.deterministic("effect", mean + spread * z)
    sigma = numpyro.sample("sigma", dist.LogNormal(-1.0, 0.5))
    with numpyro.plate("records", len(hours)):
        numpyro.sample("score", dist.Normal(effect[school] + slope * hours, sigma), obs=score)


def mixture(waiting):
    weights = numpyro.sample("weights", dist.Dirichlet(jnp.array([4.0, 4.0])))
    two = dist.Normal(0, 2).expand([2]).to_event(1)
    centres = numpyro.sample("centres", dist.TransformedDistribution(two, dist.transforms.OrderedTransform()))
    width = numpyro.sample("width", dist.Gamma(8.0, 10.0))
    with numpyro.plate("records", len(waiting)):
        parts = dist.Normal(centres, width)
        numpyro.sample("waiting", dist.MixtureSameFamily(dist.Categorical(weights), parts), obs=waiting)


def student(x, y=None):
    intercept = numpyro.sample("intercept", dist.Normal(0, 2))
    beta = numpyro.sample("beta", dist.Normal(0, 2).expand([2]).to_event(1))
    nu = numpyro.sample("nu", dist.Gamma(4.0, 0.5))
    sigma = numpyro.sample("sigma", dist.HalfCauchy(1.0))
    with numpyro.plate("records", x.shape[0]):
        numpyro.sample("y", dist.StudentT(nu, intercept + x @ beta, sigma), obs=y)


class Problem(NamedTuple):
    """A NumPyro model, how its table is declared, and latent values from which records come."""

    model: object
    schema: dp.Schema
    truth: dict
    more: dict = {}  # noqa: RUF012


PROBLEMS = {
    "linear": Problem(
        linear,
        dp.Schema(age=dp.Number(18, 90), income=dp.Number(-20, 20)),
        {"level": 1.5, "slope": 0.4, "sigma": 1.2},
    ),
    "hierarchical": Problem(
        hierarchical,
        dp.Schema(school=dp.Category(["a", "b", "c", "d"]), hours=dp.Number(0, 2), score=dp.Number(-6, 6)),
        {"mean": 0.2, "spread": 0.6, "slope": 0.5, "z": [0.8, -1.0, 0.3, 1.2], "sigma": 0.5},
        {"constants": {"schools": GROUPS}},
    ),
    "mixture": Problem(
        mixture,
        dp.Schema(waiting=dp.Number(-10, 10)),
        {"weights": [0.4, 0.6], "centres": [-1.5, 1.5], "width": 0.7},
    ),
    "student": Problem(
        student,
        dp.Schema(a=dp.Number(-1, 1), b=dp.Number(0, 4), y=dp.Number(-30, 30)),
        {"intercept": -0.5, "beta": [1.0, 0.5], "nu": 5.0, "sigma": 0.6},
        {"stacked": {"x": ["a", "b"]}},
    ),
}


@lru_cache
def model_of(name):
    problem = PROBLEMS[name]
    return dp.from_numpyro(problem.model, problem.schema, **problem.more)


@lru_cache
def table_of(name, n, seed=0):
    """A table whose records the model might have made, by NumPy alone."""
    rng = np.random.default_rng(seed)
    truth = {site: np.asarray(value) for site, value in PROBLEMS[name].truth.items()}
    if name == "linear":
        age = rng.normal(50, 12, n).clip(18, 90)
        mean = truth["level"] + truth["slope"] * (age - 50) / 10
        return {"age": age, "income": mean + truth["sigma"] * rng.normal(size=n)}
    if name == "hierarchical":
        school, hours = rng.choice(GROUPS, n, p=[0.4, 0.3, 0.2, 0.1]), rng.uniform(0, 2, n)
        effect = truth["mean"] + truth["spread"] * truth["z"]
        score = effect[school] + truth["slope"] * hours + truth["sigma"] * rng.normal(size=n)
        return {"school": np.array(list("abcd"))[school], "hours": hours, "score": score}
    if name == "mixture":
        part = (rng.random(n) < truth["weights"][1]).astype(int)
        return {"waiting": truth["centres"][part] + truth["width"] * rng.normal(size=n)}
    a, b = rng.uniform(-1, 1, n), rng.gamma(2, 0.7, n).clip(0, 4)
    mean = truth["intercept"] + truth["beta"][0] * a + truth["beta"][1] * b
    return {"a": a, "b": b, "y": mean + truth["sigma"] * rng.standard_t(truth["nu"], n)}


def arguments_of(name, records):
    """What NumPyro is given in place of encoded records."""
    whole = {"school": records["school"].astype(int)} if "school" in records else {}
    return records | whole | PROBLEMS[name].more.get("constants", {})
