"""The way in for NumPyro models; NumPyro itself is loaded when a model is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dpmcmc.arguments import instance, text
from dpmcmc.records import Schema

if TYPE_CHECKING:
    from dpmcmc.models.numpyro.model import NumPyroModel


def from_numpyro(
    model: Callable[..., Any],
    schema: Schema,
    *,
    plate: str = "records",
    stacked: Mapping[str, Sequence[str]] | None = None,
    constants: Mapping[str, Any] | None = None,
) -> NumPyroModel:
    """A NumPyro model, as it is, for private records that ``schema`` declares.

        model = dp.from_numpyro(waiting_times, dp.Schema(age=dp.Number(18, 90), wait=dp.Number(0, 60)))
        release = dp.sample(model, model.encode(table), epsilon=1.0, delta=1e-6)
        print(model.constrained(release))

    - ``model``: a function of the table's columns, outcomes included (``def waiting_times(age, wait=None)``), with one
      plate over records in which all its observed sites are. Latent sites are outside of it, in other plates or none;
    - ``schema``: bounds and levels of the columns, from public knowledge. Arguments have the names of their columns;
      the model is given booleans, whole numbers (positions of levels) or real numbers, as declared;
    - ``plate``: the name of the plate over records;
    - ``stacked``: arguments that are several columns side by side, ``{"x": ["age", "income"]}``;
    - ``constants``: arguments that are public and the same for all records, such as the number of groups.

    What couples records is refused, with the reason and the remedy: see docs/guides/numpyro.md.

    Guarantee: nothing is learnt from records; the model is checked on simulated ones. See
    :class:`~dpmcmc.models.numpyro.model.NumPyroModel`.
    """
    instance("schema", schema, Schema, "a dp.Schema, which declares the table")
    text("plate", plate)
    for name, given in (("stacked", stacked), ("constants", constants)):
        if given is not None:
            instance(name, given, Mapping, "a mapping of arguments to what they are")
    try:
        from dpmcmc.models.numpyro.model import built
    except ImportError as error:
        if not (error.name or "").startswith("numpyro"):
            raise
        raise ImportError("from_numpyro needs NumPyro: pip install 'dpmcmc[numpyro]'") from None
    return built(model, schema, plate, dict(stacked or {}), dict(constants or {}))
