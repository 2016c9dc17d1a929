"""What posterior draws cost beside the other methods: the table of docs/theory/one-sample.md.

A success probability on the logit scale, in [−3, 3], so that log likelihoods are bounded: B = 3. ε = 1, δ = 10⁻⁶.
Errors are root mean squares over seeded runs, in standard deviations of the posterior without privacy.
"""

import jax
import jax.numpy as jnp
import numpy as np

import dpmcmc as dp

RUNS = 6
GRID = np.linspace(-3, 3, 1024)
BOUND = 3.0


def log_likelihood(theta, x):
    return -jax.nn.softplus(jnp.where(x > 0, -theta, theta))


MODEL = dp.Model(
    log_prior=lambda theta: jnp.where(jnp.abs(theta) <= 3, 0.0, -jnp.inf),
    log_likelihood=log_likelihood,
    init=0.0,
    simulate=lambda key, theta, n: jax.random.bernoulli(key, jax.nn.sigmoid(theta), (n,)).astype(jnp.float64),
    sample_prior=lambda key: jax.random.uniform(key, (), minval=-3.0, maxval=3.0),
)


def exact(records: np.ndarray) -> tuple[float, float]:
    """Mean and standard deviation of the posterior without privacy."""
    fine = np.linspace(-3, 3, 200_001)
    ones = records.sum()
    log = -ones * np.logaddexp(0, -fine) - (len(records) - ones) * np.logaddexp(0, fine)
    weights = np.exp(log - log.max())
    mean = np.average(fine, weights=weights)
    return float(mean), float(np.sqrt(np.average((fine - mean) ** 2, weights=weights)))


def line(name: str, n: int, method, **more) -> str:
    truth = 1 / (1 + np.exp(-0.5))
    errors, widths = [], []
    for run in range(RUNS):
        records = (np.random.default_rng(run).random(n) < truth).astype(float)
        mean, std = exact(records)
        release = dp.sample(MODEL, records, 1.0, 1e-6, method=method, seed=run, progress=False, **more)
        draws = release.kept["theta"].ravel()
        errors.append((draws.mean() - mean) / std)
        widths.append(draws.std() / std if len(draws) > 3 else np.nan)
    power = release.settings["temperature"]
    wide = "–" if np.all(np.isnan(widths)) else f"{np.nanmean(widths):.2f}"
    return f"| {n} | {name} | {power:.3g} | {np.sqrt(np.mean(np.square(errors))):.2f} | {wide} |"


def main() -> None:
    print("| n | method | temperature | error of the mean | width of the draws |\n|---|---|---|---|---|")
    for n in (1000, 30_000):
        chain = dp.dp_barker(step=2.0 / np.sqrt(n), clip=dp.DistanceClip(1.0))  # no log ratio is longer
        print(line("one draw", n, dp.PosteriorDraws(BOUND, GRID), draws=1, chains=1), flush=True)
        print(line("100 draws", n, dp.PosteriorDraws(BOUND, GRID), draws=100, chains=1), flush=True)
        print(line("a chain of Barker's decisions", n, dp.Chain(chain), chains=1, init=0.5), flush=True)
        print(line("the log likelihood released", n, dp.LikelihoodRelease()), flush=True)


if __name__ == "__main__":
    main()
