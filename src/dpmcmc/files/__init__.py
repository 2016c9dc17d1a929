"""Files that are whole or refused: atomic writing, locks, digests over every byte, signatures."""

from dpmcmc.files.disk import FileError, locked, read, write

__all__ = ["FileError", "locked", "read", "write"]
