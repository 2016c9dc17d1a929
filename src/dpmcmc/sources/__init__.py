"""Where records are, and the one thing that is done with them there: whole numbers of blocks of them are added up."""

from dpmcmc.sources.arrays import Arrays
from dpmcmc.sources.base import MOST_RECORDS, Records, SourceError, block_rows, counted_of, is_records, like
from dpmcmc.sources.files import Files
from dpmcmc.sources.opening import opened, streamed
from dpmcmc.sources.ray import OnRay

__all__ = [
    "MOST_RECORDS",
    "Arrays",
    "Files",
    "OnRay",
    "Records",
    "SourceError",
    "block_rows",
    "counted_of",
    "is_records",
    "like",
    "opened",
    "streamed",
]
