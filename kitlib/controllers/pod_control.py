"""The creation and deletion of pods by workload controllers.

Source: pkg/controller/controller_utils.go (GetPodFromTemplate, RealPodControl); replicaset slowStartBatch.
"""

from __future__ import annotations

from collections.abc import Callable

from kitlib.api.core import Pod, PodTemplateSpec
from kitlib.api.errors import Forbidden, KitError, NotFound
from kitlib.api.meta import KubeObject, ObjectMeta, OwnerReference
from kitlib.api.serialize import deepcopy
from kitlib.controllers.controller import Controller

SLOW_START_INITIAL_BATCH_SIZE = 1


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
            # The namespace refuses every creation and its controller deletes the owner: no event, no retry is needed.
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
