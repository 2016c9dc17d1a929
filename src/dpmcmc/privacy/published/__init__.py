"""The papers' own privacy bounds, under the names of their theorems.

For comparison and figures only: no sampler of this library is accounted with them. Each module is one paper, each
function one statement, and where the authors' code differs from their text both readings are here and named.

    heikkila2019    Heikkilä, Jälkö, Dikmen, Honkela, "Differentially Private Markov Chain Monte Carlo", NeurIPS 2019
    raisa2021       Räisä, "Differentially Private Metropolis–Hastings Algorithms", thesis, University of Helsinki, 2021
    yildirim2019    Yıldırım & Ermiş, "Exact MCMC with differentially private moves", Statistics and Computing 2019
    zhang2023       Zhang & Zhang, "DP-Fast MH", ICML 2023: not private as published, results carry ``sound=False``

What each of them pays for, and where it is loose or wrong: docs/theory/published.md.
"""

from dpmcmc.privacy.published import heikkila2019 as heikkila2019
from dpmcmc.privacy.published import raisa2021 as raisa2021
from dpmcmc.privacy.published import yildirim2019 as yildirim2019
from dpmcmc.privacy.published import zhang2023 as zhang2023
from dpmcmc.privacy.published.result import Published as Published

__all__ = ["Published", "heikkila2019", "raisa2021", "yildirim2019", "zhang2023"]
