"""``dpmcmc keys``, ``dpmcmc sign`` and ``dpmcmc verify``: a custodian vouches for a release, a reader checks it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Release = Annotated[Path, typer.Argument(help="A saved release (.npz).")]


def keys(
    name: Annotated[Path, typer.Argument(help="NAME.pem (secret) and NAME.pub.pem (public) are written.")],
) -> None:
    """A new pair of Ed25519 keys: the custodian keeps one, and everybody may have the other."""
    from dpmcmc.files.signatures import make_keys

    private, public = name.with_name(f"{name.name}.pem"), name.with_name(f"{name.name}.pub.pem")
    try:
        make_keys(private, public)
    except (ValueError, ImportError) as error:
        raise typer.BadParameter(str(error)) from error
    typer.echo(f"Secret, to sign with: {private}\nPublic, to verify with: {public}")


def sign(
    release: Release,
    key: Annotated[Path, typer.Option(help="The private key (PEM, Ed25519).")],
) -> None:
    """Check a release, print what is signed, and sign its file in place: every byte of it, guarantee and draws."""
    import dpmcmc as dp
    from dpmcmc.files import read, sealed, signatures, write

    try:
        content = read(release)  # once: what is checked and printed is what is signed
        statement = dp.Release.of_content(content, release).statement()
        write(release, sealed.signed(content, signatures.sign(sealed.seal_of(content), key)))
    except (ValueError, ImportError) as error:
        raise typer.BadParameter(str(error)) from error
    typer.echo(f"{statement}\nSigned by the key in {key}.")


def verify(
    release: Release,
    key: Annotated[Path | None, typer.Option(help="The custodian's public key (PEM, Ed25519).")] = None,
) -> None:
    """Check that a release is whole, that its guarantee follows from its receipts, and with --key who signed it."""
    import dpmcmc as dp

    try:
        statement = dp.Release.load(release, trusted=key).statement()
    except (ValueError, ImportError) as error:
        typer.echo(f"Refused: {error}.", err=True)
        raise typer.Exit(1) from None
    signed = "Whole, and as it was signed" if key else "Whole. Who made it was not checked: --key checks the signature"
    typer.echo(f"{statement}\n{signed}.")
