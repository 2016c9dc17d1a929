"""What a release can say by its model: predictions and the like, as far as the model offers them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class Predicting:
    """Questions to a release that its model answers from the draws: post-processing, free as often as one likes.

    A model offers a method of the same name that takes the release first. Rows are public: predictions for private rows
    show them, and are not covered by the guarantee.
    """

    model: Any

    def predict(self, table: Any) -> Any:
        """The expected outcome of each row of a public table: mean, sd and 90 % interval, as a data frame.

            release.predict({"age": [30, 60], "plan": ["full", "free"]})

        For an outcome with three or more levels the probability of each, in a row for each row and level.
        """
        return self._ask("predict", table)

    def posterior_predictive(self, table: Any, seed: int = 0) -> Any:
        """Draws (draw, row) of a new outcome for each row of a public table, one for each draw of the release."""
        return self._ask("posterior_predictive", table, seed)

    def marginal_effects(self, table: Any, changes: Mapping[str, tuple[Any, Any]]) -> Any:
        """The average change of the expected outcome over the rows of a public table, if a column changed for all.

        release.marginal_effects(rows, {"age": (30, 60), "plan": ("free", "full")})
        """
        return self._ask("marginal_effects", table, changes)

    def log_predictive_density(self, table: Any, **settings: Any) -> Any:
        """log of the mean over draws of p(outcome | parameters), for each row of a public table with outcomes.

        ``outcome=`` names their column, where the model does not.
        """
        return self._ask("log_predictive_density", table, **settings)

    def on_original_scale(self) -> Any:
        """The coefficients on the scale of the table, to print, summarise or plot."""
        return self._ask("on_original_scale")

    def log_bayes_factor(self, without: Sequence[str]) -> float:
        """The log of how much likelier the release is with these terms than without them; below 0 it speaks against."""
        return float(self._ask("log_bayes_factor", without))

    def known_model(self, model: Any = None) -> Any:
        """``model`` if there is one, else the one that was sampled."""
        found = self.model if model is None else model
        if found is None:
            raise ValueError(
                "this release does not know its model, which files do not hold: give it the one that was sampled, "
                "release.with_model(model)"
            )
        return found

    def _ask(self, question: str, *arguments: Any, **settings: Any) -> Any:
        model = self.known_model()
        answer = getattr(model, question, None)
        if answer is None:
            raise TypeError(
                f"the model of this release, {type(model).__name__}, has no {question}(release, ...); "
                "dp.regression(formula, schema) makes models that have it, and a model of yours can"
            )
        return answer(self, *arguments, **settings)
