"""The figures of Heikkilä, Jälkö, Dikmen & Honkela, "Differentially Private MCMC" (NeurIPS 2019) and its supplement."""

from dpmcmc_experiments.heikkila2019 import budgets, clip_bias, clipping, corrections, errors, gains, samples

FIGURES = {
    "fig1a": budgets.FIGURE_1A,
    "fig1b": budgets.FIGURE_1B,
    "fig1c": clipping.FIGURE,
    "fig2": samples.FIGURE,
    "fig3": errors.FIGURE,
    "figS4": corrections.FIGURE_S4,
    "figS5": corrections.FIGURE_S5,
    "figS6": corrections.FIGURE_S6,
    "clip_bias": clip_bias.FIGURE,
    "gains": gains.FIGURE,
}
