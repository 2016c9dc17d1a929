"""Bytes on disk: written whole or not at all, for their owner alone, by one process at a time.

    with locked(path):                # a second process is refused
        write(path, content)          # after a crash at any moment, path holds the old content or the new
        content = read(path, secret=True)

Links at ``path`` are replaced by :func:`write` and never written through.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

MOST_BYTES = 2**33
_CLOSED = getattr(os, "O_CLOEXEC", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)  # Windows has neither
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)


class FileError(ValueError):
    """A file that is not what it should be, or cannot be read, written or locked; names the file and the fault."""


def write(path: Path, content: bytes) -> None:
    """Replace ``path`` by ``content``, readable by its owner alone. If that fails, what was there is unchanged.

    Content goes to a new file of an unguessable name in the same folder, reaches the disk, and then takes the place of
    the old file in one step (``rename`` of POSIX); the folder reaches the disk last.
    """
    temporary = path.with_name(_temporary_prefix(path) + secrets.token_hex(16))
    try:
        try:
            with open(
                os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK | _CLOSED, 0o600), "wb"
            ) as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
        _sync_folder(path.parent)
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error.strerror}") from error


def read(path: Path, *, secret: bool = False) -> bytes:
    """All of a file. One that is ``secret`` must be its reader's own, no link, and not writable by anybody else."""
    try:
        descriptor = os.open(path, os.O_RDONLY | _CLOSED | _NO_WAIT | (_NO_LINK if secret else 0))
        with open(descriptor, "rb") as file:
            about = os.fstat(descriptor)
            if not stat.S_ISREG(about.st_mode):
                raise FileError(f"{path} is not a file but something else of that name (a folder, device or pipe)")
            if about.st_size > MOST_BYTES:
                raise FileError(f"{path} has {about.st_size} bytes, more than the {MOST_BYTES} that are read")
            if secret and hasattr(os, "geteuid") and (about.st_uid != os.geteuid() or about.st_mode & 0o022):
                raise FileError(
                    f"{path} belongs to another user or can be written by others, so its content may be theirs; it "
                    "must be yours and writable by you alone (chmod 600). If others may have changed it, delete it"
                )
            return file.read()
    except OSError as error:
        link = " (a link is not followed here)" if secret and path.is_symlink() else ""
        raise FileError(f"{path} cannot be read: {error.strerror}{link}") from error


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold ``path`` for this process alone; refused at once where another process (or thread) holds it.

    The lock is on a file of its own beside it, ``path.lock``, since ``path`` itself is replaced when it is written. The
    system gives it up when its holder dies, however that happens. What a holder that died left half written is removed:
    it may hold secrets.
    """
    lock = path.with_name(path.name + ".lock")
    try:
        descriptor = _acquire(path, lock)
    except OSError as error:
        raise FileError(f"{path} cannot be locked by {lock.name} beside it: {error.strerror}") from error
    try:
        prefix = _temporary_prefix(path)
        for name in os.listdir(path.parent):
            if name.startswith(prefix):
                with suppress(OSError):
                    path.with_name(name).unlink()
        yield
    finally:
        with suppress(OSError):
            lock.unlink()  # while it is still held: who waits for the name finds out in _acquire
        os.close(descriptor)


def _acquire(path: Path, lock: Path) -> int:
    try:
        import fcntl
    except ImportError as error:
        raise FileError(f"{path} cannot be locked: this needs the file locks of Linux or macOS") from error
    while True:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | _NO_LINK | _CLOSED, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if lock.exists() and os.path.samestat(os.fstat(descriptor), lock.stat()):
                return descriptor
        except BlockingIOError as error:
            os.close(descriptor)
            raise FileError(
                f"{path} is in use by another run: it holds {lock.name}. Wait for that run, or give this one a file of "
                "its own"
            ) from error
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # its last holder has removed the file that was locked just now: take the new one


def _temporary_prefix(path: Path) -> str:
    """Short, whatever the name: a name may have 255 bytes."""
    return f".dpmcmc-{hashlib.blake2b(path.name.encode('utf-8', 'surrogateescape'), digest_size=8).hexdigest()}-"


def _sync_folder(folder: Path) -> None:
    """A name is on disk when its folder is; Windows does not open folders."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY | _CLOSED)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
