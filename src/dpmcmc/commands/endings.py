"""How commands end: exit codes, and errors as one line instead of a traceback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import typer

WELL, FOUND, MISTAKE, FAILED, DECLINED, UNFORESEEN, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130

EXIT_CODES = (
    "Exit codes: 0 all is well; 1 something was found to be wrong (a claim exceeded, a ledger damaged, a release "
    "refused); 2 a mistake in the call or in a study file, and nothing was charged; 3 a run failed after it was "
    "charged; 4 the answer to a question was no; 5 an error that was not foreseen; 130 interrupted."
)


def debugging() -> bool:
    """Whether tracebacks were asked for, by ``dpmcmc --debug``."""
    import sys

    return "--debug" in sys.argv[1:]


@contextmanager
def endings() -> Iterator[None]:
    """Errors as one line and an exit code; with ``--debug`` as they are."""
    from dpmcmc.method import RunFailed

    try:
        yield
    except RunFailed as error:
        ended(error, FAILED)
    except (ValueError, TypeError, OSError, ImportError) as error:
        ended(error, MISTAKE)
    except KeyboardInterrupt as stop:
        for note in getattr(stop, "__notes__", ["Stopped; nothing was charged."]):
            typer.echo(note, err=True)
        raise typer.Exit(INTERRUPTED) from None


def ended(error: Exception, code: int) -> NoReturn:
    """Say what is wrong, and end."""
    if debugging():
        raise error
    typer.echo(f"Error: {str(error) or type(error).__name__}", err=True)
    raise typer.Exit(code) from None
