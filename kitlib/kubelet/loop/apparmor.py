"""Rejects pods with an AppArmor profile on a machine whose kernel has no AppArmor.

Only a profile other than Unconfined needs AppArmor. It may be a profile of the pod or of any container, or in an
annotation, which static pods may still have.

Source: kubelet lifecycle appArmorAdmitHandler.Admit; security/apparmor isRequired, validateHost.
"""

from __future__ import annotations

from kitlib.api.core import Pod
from kitlib.api.podresources import containers_of
from kitlib.kubelet.loop.predicate import PodRefusal

ANNOTATION = "container.apparmor.security.beta.kubernetes.io/"
UNCONFINED = "Unconfined"
REFUSAL = PodRefusal("AppArmor", "Cannot enforce AppArmor: AppArmor is not enabled on the host")


def is_required(pod: Pod) -> bool:
    """Return whether a pod has a profile that a kernel without AppArmor cannot enforce."""
    contexts = [pod.spec.security_context, *(container.security_context for container in containers_of(pod))]
    profiles = [context.app_armor_profile for context in contexts if context is not None]
    if any(profile is not None and profile.type != UNCONFINED for profile in profiles):
        return True
    declared = [value for key, value in pod.metadata.annotations.items() if key.startswith(ANNOTATION)]
    return any(value != UNCONFINED.lower() for value in declared)


def refuse_profiles(pod: Pod) -> PodRefusal | None:
    """Return the rejection of a pod on a machine without AppArmor; a pod that has started is not checked again."""
    return REFUSAL if pod.status.phase in ("", "Pending") and is_required(pod) else None
