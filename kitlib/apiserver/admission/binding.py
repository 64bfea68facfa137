"""The binding subresource, which assigns a pod to a node.

Source: registry/core/pod/storage BindingREST.Create, assignPod, setPodNodeAndMetadata.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kitlib.api.core import Pod
from kitlib.api.errors import Conflict
from kitlib.api.meta import Condition, ObjectMeta, put_condition
from kitlib.api.pod_subresources import binding_of

if TYPE_CHECKING:
    from kitlib.apiserver.admission.apiserver import APIServer


def bind(api: APIServer, name: str, namespace: str, node: str, given: ObjectMeta | None = None) -> Pod:
    """Assign a pod to a node.

    Args:
        api: the API server.
        name: the pod's name.
        namespace: the pod's namespace.
        node: the node's name.
        given: the Binding's metadata: labels and annotations to add to the pod, and the UID and the resource version
            that the pod must have.

    Raises:
        NotFound: the pod does not exist.
        Conflict: the pod has a node or scheduling gates, is being deleted, or has another UID or version than `given`.
        PolicyDenied: a policy about `pods/binding` denies it.
    """
    pod: Pod = api.store.get(Pod, name, namespace)
    asked = api.admit_body(binding_of(name, namespace, node, given), "binding", pod)
    given, node = asked.metadata, asked.target.name
    for field, wanted, found in (
        ("UID", given.uid, pod.metadata.uid),
        ("ResourceVersion", given.resource_version, pod.metadata.resource_version),
    ):
        if wanted and wanted != found:
            detail = f"Precondition failed: {field} in precondition: {wanted}, {field} in object meta: {found}"
            raise Conflict("pods", name, detail)
    problem = ""
    if pod.metadata.deletion_timestamp is not None:
        problem = f"pod {name} is being deleted, cannot be assigned to a host"
    elif pod.spec.node_name:
        problem = f'pod {name} is already assigned to node "{pod.spec.node_name}"'
    elif pod.spec.scheduling_gates:
        problem = f"pod {name} has non-empty .spec.schedulingGates"
    if problem:
        raise Conflict("pods/binding", name, problem)
    pod.spec.node_name = node
    if api.release.enabled("ClearingNominatedNodeNameAfterBinding"):
        pod.status.nominated_node_name = ""
    pod.metadata.annotations = {**pod.metadata.annotations, **given.annotations}
    if api.release.enabled("PodTopologyLabelsAdmission"):
        pod.metadata.labels = {**pod.metadata.labels, **given.labels}
    scheduled = Condition(type="PodScheduled", status="True")
    pod.status.conditions = put_condition(pod.status.conditions, scheduled, api.store.now())
    return api.store.update(pod, same_generation=True)
