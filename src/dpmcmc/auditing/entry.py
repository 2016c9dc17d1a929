"""``dpmcmc.audit``: run a mechanism on neighbouring data sets, and compare what it gives away with what it claims."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from dpmcmc.algorithms import ALGORITHMS
from dpmcmc.arguments import shown, truth, whole
from dpmcmc.auditing import worst
from dpmcmc.auditing.algorithms import EMPTIED, RARE, experiments_of
from dpmcmc.auditing.chains import experiment_of
from dpmcmc.auditing.claims import Claim
from dpmcmc.auditing.experiment import Experiment, Neighbours
from dpmcmc.auditing.findings import AuditReport, Finding
from dpmcmc.auditing.fits import fits
from dpmcmc.auditing.judge import judge, tests_of
from dpmcmc.auditing.samples import samples
from dpmcmc.auditing.sums import likelihood_sums, score_sums
from dpmcmc.chain.kernel import KernelLike
from dpmcmc.privacy import SUBSTITUTION, ZERO_OUT, check_relation

LEVEL = 1e-3
"""Probability that true claims are called exceeded, any of them, in one audit."""

MECHANISMS: dict[str, Callable[[], list[Experiment]]] = {
    "scores": score_sums,
    "likelihood": likelihood_sums,
    "dpvi": fits,
    "sample": samples,
}
"""What can be audited by name beside the registered algorithms."""

UNDER_ZERO_OUT = {"scores": lambda: score_sums(ZERO_OUT), "likelihood": lambda: likelihood_sums(ZERO_OUT)}
"""Those of them that can be audited with an empty slot."""


def audit(
    what: str | KernelLike | Experiment | Iterable[Experiment],
    *,
    claim: Any = None,
    neighbours: Neighbours | None = None,
    relation: str = SUBSTITUTION,
    runs: int | None = None,
    quick: bool = False,
    seed: int = 0,
    progress: Callable[[Finding], None] = lambda found: None,
) -> AuditReport:
    """Try to tell two neighbouring data sets apart by what ``what`` releases, and compare with what it claims.

        report = dp.audit("dp_barker", quick=True)
        print(report)          # claimed, attained, share of the claim, verdict
        report.passed

    - ``what``: the name of a registered algorithm or of another mechanism (``dpmcmc audit`` lists them); "all" that
      have a guarantee; a kernel; or experiments.
    - ``claim``: what one step of a kernel claims, an event or (ε, δ). Default: the kernel's own event.
    - ``neighbours``: for a kernel, two data sets that differ in one record, with a model. Default: one of two states.
    - ``relation``: in what the data sets differ, the values of one record or, under "zero-out", whether it is there;
      for what is named, and for a kernel without ``neighbours``. "all" is all that has an audit under it.
    - ``runs``: on each data set. Default: what the experiment says, in full or ``quick``.
    - ``seed``: the runs are repeatable.

    It bounds the loss from below and proves nothing about privacy: see the report's last lines.
    """
    if runs is not None:
        whole("runs", runs, 100)
    whole("seed", seed, 0)
    truth("quick", quick)
    check_relation("relation", relation)
    experiments = [one for one in _experiments(what, claim, neighbours, relation) if runs or one.runs[quick] > 0]
    started, findings = time.perf_counter(), []
    tests = sum(tests_of(view) for experiment in experiments for view in experiment.views)
    for index, experiment in enumerate(experiments):
        count = runs or experiment.runs[quick]
        outcomes = experiment.outcomes(count, seed * 10_000 + index)
        for view, sides in zip(experiment.views, outcomes, strict=True):
            findings.append(judge(experiment, view, sides, LEVEL / max(tests, 1)))
            progress(findings[-1])
    return AuditReport(tuple(findings), LEVEL, time.perf_counter() - started)


def names() -> tuple[str, ...]:
    """Everything that can be audited by name."""
    return (*ALGORITHMS, *MECHANISMS)


def guaranteed(relation: str = SUBSTITUTION) -> tuple[str, ...]:
    """All of it that has a guarantee to audit, and an audit under the relation."""
    if relation != SUBSTITUTION:
        return (*EMPTIED, *UNDER_ZERO_OUT)
    private = [name for name, algorithm in ALGORITHMS.items() if algorithm.contracts[0].private]
    return (*private, *MECHANISMS)


def _experiments(what: Any, claim: Any, neighbours: Neighbours | None, relation: str) -> list[Experiment]:
    if hasattr(what, "decide"):
        stated = None if claim is None else Claim.of(claim)
        usual = worst.two_states(RARE) if relation == SUBSTITUTION else worst.two_states(RARE).emptied()
        return [experiment_of(type(what).__name__, what, neighbours or usual, claim=stated)]
    if claim is not None or neighbours is not None:
        raise ValueError("claim and neighbours are for a kernel; a named mechanism has its own")
    if isinstance(what, Experiment):
        return [what]
    if not isinstance(what, str):
        several = list(what) if isinstance(what, Iterable) else []
        if not several or not all(isinstance(one, Experiment) for one in several):
            raise TypeError(f"what must be the name of a mechanism, a kernel or experiments, got {shown(what)}")
        return several
    if what == "all":
        return [one for name in guaranteed(relation) for one in _experiments(name, None, None, relation)]
    named = MECHANISMS if relation == SUBSTITUTION else UNDER_ZERO_OUT
    if what in named:
        return named[what]()
    if what in MECHANISMS:
        raise ValueError(f"{what} has no audit under {relation}; there is one for: {', '.join(guaranteed(relation))}")
    if what not in ALGORITHMS:
        raise ValueError(f"unknown mechanism {what!r}; known: all, {', '.join(names())}")
    return experiments_of(ALGORITHMS[what], relation)
