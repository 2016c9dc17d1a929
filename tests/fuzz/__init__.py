"""Hostile files: whatever a file holds, reading it gives what was meant or an error of ours, soon, and runs nothing.

    python -m tests.fuzz --inputs 100000 --seed 0           # all targets; ends with exit code 1 if anything was found
    python -m tests.fuzz --target "ledgers" --only 4711     # one input again, with its traceback

An input is known by its target, the seed and its number. To fuzz another kind of file, add a line to ``TARGETS`` in
``targets.py``.
"""
