"""What a mechanism costs. NumPy and SciPy only."""

from dpmcmc.privacy.budget import Budget as Budget
from dpmcmc.privacy.events import *  # noqa: F403
