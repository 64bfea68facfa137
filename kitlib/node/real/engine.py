"""The search for a container engine: DOCKER_HOST first, then the current Docker context, then the usual sockets.

The Docker SDK itself knows only DOCKER_HOST and one socket; Docker Desktop, colima, rootless Docker and Podman have
others. A socket that this user cannot access, or whose folder is closed, counts as missing: Debian's podman package
creates /run/podman for root alone at every boot, even if an ordinary user has Docker.

Source: docker/cli cli/context/store (metadata and TLS files by the SHA-256 of the context's name).
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kitlib.api.boundary import guarded
from kitlib.api.errors import KitError
from kitlib.node.real.installed import not_running

PIPES = ("docker_engine", "podman-machine-default")
"""Named pipes on Windows: Docker Desktop's (also Rancher Desktop's) and Podman's."""
FULL = "the engine's disk is full: docker system df says of what, docker system prune makes room"
OLDEST = "1.24"
"""The oldest version of the API that the SDK supports."""
IN_A_PAGE = "Python runs in a browser's page here, which reaches no container engine; Cluster.simulated() needs none"
TIMEOUT = 60
_DOCKER_HOST = "DOCKER_HOST="
_QUICK = 15
_PATIENT = 1800


class EngineError(KitError):
    """No container engine is usable; the message has the reason and the remedy."""


@dataclass(frozen=True)
class EngineEndpoint:
    """A possible address of an engine.

    Attributes:
        url: `unix:///var/run/docker.sock`, `tcp://…`, `npipe://…`, `ssh://…`; "" = the environment's DOCKER_HOST.
        found: description of its origin.
        tls: directory with ca.pem, cert.pem and key.pem, or some of them; "" = none.
        verify: whether the engine's certificate is verified.
    """

    url: str
    found: str
    tls: str = ""
    verify: bool = True


@guarded("engine settings")
def endpoints(environment: Mapping[str, str] | None = None, home: Path | None = None) -> list[EngineEndpoint]:
    """Return the engines to try, in order.

    An engine that is chosen by DOCKER_HOST or a context is the only one. Closed sockets are left out; see
    `closed_places`. DOCKER_HOST has precedence over DOCKER_CONTEXT, and that over the context of `docker context use`,
    as in the docker command (docker/cli cli/command `resolveContextName`).

    Args:
        environment: environment variables; None = this process's.
        home: the user's home directory; None = this user's.

    Raises:
        EngineError: the current context cannot be read.
    """
    known = os.environ if environment is None else environment
    home = home or _home()
    if known.get("DOCKER_HOST"):
        return [EngineEndpoint("", f"{_DOCKER_HOST}{known['DOCKER_HOST']}")]
    configured = Path(known.get("DOCKER_CONFIG") or home / ".docker")
    name = known.get("DOCKER_CONTEXT") or _current_context(configured)
    if name and name != "default":
        return [_context(configured, name)]
    if sys.platform == "win32":
        return [EngineEndpoint(f"npipe:////./pipe/{pipe}", f"the pipe {pipe}") for pipe in PIPES]
    return [EngineEndpoint(f"unix://{path}", str(path)) for path in _sockets(known, home) if _is_there(path)]


@dataclass(frozen=True)
class ClosedPlace:
    """A usual place of engines that is closed to this user.

    Attributes:
        path: the socket, or the outermost folder on the way to it that may not be searched.
        advice: the steps that give access to the engine.
    """

    path: Path
    advice: str

    def __str__(self) -> str:
        return f"{self.path} is closed to this user"


def closed_places(environment: Mapping[str, str] | None = None, home: Path | None = None) -> list[ClosedPlace]:
    """Return the usual places that exist, or may exist, and are closed to this user; none of them is tried.

    Args:
        environment: variables; None = those of this process.
        home: the user's directory; None = this user's.
    """
    if sys.platform == "win32":
        return []
    known = os.environ if environment is None else environment
    found = (_closed(path) for path in _sockets(known, home or _home()))
    return [ClosedPlace(path, _access(path)) for path in dict.fromkeys(filter(None, found))]


def _closed(path: Path) -> Path | None:
    try:
        os.stat(path)
    except PermissionError:
        return next((parent for parent in reversed(path.parents) if not os.access(parent, os.X_OK)), path)
    except OSError:
        return None
    return None if os.access(path, os.R_OK | os.W_OK) else path


def _access(path: Path) -> str:
    """Return how this user gets access to a closed path; the folder of an engine of root's stays closed."""
    if path.is_dir():
        return "the folder of an engine that root runs; a Podman of your own needs no rights"
    import grp  # not on Windows

    try:
        group = grp.getgrgid(path.stat().st_gid).gr_name
    except (KeyError, OSError):
        group = "docker"
    return f"sudo usermod -aG {group} $USER, then log in again (the group is as powerful as root)"


def _home() -> Path:
    """Return the user's home directory, or a missing one for a user without one (a container with an arbitrary uid)."""
    try:
        return Path.home()
    except RuntimeError:
        return Path("/nonexistent")


def _is_there(path: Path) -> bool:
    # os.path.exists returns False for a folder without search permission; Path.exists raises until Python 3.14
    return os.path.exists(path)


def _sockets(known: Mapping[str, str], home: Path) -> list[Path]:
    """Return the usual paths of engines' sockets: the system's Docker, the user's, virtual machines', Podman's."""
    runtimes = [Path(known["XDG_RUNTIME_DIR"])] if known.get("XDG_RUNTIME_DIR") else []
    if not runtimes and hasattr(os, "getuid"):
        runtimes = [Path(f"/run/user/{os.getuid()}")]  # a notebook kernel started by a service lacks the variable
    settings = Path(known.get("XDG_CONFIG_HOME") or home / ".config")
    scratch = Path(known.get("TMPDIR") or "/tmp")
    return [
        Path("/var/run/docker.sock"),
        *(runtime / "docker.sock" for runtime in runtimes),
        home / ".docker/run/docker.sock",
        home / ".docker/desktop/docker.sock",
        home / ".rd/docker.sock",
        home / ".colima/default/docker.sock",
        settings / "colima/default/docker.sock",
        home / ".orbstack/run/docker.sock",
        home / ".lima/docker/sock/docker.sock",
        Path("/run/podman/podman.sock"),
        *(runtime / "podman/podman.sock" for runtime in runtimes),
        home / ".local/share/containers/podman/machine/podman.sock",
        scratch / "podman/podman-machine-default-api.sock",
    ]


def _current_context(configured: Path) -> str:
    try:
        found = json.loads((configured / "config.json").read_text())
    except (OSError, ValueError):
        return ""
    return str(found.get("currentContext", "")) if isinstance(found, dict) else ""


def _context(configured: Path, name: str) -> EngineEndpoint:
    directory = hashlib.sha256(name.encode()).hexdigest()
    place = configured / "contexts" / "meta" / directory / "meta.json"
    try:
        told = json.loads(place.read_text())["Endpoints"]["docker"]
        host, verify = str(told["Host"]), not told.get("SkipTLSVerify", False)
    except FileNotFoundError as error:
        way = "docker context use default (or unset DOCKER_CONTEXT)"
        known = "docker context ls lists those that exist"
        raise EngineError(f"Docker context {name!r} does not exist; {known}. Choose another: {way}") from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise EngineError(f"Docker context {name!r}: {place} cannot be read ({type(error).__name__})") from error
    tls = configured / "contexts" / "tls" / directory / "docker"
    return EngineEndpoint(host, f"Docker context {name}", str(tls) if os.path.isdir(tls) else "", verify)


def connect(environment: Mapping[str, str] | None = None) -> Any:
    """Return a client of the first engine that answers; see `reach`."""
    return reach(environment)[0]


def reach(environment: Mapping[str, str] | None = None) -> tuple[Any, EngineEndpoint]:
    """Return a client of the first engine that answers, and its endpoint.

    Returns:
        A `docker.DockerClient`, which the caller closes, and the endpoint.

    Raises:
        EngineError: no engine answers; the message lists every attempt and its error.
    """
    if sys.platform == "emscripten":
        raise EngineError(IN_A_PAGE)
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
            _check_ssh(endpoint)
            client = _patient_client(docker, endpoint)
            if endpoint.url.startswith("unix:"):
                client.api.trust_env = False  # a socket has no proxy; the search for one reads the whole environment
            client.ping()
            client.api.timeout = TIMEOUT
            return client, endpoint
        except Exception as error:  # the SDK passes on errors of requests, urllib3 and the socket layer
            if client is not None:
                client.close()
            said.append(f"{endpoint.found}: {_reason(error)}")
    known = {endpoint.found for endpoint in tried}
    said += [f"{place} ({place.advice})" for place in closed_places(environment) if str(place.path) not in known]
    where = "; ".join(said) or "no socket at the usual places"
    start = " or ".join(installed.start for installed in not_running())
    way = f"Start Docker or Podman ({start})" if start else "Start Docker or Podman"
    if any(endpoint.found.startswith(_DOCKER_HOST) for endpoint in tried):
        way += ", unset DOCKER_HOST to look for it at the usual places"
    raise EngineError(f"no container engine answers: {where}. {way}, or use Cluster.simulated()")


def _check_ssh(endpoint: EngineEndpoint) -> None:
    """Refuse an engine behind SSH if the SDK lacks the package for it, which would cause a NameError.

    Raises:
        EngineError: the package is missing; the message has the command that installs it.
    """
    url = endpoint.url or os.environ.get("DOCKER_HOST", "")
    if url.startswith("ssh:") and importlib.util.find_spec("paramiko") is None:
        raise EngineError(
            "the container engine is reached through SSH, which requires the package paramiko: pip install "
            "'docker[ssh]'"
        )


def _patient_client(docker: Any, endpoint: EngineEndpoint) -> Any:
    """Return a client, with retries: the SDK iterates over the environment and fails if a thread changes it."""
    for _ in range(5):
        try:
            return _client(docker, endpoint)
        except KeyError:
            continue
    return _client(docker, endpoint)


def _client(docker: Any, endpoint: EngineEndpoint) -> Any:
    """Return a client with a short timeout; its construction has already requested the engine's version."""
    if endpoint.tls:
        tls = {"tls": _tls(docker, Path(endpoint.tls), endpoint.verify)}
        return _checked_by_its_own(lambda **more: docker.DockerClient(base_url=endpoint.url, **tls, **more))
    if endpoint.url:
        return docker.DockerClient(base_url=endpoint.url, timeout=_QUICK, use_ssh_client=True)
    if os.environ.get("DOCKER_TLS_VERIFY") or os.environ.get("DOCKER_CERT_PATH"):
        return _checked_by_its_own(docker.from_env)
    return docker.from_env(timeout=_QUICK)


def _checked_by_its_own(make: Callable[..., Any]) -> Any:
    """Return a client that verifies the engine's certificate against the authority configured for this engine.

    If REQUESTS_CA_BUNDLE is set, the requests library would use those authorities instead. A client with an automatic
    version sends a request during its construction, before `trust_env` can be changed. So it is constructed with a
    fixed version, asks for the engine's version, and is constructed again with that.
    """
    version = OLDEST
    for _ in range(2):
        client = make(timeout=_QUICK, version=version)
        client.api.trust_env = False
        version = str(client.api.version(api_version=False)["ApiVersion"])
        if client.api._version == version:
            break
        client.close()
    return client


def _tls(docker: Any, place: Path, verify: bool) -> Any:
    authority, certificate, key = (place / f"{name}.pem" for name in ("ca", "cert", "key"))
    return docker.tls.TLSConfig(
        client_cert=(str(certificate), str(key)) if certificate.exists() and key.exists() else None,
        ca_cert=str(authority) if authority.exists() and verify else None,
        verify=verify,
    )


@contextmanager
def asking(about: str, problem: type[KitError] = EngineError) -> Iterator[None]:
    """Convert errors of the Docker SDK and of its transport into a `KitError`.

    Args:
        about: description of the request, for the message.
        problem: class of the error.
    """
    try:
        yield
    except KitError:
        raise
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in ("docker", "requests", "urllib3"):
            raise  # a mistake of the kit's own
        raise problem(f"{about}: {words(error)}") from error


@contextmanager
def patiently(client: Any) -> Iterator[None]:
    """Raise the client's timeout: an engine sends nothing while it imports an image, which may take minutes."""
    before, client.api.timeout = client.api.timeout, _PATIENT
    try:
        yield
    finally:
        client.api.timeout = before


def words(error: BaseException) -> str:
    """Return an engine's error message without the wrapping of the SDK, with the remedy if it is known."""
    said = str(getattr(error, "explanation", None) or "").strip()
    if not said and type(error).__module__.partition(".")[0] == "docker" and not error.__cause__:
        said = str(error)
    if not said:
        return f"the engine does not answer any more: {_reason(error)}"
    return said + (f" ({FULL})" if "no space left" in said else "")


def _reason(error: BaseException) -> str:
    """Return a short text of the error's root cause; the outer errors only repeat it."""
    seen: BaseException = error
    while seen.__cause__ is not None or seen.__context__ is not None:
        seen = seen.__cause__ or seen.__context__  # type: ignore[assignment]
    if isinstance(seen, PermissionError):
        return "permission denied (is your user in the group docker? After usermod -aG docker $USER, log in again)"
    if isinstance(seen, OSError) and seen.strerror:
        return seen.strerror.lower()
    return (str(seen) or type(seen).__name__).splitlines()[0][:160]
