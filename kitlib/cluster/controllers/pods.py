"""What all workload controllers share: whose pods are whose, which of them count, and making one from a template.

Source: pkg/controller/controller_utils.go (FilterActivePods, ActivePodsWithRanks, GetPodFromTemplate, ComputeHash).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from kitlib.api.core import Event, ObjectReference, Pod, PodTemplateSpec
from kitlib.api.errors import Forbidden, Invalid
from kitlib.api.meta import KubeObject, ObjectMeta, OwnerReference
from kitlib.api.serialize import deepcopy, to_dict
from kitlib.cluster.admission.apiserver import APIServer
from kitlib.cluster.store.store import SUFFIX_ALPHABET

_OFFSET, _PRIME = 2166136261, 16777619


def owned(api: APIServer, owner: KubeObject, kind: str = "Pod") -> list[KubeObject]:
    """The objects that `owner` controls, oldest first."""
    return [
        obj
        for obj in api.store.list(kind, owner.namespace, copy=False)
        if any(ref.controller and ref.uid == owner.metadata.uid for ref in obj.metadata.owner_references)
    ]


def owned_pods(api: APIServer, owner: KubeObject) -> list[Pod]:
    """The pods that `owner` controls, oldest first."""
    return [pod for pod in owned(api, owner) if isinstance(pod, Pod)]


def is_active(pod: Pod) -> bool:
    """Whether the pod counts: not finished, not on its way out. Source: IsPodActive."""
    return pod.status.phase not in ("Succeeded", "Failed") and pod.metadata.deletion_timestamp is None


def is_ready(pod: Pod) -> bool:
    """Whether the pod's Ready condition holds."""
    return any(c.type == "Ready" and c.status == "True" for c in pod.status.conditions)


def owner_reference(owner: KubeObject) -> OwnerReference:
    """The reference by which a controller marks what is its own."""
    return OwnerReference(
        api_version=owner.api_version,
        kind=owner.kind,
        name=owner.name,
        uid=owner.metadata.uid,
        controller=True,
        block_owner_deletion=True,
    )


def template_hash(template: PodTemplateSpec) -> str:
    """A short name for a pod template: the same template has the same one.

    Kubernetes hashes its own in-memory form with FNV-1a and writes the number in an alphabet without vowels; here the
    manifest's form is hashed in the same way, so the names look alike but their letters differ.
    """
    value = _OFFSET
    for byte in json.dumps(to_dict(template), sort_keys=True, separators=(",", ":")).encode():
        value = (value ^ byte) * _PRIME % 2**32
    return "".join(SUFFIX_ALPHABET[ord(c) % len(SUFFIX_ALPHABET)] for c in str(value))


def pod_from(template: PodTemplateSpec, owner: KubeObject, *, name: str = "", prefix: str = "") -> Pod:
    """A pod made from a template. Source: GetPodFromTemplate."""
    meta = ObjectMeta(
        name=name,
        generate_name=prefix,
        namespace=owner.namespace,
        labels=dict(template.metadata.labels),
        annotations=dict(template.metadata.annotations),
        owner_references=[owner_reference(owner)],
    )
    return Pod(metadata=meta, spec=deepcopy(template.spec))


def create(api: APIServer, pod: Pod, owner: KubeObject) -> bool:
    """Make the pod; a refusal becomes an event of the owner, as the controllers record it.

    What was refused is not tried again before something has changed that the refusal depends on.

    Returns:
        Whether there is a pod now.
    """
    situation = _situation(api, owner)
    if api.refusals.get(owner.metadata.uid) == situation:
        return False
    try:
        made = api.create(pod)
    except (Forbidden, Invalid) as refused:
        api.refusals[owner.metadata.uid] = situation
        record(api, owner, "Warning", "FailedCreate", f"Error creating: {refused}")
        return False
    record(api, owner, "Normal", "SuccessfulCreate", f"Created pod: {made.name}")
    return True


def _situation(api: APIServer, owner: KubeObject) -> tuple[object, ...]:
    kinds = ("ResourceQuota", "LimitRange", "PriorityClass")
    versions = [o.metadata.resource_version for kind in kinds for o in api.store.list(kind, copy=False)]
    return (owner.metadata.generation, *versions)


def record(
    api: APIServer, about: KubeObject, kind: str, reason: str, message: str, source: str = "", field: str = ""
) -> None:
    """Write an event; one that repeats is counted. Source: client-go tools/record, EventAggregator by message."""
    namespace = about.namespace or "default"
    key = (about.metadata.uid, reason, message, field)
    standing = api.store.find(Event, api.recorded.get(key, ""), namespace)
    if standing is not None:
        standing.count, standing.last_timestamp = standing.count + 1, api.store.now()
        api.store.update(standing)
        return
    reference = ObjectReference(
        api_version=about.api_version,
        kind=about.kind,
        namespace=about.namespace,
        name=about.name,
        uid=about.metadata.uid,
        field_path=field,
    )
    made = Event(
        metadata=ObjectMeta(name=f"{about.name}.{api.store.version + 1:016x}", namespace=namespace),
        involved_object=reference,
        reason=reason,
        message=message,
        type=kind,
        source={"component": source} if source else {},
        first_timestamp=api.store.now(),
        last_timestamp=api.store.now(),
    )
    api.store.create(made)
    api.recorded[key] = made.name


def first_to_go(pods: Iterable[Pod]) -> list[Pod]:
    """In which order surplus pods are deleted: without a node, Pending, not ready, then the newest.

    Source: ActivePodsWithRanks.Less.
    """
    phases = {"Pending": 0, "Unknown": 1, "Running": 2}

    def rank(pod: Pod) -> tuple[bool, int, bool, int]:
        newest_first = -int(pod.__dict__.get("created_", 0))
        return bool(pod.spec.node_name), phases.get(pod.status.phase, 2), is_ready(pod), newest_first

    return sorted(pods, key=rank)


def set_status(api: APIServer, obj: KubeObject, status: Mapping[str, object]) -> None:
    """Write a workload's status where it differs; zero counts are left out."""
    wanted = {name: value for name, value in status.items() if value}
    if getattr(obj, "status", None) == wanted:
        return
    changed = deepcopy(obj)
    changed.status = wanted  # type: ignore[attr-defined]
    api.update_status(changed)
