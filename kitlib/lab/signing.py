"""Ed25519 keys in PEM files: an instructor's for certificates, a hub's for collected files (RFC 8032)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from kitlib.api.errors import KitError
from kitlib.lab.files import write_whole


def make_key(path: str | Path) -> tuple[Path, Path]:
    """Write a new private key, readable only by its owner, and its public key beside it (`.pub`).

    Raises:
        KitError: the file exists, or cannot be written.
    """
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    private, public = Path(path), Path(f"{path}.pub")
    made = Ed25519PrivateKey.generate()
    secret = made.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    shown = made.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    try:
        descriptor = os.open(private, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "wb") as file:
            file.write(secret)
        write_whole(public, shown.decode())
    except OSError as error:
        raise KitError(f"{private}: {error.strerror or error}") from error
    return private, public


def private_key(file: str | Path) -> Any:
    """Return an Ed25519 private key.

    Raises:
        KitError: the file cannot be read, or holds another kind of key.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        private = load_pem_private_key(Path(file).read_bytes(), None)
    except (OSError, ValueError, TypeError) as error:
        raise KitError(f"{file}: not a private key in PEM: {error}") from error
    if not isinstance(private, Ed25519PrivateKey):
        raise KitError(f"{file}: must be an Ed25519 private key; create one with kitlib certificate key")
    return private


def is_signed(data: bytes, signature: bytes, key: str | Path) -> bool:
    """Return whether these bytes were signed with the private key that belongs to a public key.

    Raises:
        KitError: the file cannot be read, or holds another kind of key.
    """
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        public = load_pem_public_key(Path(key).read_bytes())
    except (OSError, ValueError) as error:
        raise KitError(f"{key}: not a public key in PEM: {error}") from error
    if not isinstance(public, Ed25519PublicKey):
        raise KitError(f"{key}: must be an Ed25519 public key")
    try:
        public.verify(signature, data)
    except InvalidSignature:
        return False
    return True
