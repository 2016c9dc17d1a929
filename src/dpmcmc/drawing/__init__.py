"""Pictures of intervals, densities and curves, by matplotlib: an extra, which is loaded when a picture is asked for.

Everything here takes plain numbers: what they are of is the caller's.
"""

from dpmcmc.drawing.effects import panels
from dpmcmc.drawing.figures import Interval, curve, densities, forest, limits_of, matplotlib_of
from dpmcmc.drawing.svg import svg

__all__ = ["Interval", "curve", "densities", "forest", "limits_of", "matplotlib_of", "panels", "svg"]
