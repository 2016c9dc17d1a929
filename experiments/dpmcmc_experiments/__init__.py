"""The published experiments of the field, run on the public interface of dpmcmc and drawn beside the published values.

One package for each study: ``heikkila2019``, ``raisa2021`` and ``zhang2023``, which are papers, and ``utility``, which
is about the default method. Each has ``FIGURES``, a dictionary from a figure's name to a
:class:`~dpmcmc_experiments.figures.Figure`; ``targets`` has posteriors that they sample. Run them with
``dpmcmc reproduce``.
"""
