"""The downward API: fields of a pod and resources of its containers, as text.

Source: pkg/fieldpath ExtractFieldPathAsString; kubelet podFieldSelectorRuntimeValue;
pkg/api/v1/resource ExtractContainerResourceValue, MergeContainerResourceLimits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from kitlib.api.container import ObjectFieldSelector, ResourceFieldSelector
from kitlib.api.core import Container, Pod
from kitlib.api.errors import KitError
from kitlib.api.go_values import go_quote
from kitlib.api.resource import Quantity

_SUBSCRIPT = re.compile(r"^(metadata\.(?:labels|annotations))\['(.*)'\]$")
_MERGED = ("cpu", "memory", "ephemeral-storage")


def field_value(pod: Pod, selector: ObjectFieldSelector) -> str:
    """Return the text of a field of a pod.

    Raises:
        KitError: the downward API does not support the path.
    """
    path, meta = selector.field_path, pod.metadata
    subscript = _SUBSCRIPT.match(path)
    if subscript is not None:
        values = meta.labels if subscript[1] == "metadata.labels" else meta.annotations
        return values.get(subscript[2], "")
    plain = {
        "metadata.name": meta.name,
        "metadata.namespace": meta.namespace,
        "metadata.uid": meta.uid,
        "metadata.labels": format_map(meta.labels),
        "metadata.annotations": format_map(meta.annotations),
        "spec.nodeName": pod.spec.node_name,
        "spec.serviceAccountName": pod.spec.service_account_name,
        "status.hostIP": pod.status.host_ip,
        "status.hostIPs": ",".join(ip.get("ip", "") for ip in pod.status.host_ips),
        "status.podIP": pod.status.pod_ip,
        "status.podIPs": ",".join(ip.get("ip", "") for ip in pod.status.pod_ips),
    }
    if path not in plain:
        raise KitError(f"unsupported fieldPath: {path}")
    return plain[path]


def format_map(values: Mapping[str, str]) -> str:
    """Format labels or annotations, one a line. Source: fieldpath.FormatMap."""
    return "\n".join(f"{key}={go_quote(value)}" for key, value in sorted(values.items()))


def resource_value(
    pod: Pod, container: Container, selector: ResourceFieldSelector, allocatable: Mapping[str, int]
) -> str:
    """Return a request or limit of a container in units of the divisor, rounded up.

    Args:
        pod: the container's pod.
        container: the container with the reference; the selector may name another container of the pod.
        selector: the resource and the divisor.
        allocatable: resource -> allocatable amount of the node, in thousandths; it replaces a missing limit.

    Raises:
        KitError: the container or the resource is unknown.
    """
    if selector.container_name:
        everybody = (*pod.spec.init_containers, *pod.spec.containers)
        named = [one for one in everybody if one.name == selector.container_name]
        if not named:
            raise KitError(f"container {selector.container_name} not found")
        container = named[0]
    kind, _, name = selector.resource.partition(".")
    if kind not in ("limits", "requests") or not (name in _MERGED or name.startswith("hugepages-")):
        raise KitError(f"unsupported container resource : {selector.resource}")
    amounts = container.resources.limits if kind == "limits" else container.resources.requests
    milli = amounts[name].milli_value() if name in amounts else 0
    if kind == "limits" and milli == 0 and name in _MERGED:
        milli = allocatable.get(name, 0)
    divisor = selector.divisor if selector.divisor is not None and selector.divisor.milli_value() else Quantity("1")
    return str(-(-milli // divisor.milli_value()))
