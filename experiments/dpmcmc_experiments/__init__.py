"""The published experiments of the field, run on the public interface of dpmcmc and drawn beside the published values.

One module or package for each paper: ``heikkila2019``, ``raisa2021``, ``zhang2023``. Each has ``FIGURES``, a dictionary
from a figure's name to a :class:`~dpmcmc_experiments.figures.Figure`. Run them with ``dpmcmc reproduce``.
"""
