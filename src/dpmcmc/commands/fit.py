"""``dpmcmc fit``: a study from its file to release and report, charged to its ledger."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpmcmc.commands.endings import DECLINED, FAILED, ended, endings

if TYPE_CHECKING:
    from dpmcmc.method import RunFailed
    from dpmcmc.release import Release
    from dpmcmc.study.running import Ready


def fit(
    study: Annotated[Path, typer.Argument(help="A study file, as `dpmcmc new` writes it.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")] = False,
) -> None:
    """Show what will run and what it costs, ask, charge the ledger, run, and write release and report.

    Whatever can be refused is refused before anything is charged.
    """
    with endings():
        from dpmcmc.method import RunFailed
        from dpmcmc.reporting.page import check_installed, report
        from dpmcmc.study.running import opened_ledger, prepared
        from dpmcmc.study.study import Study

        check_installed()
        found = Study.read(study)
        ready = prepared(found)
        typer.echo(costs(ready), err=json)
        if not (yes or _agreed(json)):
            typer.echo("Nothing was charged.", err=True)
            raise typer.Exit(DECLINED)
        try:
            release = ready.run(progress=not quiet)
        except RunFailed as error:
            ended(_kept(error, found.release), FAILED)
        report(release, found.report, title=found.title, ledger=opened_ledger(found))
        if json:
            typer.echo(_json(release, ready))
        else:
            typer.echo(_told(release, ready))


def _kept(error: RunFailed, wanted: Path) -> Exception:
    """What to say of a run that failed; a release that only could not be stored is stored elsewhere."""
    import tempfile

    if error.release is None:
        return error
    for folder in (Path.cwd(), Path(tempfile.gettempdir())):
        try:
            file = Path(tempfile.mkdtemp(prefix="release-", dir=folder)) / wanted.name
            error.release.save(file)
        except OSError:
            continue
        return RuntimeError(
            f"{wanted} could not be written. The run is spent, and its release is kept in {file}: move it to where it "
            f"belongs, and `dpmcmc report` makes its report."
        )
    return error


def _agreed(aside: bool) -> bool:
    """The answer of whoever sits there; nobody is a mistake in the call."""
    try:
        return typer.confirm("Charge this and run?", err=aside)
    except typer.Abort:
        raise ValueError("there is nobody to ask, and nothing was charged: give --yes to go on without") from None


def costs(ready: Ready) -> str:
    """The study, what it will release, and what that costs."""
    study, plan = ready.study, ready.plan
    whose = "records" if study.unit == "record" else f"different values of {study.unit}"
    lines = [
        study.describe(),
        f"The table has {plan.n} {whose}.",
        f"The release will be {plan.guarantee}.",
    ]
    least = getattr(plan, "least_error", None)
    if least is not None:
        lines.append(
            f"At best, the noise moves posterior means by {least:.2g} posterior standard deviations; mostly it is "
            "several times as much (`dpmcmc plan` rehearses it)."
        )
    return "\n".join([*lines, _ledger(ready), f"Writes: {study.release} and {study.report}"])


def _ledger(ready: Ready) -> str:
    from dpmcmc.study.running import price_of

    wanted = ready.study.ledger
    if wanted is None:
        return "Ledger: none. Nothing will remember what was spent on this table; [ledger] in the study file names one."
    price, left, limit = price_of(ready)
    where = f"Ledger: {wanted.where}, data set {wanted.dataset!r}"
    if ready.makes_ledger:
        where += (
            f", new: its budget will be epsilon = {wanted.budget.epsilon:g}, delta = {wanted.budget.delta:g} for ever"
        )
    return (
        f"{where}.\nCosts {price / limit:.0%} of the ledger's budget; {(left - price) / limit:.0%} will be left for "
        "other releases of this table."
    )


def _told(release: Release, ready: Ready) -> str:
    study = ready.study
    return f"\n{release.on_original_scale()}\n\n{release.guarantee}.\nRelease: {study.release}\nReport:  {study.report}"


def _json(release: Release, ready: Ready) -> str:
    from json import dumps

    guarantee = release.guarantee
    summary = release.on_original_scale().summary()
    return dumps(
        {
            "verdict": release.quality.verdict,
            "reason": release.quality.reason,
            "guarantee": None if guarantee is None else guarantee.to_dict(),
            "release": str(ready.study.release),
            "report": str(ready.study.report),
            "coefficients": {name: dict(row) for name, row in summary.iterrows()},
        },
        indent=1,
    )
