"""What was spent on a data set, kept so that nothing is forgotten and nobody overspends."""

from dpmcmc.ledger.errors import LedgerDamaged, LedgerError

try:
    from dpmcmc.ledger.ledger import Ledger
    from dpmcmc.ledger.rules import Booking
except ModuleNotFoundError as error:
    if (error.name or "").split(".")[0] != "sqlalchemy":
        raise
    raise ImportError("ledgers are kept by SQLAlchemy: pip install 'dpmcmc[ledger]'") from None

__all__ = ["Booking", "Ledger", "LedgerDamaged", "LedgerError"]
