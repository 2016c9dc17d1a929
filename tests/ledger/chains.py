"""A short run of chains with a ledger and a checkpoint, the same in every process."""

import numpy as np

import dpmcmc as dp

MODEL = dp.models.GaussianMean(2)
DATA = np.random.default_rng(0).normal(size=(400, 2))
KERNEL = dp.dp_barker(step=0.05, clip=0.002)
LEDGER, CHECKPOINT = "study.db", "chain.ckpt"


def sampled(folder, save_to=None, warm=False):
    """Eight chunks of 50 steps, from the checkpoint if there is one; ``warm``: without ledger and checkpoint."""
    chain = dp.Chain(KERNEL, warmup=0, checkpoint=None if warm else folder / CHECKPOINT)
    ledger = None if warm else dp.Ledger(folder / LEDGER)
    return dp.sample(
        MODEL, DATA, 0.5, 1e-8, method=chain, draws=400, chains=1, progress=False, ledger=ledger, save_to=save_to
    )
