"""dpmcmc: a private posterior from a model, a data set and a budget.

    import dpmcmc as dp

    release = dp.sample(model, data, epsilon=1.0, delta=1e-6)
    print(release)

Names are loaded when first used, so accounting (``from dpmcmc import privacy``) and declared tables (``dp.Schema``)
work without JAX.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

_HOME = {
    "Barker": "chain.acceptance",
    "Boolean": "records",
    "Budget": "privacy",
    "CSV": "records",
    "Category": "records",
    "Chain": "chain.method",
    "ChainPlan": "chain.method",
    "ConstantClip": "mechanisms.clip",
    "Custom": "chain.proposals",
    "Date": "records",
    "Decision": "chain.acceptance",
    "DistanceClip": "mechanisms.clip",
    "FileError": "files",
    "Files": "sources",
    "Guarantee": "receipts",
    "Kernel": "chain.kernel",
    "Ledger": "ledger",
    "LedgerDamaged": "ledger",
    "LedgerError": "ledger",
    "LikelihoodPlan": "likelihood.method",
    "LikelihoodRelease": "likelihood.method",
    "Method": "method",
    "Model": "models",
    "ModelClip": "mechanisms.clip",
    "Move": "chain.proposals",
    "Normal": "models.priors",
    "Number": "records",
    "OnRay": "sources",
    "Ordered": "records",
    "Penalty": "chain.acceptance",
    "PerUnit": "models.units",
    "Plan": "method",
    "Posterior": "posterior",
    "PosteriorDraws": "posterior_draws.method",
    "PosteriorDrawsPlan": "posterior_draws.method",
    "Quality": "quality",
    "RandomWalk": "chain.proposals",
    "Receipt": "receipts",
    "Release": "release",
    "RunFailed": "method",
    "Schema": "records",
    "ScorePlan": "scores.method",
    "ScoreRelease": "scores.method",
    "audit": "auditing.entry",
    "coarsened": "posterior",
    "dp_barker": "algorithms",
    "dp_barker_minibatch": "algorithms",
    "dp_barker_subsampled": "algorithms",
    "dp_hmc": "algorithms",
    "dp_orbit": "algorithms",
    "dp_penalty": "algorithms",
    "dp_sgld": "algorithms",
    "dpvi": "variational",
    "from_numpyro": "models.numpyro.entry",
    "plan": "sampling",
    "regression": "models.formula.model",
    "report": "reporting.page",
    "sample": "sampling",
}
_MODULES = {
    "acceptance": "chain.acceptance",
    "algorithms": "algorithms",
    "auditing": "auditing",
    "blackjax": "blackjax",
    "metrics": "metrics",
    "models": "models",
    "privacy": "privacy",
    "proposals": "chain.proposals",
    "sklearn": "sklearn",
    "variational": "variational",
}

__all__ = [*_HOME, *_MODULES, "__version__"]


def __getattr__(name: str) -> Any:
    if name == "Release":
        import_module("dpmcmc.methods")  # a saved release names its quality and sums, which register when imported
    if name in _HOME:
        value = getattr(import_module(f"dpmcmc.{_HOME[name]}"), name)
    elif name in _MODULES:
        value = import_module(f"dpmcmc.{_MODULES[name]}")
    else:
        raise AttributeError(f"module 'dpmcmc' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:
    from dpmcmc import algorithms as algorithms
    from dpmcmc import auditing as auditing
    from dpmcmc import blackjax as blackjax
    from dpmcmc import metrics as metrics
    from dpmcmc import models as models
    from dpmcmc import privacy as privacy
    from dpmcmc import sklearn as sklearn
    from dpmcmc import variational as variational
    from dpmcmc.algorithms import dp_barker as dp_barker
    from dpmcmc.algorithms import dp_barker_minibatch as dp_barker_minibatch
    from dpmcmc.algorithms import dp_barker_subsampled as dp_barker_subsampled
    from dpmcmc.algorithms import dp_hmc as dp_hmc
    from dpmcmc.algorithms import dp_orbit as dp_orbit
    from dpmcmc.algorithms import dp_penalty as dp_penalty
    from dpmcmc.algorithms import dp_sgld as dp_sgld
    from dpmcmc.auditing.entry import audit as audit
    from dpmcmc.chain import acceptance as acceptance
    from dpmcmc.chain import proposals as proposals
    from dpmcmc.chain.acceptance import Barker as Barker
    from dpmcmc.chain.acceptance import Decision as Decision
    from dpmcmc.chain.acceptance import Penalty as Penalty
    from dpmcmc.chain.kernel import Kernel as Kernel
    from dpmcmc.chain.method import Chain as Chain
    from dpmcmc.chain.method import ChainPlan as ChainPlan
    from dpmcmc.chain.proposals import Custom as Custom
    from dpmcmc.chain.proposals import Move as Move
    from dpmcmc.chain.proposals import RandomWalk as RandomWalk
    from dpmcmc.files import FileError as FileError
    from dpmcmc.ledger import Ledger as Ledger
    from dpmcmc.ledger import LedgerDamaged as LedgerDamaged
    from dpmcmc.ledger import LedgerError as LedgerError
    from dpmcmc.likelihood.method import LikelihoodPlan as LikelihoodPlan
    from dpmcmc.likelihood.method import LikelihoodRelease as LikelihoodRelease
    from dpmcmc.mechanisms.clip import ConstantClip as ConstantClip
    from dpmcmc.mechanisms.clip import DistanceClip as DistanceClip
    from dpmcmc.mechanisms.clip import ModelClip as ModelClip
    from dpmcmc.method import Method as Method
    from dpmcmc.method import Plan as Plan
    from dpmcmc.method import RunFailed as RunFailed
    from dpmcmc.models import Model as Model
    from dpmcmc.models.formula.model import regression as regression
    from dpmcmc.models.numpyro.entry import from_numpyro as from_numpyro
    from dpmcmc.models.priors import Normal as Normal
    from dpmcmc.models.units import PerUnit as PerUnit
    from dpmcmc.posterior import Posterior as Posterior
    from dpmcmc.posterior import coarsened as coarsened
    from dpmcmc.posterior_draws.method import PosteriorDraws as PosteriorDraws
    from dpmcmc.posterior_draws.method import PosteriorDrawsPlan as PosteriorDrawsPlan
    from dpmcmc.privacy import Budget as Budget
    from dpmcmc.quality import Quality as Quality
    from dpmcmc.receipts import Guarantee as Guarantee
    from dpmcmc.receipts import Receipt as Receipt
    from dpmcmc.records import CSV as CSV
    from dpmcmc.records import Boolean as Boolean
    from dpmcmc.records import Category as Category
    from dpmcmc.records import Date as Date
    from dpmcmc.records import Number as Number
    from dpmcmc.records import Ordered as Ordered
    from dpmcmc.records import Schema as Schema
    from dpmcmc.release import Release as Release
    from dpmcmc.reporting.page import report as report
    from dpmcmc.sampling import plan as plan
    from dpmcmc.sampling import sample as sample
    from dpmcmc.scores.method import ScorePlan as ScorePlan
    from dpmcmc.scores.method import ScoreRelease as ScoreRelease
    from dpmcmc.sources import Files as Files
    from dpmcmc.sources import OnRay as OnRay
    from dpmcmc.variational import dpvi as dpvi
