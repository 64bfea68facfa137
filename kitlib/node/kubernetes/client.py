"""Requests to a Kubernetes API server with the user's own rights: plain data in and out, failures as errors.

The official client loads the configuration (kubeconfig, service account, credential plugins, proxies). Its models are
not used: they belong to one release and take most of its import time.

Source: client-go rest.Config and clientcmd loading order; Kubernetes API concepts "Status", "WebSocket" of attach.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec

from kitlib.api.boundary import guarded
from kitlib.api.errors import KitError

TIMEOUT = 30
"""Timeout of a request in seconds."""
PROTOCOLS = "v4.channel.k8s.io"
"""The subprotocol that every release supports; closing the connection ends the pod's standard input."""
SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
MISSING = "a Kubernetes cluster is reached through the official client: pip install 'kitlib[live]'"


class KubernetesError(KitError):
    """The cluster rejects a request or does not answer; the message has the reason and the remedy."""


class RequestFailed(KubernetesError):
    """A response with a status other than 2xx, or none.

    Attributes:
        code: the HTTP status; 0 = no answer.
        reason: the Status object's reason, such as `Forbidden`.
        message: the Status object's message.
    """

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(f"{code} {reason}: {message}" if code else message)
        self.code, self.reason, self.message = code, reason, message


@guarded("kubeconfig")
def api_client(kubeconfig: str = "", context: str = "") -> Any:
    """Return the official client, configured as kubectl is.

    Args:
        kubeconfig: path of the file; "" = $KUBECONFIG or ~/.kube/config, inside a pod its service account.
        context: name of a context of that file; "" = the current one.

    Raises:
        KitError: the client is not installed, or no configuration can be read.
    """
    try:
        from kubernetes import client, config
    except ImportError:
        raise KitError(MISSING) from None
    configuration = client.Configuration()
    try:
        config.load_kube_config(_file(kubeconfig), context or None, configuration)
    except config.ConfigException as error:
        problem = KitError(f"{_file(kubeconfig) or '~/.kube/config'}: not a kubeconfig that can be used: {error}")
        if kubeconfig or context:
            raise problem from None
        try:
            config.load_incluster_config(configuration)
        except config.ConfigException:
            raise problem from None
    configuration.retries = 1
    if not configuration.verify_ssl:  # the user's choice in the kubeconfig: no warning with every request
        import urllib3

        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
    return client.ApiClient(configuration)


def _file(kubeconfig: str) -> str | None:
    """Return the files to read; the client itself reads $KUBECONFIG only when it is imported."""
    return kubeconfig or os.environ.get("KUBECONFIG") or None


@guarded("kubeconfig")
def current_namespace(kubeconfig: str = "", context: str = "") -> str:
    """Return the namespace of the context, else of the pod in which this process runs, else `default`."""
    from kubernetes import config

    try:
        contexts, current = config.list_kube_config_contexts(_file(kubeconfig))
        one = next((c for c in contexts if c["name"] == context), current) if context else current
        return str(one["context"].get("namespace") or "default")
    except (config.ConfigException, OSError, TypeError, KeyError):
        return own_namespace() or "default"


def own_namespace() -> str:
    """Return the namespace of the pod in which this process runs; "" outside of a cluster."""
    if not os.environ.get("KUBERNETES_SERVICE_HOST"):
        return ""
    try:
        return (SERVICE_ACCOUNT / "namespace").read_text(encoding="utf-8").strip()
    except OSError:
        return ""


@dataclass(frozen=True)
class Place:
    """A reference to a namespace of a cluster, as text, so that it can be passed to another process.

    Attributes:
        kubeconfig: path of the kubeconfig; "" = kubectl's default.
        context: name of a context; "" = the current one.
        namespace: namespace of the node pods; "" = the context's.
    """

    kubeconfig: str = ""
    context: str = ""
    namespace: str = ""


class Api:
    """The API of one namespace of a cluster.

    Args:
        place: the cluster and namespace.

    Attributes:
        host: the API server's URL.
        namespace: namespace of the node pods.

    Raises:
        KitError: the client is not installed, or no configuration can be read.
    """

    def __init__(self, place: Place) -> None:
        self._client = api_client(place.kubeconfig, place.context)
        self.namespace = place.namespace or current_namespace(place.kubeconfig, place.context)
        self.host = str(self._client.configuration.host)

    def close(self) -> None:
        """Close the client's connections."""
        self._client.close()

    def request(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, *, timeout: float = TIMEOUT, **query: Any
    ) -> Any:
        """Send a request and return the response's body as plain data, or as text if it is not JSON.

        Args:
            method: the HTTP method.
            path: the URL's path.
            body: the request's body as plain data; None = none.
            timeout: timeout in seconds.
            **query: query parameters; empty ones are left out.

        Raises:
            RequestFailed: the status is not 2xx, or there is no response.
        """
        from kubernetes.client.exceptions import ApiException

        asked = urlencode({name: value for name, value in query.items() if value not in ("", None)})
        headers = {"Accept": "application/json", **self._credentials()}
        if body is not None:
            headers["Content-Type"] = "application/json"
        url = f"{self.host}{path}{'?' if asked else ''}{asked}"
        try:
            answer = self._client.rest_client.request(method, url, headers=headers, body=body, _request_timeout=timeout)
            status = int(answer.status)
            text = answer.read() if hasattr(answer, "read") else answer.data
        except ApiException as error:  # older clients raise it here, newer ones only when the answer becomes an object
            status, text = int(error.status or 0), error.body or b""
        except Exception as error:  # urllib3's own: no route, no name, a wrong certificate
            raise RequestFailed(0, "", f"{self.host} does not answer: {_innermost(error)}") from None
        raw = text if isinstance(text, bytes) else str(text).encode()
        if not 200 <= status < 300:
            raise refused(status, raw)
        try:
            return msgspec.json.decode(raw)
        except msgspec.DecodeError:
            return raw.decode("utf-8", "replace")

    def pods(self, name: str = "", subresource: str = "") -> str:
        """Return the path of the namespace's pods, of one of them, or of its subresource."""
        path = f"/api/v1/namespaces/{self.namespace}/pods"
        return "/".join(part for part in (path, name, subresource) if part)

    def attach(self, name: str, container: str) -> Any:
        """Return a connected WebSocket to a container's streams.

        Raises:
            RequestFailed: the API server does not switch protocols.
        """
        from kubernetes.stream.ws_client import create_websocket

        asked = urlencode({"container": container, "stdin": "true", "stdout": "true", "stderr": "true"})
        url = f"{self.host.replace('http', 'ws', 1)}{self.pods(name, 'attach')}?{asked}"
        headers = {name.lower(): value for name, value in self._credentials().items()}
        try:
            return create_websocket(self._client.configuration, url, {**headers, "sec-websocket-protocol": PROTOCOLS})
        except Exception as error:  # websocket-client's, ssl's, the socket's
            status = int(getattr(error, "status_code", 0) or 0)
            if status:
                raise refused(status, getattr(error, "resp_body", b"") or b"") from None
            raise RequestFailed(0, "", f"{self.host} does not answer: {_innermost(error)}") from None

    def _credentials(self) -> dict[str, str]:
        """Return the authentication headers; the client renews an expired token."""
        settings: Callable[[], Mapping[str, Mapping[str, str]]] = self._client.configuration.auth_settings
        return {setting["key"]: setting["value"] for setting in settings().values() if setting.get("value")}


def refused(status: int, body: bytes) -> RequestFailed:
    """Return the error of a failed response, whose body is a Status object or any text (of a proxy)."""
    try:
        told = msgspec.json.decode(body)
        if isinstance(told, dict) and told.get("kind") == "Status":
            return RequestFailed(status, str(told.get("reason") or ""), str(told.get("message") or ""))
    except msgspec.DecodeError:
        pass
    return RequestFailed(status, "", body.decode("utf-8", "replace").strip()[:300] or "no reason is given")


def _innermost(error: BaseException) -> str:
    """Return a short text of the error's root cause; the outer errors only repeat it."""
    seen = error
    while (cause := getattr(seen, "reason", None) or seen.__cause__ or seen.__context__) and isinstance(
        cause, BaseException
    ):
        seen = cause
    if isinstance(seen, OSError) and seen.strerror:
        return seen.strerror.lower()
    return (str(seen) or type(seen).__name__).splitlines()[0][:200]
