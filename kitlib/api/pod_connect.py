"""The options of a request that connects to a pod or a node, as admission sees them.

Source: k8s.io/api/core/v1 types.go PodExecOptions, PodAttachOptions, PodPortForwardOptions, NodeProxyOptions;
conversions from url.Values: apimachinery runtime Convert_Slice_string_To_bool, Convert_Slice_string_To_string, metav1
Convert_Slice_string_To_Slice_int32.
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


class NodeProxyOptions(KubeObject):
    api_version: str = "v1"
    kind: str = "NodeProxyOptions"
    path: str = ""


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


def node_proxy_options(rest: str) -> NodeProxyOptions:
    """Return the options of a request that is proxied to a node's kubelet.

    Args:
        rest: the path after `proxy/`; "" = the root.

    Source: endpoints/handlers getRequestOptions.
    """
    return NodeProxyOptions(path=f"/{rest}" if rest else "")


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text[:20]) <= _MAX_PORT):
        raise KitError(f"ports: must be whole numbers of 16 bits, got {text[:80]!r}")
    return int(text)
