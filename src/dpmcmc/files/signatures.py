"""Signatures of releases: a custodian's Ed25519 key says that exactly this file was released.

    openssl genpkey -algorithm ed25519 -out custodian.pem          # or: dpmcmc keys custodian
    openssl pkey -in custodian.pem -pubout -out custodian.pub.pem

Guarantee: who trusts the public key and its holder learns of every change to a signed file, its guarantee included.
Reference: Bernstein et al. 2012, High-speed high-security signatures (Ed25519); RFC 8032.
"""

from __future__ import annotations

from pathlib import Path

from cryptography import exceptions as errors
from cryptography.hazmat.primitives import serialization as pem
from cryptography.hazmat.primitives.asymmetric import ed25519

from dpmcmc.files.disk import FileError, read, write

_PURPOSE = b"dpmcmc release\n"  # a signature made for this is good for nothing else


def sign(seal: bytes, key: str | Path) -> bytes:
    """The signature of a release's seal by the private key in the PEM file ``key``."""
    content = read(Path(key))
    try:
        found = pem.load_pem_private_key(content, password=None)
    except TypeError as error:
        raise FileError(f"{key} is encrypted; decrypt it first: openssl pkey -in {key} -out plain.pem") from error
    except (ValueError, errors.UnsupportedAlgorithm):
        found = None
    if not isinstance(found, ed25519.Ed25519PrivateKey):
        raise FileError(f"{key} holds no private Ed25519 key in PEM; dpmcmc keys NAME makes a pair")
    return found.sign(_PURPOSE + seal)


def verify(seal: bytes, signature: bytes, trusted: str | Path) -> bool:
    """Whether ``signature`` is one of ``seal`` by the holder of the public key in the PEM file ``trusted``."""
    content = read(Path(trusted))
    try:
        found = pem.load_pem_public_key(content)
    except (ValueError, errors.UnsupportedAlgorithm):
        found = None
    if not isinstance(found, ed25519.Ed25519PublicKey):
        raise FileError(f"{trusted} holds no public Ed25519 key in PEM; it is the .pub.pem of dpmcmc keys NAME")
    try:
        found.verify(signature, _PURPOSE + seal)
    except errors.InvalidSignature:
        return False
    return True


def make_keys(private: Path, public: Path) -> None:
    """A new pair of keys as PEM files, neither of which may exist."""
    for path in (private, public):
        if path.exists():
            raise FileError(f"{path} exists; a key is never overwritten. Choose another name")
    key = ed25519.Ed25519PrivateKey.generate()
    secret = key.private_bytes(pem.Encoding.PEM, pem.PrivateFormat.PKCS8, pem.NoEncryption())
    write(private, secret)
    write(public, key.public_key().public_bytes(pem.Encoding.PEM, pem.PublicFormat.SubjectPublicKeyInfo))
