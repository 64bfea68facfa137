"""Which container engine there is: DOCKER_HOST first, then the current Docker context, then the usual sockets.

The Docker SDK by itself knows DOCKER_HOST and one socket only; people with Docker Desktop, colima, rootless Docker or
Podman have others.

Source: docker/cli cli/context/store (metadata and TLS files by the SHA-256 of the context's name).
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kitlib.api.errors import KitError

TIMEOUT = 60
_QUICK = 5


class EngineError(KitError):
    """No container engine can be used: why, and what to do."""


@dataclass(frozen=True)
class Endpoint:
    """Where an engine may listen.

    Attributes:
        url: `unix:///var/run/docker.sock`, `tcp://…`, `npipe://…`, `ssh://…`; "" = as the environment says.
        found: how it was found. tls: directory with ca.pem, cert.pem and key.pem; "" = none.
    """

    url: str
    found: str
    tls: str = ""


def endpoints(environment: Mapping[str, str] | None = None, home: Path | None = None) -> list[Endpoint]:
    """The places to try, in order. One that was chosen (by DOCKER_HOST or a context) is the only one.

    Args:
        environment: None = this process's. home: the user's directory; None = this user's.

    Raises:
        EngineError: where the current context cannot be read.
    """
    known = os.environ if environment is None else environment
    home = home or Path.home()
    if known.get("DOCKER_HOST"):
        return [Endpoint("", f"DOCKER_HOST={known['DOCKER_HOST']}")]
    configured = Path(known.get("DOCKER_CONFIG") or home / ".docker")
    name = known.get("DOCKER_CONTEXT") or _current_context(configured)
    if name and name != "default":
        return [_context(configured, name)]
    if sys.platform == "win32":
        return [Endpoint("npipe:////./pipe/docker_engine", "the usual pipe")]
    runtime = known.get("XDG_RUNTIME_DIR")
    sockets = [Path("/var/run/docker.sock")]
    if runtime:
        sockets += [Path(runtime) / "docker.sock"]
    sockets += [
        home / ".docker/run/docker.sock",
        home / ".colima/default/docker.sock",
        home / ".orbstack/run/docker.sock",
    ]
    if runtime:
        sockets += [Path(runtime) / "podman/podman.sock"]
    sockets += [Path("/run/podman/podman.sock")]
    return [Endpoint(f"unix://{path}", str(path)) for path in sockets if path.exists()]


def _current_context(configured: Path) -> str:
    try:
        found = json.loads((configured / "config.json").read_text())
    except (OSError, ValueError):
        return ""
    return str(found.get("currentContext", "")) if isinstance(found, dict) else ""


def _context(configured: Path, name: str) -> Endpoint:
    directory = hashlib.sha256(name.encode()).hexdigest()
    place = configured / "contexts" / "meta" / directory / "meta.json"
    try:
        host = json.loads(place.read_text())["Endpoints"]["docker"]["Host"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EngineError(f"Docker context {name!r}: {place} cannot be read ({type(error).__name__})") from error
    tls = configured / "contexts" / "tls" / directory / "docker"
    return Endpoint(str(host), f"Docker context {name}", str(tls) if tls.is_dir() else "")


def connect(environment: Mapping[str, str] | None = None) -> Any:
    """A client of the first engine that answers.

    Returns:
        A `docker.DockerClient`; the caller closes it.

    Raises:
        EngineError: where none answers, with every place that was tried and what it said.
    """
    try:
        import docker
    except ImportError as error:
        text = "the docker package is not installed: pip install 'kitlib[docker]'"
        raise EngineError(text) from error
    tried = endpoints(environment)
    said = []
    for endpoint in tried:
        client = None
        try:
            client = _client(docker, endpoint)
            client.api.timeout = _QUICK
            client.ping()
            client.api.timeout = TIMEOUT
            return client
        except Exception as error:  # the SDK passes on errors of requests, urllib3 and the socket layer
            if client is not None:
                client.close()
            said.append(f"{endpoint.found}: {_reason(error)}")
    where = "; ".join(said) or "no socket at the usual places"
    raise EngineError(f"no container engine answers: {where}. Start Docker or Podman, or use Cluster.simulated()")


def _client(docker: Any, endpoint: Endpoint) -> Any:
    if not endpoint.url:
        return docker.from_env(timeout=TIMEOUT)
    if not endpoint.tls:
        return docker.DockerClient(base_url=endpoint.url, timeout=TIMEOUT, use_ssh_client=True)
    place = Path(endpoint.tls)
    certificate = (str(place / "cert.pem"), str(place / "key.pem"))
    tls = docker.tls.TLSConfig(client_cert=certificate, ca_cert=str(place / "ca.pem"), verify=True)
    return docker.DockerClient(base_url=endpoint.url, timeout=TIMEOUT, tls=tls)


def _reason(error: BaseException) -> str:
    """The innermost cause in a few words: the layers above only repeat it."""
    seen: BaseException = error
    while seen.__cause__ is not None or seen.__context__ is not None:
        seen = seen.__cause__ or seen.__context__  # type: ignore[assignment]
    if isinstance(seen, PermissionError):
        return "permission denied (is your user in the group docker?)"
    if isinstance(seen, OSError) and seen.strerror:
        return seen.strerror.lower()
    return (str(seen) or type(seen).__name__).splitlines()[0][:160]
