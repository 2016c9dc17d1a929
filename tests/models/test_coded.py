"""Regressions of tables with codes: the same as of tables with names, for outcomes, covariates and groups."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpmcmc as dp

CODES = {"ill": {1: "yes", 2: "no"}, "health": {3: "poor", 1: "fair", 2: "good"}, "town": {7: "A", 8: "B", 9: "A"}}
NAMED = dp.Schema(
    ill=dp.Category(["yes", "no"], reference="no"),
    sick=dp.Boolean({"yes": True, "no": False}),
    health=dp.Ordered(["poor", "fair", "good"]),
    mode=dp.Category(["poor", "fair", "good"], reference="fair"),
    town=dp.Category(["A", "B"]),
)
CODED = dp.Schema(
    ill=dp.Category(CODES["ill"], reference="no"),
    sick=dp.Boolean({1: True, 2: False}),
    health=dp.Ordered(CODES["health"]),
    mode=dp.Category(CODES["health"], reference="fair"),
    town=dp.Category(CODES["town"]),
)
FORMULAS = {
    "bernoulli": "ill ~ health + town",
    "logistic": "sick ~ mode + (1|town)",
    "ordinal": "health ~ ill + town",
    "categorical": "mode ~ sick:town",
}
rows = st.tuples(*(st.sampled_from(list(CODES[name])) for name in ("ill", "ill", "health", "health", "town")))


@settings(max_examples=30, deadline=None)
@given(st.lists(rows, min_size=1, max_size=8), st.sampled_from(list(FORMULAS)), st.sampled_from(["int8", "float64"]))
def test_codes_are_their_names(content, family, storage):
    """Outcomes among them: what is coded 1 and 2 is yes and no, and never all yes."""
    coded = pd.DataFrame(content, columns=list(CODED)).astype(storage)
    meaning = dict(zip(CODED, (CODES[name] for name in ("ill", "ill", "health", "health", "town")), strict=True))
    named = pd.DataFrame({name: coded[name].map(meaning[name]) for name in CODED})
    by_code, by_name = (dp.regression(FORMULAS[family], schema, family) for schema in (CODED, NAMED))
    assert by_code.names == by_name.names
    for part, values in by_name.encode(named).items():
        np.testing.assert_array_equal(by_code.encode(coded)[part], values)


def test_an_event_is_the_level_that_is_no_reference():
    for outcome in ("ill", "sick"):
        model = dp.regression(f"{outcome} ~ town", CODED, "bernoulli")
        found = model.encode({outcome: [1, 2, 2.0, 1.0], "town": [7, 8, 9, 7]})
        np.testing.assert_array_equal(found["y"], [1, 0, 0, 1])
        np.testing.assert_array_equal(found["x"][:, 0], [-1, 1, -1, -1])
        with pytest.raises(ValueError, match=f"column '{outcome}' has values that are not declared"):
            model.encode({outcome: [1, 0], "town": [7, 8]})


def test_effects_are_asked_for_by_level():
    coded, named = (dp.regression("ill ~ town", schema, "bernoulli") for schema in (CODED, NAMED))
    release = SimpleNamespace(draws={name: np.ones((1, 8)) for name in coded.names}, warmup=0)
    change = {"town": ("A", "B")}
    found = coded.marginal_effects(release, {"town": [7, 8]}, change)
    assert found.equals(named.marginal_effects(release, {"town": ["A", "B"]}, change))
    assert found.index.tolist() == ["town: A → B"]
    with pytest.raises(ValueError, match="no level 7; the levels are 'A', 'B'"):
        coded.marginal_effects(release, {"town": [7, 8]}, {"town": (7, 8)})
