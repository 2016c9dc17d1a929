"""The report of a release: one HTML file that needs no network, for whoever reads it and whoever signs it.

It sees a release, which is public, and what is public beside it (a study, what a ledger has left), and never a record.
"""

from dpmcmc.reporting.page import html, report

__all__ = ["html", "report"]
