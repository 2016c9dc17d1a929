"""Signatures: whoever trusts a key learns of every change."""

import stat

import pytest

from dpmcmc.files import FileError, signatures


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    """Keys of the custodian and of somebody else."""
    folder = tmp_path_factory.mktemp("keys")
    found = [(folder / f"{name}.pem", folder / f"{name}.pub.pem") for name in ("custodian", "other")]
    for pair in found:
        signatures.make_keys(*pair)
    return found


def test_a_signature_is_of_one_key_and_one_file(pairs):
    (private, public), (_, other) = pairs
    signature = signatures.sign(b"seal", private)
    assert signatures.verify(b"seal", signature, public)
    assert not signatures.verify(b"seal", signature, other)
    assert not signatures.verify(b"sea1", signature, public)
    assert not signatures.verify(b"seal", bytes(64), public)
    assert stat.S_IMODE(private.stat().st_mode) == 0o600


def test_keys_of_another_kind_and_other_files_are_refused(pairs, tmp_path):
    from cryptography.hazmat.primitives import serialization as pem
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519

    (private, public), _ = pairs
    other, locked = tmp_path / "ec.pem", tmp_path / "locked.pem"
    plain, traditional = pem.NoEncryption(), pem.PrivateFormat.PKCS8
    other.write_bytes(ec.generate_private_key(ec.SECP256R1()).private_bytes(pem.Encoding.PEM, traditional, plain))
    secret = pem.BestAvailableEncryption(b"secret")
    locked.write_bytes(ed25519.Ed25519PrivateKey.generate().private_bytes(pem.Encoding.PEM, traditional, secret))
    for path in (public, other):
        with pytest.raises(FileError, match=f"{path} holds no private Ed25519 key"):
            signatures.sign(b"seal", path)
    with pytest.raises(FileError, match="is encrypted"):
        signatures.sign(b"seal", locked)
    for path in (private, other):
        with pytest.raises(FileError, match=f"{path} holds no public Ed25519 key"):
            signatures.verify(b"seal", bytes(64), path)
    with pytest.raises(FileError, match="never overwritten"):
        signatures.make_keys(*pairs[0])
