"""Functions that workload controllers share: states of pods, creation and deletion, template hashes, statuses.

Source: pkg/controller/controller_utils.go (IsPodActive, FilterActivePods, GetPodFromTemplate, ComputeHash,
RealPodControl); pkg/api/v1/pod (IsPodReady, IsPodAvailable).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from kitlib.api.core import TERMINAL_PHASES, Pod, PodTemplateSpec
from kitlib.api.errors import Forbidden, KitError, NotFound
from kitlib.api.meta import Condition, KubeObject, ObjectMeta, OwnerReference
from kitlib.api.numbers import IntOrString
from kitlib.api.serialize import deepcopy, from_dict, to_dict
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.apiserver.store.names import SUFFIX_ALPHABET
from kitlib.controllers.controller import Controller

SLOW_START_INITIAL_BATCH_SIZE = 1
_KNOWN = frozenset({"terminatingReplicas", "collisionCount"})
"""The counts that are pointers upstream: None = unknown, and 0 is written."""
_OFFSET, _PRIME = 2166136261, 16777619


def is_active(pod: Pod) -> bool:
    """Return whether the pod is neither finished nor being deleted. Source: IsPodActive."""
    return pod.status.phase not in TERMINAL_PHASES and pod.metadata.deletion_timestamp is None


def is_terminating(pod: Pod) -> bool:
    """Return whether the pod is being deleted and has not finished. Source: IsPodTerminating."""
    return pod.status.phase not in TERMINAL_PHASES and pod.metadata.deletion_timestamp is not None


def condition_of(pod: Pod, kind: str) -> Condition | None:
    """Return a pod's condition of a type; None without one."""
    for condition in pod.status.conditions:
        if condition.type == kind:
            return condition
    return None


def is_ready(pod: Pod) -> bool:
    """Return whether the pod's condition Ready is true. Source: IsPodReady."""
    ready = condition_of(pod, "Ready")
    return ready is not None and ready.status == "True"


def available_in(pod: Pod, min_ready_seconds: int, now: datetime) -> float | None:
    """Return the seconds until a ready pod is available, 0 if it is; None if not ready. Source: IsPodAvailable."""
    ready = condition_of(pod, "Ready")
    if ready is None or ready.status != "True":
        return None
    if min_ready_seconds == 0:
        return 0.0
    if ready.last_transition_time is None:
        return None
    return max(0.0, min_ready_seconds - (now - ready.last_transition_time).total_seconds())


def is_available(pod: Pod, min_ready_seconds: int, now: datetime) -> bool:
    """Return whether the pod has been ready for `minReadySeconds`. Source: IsPodAvailable."""
    return available_in(pod, min_ready_seconds, now) == 0


def owner_reference(owner: KubeObject) -> OwnerReference:
    """Return the owner reference of objects that `owner` controls. Source: metav1.NewControllerRef."""
    return OwnerReference(
        api_version=owner.api_version,
        kind=owner.kind,
        name=owner.name,
        uid=owner.metadata.uid,
        controller=True,
        block_owner_deletion=True,
    )


def template_hash(template: PodTemplateSpec, collision_count: int = 0) -> str:
    """Return a short hash of a pod template; equal templates have equal hashes.

    Kubernetes hashes its in-memory form with FNV-1a and writes the number in an alphabet without vowels. The kit hashes
    the manifest's form in the same way, so the hashes have the same form and other letters.

    Source: ComputeHash, rand.SafeEncodeString.
    """
    return safe_hash(to_dict(template), collision_count)


def safe_hash(data: Any, collision_count: int = 0) -> str:
    """Return the FNV-1a hash of plain data, in the alphabet of generated names."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), default=str)
    return _hashed(text + str(collision_count) if collision_count else text)


@lru_cache(maxsize=1024)
def _hashed(text: str) -> str:
    """Return the FNV-1a hash of a text; cached, because a template is hashed at every change of its Deployment."""
    value = _OFFSET
    for byte in text.encode():
        value = (value ^ byte) * _PRIME % 2**32
    return "".join(SUFFIX_ALPHABET[ord(c) % len(SUFFIX_ALPHABET)] for c in str(value))


def pod_from_template(
    template: PodTemplateSpec, owner: KubeObject, *, name: str = "", prefix: str | None = None
) -> Pod:
    """Return a pod made from a template and controlled by `owner`. Source: GetPodFromTemplate."""
    meta = ObjectMeta(
        name=name,
        generate_name="" if name else (prefix if prefix is not None else f"{owner.name}-"),
        namespace=owner.namespace,
        labels=dict(template.metadata.labels),
        annotations=dict(template.metadata.annotations),
        finalizers=list(template.metadata.finalizers),
        owner_references=[owner_reference(owner)],
    )
    return Pod(metadata=meta, spec=deepcopy(template.spec))


class CreateError(KitError):
    """A failed creation of pods, with the API server's message."""


def create_pod(controller: Controller, pod: Pod, owner: KubeObject) -> Pod | None:
    """Create a pod and record an event on its owner; return None while the namespace is being deleted.

    Raises:
        CreateError: the API server rejected the pod.

    Source: RealPodControl.createPods.
    """
    try:
        made: Pod = controller.api.create(pod)
    except KitError as refused:
        if is_namespace_terminating(refused):
            # Every creation fails now, and the namespace controller deletes the owner: no event, no retry.
            return None
        controller.event(owner, "Warning", "FailedCreate", f"Error creating: {refused}")
        raise CreateError(str(refused)) from refused
    controller.event(owner, "Normal", "SuccessfulCreate", f"Created pod: {made.name}")
    return made


def is_namespace_terminating(error: KitError) -> bool:
    """Return whether an object was rejected because of its terminating namespace. Source: NamespaceTerminatingCause."""
    return isinstance(error, Forbidden) and error.why.endswith("because it is being terminated")


def delete_pod(controller: Controller, pod: Pod, owner: KubeObject) -> None:
    """Delete a pod and record an event on its owner.

    Raises:
        KitError: the API server rejected the deletion.

    Source: RealPodControl.DeletePod.
    """
    try:
        controller.api.delete(Pod, pod.name, pod.namespace, grace=None)
    except NotFound:
        return
    except KitError as refused:
        controller.event(owner, "Warning", "FailedDelete", f"Error deleting: {refused}")
        raise
    controller.event(owner, "Normal", "SuccessfulDelete", f"Deleted pod: {pod.name}")


def slow_start_batch(count: int, create: Callable[[int], object]) -> None:
    """Call `create` for 0 to count - 1 in batches of 1, 2, 4, ...; the first batch with an error is the last.

    Raises:
        KitError: the first error, after its whole batch was tried.

    Source: slowStartBatch.
    """
    # A quota or a webhook usually rejects all pods for the same reason. The small first batches keep the number of
    # failed requests and events low.
    done, size = 0, SLOW_START_INITIAL_BATCH_SIZE
    while done < count:
        first: KitError | None = None
        batch = min(size, count - done)
        for i in range(done, done + batch):
            try:
                create(i)
            except KitError as error:
                first = first or error
        if first is not None:
            raise first
        done, size = done + batch, 2 * size


def scaled_value(value: IntOrString, total: int, *, round_up: bool) -> int:
    """Return a number, or a percentage of a total. Source: intstr.GetScaledValueFromIntOrPercent."""
    if isinstance(value, int):
        return value
    share = int(value.removesuffix("%")) * total
    return -(-share // 100) if round_up else share // 100


def status_data(obj: Any) -> dict[str, Any]:
    """Return a workload's status as plain data, whether its type declares the fields or not."""
    status = obj.status
    return dict(status) if isinstance(status, dict) else to_dict(status)


def set_status(api: APIServer, obj: Any, status: Mapping[str, object]) -> bool:
    """Write a workload's status if it differs; zero counts are left out, except for those in `_KNOWN`.

    Returns:
        Whether the status was written.
    """
    # Go's omitempty leaves out zero counts of int32; a pointer to 0 is written.
    wanted = {name: value for name, value in status.items() if value or (name in _KNOWN and value is not None)}
    if status_data(obj) == wanted:
        return False
    changed = deepcopy(obj)
    changed.status = wanted if isinstance(obj.status, dict) else from_dict(wanted, type(obj.status))
    api.update_status(changed)
    return True


def rfc3339(moment: datetime) -> str:
    """Return a time in the API's form, in whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def from_rfc3339(text: str) -> datetime:
    """Parse a time in the API's form."""
    return datetime.fromisoformat(text)


def seconds_since(text: str, now: datetime) -> float:
    """Return the seconds since a time in the API's form."""
    return (now - from_rfc3339(text)) / timedelta(seconds=1)


def condition(kind: str, status: str, reason: str, message: str, now: datetime) -> dict[str, Any]:
    """Return a condition for a workload's status."""
    made = {"type": kind, "status": status, "lastTransitionTime": rfc3339(now), "reason": reason}
    return {**made, "message": message} if message else made


def find_condition(conditions: Sequence[dict[str, Any]], kind: str) -> dict[str, Any] | None:
    """Return the condition of a type; None without one."""
    return next((one for one in conditions if one["type"] == kind), None)
