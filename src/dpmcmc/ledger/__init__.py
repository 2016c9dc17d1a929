"""What was spent on a data set, kept so that nothing is forgotten and nobody overspends."""

from dpmcmc.ledger.errors import LedgerDamaged, LedgerError
from dpmcmc.ledger.ledger import Booking, Ledger

__all__ = ["Booking", "Ledger", "LedgerDamaged", "LedgerError"]
