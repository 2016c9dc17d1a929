"""A PostgreSQL server of the tests' own, in a temporary folder, reached by a socket there and by nothing else."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

FOLDERS = [*sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True), Path("/usr/local/pgsql/bin")]


def program(name):
    """Where a program of PostgreSQL is; None if it is not installed."""
    found = shutil.which(name)
    if found is None or not (Path(found).resolve().parent / "initdb").exists():
        found = next((str(folder / name) for folder in FOLDERS if (folder / name).exists()), None)
    return found and str(Path(found).resolve())


def user():
    """The server refuses to run as root: postgres, or else nobody, runs it then."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    pytest.skip("PostgreSQL does not run as root, and there is no user postgres or nobody to run it as")


@contextmanager
def postgresql():
    """The address of a new server, which is stopped and deleted at the end."""
    if program("postgres") is None:
        pytest.skip("no PostgreSQL server is installed (the programs postgres and initdb)")
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    folder = Path(tempfile.mkdtemp(prefix="dpmcmc-pg-"))
    runs_as = user()
    identity = {} if runs_as is None else {"user": runs_as.pw_uid, "group": runs_as.pw_gid, "extra_groups": []}
    if runs_as is not None:
        os.chown(folder, runs_as.pw_uid, runs_as.pw_gid)
    data = folder / "data"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder, **identity}
    try:
        subprocess.run([program("initdb"), "-D", data, "-U", "dpmcmc", "-A", "trust", "--no-sync"], check=True, **quiet)
        server = subprocess.Popen([program("postgres"), "-D", data, "-k", folder, "-c", "listen_addresses="], **quiet)
        try:
            address = f"postgresql://dpmcmc@/postgres?host={folder}"
            wait_for(address)
            yield address
        finally:
            server.send_signal(signal.SIGINT)  # stop at once, in good order
            server.wait(timeout=30)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def wait_for(address):
    import psycopg

    for _ in range(300):
        try:
            psycopg.connect(address).close()
            return
        except psycopg.OperationalError:
            time.sleep(0.1)
    raise TimeoutError("the PostgreSQL server did not start")
