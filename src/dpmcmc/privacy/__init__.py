"""What a mechanism costs. NumPy and SciPy only."""

from dpmcmc.privacy.budget import Budget as Budget
from dpmcmc.privacy.events import *  # noqa: F403
from dpmcmc.privacy.renyi import renyi as renyi
from dpmcmc.privacy.renyi import renyi_of as renyi_of
