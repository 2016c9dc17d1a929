"""Files are written whole or not at all, for their owner, by one process at a time."""

import os
import stat
import subprocess
import sys
import threading

import pytest

from dpmcmc.files import FileError, disk, locked, read, write


class Crash(BaseException):
    """The machine went away."""


@pytest.mark.parametrize("error", [Crash, OSError(28, "No space left on device")], ids=["crash", "disk full"])
@pytest.mark.parametrize("call", ["open", "fsync", "replace"])
def test_whatever_fails_the_old_content_stays_and_nothing_else(call, error, tmp_path, monkeypatch):
    path = tmp_path / "a"
    write(path, b"old")

    def fails(*arguments, **named):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(disk.os, call, fails)
        with pytest.raises(Crash if error is Crash else FileError, match=None if error is Crash else "a cannot be wri"):
            write(path, b"new content")
    assert read(path) == b"old"
    assert os.listdir(tmp_path) == ["a"]
    write(path, b"new content")
    assert read(path) == b"new content"


def test_everything_is_on_disk_before_the_old_file_is_given_up(tmp_path, monkeypatch):
    """File, then its new name, then the folder: in no other order."""
    calls = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(disk.os, name, lambda *a, name=name, real=real: (calls.append(name), real(*a)))
    write(tmp_path / "a", b"x")
    assert calls == ["fsync", "replace", "fsync"]


def test_links_are_replaced_and_never_written_through(tmp_path):
    victim, path = tmp_path / "victim", tmp_path / "a"
    victim.write_bytes(b"mine")
    path.symlink_to(victim)
    write(path, b"secret")
    assert victim.read_bytes() == b"mine"
    assert not path.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_name_that_exists_already_is_not_taken(tmp_path, monkeypatch):
    """Were the name of the new file guessed, a file or link there would be refused."""
    monkeypatch.setattr(disk.secrets, "token_hex", lambda size: "guessed")
    victim = tmp_path / "victim"
    victim.write_bytes(b"mine")
    (tmp_path / (disk._temporary_prefix(tmp_path / "a") + "guessed")).symlink_to(victim)
    with pytest.raises(FileError, match="File exists"):
        write(tmp_path / "a", b"secret")
    assert victim.read_bytes() == b"mine"


@pytest.mark.parametrize("kind", ["folder", "pipe", "missing", "link", "others may write", "huge"])
def test_what_is_no_file_of_ones_own_is_not_read(kind, tmp_path, monkeypatch):
    path = tmp_path / "a"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)  # opening it would wait for ever
    elif kind == "link":
        (tmp_path / "b").write_bytes(b"")
        path.symlink_to(tmp_path / "b")
    elif kind == "others may write":
        path.write_bytes(b"")
        path.chmod(0o622)
    elif kind == "huge":
        monkeypatch.setattr(disk, "MOST_BYTES", 10)
        path.write_bytes(b"x" * 11)
    with pytest.raises(FileError, match=str(path)):
        read(path, secret=True)


def test_long_names_and_bad_folders(tmp_path):
    write(tmp_path / ("x" * 255), b"1")
    with pytest.raises(FileError, match="nowhere"):
        write(tmp_path / "nowhere" / "a", b"1")
    with pytest.raises(FileError, match="cannot be locked"), locked(tmp_path / "nowhere" / "a"):
        pass


def test_a_lock_is_for_one(tmp_path):
    path = tmp_path / "a"
    code = f"from pathlib import Path; from dpmcmc.files import locked\nwith locked(Path({str(path)!r})): print('held')"
    refused = []

    def try_here():
        try:
            with locked(path):
                pass
        except FileError as error:
            refused.append(str(error))

    with locked(path):
        thread = threading.Thread(target=try_here)
        thread.start()
        thread.join()
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert len(refused) == 1
    assert "in use by another run" in refused[0]
    assert "in use by another run" in other.stderr
    assert other.stdout == ""
    with locked(path):  # and free again
        pass
    assert os.listdir(tmp_path) == []


def test_who_waited_for_a_lock_that_was_removed_takes_the_new_one(tmp_path, monkeypatch):
    """After the lock file is opened and before it is locked, its holder removes it, and somebody else makes another."""
    import fcntl

    path, real, stolen = tmp_path / "a", fcntl.flock, []

    def flock(descriptor, how):
        if not stolen:
            (tmp_path / "a.lock").unlink()
            stolen.append(os.open(tmp_path / "a.lock", os.O_RDWR | os.O_CREAT))
            real(stolen[0], how)
        real(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(FileError, match="in use"), locked(path):
        pass
    os.close(stolen[0])


def test_what_a_holder_that_died_left_is_removed(tmp_path):
    path, other = tmp_path / "a", tmp_path / "b"
    left = tmp_path / (disk._temporary_prefix(path) + "0" * 32)
    kept = tmp_path / (disk._temporary_prefix(other) + "0" * 32)
    left.write_bytes(b"half a secret")
    kept.write_bytes(b"of another file")
    with locked(path):
        assert not left.exists()
    assert kept.exists()
