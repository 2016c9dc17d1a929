"""Pages of the reference, made when the site is built: docstrings by theme, and the command line from its own help."""

from __future__ import annotations

import re
from typing import Any

from mkdocs.structure.files import File
from public_names import PAGES, entries
from typer import Context
from typer.cli import get_docs_for_click
from typer.main import get_command

from dpmcmc.cli import app
from dpmcmc.commands.endings import EXIT_CODES

COMMANDS = "reference/command-line.md"


def docstring_page(page: str, names: dict[str, str]) -> str:
    """Every name of a page by its docstring."""
    title, about, *_ = PAGES[page]
    parts = [f"# {title}", about]
    for name, path in names.items():
        options = {"heading_level": 2, "heading": f"dp.{name}", "toc_label": name.rpartition(".")[2]}
        parts.append(f"::: {path}\n    options:\n" + "".join(f"      {k}: {v!r}\n" for k, v in options.items()))
    return "\n\n".join(parts)


def overview(pages: dict[str, dict[str, str]]) -> str:
    """The first page: what is where."""
    rows = [
        f"| [{PAGES[page].title}]({page}.md) | {', '.join(f'[`{name}`][{path}]' for name, path in names.items())} |"
        for page, names in pages.items()
    ]
    return "\n".join(
        [
            "# Reference",
            "",
            "Every public name, from its docstring. `import dpmcmc as dp` comes first throughout; names are loaded when"
            " first used, so that accounting and declared tables work without JAX.",
            "",
            "The [command line](command-line.md) has a page of its own.",
            "",
            "| page | names |",
            "|---|---|",
            *rows,
        ]
    )


def command_line() -> str:
    """The commands, as their ``--help`` has them."""
    command = get_command(app)
    context = Context(command, info_name="dpmcmc")
    body = get_docs_for_click(obj=command, ctx=context, name="dpmcmc", title="Command line")
    for group in (command, command.commands["ledger"]):
        for name, one in group.commands.items():
            said = " ".join((one.help or "").split("\n\n")[0].split())
            body = re.sub(
                rf"^\* `{name}`: .*\.\.\.$", lambda _, name=name, said=said: f"* `{name}`: {said}", body, flags=re.M
            )
    return body.replace(
        EXIT_CODES, "What exit codes mean: [from a table to a report](../guides/table-to-report.md#exit-codes)."
    )


def on_config(config: Any) -> Any:
    pages = ["reference/index.md", {"Command line": COMMANDS}, *(f"reference/{page}.md" for page in PAGES)]
    config.nav = [{"Reference": pages} if item == {"Reference": "reference/"} else item for item in config.nav]
    return config


def on_files(files: Any, config: Any) -> Any:
    pages = entries()
    contents = {"reference/index.md": overview(pages), COMMANDS: command_line()}
    contents |= {f"reference/{page}.md": docstring_page(page, names) for page, names in pages.items()}
    for path, content in contents.items():
        files.append(File.generated(config, path, content=content))
    return files
