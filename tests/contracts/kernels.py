"""Every kernel that the contracts are run on. A new kernel joins by adding a line.

An entry makes a kernel from a proposal and a number c such that no record's log ratio exceeds c in the contract's
problem; what it does with c is its own business.
"""

from collections.abc import Callable

from dpmcmc.acceptance import Barker, Penalty
from dpmcmc.kernel import Kernel
from dpmcmc.mechanisms.clip import ModelClip

KERNELS: dict[str, Callable[..., Kernel]] = {
    "barker": lambda proposal, clip: Kernel(proposal, Barker(clip)),
    "barker, varying cost": lambda proposal, clip: Kernel(proposal, Barker(ModelClip())),
    "penalty, std 1": lambda proposal, clip: Kernel(proposal, Penalty(clip, std=1.0)),
    "penalty, std 0.5": lambda proposal, clip: Kernel(proposal, Penalty(clip, std=0.5)),
    "penalty, varying cost": lambda proposal, clip: Kernel(proposal, Penalty(ModelClip(), std=1.0)),
}
