"""Every regression of the library on two covariates, with parameters at which to look at it."""

import dpmcmc as dp

BOUNDS = {"a": (0, 1), "b": (-2, 5)}
COEFFICIENTS = {"intercept": 0.3, "a": -1.0, "b": 0.5}
FAMILIES = {
    "logistic": (dp.models.LogisticRegression(BOUNDS), COEFFICIENTS),
    "linear": (dp.models.LinearRegression(BOUNDS, outcome=(0, 10)), COEFFICIENTS | {"log_sigma": -0.7}),
    "linear, known noise": (dp.models.LinearRegression(BOUNDS, outcome=(0, 10), sigma=2.0), COEFFICIENTS),
    "poisson": (dp.models.PoissonRegression(BOUNDS), COEFFICIENTS),
    "negative binomial": (
        dp.models.NegativeBinomialRegression(BOUNDS),
        COEFFICIENTS | {"log_concentration": 0.5},
    ),
    "student t": (dp.models.StudentTRegression(BOUNDS, outcome=(0, 10)), COEFFICIENTS | {"log_sigma": -0.7}),
}
