"""The pod's `ephemeralcontainers` subresource, with which `kubectl debug` adds a container.

Source: pkg/apis/core/validation ValidatePodEphemeralContainersUpdate; registry/core/pod podEphemeralContainersStrategy.
"""

from __future__ import annotations

from kitlib.api.core import Pod
from kitlib.api.field_errors import Errors, forbidden
from kitlib.apiserver.validation.object_meta import validate_object_meta_update
from kitlib.apiserver.validation.pod import validate_pod_metadata_and_spec

MIRROR = "kubernetes.io/config.mirror"
_FIELD = "spec.ephemeralContainers"


def validate_ephemeral_containers_update(new: Pod, old: Pod) -> Errors:
    """Return the errors of an update: containers can only be added, and not to a static pod."""
    if MIRROR in old.metadata.annotations:
        return [forbidden("", "static pods do not support ephemeral containers")]
    found = validate_object_meta_update(new.metadata, old.metadata) + validate_pod_metadata_and_spec(new)
    wanted = {container.name: container for container in new.spec.ephemeral_containers}
    for container in old.spec.ephemeral_containers:
        if container.name not in wanted:
            found.append(forbidden(_FIELD, f'existing ephemeral containers "{container.name}" may not be removed\n'))
        elif wanted[container.name] != container:
            found.append(forbidden(_FIELD, f'existing ephemeral containers "{container.name}" may not be changed\n'))
    return found
