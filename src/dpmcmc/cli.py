"""The command line. Commands load what they need when they run, so ``dpmcmc --help`` is instant."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Annotated, Any

import typer

from dpmcmc import __version__
from dpmcmc.commands.account import account
from dpmcmc.commands.audit import audit
from dpmcmc.commands.demo import demo
from dpmcmc.commands.endings import EXIT_CODES, UNFORESEEN, debugging
from dpmcmc.commands.fit import fit
from dpmcmc.commands.ledger import ledger
from dpmcmc.commands.new import new
from dpmcmc.commands.plan import plan
from dpmcmc.commands.releases import predict, report
from dpmcmc.commands.reproduce import reproduce
from dpmcmc.commands.signing import keys, sign, verify

app = typer.Typer(
    help="Differentially private posteriors. From a table to a report: dpmcmc new, dpmcmc plan, dpmcmc fit.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"dpmcmc {__version__}")
        raise typer.Exit()


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and end.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Print tracebacks, which may show records: for whoever holds them.")
    ] = False,
) -> None:
    """What every command has."""


SUMMARIES: dict[Callable[..., None], str] = {  # short enough for the list of commands, which cuts long ones off
    new: "Write a study file to fill in, from a table's header.",
    plan: "What a budget will buy. Reads no record, spends nothing.",
    fit: "Ask, charge the ledger, write release and report.",
    report: "Write the report of a release, one HTML file.",
    predict: "Expected outcomes of the rows of a public table.",
    demo: "A whole study of public health records.",
    account: "Steps a budget allows, or the ε of so many steps.",
    audit: "Attack a mechanism, and compare with what is claimed.",
    reproduce: "Run the experiments of a paper again.",
    keys: "Make the keys for signing releases.",
    sign: "Check a release and sign its file.",
    verify: "Check a release, and who signed it.",
}
for command, summary in SUMMARIES.items():
    app.command(short_help=summary)(command)
app.add_typer(ledger, name="ledger", short_help="What was spent on a data set, and what is left.")


def _warned(message: Warning | str, *_: Any, **__: Any) -> None:
    """A warning as one line."""
    typer.echo(f"Warning: {message}", err=True)


def main() -> None:
    """The command line, without tracebacks unless ``--debug`` asks for them."""
    warnings.showwarning = _warned
    try:
        app()
    except Exception as error:
        if debugging():
            raise
        typer.echo(
            f"Error: {type(error).__name__}, which was not foreseen. What it says may show records, and is not "
            "printed: `dpmcmc --debug ...` prints it, for whoever holds them. What a ledger was charged stays charged.",
            err=True,
        )
        sys.exit(UNFORESEEN)
