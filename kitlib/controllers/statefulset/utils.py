"""Identity, storage and state of a StatefulSet's pods.

Source: pkg/controller/statefulset/stateful_set_utils.go (getParentNameAndOrdinal, newVersionedStatefulSetPod,
updateStorage, updateIdentity, isHealthy).
"""

from __future__ import annotations

from datetime import datetime

from kitlib.api.apps import StatefulSet
from kitlib.api.core import PersistentVolumeClaim, PersistentVolumeClaimVolumeSource, Pod, PodTemplateSpec, Volume
from kitlib.api.serialize import deepcopy
from kitlib.controllers.history import REVISION_LABEL
from kitlib.controllers.pod_control import pod_from_template
from kitlib.controllers.pod_util import is_available, is_ready

POD_NAME = "statefulset.kubernetes.io/pod-name"
POD_INDEX = "apps.kubernetes.io/pod-index"


def replicas_of(stateful_set: StatefulSet) -> int:
    """Return `spec.replicas`, 1 by default."""
    return 1 if stateful_set.spec.replicas is None else stateful_set.spec.replicas


def start_of(stateful_set: StatefulSet) -> int:
    """Return the lowest ordinal. Source: getStartOrdinal."""
    return stateful_set.spec.ordinals.start if stateful_set.spec.ordinals is not None else 0


def ordinals_of(stateful_set: StatefulSet) -> range:
    """Return the ordinals that the set should have."""
    return range(start_of(stateful_set), start_of(stateful_set) + replicas_of(stateful_set))


def ordinal_of(pod: Pod, parent: str) -> int:
    """Return the number at the end of the pod's name; -1 for a pod of another parent. Source: getOrdinal."""
    name, _, number = pod.name.rpartition("-")
    return int(number) if name == parent and number.isdigit() and (number == "0" or number[0] != "0") else -1


def is_created(pod: Pod | None) -> bool:
    """Return whether the pod exists in the API. Source: isCreated."""
    return pod is not None and pod.status.phase != ""


def is_running_and_ready(pod: Pod) -> bool:
    """Source: isRunningAndReady."""
    return pod.status.phase == "Running" and is_ready(pod)


def is_running_and_available(pod: Pod, min_ready_seconds: int, now: datetime) -> bool:
    """Source: isRunningAndAvailable."""
    return is_running_and_ready(pod) and is_available(pod, min_ready_seconds, now)


def is_terminating(pod: Pod) -> bool:
    """Source: isTerminating."""
    return pod.metadata.deletion_timestamp is not None


def is_healthy(pod: Pod) -> bool:
    """Return whether the pod is running, ready and not terminating. Source: isHealthy."""
    return is_running_and_ready(pod) and not is_terminating(pod)


def revision_of(pod: Pod) -> str:
    """Return the revision that the pod was made from. Source: getPodRevision."""
    return pod.metadata.labels.get(REVISION_LABEL, "")


def claim_name(template: PersistentVolumeClaim, stateful_set: StatefulSet, ordinal: int) -> str:
    """Source: getPersistentVolumeClaimName."""
    return f"{template.name}-{stateful_set.name}-{ordinal}"


def claims_of(stateful_set: StatefulSet, ordinal: int) -> list[PersistentVolumeClaim]:
    """Return the claims of the pod with an ordinal. Source: getPersistentVolumeClaims."""
    claims = []
    for template in stateful_set.spec.volume_claim_templates:
        claim = deepcopy(template)
        claim.api_version, claim.kind = "v1", "PersistentVolumeClaim"
        claim.metadata.name = claim_name(template, stateful_set, ordinal)
        claim.metadata.namespace = stateful_set.namespace
        selector = stateful_set.spec.selector.match_labels if stateful_set.spec.selector is not None else {}
        claim.metadata.labels = {**claim.metadata.labels, **selector}
        claims.append(claim)
    return claims


def new_pod(stateful_set: StatefulSet, template: PodTemplateSpec, revision: str, ordinal: int) -> Pod:
    """Return a new pod with an ordinal. Source: newStatefulSetPod, initIdentity, updateStorage."""
    pod = pod_from_template(template, stateful_set, name=f"{stateful_set.name}-{ordinal}")
    pod.metadata.labels |= {**identity_of(pod.name, ordinal), REVISION_LABEL: revision}
    pod.spec.hostname, pod.spec.subdomain = pod.name, stateful_set.spec.service_name
    put_storage(pod, stateful_set, ordinal)
    return pod


def identity_of(name: str, ordinal: int) -> dict[str, str]:
    """Return the labels that identify a pod. Source: updateIdentity."""
    return {POD_NAME: name, POD_INDEX: str(ordinal)}


def put_storage(pod: Pod, stateful_set: StatefulSet, ordinal: int) -> None:
    """Make the claims the pod's first volumes, in place. Source: updateStorage."""
    claimed = {
        claim.name: Volume(
            name=claim.name,
            persistent_volume_claim=PersistentVolumeClaimVolumeSource(
                claim_name=claim_name(claim, stateful_set, ordinal)
            ),
        )
        for claim in stateful_set.spec.volume_claim_templates
    }
    others = [volume for volume in pod.spec.volumes if volume.name not in claimed]
    pod.spec.volumes = [*claimed.values(), *others]


def storage_matches(pod: Pod, stateful_set: StatefulSet, ordinal: int) -> bool:
    """Return whether the pod has a volume for each of its claims. Source: storageMatches."""
    sources = {volume.name: volume.persistent_volume_claim for volume in pod.spec.volumes}
    used = {name: source.claim_name for name, source in sources.items() if source is not None}
    return all(
        used.get(c.name) == claim_name(c, stateful_set, ordinal) for c in stateful_set.spec.volume_claim_templates
    )
