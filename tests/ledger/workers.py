"""What other processes do to a ledger in the tests."""

import os
import sys
import time

import dpmcmc as dp
from dpmcmc.charge import OverBudget
from tests.ledger.places import RECORDS, charge


def charge_often(where, dataset, times, multiplier):
    """Try to charge so often; the names of the charges that were made, and how many were refused."""
    ledger, names, refused = dp.Ledger(where, dataset), [], 0
    for _ in range(times):
        try:
            names.append(ledger.reserve((charge(multiplier),), RECORDS).receipt.purpose)
        except OverBudget:
            refused += 1
    return names, refused


def charge_until_killed(where, log):
    """Charge and settle for ever; every charge is written to ``log`` as soon as it is known to have been made."""
    ledger = dp.Ledger(where)
    with open(log, "a") as file:
        while True:
            booking = ledger.reserve((charge(1000.0),), RECORDS)
            file.write(f"{booking.receipt.purpose}\n")
            file.flush()
            ledger.settle(booking.number, b"x" * 5000)


def sample_until_killed(folder):
    """Chains with a ledger and a checkpoint, one after another; ``started`` says that the first has been compiled."""
    from tests.ledger.chains import sampled

    sampled(folder, warm=True)
    (folder / "started").touch()
    for number in range(10**6):
        sampled(folder, save_to=folder / f"{os.getpid()}-{number}.npz")
        time.sleep(0.0)


if __name__ == "__main__":
    from pathlib import Path

    sample_until_killed(Path(sys.argv[1]))
