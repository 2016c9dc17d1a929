"""Private regressions as scikit-learn estimators.

    from dpmcmc.sklearn import PrivateLogisticRegression

    model = PrivateLogisticRegression(epsilon=1.0, delta=1e-6, bounds=[(18, 90), (0, 200)]).fit(X, y)
    model.predict_proba(X_new), model.coef_, model.release_.guarantee

Guide: docs/guides/scikit-learn.md.
"""

try:
    import sklearn  # noqa: F401
except ImportError as error:
    raise ImportError("dpmcmc.sklearn needs scikit-learn: pip install 'dpmcmc[sklearn]'") from error

from dpmcmc.sklearn.base import NoGuaranteeWarning as NoGuaranteeWarning
from dpmcmc.sklearn.base import NotUsableWarning as NotUsableWarning
from dpmcmc.sklearn.base import PrivateEstimator as PrivateEstimator
from dpmcmc.sklearn.classifier import PrivateLogisticRegression as PrivateLogisticRegression
from dpmcmc.sklearn.regressors import PrivateLinearRegression as PrivateLinearRegression
from dpmcmc.sklearn.regressors import PrivatePoissonRegressor as PrivatePoissonRegressor

__all__ = [
    "NoGuaranteeWarning",
    "NotUsableWarning",
    "PrivateEstimator",
    "PrivateLinearRegression",
    "PrivateLogisticRegression",
    "PrivatePoissonRegressor",
]
