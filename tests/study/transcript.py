"""Follow a page of the docs literally: make its table, run its commands, make its edits."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "table-to-report.md"
RUN = [sys.executable, "-c", "import sys; from dpmcmc.cli import main; sys.argv[0] = 'dpmcmc'; main()"]


def steps(page: str) -> list[tuple[str, str]]:
    """The blocks of the page in their order, with their language."""
    return re.findall(r"^```(python|toml|console)\n(.*?)^```", page, flags=re.S | re.M)


def edited(study: str, block: str) -> str:
    """The study with the sections of a block in the place of its own: what a person does in an editor."""
    for section in re.split(r"\n(?=\[)", block.strip()):
        header = section.splitlines()[0]
        own = re.search(rf"^{re.escape(header)}\n(?:[^\n\[].*\n?)*", study, flags=re.M)
        assert own, f"the study has no section {header}"
        kept = [line for line in own[0].splitlines()[1:] if line.startswith("#")]
        study = study.replace(own[0], "\n".join([section, *kept, ""]), 1)
    return study


def run(command: str, folder: Path) -> str:
    """What a command of the page prints; it must succeed."""
    if not command.startswith("dpmcmc "):
        subprocess.run(command, shell=True, check=True, cwd=folder)
        return ""
    done = subprocess.run(
        [*RUN, *shlex.split(command)[1:]], cwd=folder, capture_output=True, text=True, env=dict(os.environ)
    )
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
    assert "Traceback" not in done.stderr
    return done.stdout


def follow(folder: Path) -> list[tuple[str, str, str]]:
    """Each command of the page, what the page says that it prints, and what it prints."""
    said = []
    for language, block in steps(PAGE.read_text(encoding="utf-8")):
        if language == "python":
            subprocess.run([sys.executable, "-c", block], check=True, cwd=folder)
        elif language == "toml":
            study = folder / "study.toml"
            study.write_text(edited(study.read_text(encoding="utf-8"), block), encoding="utf-8")
        else:
            for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
                command, _, printed = part.partition("\n")
                said.append((command, printed, run(command, folder)))
    return said


def plain(text: str) -> str:
    """Text without what changes from run to run: figures, digests, and the width of tables."""
    text = re.sub(r"\S+@\S+", "who", re.sub(r"\b(?=[0-9a-f]*\d)[0-9a-f]{8,}\b", "digest", text))
    return " ".join(re.sub(r"[-−]?\d[\d.,:e+-]*", "#", text).split())
