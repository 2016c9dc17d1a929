"""Compiled programs kept from one process to the next, in a folder that only the user can write to.

JAX loads what lies there and runs it, so whoever can write to the folder can run code as the user: it is made private,
and one that is not is refused. Records are arguments of compiled programs and never constants in them, so no record
comes to lie there (``tests/test_programs.py``); what a model's functions close over does.

Programs are kept while this package compiles, and not those that a user compiles before and after: these may well hold
data. A cache that the user has configured in JAX is used as it is.

Reference: SECURITY.md, "Compiled programs".
"""

from __future__ import annotations

import os
import stat
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path

import jax
from jax.experimental.compilation_cache import compilation_cache

SETTING = "DPMCMC_CACHE"
OFF = ("off", "no", "false", "0")
MOST_BYTES = 2**29
OWN = "dpmcmc-programs"
"""The folder within the one that a user names: nothing else lies there, and nothing else is ever deleted."""

ENDINGS = ("-cache", "-atime")  # of the files that JAX writes
_SETTINGS = {"jax_persistent_cache_min_compile_time_secs": 0.0, "jax_persistent_cache_min_entry_size_bytes": -1}
_FOLDER = "jax_compilation_cache_dir"


@contextmanager
def kept_programs() -> Iterator[None]:
    """Within this, compiled programs are looked up in the folder, and written to it; also a decorator."""
    entered = _Switch.enter()
    try:
        yield
    finally:
        if entered:
            _Switch.leave()


class _Switch:
    """JAX's settings are those of the process: the first to enter changes them, the last to leave restores them."""

    lock = threading.Lock()
    inside = 0
    before: dict[str, object] = {}  # noqa: RUF012

    @classmethod
    def enter(cls) -> bool:
        with cls.lock:
            if not cls.inside:
                if _setting(_FOLDER) or not _setting("jax_enable_compilation_cache"):
                    return False
                where = folder(os.environ.get(SETTING, ""), os.environ.get("XDG_CACHE_HOME", ""))
                if where is None:
                    return False
                cls.before = {name: _setting(name) for name in (_FOLDER, *_SETTINGS)}
                cls._set({_FOLDER: str(where), **_SETTINGS})
            cls.inside += 1
            return True

    @classmethod
    def leave(cls) -> None:
        with cls.lock:
            cls.inside -= 1
            if not cls.inside:
                cls._set(cls.before)

    @staticmethod
    def _set(values: dict[str, object]) -> None:
        for name, value in values.items():
            jax.config.update(name, value)
        compilation_cache.reset_cache()  # the next program is looked up by the new settings


def _setting(name: str) -> object:
    return getattr(jax.config, name)


@lru_cache(maxsize=8)
def folder(setting: str, cache_home: str) -> Path | None:
    """Where programs are kept: a private folder, made if need be; None if there is to be none, or it is not private.

    ``setting``: a path, "off", or nothing for the user's cache folder, which ``cache_home`` names if it is a path.
    """
    if setting.lower() in OFF or not hasattr(os, "getuid"):
        return None
    home = Path(cache_home) if os.path.isabs(cache_home) else Path("~/.cache")
    with suppress(OSError, RuntimeError):  # RuntimeError: there is no home
        path = (Path(setting) / OWN if setting else home / "dpmcmc" / "programs").expanduser().absolute()
        for missing in [each for each in (*reversed(path.parents), path) if not each.exists()]:
            missing.mkdir(mode=0o700, exist_ok=True)
        path = path.resolve()
        wrong = who_else_can_write(path)
        if not wrong:
            _prune(path)
            return path
        warnings.warn(
            f"compiled programs are not kept, so every process compiles them again: {wrong}. Delete {path}, which is "
            f"then made anew and private, or set {SETTING} to a folder that only you can write to, or to 'off'",
            stacklevel=6,
        )
    return None


def who_else_can_write(path: Path) -> str:
    """What is wrong with a folder for programs, if anything: it, those above it or what lies in it may be another's to
    change. A folder that was open once and is private now may hold what others put there."""
    me = os.getuid()
    for each in (path, *path.parents):
        found = each.stat()
        if not stat.S_ISDIR(found.st_mode):
            return f"{each} is not a folder"
        if found.st_uid not in ((me,) if each == path else (me, 0)):
            return f"{each} belongs to another user"
        others = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if others and (each == path or not found.st_mode & stat.S_ISVTX):
            return f"other users can write to {each}"
    if path.stat().st_mode & 0o077:
        return f"other users can read {path}"
    for entry in os.scandir(path):
        found = entry.stat(follow_symlinks=False)
        if found.st_uid != me or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) or not stat.S_ISREG(found.st_mode):
            return f"{entry.path} may be another user's work"
    return ""


def _prune(path: Path, most: int = MOST_BYTES) -> None:
    """Remove the oldest programs where there are too many: at most so many bytes are left, half of it afterwards."""
    found = [each for each in os.scandir(path) if each.name.endswith(ENDINGS)]
    kept = [(each.stat().st_mtime, each.stat().st_size, each.path) for each in found]
    total = sum(size for _, size, _ in kept)
    if total <= most:
        return
    for _, size, name in sorted(kept):
        with suppress(OSError):
            os.unlink(name)
        total -= size
        if total <= most // 2:
            return
