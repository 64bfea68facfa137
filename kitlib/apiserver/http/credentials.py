"""The credentials of a client: a certificate made at start, a token, and the kubeconfig that contains both."""

from __future__ import annotations

import base64
import datetime
import ipaddress
import os
import socket
import ssl
import tempfile
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

VALID_DAYS = 30


class ServingCertificate(NamedTuple):
    """A self-signed certificate and its key in PEM."""

    certificate: bytes
    key: bytes


def new_certificate(host: str = "127.0.0.1") -> ServingCertificate:
    """Return a self-signed certificate for one loopback address and `localhost`; elliptic curve P-256."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kitlib")])
    now = datetime.datetime.now(datetime.UTC)
    names: list[Any] = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address(host))]
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + datetime.timedelta(days=VALID_DAYS))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return ServingCertificate(made.public_bytes(serialization.Encoding.PEM), private)


def tls_context(made: ServingCertificate) -> ssl.SSLContext:
    """Return a server's TLS context; the key is on disk only in a temporary file that is deleted before the return."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    with tempfile.TemporaryDirectory(prefix="kitlib-tls-") as folder:
        pem = Path(folder, "server.pem")
        pem.touch(mode=0o600)
        pem.write_bytes(made.key + made.certificate)
        context.load_cert_chain(pem)
    return context


def kubeconfig(address: str, made: ServingCertificate, token: str, name: str = "kitlib") -> dict[str, Any]:
    """Return the kubeconfig of one cluster with one user."""
    authority = base64.b64encode(made.certificate).decode()
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": address, "certificate-authority-data": authority}}],
        "users": [{"name": f"{name}-admin", "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": f"{name}-admin"}}],
        "current-context": name,
    }


def add_user(config: dict[str, Any], name: str, token: str) -> None:
    """Add a user with a context of its own, `kitlib-NAME`."""
    cluster = config["clusters"][0]["name"]
    config["users"].append({"name": f"{cluster}-{name}", "user": {"token": token}})
    context = {"cluster": cluster, "user": f"{cluster}-{name}"}
    config["contexts"].append({"name": f"{cluster}-{name}", "context": context})


def write_kubeconfig(path: Path, config: dict[str, Any]) -> None:
    """Write a kubeconfig atomically; only its owner can read it."""
    import yaml

    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        yaml.safe_dump(config, file, sort_keys=False)
    os.replace(temporary, path)


def merge_kubeconfig(path: Path, config: dict[str, Any]) -> None:
    """Add a cluster, user and context to a user's kubeconfig; entries of the same name are replaced, others kept."""
    remove_from_kubeconfig(path, str(config["current-context"]))
    standing = _read(path)
    for field in ("clusters", "users", "contexts"):
        standing[field] = [*(standing.get(field) or []), *config[field]]
    standing["current-context"] = config["current-context"]
    write_kubeconfig(path, standing)


def remove_from_kubeconfig(path: Path, name: str) -> None:
    """Remove our cluster, user and context from a kubeconfig."""
    if not path.exists():
        return
    standing = _read(path)
    for field, ours in (("clusters", name), ("users", f"{name}-admin"), ("contexts", name)):
        standing[field] = [one for one in standing.get(field) or [] if one.get("name") != ours]
    if standing.get("current-context") == name:
        standing["current-context"] = standing["contexts"][0]["name"] if standing["contexts"] else ""
    write_kubeconfig(path, standing)


def remove_dead_context(path: Path, name: str) -> bool:
    """Remove our context from a kubeconfig if no server answers at its address, as after its process was killed.

    Returns:
        Whether it was removed.
    """
    if not path.exists():
        return False
    named = [one for one in _read(path).get("clusters") or [] if isinstance(one, dict) and one.get("name") == name]
    servers = [urlsplit(str((one.get("cluster") or {}).get("server", ""))) for one in named]
    if not servers or any(_answers(server.hostname, server.port) for server in servers):
        return False
    remove_from_kubeconfig(path, name)
    return True


def _answers(host: str | None, port: int | None) -> bool:
    try:
        with socket.create_connection((host or "127.0.0.1", port or 443), 1.0):
            return True
    except OSError:
        return False


def _read(path: Path) -> dict[str, Any]:
    import yaml

    from kitlib.api.errors import KitError

    if not path.exists():
        return {"apiVersion": "v1", "kind": "Config"}
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError, OSError) as error:
        raise KitError(f"{path}: cannot be read as a kubeconfig: {error}") from error
    if found is None:
        return {"apiVersion": "v1", "kind": "Config"}
    if not isinstance(found, dict):
        raise KitError(f"{path}: not a kubeconfig: expected a mapping")
    return found
