"""Priority admission: a pod's `priorityClassName` is resolved to `priority` and `preemptionPolicy`.

Source: plugin/pkg/admission/priority (admitPod, validatePriorityClass); scheduling.SystemPriorityClasses.
"""

from __future__ import annotations

from collections.abc import Iterable

from kitlib.api.core import Pod
from kitlib.api.errors import Forbidden
from kitlib.api.meta import ObjectMeta
from kitlib.api.policy import SYSTEM_PRIORITY_CLASSES, PriorityClass
from kitlib.apiserver.admission.attributes import AdmissionAttributes
from kitlib.apiserver.admission.plugin import AdmissionContext, AdmissionPlugin

PREEMPT_LOWER = "PreemptLowerPriority"


def system_priority_classes() -> list[PriorityClass]:
    """Return the two built-in PriorityClasses."""
    return [
        PriorityClass(metadata=ObjectMeta(name=name), value=value, preemption_policy=PREEMPT_LOWER)
        for name, value in SYSTEM_PRIORITY_CLASSES.items()
    ]


def default_priority_class(classes: Iterable[PriorityClass]) -> PriorityClass | None:
    """Return the `globalDefault` class; of several, the one with the lowest value; None if there is none."""
    marked = [c for c in classes if c.global_default]
    return min(marked, key=lambda c: c.value) if marked else None


def admit_priority(pod: Pod, classes: Iterable[PriorityClass]) -> Pod:
    """Set `priorityClassName`, `priority` and `preemptionPolicy` of a new pod, in place.

    Args:
        pod: the new pod.
        classes: the cluster's PriorityClasses with the built-in ones.

    Returns:
        The same pod.

    Raises:
        Forbidden: the class does not exist, or the pod's priority or policy contradicts it.
    """
    known = list(classes)
    spec = pod.spec
    found: PriorityClass | None
    if spec.priority_class_name:
        found = next((c for c in known if c.metadata.name == spec.priority_class_name), None)
        if found is None:
            raise Forbidden("pods", pod.name, f"no PriorityClass with name {spec.priority_class_name} was found")
    else:
        found = default_priority_class(known)
        spec.priority_class_name = found.metadata.name if found else ""
    priority = found.value if found else 0
    policy = found.preemption_policy if found else PREEMPT_LOWER
    if spec.priority is not None and spec.priority != priority:
        why = (
            f"the integer value of priority ({spec.priority}) must not be provided in pod spec; priority admission "
            f"controller computed {priority} from the given PriorityClass name"
        )
        raise Forbidden("pods", pod.name, why)
    if policy and spec.preemption_policy and spec.preemption_policy != policy:
        why = (
            f"the string value of PreemptionPolicy ({spec.preemption_policy}) must not be provided in pod spec; "
            f"priority admission controller computed {policy} from the given PriorityClass name"
        )
        raise Forbidden("pods", pod.name, why)
    spec.priority = priority
    spec.preemption_policy = policy or spec.preemption_policy
    return pod


def check_priority_class(new: PriorityClass, classes: Iterable[PriorityClass]) -> None:
    """Check that a class is not a second global default.

    Raises:
        Forbidden: another class is already the default.
    """
    name = new.metadata.name
    standing = default_priority_class(classes)
    if new.global_default and standing is not None and standing.metadata.name != name:
        why = f"PriorityClass {standing.metadata.name} is already marked as default. Only one default can exist"
        raise Forbidden("priorityclasses.scheduling.k8s.io", name, why)


class PriorityPlugin(AdmissionPlugin):
    """A plugin that sets the priority of new pods and checks PriorityClasses."""

    def admit(self, about: AdmissionAttributes, around: AdmissionContext) -> None:
        if isinstance(about.new, Pod):
            admit_priority(about.new, around.store.list(PriorityClass, copy=False))

    def validate(self, about: AdmissionAttributes, around: AdmissionContext) -> None:
        if isinstance(about.new, PriorityClass):
            check_priority_class(about.new, around.store.list(PriorityClass, copy=False))
