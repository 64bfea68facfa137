"""The binding subresource: a pod gets its node.

Source: registry/core/pod/storage BindingREST.Create, assignPod, setPodNodeAndMetadata.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kitlib.api.core import Pod
from kitlib.api.errors import Forbidden
from kitlib.api.pod_subresources import binding_of

if TYPE_CHECKING:
    from kitlib.apiserver.admission.apiserver import APIServer


def bind(api: APIServer, name: str, namespace: str, node: str) -> Pod:
    """Give a pod its node.

    Raises:
        NotFound: where the pod is gone.
        Forbidden: where it has a node already, or gates.
        PolicyDenied: a policy about `pods/binding` denies it.
    """
    pod: Pod = api.store.get(Pod, name, namespace)
    api.ask_policies(binding_of(name, namespace, node), None, "binding", pod)
    if pod.spec.node_name:
        raise Forbidden("pods/binding", name, f"pod {name} is already assigned to node {pod.spec.node_name!r}")
    if pod.spec.scheduling_gates:
        raise Forbidden("pods/binding", name, f"pod {name} has non-empty .spec.schedulingGates")
    pod.spec.node_name = node
    pod.status.nominated_node_name = ""
    return api.store.update(pod, same_generation=True)
