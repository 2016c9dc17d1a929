"""Whether a release can be trusted: a bank of problems, easy and hard, and what default releases say of themselves."""

from dpmcmc_experiments.figures import Figure
from dpmcmc_experiments.trust import study, tables, tarp

FIGURES: dict[str, Figure] = {
    "quick": Figure("A few problems", study.quick_cells, None, lambda rows, settings: tables.check(rows, settings)[:1]),
    "bank": Figure("The whole bank", study.bank_cells, None, tables.check),
    "peers": Figure("Other methods on the same problems", study.peer_cells, None, study.check_peers),
    "tarp": Figure("Calibration (TARP)", tarp.cells, tarp.draw, tarp.check),
    "page": Figure("Found, said and the oracle's errors", study.bank_cells, study.draw, tables.check),
}
