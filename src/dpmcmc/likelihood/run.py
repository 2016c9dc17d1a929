"""Running a planned likelihood release: noisy sums of the records, then draws for free."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.likelihood.basis import Basis
from dpmcmc.likelihood.features import release_features
from dpmcmc.likelihood.plan import PlannedRelease
from dpmcmc.likelihood.quality import of_draws
from dpmcmc.likelihood.stages import Draws, run_stages
from dpmcmc.likelihood.sums import LikelihoodSums, deal
from dpmcmc.mechanisms import stream
from dpmcmc.models.base import model_name
from dpmcmc.posterior import Posterior
from dpmcmc.progress import Bar
from dpmcmc.randomness import RandomSource
from dpmcmc.release import Release, issued, named_draws


def run(plan: PlannedRelease, posterior: Posterior, source: RandomSource, show: bool) -> Release:
    """The planned release from the posterior's records."""
    with Bar(len(plan.totals), show, "stage {task.completed} of {task.total}") as bar:
        found = draw(plan, posterior, source, lambda stage: bar.update(stage + 1))
    rng = np.random.default_rng(int(source.random_words("order", (1,))[0]))
    dealt = deal(found.theta, plan.chains, plan.draws, rng)
    with jax.enable_x64(True):
        positions = jax.device_get(jax.vmap(jax.vmap(plan.raveled.unravel))(jnp.asarray(dealt)))
    method = plan.describe()
    return Release(
        draws=named_draws(positions),
        quality=of_draws(found, len(plan.totals), plan.n, plan.temperature),
        method=f"{method[0].upper()}{method[1:]}; {plan.chains} × {plan.draws} draws",
        settings={
            "n": plan.n,
            "chains": plan.chains,
            "draws": plan.draws,
            "temperature": plan.temperature,
            "model": model_name(plan.model),
        },
        sums=LikelihoodSums.of(found, plan.temperature),
        **issued(plan, source.reproducible),
    )


def draw(
    plan: PlannedRelease,
    posterior: Posterior,
    source: RandomSource,
    report: Callable[[int], None] = lambda stage: None,
) -> Draws:
    """The draws. Only ``release_features`` reads records, and it releases noisy sums."""
    with jax.enable_x64(True):
        keys = source.random_words("noise", (len(plan.totals), *stream.KEY_SHAPE))
        public = jax.random.key(int(source.random_words("public", (1,))[0] >> 1))
        source.advance()  # no noise is ever drawn twice

        def sums(stage: int, basis: Basis) -> np.ndarray:
            report(stage)
            return release_features(plan.raveled, posterior, basis, plan.totals[stage], keys[stage])

        return run_stages(plan.task(), sums, public)
