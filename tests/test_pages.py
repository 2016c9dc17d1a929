"""Every page's code runs. A new page is found by itself: here, if no other test runs it."""

import ast
import re
import shlex
from itertools import pairwise

import pytest
import typer.main

from dpmcmc.cli import app
from tests.pages import ROOT, all_pages, blocks, pages_with, python_of, run_by_a_test, run_page

RUN_ELSEWHERE = {
    "README.md": "tests/test_readme.py",  # block by block
    "docs/guides/table-to-report.md": "tests/study/transcript.py",  # with its commands, by a new process each
}
GALLERY = sorted(page for page in pages_with("python") if page.startswith("docs/gallery/"))
REST = sorted(set(pages_with("python")) - set(RUN_ELSEWHERE) - set(GALLERY) - run_by_a_test())
MOST_NOT_RUN = 1
SHELLS = ("sh", "console", "bash", "")


@pytest.mark.slow
@pytest.mark.parametrize("page", REST)
def test_code_of_a_page_runs(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run_page(page)
    printed = capsys.readouterr().out
    for shown in said_to_be_printed(page):
        assert shown in printed, f"{page} says that this is printed:\n{shown}\nand what is printed is\n{printed}"


def said_to_be_printed(page):
    """Blocks without a language that follow Python at once, if they are whole: what the code above prints."""
    found = blocks(page)
    after = [here.text for before, here in pairwise(found) if before.language == "python" and not here.language]
    return [text for text in after if "..." not in text]


def test_pages_that_run_elsewhere_do():
    for page, file in RUN_ELSEWHERE.items():
        assert (ROOT / page).name in (ROOT / file).read_text(), f"{file} does not run {page}"
        assert python_of(page)


@pytest.mark.parametrize("page", GALLERY)
def test_pages_of_the_gallery_have_tests_of_their_own(page):
    name = page.removeprefix("docs/gallery/").removesuffix(".md").replace("-", "_")
    assert f"def test_{name}(" in (ROOT / "tests" / "test_gallery.py").read_text()


def test_few_blocks_are_not_run_and_they_say_why():
    left_out = [(page, block.not_run) for page in all_pages() for block in blocks(page) if block.not_run]
    assert len(left_out) <= MOST_NOT_RUN, left_out
    assert all(len(reason.split()) >= 4 for _, reason in left_out), left_out


@pytest.mark.parametrize("page", pages_with("python"))
def test_all_code_is_python(page):
    """Blocks that are not run too."""
    for block in blocks(page):
        if block.language == "python":
            ast.parse(block.text)


def test_every_fence_is_found():
    """No block hides in another form: indented, with tildes, or with another name for Python."""
    for page in all_pages():
        text = (ROOT / page).read_text(encoding="utf-8")
        assert len(re.findall(r"^\s*(?:```|~~~)", text, flags=re.M)) == 2 * len(blocks(page)), page
        assert not {block.language for block in blocks(page)} & {"py", "python3", "pycon", "Python"}, page


def commands(page):
    """What a page calls on the command line: ``dpmcmc ...``, without comments, and as far as the shell's own signs."""
    lines = [line for block in blocks(page) if block.language in SHELLS for line in block.text.splitlines()]
    lines = [line.removeprefix("$ ") for line in lines]
    return [re.split(r" [|&>] ", line)[0] for line in lines if re.match(r"dpmcmc( |$)", line)]


@pytest.mark.parametrize("page", [page for page in all_pages() if commands(page)])
def test_commands_of_a_page_exist(page):
    for line in commands(page):
        words = shlex.split(line, comments=True)[1:]
        command = typer.main.get_command(app)
        while words and hasattr(command, "commands") and not words[0].startswith("-"):
            assert words[0] in command.commands, f"{page}: {line}"
            command = command.commands[words.pop(0)]
        known = {option for parameter in command.params for option in parameter.opts + parameter.secondary_opts}
        known |= {"--help", "--install-completion", "--show-completion"}
        used = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
        assert used <= known, f"{page}: {line} has {used - known}, and {command.name} takes {known}"
