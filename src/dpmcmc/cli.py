"""The command line. Commands load what they need when they run, so ``dpmcmc --help`` is instant."""

from __future__ import annotations

import typer

from dpmcmc.commands.account import account
from dpmcmc.commands.audit import audit
from dpmcmc.commands.demo import demo
from dpmcmc.commands.ledger import ledger
from dpmcmc.commands.plan import plan
from dpmcmc.commands.reproduce import reproduce
from dpmcmc.commands.signing import keys, sign, verify

app = typer.Typer(
    help="Differentially private posteriors by MCMC.", no_args_is_help=True, add_completion=False, rich_markup_mode=None
)
app.command()(account)
app.command()(audit)
app.command()(demo)
app.command()(keys)
app.command()(plan)
app.command()(reproduce)
app.command()(sign)
app.command()(verify)
app.add_typer(ledger, name="ledger")
