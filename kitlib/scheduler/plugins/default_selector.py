"""The selector for default spread constraints: the pods of the pod's services and of its controller.

Source: plugins/helper DefaultSelector, GetPodServices.
"""

from __future__ import annotations

from kitlib.api.core import Pod
from kitlib.api.meta import LabelSelector, LabelSelectorRequirement
from kitlib.scheduler.framework.plugin import Context

_CONTROLLERS = {"ReplicaSet": "replica_sets", "StatefulSet": "stateful_sets"}


def default_selector(pod: Pod, context: Context) -> LabelSelector | None:
    """Return the combined selector of the pod's services and its controller; None if they have no requirements."""
    labels: dict[str, str] = {}
    expressions: list[LabelSelectorRequirement] = []
    for service in context.services:
        chosen = service.spec.selector
        if service.namespace == pod.namespace and chosen and chosen.items() <= pod.metadata.labels.items():
            labels.update(chosen)
    owner = next((ref for ref in pod.metadata.owner_references if ref.controller), None)
    if owner is not None:
        if owner.kind == "ReplicationController":
            for controller in context.replication_controllers:
                if (controller.namespace, controller.name) == (pod.namespace, owner.name):
                    labels.update(controller.spec.selector)
        elif owner.kind in _CONTROLLERS:
            name, namespace = owner.name, pod.namespace
            for workload in getattr(context, _CONTROLLERS[owner.kind]):
                meta = workload.metadata  # a large cluster has thousands of them: the name rules out nearly all
                if meta.name == name and meta.namespace == namespace and workload.spec.selector:
                    labels.update(workload.spec.selector.match_labels)
                    expressions += workload.spec.selector.match_expressions
    if not labels and not expressions:
        return None
    return LabelSelector(match_labels=labels, match_expressions=expressions)
