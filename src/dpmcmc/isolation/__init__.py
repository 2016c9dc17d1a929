"""A record's contribution is a function of that record and public values, as compiled: docs/theory/isolation.md."""

from dpmcmc.isolation.digest import NotTold, digest_of, has_rules, update
from dpmcmc.isolation.records import NotIsolated, check_isolated, each_record, traced

__all__ = ["NotIsolated", "NotTold", "check_isolated", "digest_of", "each_record", "has_rules", "traced", "update"]
