"""What is watched while one input is read: time, memory, errors, and that nothing of it is run."""

import faulthandler
import os
import resource
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dpmcmc

SECONDS = 60
"""For one input, on a machine that does other things too. Beyond it the process ends, whatever it is doing."""

MORE_MEMORY = 6 * 2**30
SOURCE = str(Path(dpmcmc.__file__).parent)
FORBIDDEN = ("pickle.find_class", "subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork",
             "os.startfile", "socket.connect", "socket.bind", "ctypes.dlopen", "sqlite3.enable_load",
             "sqlite3.load_extension", "os.remove", "os.rename", "shutil.", "webbrowser.")  # fmt: skip

_seen: list[str] | None = None


def _hook(event: str, arguments: tuple) -> None:
    if _seen is None:
        return
    if event.startswith(FORBIDDEN):
        _seen.append(f"{event}{arguments!r:.200}")
    elif event == "exec" and not Path(getattr(arguments[0], "co_filename", "")).is_file():
        _seen.append(f"code that is in no file of a library was run: {arguments[0]!r:.200}")
    elif event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR):
        _seen.append(f"opened for writing: {arguments[0]!r:.200}")


sys.addaudithook(_hook)


@contextmanager
def watched() -> Iterator[list[str]]:
    """What was done in the meantime that reading a file never does; the process ends if it takes too long."""
    global _seen
    _seen = found = []
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    try:
        yield found
    finally:
        faulthandler.cancel_dump_traceback_later()
        _seen = None


def limit_memory() -> None:
    """A file that unpacks to more than itself ends in a MemoryError."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MORE_MEMORY, resource.RLIM_INFINITY))


def is_ours(error: BaseException) -> bool:
    """Whether an error was raised by a line of the library that means to."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    ours = last.filename.startswith(SOURCE) and str(last.line).startswith("raise")
    return ours and isinstance(error, ValueError | TypeError)
