"""Every wrong command line ends in a message that names what is wrong, with exit code 2 and no traceback."""

import time

import pytest
from typer.testing import CliRunner

from dpmcmc.cli import app
from dpmcmc_experiments import figures, raisa2021  # noqa: F401  loaded before refusals are timed

SECONDS = 2.0  # of processor time, for one refusal
MODEL = "dpmcmc.models:TiedMixture"
BROKEN = {
    "syntax.py": "model = (",
    "raises.py": "raise RuntimeError('from the file')",
    "leaves.py": "import sys; sys.exit(3)",
    "imports.py": "import no_such_package_at_all",
    "empty.py": "",
    "number.py": "model = 3",
    "class.py": "import dpmcmc as dp\nmodel = dp.models.GaussianMean",
    "table.csv": "a,b\n1,2\n",
    "empty.csv": "",
    "table.xlsx": "",
    "there.toml": "title = 3",
    "good.py": "import dpmcmc as dp\nmodel = dp.models.GaussianMean()",
}

LINES = [
    # a command, its arguments, and what the message must name (the parser of options names the option alone)
    ("", "nosuch", "nosuch"),
    ("", "--nosuch", "--nosuch"),
    ("", "accounts", "accounts"),
    ("account", "gibbs", "'gibbs'"),
    ("account", "barker extra", "extra"),
    ("account", "barker --nosuch 3", "--nosuch"),
    ("account", "barker --epsilon", "--epsilon"),
    ("account", "barker --epsilon one", "--epsilon"),
    ("account", "barker --epsilon 0", "epsilon"),
    ("account", "barker --epsilon -1", "-1"),
    ("account", "barker --epsilon nan", "nan"),
    ("account", "barker --epsilon inf", "inf"),
    ("account", "barker --delta 0", "delta"),
    ("account", "barker --delta 1", "delta"),
    ("account", "barker --delta -0.1", "-0.1"),
    ("account", "barker --delta nan", "nan"),
    ("account", "barker --delta small", "--delta"),
    ("account", "barker --steps 0", "steps"),
    ("account", "barker --steps -3", "-3"),
    ("account", "barker --steps 1.5", "--steps"),
    ("account", "barker --steps many", "--steps"),
    ("account", "barker --shift -0.1", "-0.1"),
    ("account", "barker --shift nan", "nan"),
    ("account", "barker --shift inf", "inf"),
    ("account", "barker --batch 10", "batch"),
    ("account", "penalty --std 0", "std"),
    ("account", "penalty --std -1", "-1"),
    ("account", "penalty --std x", "--std"),
    ("account", "penalty --n 100", "no n"),
    ("account", "barker-subsampled --batch 0", "batch"),
    ("account", "barker-subsampled --n 10 --batch 100", "batch"),
    ("account", "barker-subsampled --n -5", "-5"),
    ("account", "barker-subsampled --n 1e6", "--n"),
    ("account", "poisson-barker --rate 0", "rate"),
    ("account", "poisson-barker --bound -1", "bound"),
    ("account", "penalty-minibatch --temperature 0", "temperature"),
    ("account", "hmc --leapfrog -1", "-1"),
    ("account", "hmc --leapfrog 1.5", "--leapfrog"),
    ("account", "hmc --gradient-noise 0", "noise"),
    ("account", "sgld --noise-multiplier -1", "-1"),
    ("account", "selection --range -1", "-1"),
    ("account", "--all barker", "'barker'"),
    ("account", "--all --shift 0.1", "--shift"),
    ("account", "--steps 5", "--steps"),
    ("account", "--shift 0.1", "--shift"),
    ("account", "--json", "--json"),
    ("account", "barker --json --markdown", "--markdown"),
    ("account", "--all --plot x.png", "--plot"),
    ("account", "barker --plot no-such-folder/x.png", "no-such-folder"),
    ("account", "barker --plot x.nosuch", "x.nosuch"),
    ("account", "barker --plot .", "--plot"),
    ("new", "", "table"),
    ("new", "nowhere.csv", "nowhere.csv"),
    ("new", "table.xlsx", "table.xlsx"),
    ("new", "empty.csv", "header"),
    ("new", "table.csv --separator long", "separator"),
    ("new", "table.csv --encoding nosuch", "nosuch"),
    ("new", "table.csv --decimal x", "decimal"),
    ("new", "table.csv --out there.toml", "there.toml"),
    ("new", "table.csv --out no/folder.toml", "no/folder.toml"),
    ("fit", "", "study"),
    ("fit", "nowhere.toml", "nowhere.toml"),
    ("fit", "there.toml --yes", "there.toml"),
    ("fit", "table.csv --yes", "table.csv"),
    ("fit", ". --yes", "directory"),
    ("report", "", "release"),
    ("report", "nowhere.npz", "nowhere.npz"),
    ("report", "table.csv", "table.csv"),
    ("report", "nowhere.npz --key", "--key"),
    ("predict", "", "release"),
    ("predict", "nowhere.npz", "rows"),
    ("predict", "nowhere.npz table.csv", "nowhere.npz"),
    ("predict", "table.csv table.csv", "table.csv"),
    ("plan", "nowhere.toml", "nowhere.toml"),
    ("plan", "there.toml", "there.toml"),
    ("plan", "there.toml --method chain", "--method"),
    ("plan", "there.toml --n 0", "--n"),
    ("plan", "", "model"),
    ("plan", MODEL, "--n"),
    ("plan", "model --n 100", "'model'"),
    ("plan", "nowhere.py:model --n 100", "nowhere.py"),
    ("plan", "no.such.module:model --n 100", "no.such.module"),
    ("plan", "..relative:model --n 100", "..relative"),
    ("plan", "dpmcmc.models:Nothing --n 100", "Nothing"),
    ("plan", "dpmcmc.models: --n 100", "dpmcmc.models:"),
    ("plan", ":model --n 100", ":model"),
    ("plan", "syntax.py:model --n 100", "syntax.py"),
    ("plan", "raises.py:model --n 100", "from the file"),
    ("plan", "leaves.py:model --n 100", "leaves.py"),
    ("plan", "imports.py:model --n 100", "no_such_package_at_all"),
    ("plan", "empty.py:model --n 100", "model"),
    ("plan", "number.py:model --n 100", "got 3"),
    ("plan", "class.py:model --n 100", "GaussianMean"),
    ("plan", "good.py:model --n 0", "--n"),
    ("plan", "good.py:model --n -5", "-5"),
    ("plan", "good.py:model --n 1.5", "--n"),
    ("plan", "good.py:model --n many", "--n"),
    ("plan", "good.py:model --n 100 --epsilon 0", "epsilon"),
    ("plan", "good.py:model --n 100 --epsilon nan", "nan"),
    ("plan", "good.py:model --n 100 --epsilon x", "--epsilon"),
    ("plan", "good.py:model --n 100 --delta 2", "delta"),
    ("plan", "good.py:model --n 100 --delta 0", "delta"),
    ("plan", "good.py:model --n 100 --temperature 0", "temperature"),
    ("plan", "good.py:model --n 100 --temperature 2", "temperature"),
    ("plan", "good.py:model --n 100 --method nuts", "'nuts'"),
    ("plan", "good.py:model --n 100 --method ''", "--method"),
    ("demo", "--epsilon 0", "epsilon"),
    ("demo", "--epsilon -1", "-1"),
    ("demo", "--epsilon nan", "nan"),
    ("demo", "--epsilon x", "--epsilon"),
    ("demo", "--delta 0", "delta"),
    ("demo", "--delta 1.5", "1.5"),
    ("demo", "--out good.py", "good.py"),
    ("demo", "extra", "extra"),
    ("audit", "gibbs", "'gibbs'"),
    ("audit", "dp_barker --runs 0", "runs"),
    ("audit", "dp_barker --runs x", "--runs"),
    ("audit", "dp_barker --seed -1", "-1"),
    ("audit", "all --nosuch", "--nosuch"),
    ("keys", "", "name"),
    ("keys", "no-such-folder/custodian", "no-such-folder"),
    ("keys", "one two", "two"),
    ("sign", "", "release"),
    ("sign", "nosuch.npz", "--key"),
    ("sign", "nosuch.npz --key key.pem", "nosuch.npz"),
    ("sign", "good.py --key key.pem", "good.py"),
    ("verify", "", "release"),
    ("verify", "nosuch.npz --nosuch", "--nosuch"),
    ("ledger", "nosuch", "nosuch"),
    ("ledger", "show nosuch.db", "nosuch.db"),
    ("ledger", "show good.py", "good.py"),
    ("ledger", "init x.db", "--dataset"),
    ("ledger", "init x.db --dataset d --epsilon 0 --delta 1e-6", "epsilon"),
    ("ledger", "init x.db --dataset d --epsilon 1 --delta 2", "delta"),
    ("ledger", "verify nosuch.db", "nosuch.db"),
    ("ledger", "export nosuch.db", "nosuch.db"),
    ("ledger", "recover nosuch.db 1", "out"),
    ("reproduce", "", "paper"),
    ("reproduce", "nobody2020", "'nobody2020'"),
    ("reproduce", "raisa2021 --figure fig99", "'fig99'"),
    ("reproduce", "raisa2021 extra", "extra"),
    ("reproduce", "raisa2021 --quick yes", "yes"),
    ("reproduce", "raisa2021 --out good.py", "good.py"),
    ("reproduce", "raisa2021 --data no-such-folder", "no-such-folder"),
    ("reproduce", "raisa2021 --data good.py", "good.py"),
]


@pytest.mark.parametrize("command", sorted({begins for begins, _, _ in LINES}))
def test_a_wrong_command_line_is_refused(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in BROKEN.items():
        (tmp_path / name).write_text(text)
    problems = []
    for number, (line, names) in enumerate([(line, names) for begins, line, names in LINES if begins == command]):
        before = time.process_time()
        arguments = [part.replace("''", "") for part in f"{command} {line}".split()]
        result = CliRunner().invoke(app, arguments, env={"COLUMNS": "200"})
        took = time.process_time() - before
        said = " ".join(result.output.split())
        if result.exit_code != 2 or not isinstance(result.exception, SystemExit):
            problems.append(f"{command} {line}: exit {result.exit_code}, {result.exception!r}: {said[-300:]}")
        elif names.lower() not in said.lower() or "Traceback" in said:
            problems.append(f"{command} {line}: does not name {names}: {said[-300:]}")
        elif took > SECONDS and number > 0:  # the first one loads the library
            problems.append(f"{command} {line}: took {took:.1f} s")
    assert not problems, "\n".join(problems)


def test_there_are_enough_of_them():
    assert len(LINES) >= 90
    assert {line[0] for line in LINES} >= {command.callback.__name__ for command in app.registered_commands}
