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
    "ordinal": (
        dp.models.OrdinalRegression(BOUNDS, outcome=("poor", "fair", "good", "best")),
        COEFFICIENTS | {"log_gap[fair|good]": -0.3, "log_gap[good|best]": 0.5},
    ),
    "categorical": (
        dp.models.CategoricalRegression(BOUNDS, outcome=("bus", "car", "train"), reference="car"),
        {
            "intercept[bus]": 0.3,
            "a[bus]": -1.0,
            "b[bus]": 0.5,
            "intercept[train]": -0.4,
            "a[train]": 0.2,
            "b[train]": 0.7,
        },
    ),
}

MORE = BOUNDS | {"extra": (-3, 2), "count": (0, 3)}
GROUPS = {"school": ("u", "v", "w")}
EFFECTS = {"1|school_log_sigma": -0.4, "1|school_z[u]": 0.5, "1|school_z[v]": -1.2, "1|school_z[w]": 0.3}
BESIDE_TERMS = {
    "groups": (dp.models.LogisticRegression(BOUNDS, groups=GROUPS), COEFFICIENTS | EFFECTS),
    "weights": (dp.models.LogisticRegression(BOUNDS | {"w": (0, 3)}, weights="w"), COEFFICIENTS),
    "offset and weights": (
        dp.models.LinearRegression(MORE, outcome=(0, 10), offset="extra", weights="count"),
        COEFFICIENTS | {"log_sigma": -0.7},
    ),
    "all of them": (
        dp.models.PoissonRegression(MORE, offset="extra", weights="count", groups=GROUPS),
        COEFFICIENTS | EFFECTS,
    ),
}
"""Regressions with an offset, weights or groups."""
