"""The options of a request that connects to a pod or a node, as admission sees them.

Source: k8s.io/api/core/v1 types.go PodExecOptions, PodAttachOptions, PodPortForwardOptions, NodeProxyOptions,
PodProxyOptions, ServiceProxyOptions; conversions from url.Values: apimachinery runtime Convert_Slice_string_To_bool,
Convert_Slice_string_To_string, metav1 Convert_Slice_string_To_Slice_int32.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kitlib.api.errors import KitError
from kitlib.api.meta import KubeObject

_FLAGS = ("stdin", "stdout", "stderr", "tty")
_MAX_PORT = 65535


class PodAttachOptions(KubeObject):
    api_version: str = "v1"
    kind: str = "PodAttachOptions"
    stdin: bool = False
    stdout: bool = False
    stderr: bool = False
    tty: bool = False
    container: str = ""


class PodExecOptions(PodAttachOptions):
    kind: str = "PodExecOptions"
    command: list[str] = []


class PodPortForwardOptions(KubeObject):
    api_version: str = "v1"
    kind: str = "PodPortForwardOptions"
    ports: list[int] = []


class ProxyOptions(KubeObject):
    """The options of a request that is proxied: to a node's kubelet, to a pod, or to a pod of a Service."""

    api_version: str = "v1"
    path: str = ""


class NodeProxyOptions(ProxyOptions):
    kind: str = "NodeProxyOptions"


class PodProxyOptions(ProxyOptions):
    kind: str = "PodProxyOptions"


class ServiceProxyOptions(ProxyOptions):
    kind: str = "ServiceProxyOptions"


_PROXIED: dict[str, type[ProxyOptions]] = {
    "nodes": NodeProxyOptions,
    "pods": PodProxyOptions,
    "services": ServiceProxyOptions,
}

PodConnectOptions = PodAttachOptions | PodExecOptions | PodPortForwardOptions


def connect_options(subresource: str, query: Mapping[str, Sequence[str]]) -> PodConnectOptions:
    """Return the options of a stream.

    Args:
        subresource: `attach`, `exec` or `portforward`.
        query: the parameters of the URL, each with its values in order.

    Raises:
        KitError: a port is not a number of 16 bits.
    """
    if subresource == "portforward":
        return PodPortForwardOptions(ports=[_port(one) for text in query.get("ports", ()) for one in text.split(",")])
    # every text but "0" and "false" is true, the empty one too
    flags: dict[str, Any] = {name: query[name][0].lower() not in ("0", "false") for name in _FLAGS if query.get(name)}
    container = (query.get("container") or ("",))[0]
    if subresource == "exec":
        return PodExecOptions(**flags, container=container, command=list(query.get("command", ())))
    return PodAttachOptions(**flags, container=container)


def proxy_options(plural: str, path: str) -> ProxyOptions:
    """Return the options of a proxied request.

    Args:
        plural: `nodes`, `pods` or `services`.
        path: the path after `proxy`; "" = none, which is not the root.

    Source: endpoints/handlers getRequestOptions.
    """
    return _PROXIED[plural](path=path)


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text[:20]) <= _MAX_PORT):
        raise KitError(f"ports: must be whole numbers of 16 bits, got {text[:80]!r}")
    return int(text)
