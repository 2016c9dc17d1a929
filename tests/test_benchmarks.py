"""Benchmarks say what they measured, and fail where a stable ratio is above its limit and nowhere else."""

import pytest
from benchmarks.harness import STABLE, Comparison, interleaved, line, read, write
from benchmarks.page import page
from hypothesis import given
from hypothesis import strategies as st

seconds = st.lists(st.floats(0.01, 100), min_size=1, max_size=5)


def test_runs_take_turns_and_may_measure_themselves():
    order = []
    found = interleaved({"a": lambda: order.append("a"), "b": lambda: order.append("b") or 7.0}, rounds=3)
    assert order == ["a", "b"] * 4  # once to warm up
    assert found["b"] == [7.0] * 3
    assert all(0 <= each < 1 for each in found["a"])


@pytest.mark.parametrize(
    ("top", "limit", "failed"), [([2.0, 2.1], 1.0, True), ([2.0, 2.1], 3.0, False), ([1.0, 3.0], 1.0, False)]
)
def test_only_stable_ratios_fail(top, limit, failed):
    assert Comparison("x", "a", {"a": top, "b": [1.0, 1.0]}, "b", limit).failed is failed
    assert not Comparison("x", "a", {"a": top}, None, limit).failed  # seconds depend on the machine


@given(seconds, st.floats(0.1, 10))
def test_what_is_written_is_read(tmp_path_factory, top, limit):
    folder = tmp_path_factory.mktemp("results")
    made = Comparison("a name", "ours", {"ours": top, "theirs": top[::-1]}, "theirs", limit)
    write("default", [made], folder)
    assert read(folder / "default.json") == [made]
    assert line(made) in page(folder)
    assert made.failed == (made.spread <= STABLE and made.median > limit)
