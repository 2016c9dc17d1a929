"""Arrays and JSON in one file with a digest over every byte of it.

The file is an ``.npz`` archive (``numpy.load`` and any zip program open it) whose comment, at its very end, is

    dpmcmc KIND EXTRA SEAL        # the last two as hexadecimal digits

SEAL is BLAKE2b of everything before the comment, and is checked before anything is parsed. EXTRA is the signature of a
release (zeros: none), which the seal does not cover, or the key under which a checkpoint is sealed.

Members are stored as they are, never compressed, and together have no more bytes than the file, so that no file,
however made, unpacks to more than itself. Arrays hold numbers or booleans; nothing is unpickled.

Guarantee: a file in which any byte before EXTRA was changed, or in SEAL, is refused. Whoever changes it on purpose can
compute the seal again: signatures are for that.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpmcmc.files.disk import FileError

_EXTRA = {"release": 64, "fit": 64, "checkpoint": 32}  # bytes: room for a signature, or a key
_SEAL = 64
_ABOUT = "about.json"
_MOST_MEMBERS = 100_000


@dataclass(frozen=True)
class Sealed:
    """What a sealed file holds."""

    arrays: dict[str, np.ndarray]
    about: dict[str, Any]
    seal: bytes
    extra: bytes


def pack(kind: str, arrays: dict[str, np.ndarray], about: dict[str, Any], key: bytes = b"") -> bytes:
    """The file as bytes, sealed under ``key`` if one is given (which the file then tells)."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(_ABOUT), json.dumps(about))
        for name, array in arrays.items():
            if "\0" in name:  # an archive would cut it off there
                raise ValueError(f"{name!r} cannot be the name of an array")
            content = io.BytesIO()
            np.lib.format.write_array(content, np.asarray(array, order="C"), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), content.getvalue())
        archive.comment = b" " * _comment_length(kind)
    body = buffer.getvalue()[: -_comment_length(kind)]
    return body + _comment(kind, key or bytes(_EXTRA[kind]), _seal(kind, body, key))


def seal_of(content: bytes) -> bytes:
    """The seal that a packed file ends with: what a signature signs."""
    return bytes.fromhex(content[-2 * _SEAL :].decode())


def signed(content: bytes, signature: bytes) -> bytes:
    """A release's file with this signature in place of the one it had."""
    return content[: -_comment_length("release")] + _comment("release", signature, seal_of(content))


def unpack(kind: str, content: bytes, path: str | Path) -> Sealed:
    """What :func:`pack` packed, if not a byte of it has changed since it was read from ``path``."""
    length = _comment_length(kind)
    body, comment = content[:-length], content[-length:]
    digits = rf"([0-9a-f]{{{2 * _EXTRA[kind]}}}) ([0-9a-f]{{{2 * _SEAL}}})"
    found = re.fullmatch(f"dpmcmc {kind} {digits}".encode(), comment)
    if found is None:
        raise FileError(f"{path} is not a saved {kind}, or it is damaged at its end{_older(content)}")
    extra, seal = (bytes.fromhex(part.decode()) for part in found.groups())
    if seal != _seal(kind, body, extra if kind == "checkpoint" else b""):
        raise FileError(f"{path} is damaged: its content and its digest differ. Restore it from a copy")
    try:
        members = _members(content)
        about = json.loads(members.pop(_ABOUT))
        arrays = {name.removesuffix(".npy"): _array(member) for name, member in members.items()}
    except Exception as error:  # the digest is right, so it was made like this: whatever a parser finds is its fault
        raise FileError(f"{path} is not a {kind} that dpmcmc wrote: {error or type(error).__name__}") from error
    if not isinstance(about, dict):
        raise FileError(f"{path} is not a {kind} that dpmcmc wrote: {_ABOUT} holds no dictionary")
    return Sealed(arrays, about, seal, extra)


def _comment_length(kind: str) -> int:
    return len(_comment(kind, bytes(_EXTRA[kind]), bytes(_SEAL)))


def _comment(kind: str, extra: bytes, seal: bytes) -> bytes:
    return f"dpmcmc {kind} {extra.hex()} {seal.hex()}".encode()


def _seal(kind: str, body: bytes, key: bytes) -> bytes:
    return hashlib.blake2b(body, key=key, digest_size=_SEAL, person=kind.encode()).digest()


def _members(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        infos = archive.infolist()
        if len(infos) > _MOST_MEMBERS or sum(info.file_size for info in infos) > len(content):
            raise ValueError("its members have more bytes than the file")
        if any(info.compress_type != zipfile.ZIP_STORED for info in infos):
            raise ValueError("its members are compressed")
        if len({info.filename for info in infos}) < len(infos):
            raise ValueError("two members have one name")
        return {info.filename: archive.read(info) for info in infos}


def _array(member: bytes) -> np.ndarray:
    """An array of numbers or booleans whose header speaks of exactly the bytes that follow."""
    stream = io.BytesIO(member)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError("an array has an unknown header")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    values = member[stream.tell() :]
    if dtype.kind not in "biuf" or fortran:
        raise ValueError(f"an array holds {dtype}, which is not a plain number or boolean")
    count = 1
    for size in shape:
        count *= size
    if min(shape, default=0) < 0 or count * dtype.itemsize != len(values):
        raise ValueError(f"an array of shape {shape} has {len(values)} bytes")
    return np.frombuffer(values, dtype).reshape(shape).copy()


def _older(content: bytes) -> str:
    """Says so, where it is a file of a version that had no digests."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            old = {"release.json.npy", "fingerprint.npy"} & set(archive.namelist())
    except Exception:
        return ""
    if not old:
        return ""
    return (
        ". It is of format 3 or before, without a digest, in which damage could not be seen: read it with the version "
        "of dpmcmc that wrote it, or its arrays with numpy.load"
    )
