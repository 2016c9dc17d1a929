"""Algorithms as recipes: a proposal and a test each. Every one is a kernel for :func:`dpmcmc.sample`.

``step`` is the scale of a random walk (a number, one per parameter, or a matrix) or a proposal of your own; ``clip``
bounds what one record may contribute to a log ratio (a number, or a clip such as :class:`~dpmcmc.DistanceClip`).
Which to choose: docs/algorithms.md.

A new algorithm is a file with a recipe and its :func:`register`, and a line below: then the tables, the contracts and
``dpmcmc account`` have it. One of your own registers in the same way from your own module.
"""

# isort: off
# the order of the tables
from dpmcmc.algorithms.barkers import dp_barker as dp_barker
from dpmcmc.algorithms.barkers import dp_barker_minibatch as dp_barker_minibatch
from dpmcmc.algorithms.barkers import dp_barker_subsampled as dp_barker_subsampled
from dpmcmc.algorithms.penalties import dp_penalty as dp_penalty
from dpmcmc.algorithms.penalties import dp_penalty_guided as dp_penalty_guided
from dpmcmc.algorithms.penalties import dp_penalty_minibatch as dp_penalty_minibatch
from dpmcmc.algorithms.penalties import dp_penalty_one_component as dp_penalty_one_component
from dpmcmc.algorithms.gradients import dp_hmc as dp_hmc
from dpmcmc.algorithms.gradients import dp_sgld as dp_sgld
from dpmcmc.algorithms.selections import dp_hidden_centre as dp_hidden_centre
from dpmcmc.algorithms.selections import dp_orbit as dp_orbit
from dpmcmc.algorithms.references import barker as barker
from dpmcmc.algorithms.references import hmc as hmc
from dpmcmc.algorithms.references import metropolis as metropolis
from dpmcmc.algorithms.references import seita as seita
from dpmcmc.algorithms.references import sgld as sgld
from dpmcmc.algorithms.references import tuna_mh as tuna_mh
from dpmcmc.algorithms.published import published_fast_mh as published_fast_mh
# isort: on

from dpmcmc.algorithms.registry import ALGORITHMS as ALGORITHMS
from dpmcmc.algorithms.registry import Algorithm as Algorithm
from dpmcmc.algorithms.registry import Contract as Contract
from dpmcmc.algorithms.registry import accounting as accounting
from dpmcmc.algorithms.registry import accountings as accountings
from dpmcmc.algorithms.registry import register as register
from dpmcmc.algorithms.registry import standard_cases as standard_cases
from dpmcmc.privacy.catalogue import Accounting as Accounting
from dpmcmc.privacy.catalogue import PublishedBound as PublishedBound
