"""The pods behind a Service, for requests that the API server itself sends to one: webhooks and proxied requests.

The pods are selected here and not read from EndpointSlices: pods of some real nodes have no addresses.

Source: apiserver pkg/util/proxy ResolveEndpoint; registry/core/service/storage REST.ResourceLocation.
"""

from __future__ import annotations

from typing import NamedTuple

from kitlib.api.core import Pod, Service, ServicePort
from kitlib.api.meta import is_condition_true
from kitlib.api.service_ports import find_port
from kitlib.apiserver.store.store import Store


class PodPort(NamedTuple):
    """A port of a pod on a node."""

    node: str
    namespace: str
    pod: str
    port: int


def ready_pod(store: Store, service: Service, port: ServicePort) -> PodPort | None:
    """Return the port of the first ready pod that a Service selects, in the order of the pods' names.

    Upstream's choice among the ready endpoints is random.
    """
    wanted = service.spec.selector.items()
    for pod in sorted(store.list(Pod, service.namespace, copy=False), key=lambda one: one.name):
        if wanted and wanted <= pod.metadata.labels.items() and pod.metadata.deletion_timestamp is None:
            number = find_port(pod, port)
            if number is not None and is_condition_true(pod.status.conditions, "Ready"):
                return PodPort(pod.spec.node_name, pod.namespace, pod.name, number)
    return None
