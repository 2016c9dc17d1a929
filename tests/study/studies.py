"""A study that is right, and a table for it."""

GOOD = """\
title = "Visits"
table = "visits.csv"

[model]
formula = "visits ~ age + plan + log(income)"
family = "poisson"

[priors]
age = {mean = 0, std = 0.05}

[privacy]
protects = "record"
epsilon = 1.0
delta = 1e-6

[ledger]
file = "ledger.db"
dataset = "clinic"
epsilon = 3.0
delta = 1e-5

[output]
release = "release.npz"
report = "report.html"

[columns.visits]
type = "number"
bounds = [0, 50]
integer = true

[columns.age]
type = "number"
bounds = [18, 90]
unit = "year"

[columns.income]
type = "number"
bounds = [1, 200]

[columns.plan]
type = "category"
levels = [
  "free",
  "full",
]

[columns.note]
type = "..."
"""

TABLE = "visits,age,income,plan,note,person\n2,40,30,free,x,1\n0,30,25.5,full,y,2\n1,61,80,full,z,2\n"


def line_of(text: str, part: str) -> int:
    """The line of the text on which a part begins."""
    return text[: text.index(part)].count("\n") + 1
