"""How good draws are: distances between samples, moments, predictions, efficiency.

What sees only draws is post-processing on a release. :func:`clip_fraction` reads records: it is for synthetic or public
data and its result must not be released beside a private posterior.
"""

from dpmcmc.metrics.clipping import clip_fraction as clip_fraction
from dpmcmc.metrics.clipping import gradient_clip_fraction as gradient_clip_fraction
from dpmcmc.metrics.distances import median_bandwidth as median_bandwidth
from dpmcmc.metrics.distances import mmd as mmd
from dpmcmc.metrics.distances import mmd_raisa as mmd_raisa
from dpmcmc.metrics.distances import mmd_test as mmd_test
from dpmcmc.metrics.distances import symmetric_kl as symmetric_kl
from dpmcmc.metrics.moments import covariance_error as covariance_error
from dpmcmc.metrics.moments import effective_draws as effective_draws
from dpmcmc.metrics.moments import largest_r_hat as largest_r_hat
from dpmcmc.metrics.moments import mean_error as mean_error
from dpmcmc.metrics.moments import running_moments as running_moments
from dpmcmc.metrics.prediction import accuracy as accuracy
from dpmcmc.metrics.prediction import calibration_error as calibration_error
from dpmcmc.metrics.prediction import log_loss as log_loss

__all__ = [
    "accuracy",
    "calibration_error",
    "clip_fraction",
    "covariance_error",
    "effective_draws",
    "gradient_clip_fraction",
    "largest_r_hat",
    "log_loss",
    "mean_error",
    "median_bandwidth",
    "mmd",
    "mmd_raisa",
    "mmd_test",
    "running_moments",
    "symmetric_kl",
]
