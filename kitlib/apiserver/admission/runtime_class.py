"""RuntimeClass admission: a pod's class must exist; it sets the overhead and the scheduling constraints.

Source: plugin/pkg/admission/runtimeclass (Admit, setOverhead, setScheduling, Validate).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kitlib.api.coordination import RuntimeClass
from kitlib.api.core import Pod, Toleration
from kitlib.api.errors import Forbidden
from kitlib.api.field_errors import shown
from kitlib.api.serialize import deepcopy
from kitlib.apiserver.admission.attributes import AdmissionAttributes
from kitlib.apiserver.admission.plugin import AdmissionContext, AdmissionPlugin

_OTHER_OVERHEAD = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
_NO_CLASS = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"


def admit_runtime_class(pod: Pod, classes: Iterable[RuntimeClass]) -> Pod:
    """Set the overhead, node selector and tolerations of the pod's class, in place.

    Args:
        pod: the new pod.
        classes: the cluster's RuntimeClasses.

    Returns:
        The same pod.

    Raises:
        Forbidden: the class does not exist, or the pod's overhead or node selector contradicts it.
    """
    spec, name = pod.spec, pod.spec.runtime_class_name
    found = (
        next((runtime_class for runtime_class in classes if runtime_class.metadata.name == name), None)
        if name is not None
        else None
    )
    if name is not None and found is None:
        raise Forbidden("pods", pod.name, f"pod rejected: RuntimeClass {shown(name)} not found")
    fixed = found.overhead.pod_fixed if found is not None and found.overhead is not None else None
    if fixed is not None:
        if spec.overhead and spec.overhead != fixed:
            raise Forbidden("pods", pod.name, _OTHER_OVERHEAD)
        spec.overhead = dict(fixed)
    elif spec.overhead:
        raise Forbidden("pods", pod.name, _NO_CLASS)
    if found is not None and found.scheduling is not None:
        _set_scheduling(pod, found)
    return pod


def _set_scheduling(pod: Pod, runtime_class: RuntimeClass) -> None:
    scheduling, spec = runtime_class.scheduling, pod.spec
    assert scheduling is not None
    for key, value in scheduling.node_selector.items():
        own = spec.node_selector.get(key)
        if own is not None and own != value:
            conflict = (
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; pod.spec.nodeSelector[{key}] = {own}"
            )
            raise Forbidden("pods", pod.name, conflict)
    spec.node_selector = {**spec.node_selector, **scheduling.node_selector}
    spec.tolerations = merge_tolerations(spec.tolerations, scheduling.tolerations)


def merge_tolerations(first: Sequence[Toleration], second: Sequence[Toleration]) -> list[Toleration]:
    """Return both lists without the tolerations that another one covers.

    Source: pkg/util/tolerations MergeTolerations.
    """
    everything = [*first, *deepcopy(list(second))]
    merged: list[Toleration] = []
    for i, toleration in enumerate(everything):
        if any(_covers(other, toleration) for other in merged):
            continue
        later = everything[i + 1 :]
        if not any(toleration != other and _covers(other, toleration) for other in later):
            merged.append(toleration)
    return merged


def _covers(wide: Toleration, narrow: Toleration) -> bool:
    """Return whether one toleration tolerates every taint that the other does. Source: isSuperset."""
    if wide == narrow:
        return True
    if wide.key != narrow.key and (wide.key or wide.operator != "Exists"):
        return False
    if wide.effect and wide.effect != narrow.effect:
        return False
    if wide.effect == "NoExecute" and wide.toleration_seconds is not None:
        seconds = narrow.toleration_seconds
        if seconds is None or wide.toleration_seconds < seconds:
            return False
    if wide.operator in ("", "Equal"):
        return narrow.operator in ("", "Equal") and wide.value == narrow.value
    return wide.operator == "Exists"


class RuntimeClassPlugin(AdmissionPlugin):
    """A plugin for new pods with a RuntimeClass or an overhead."""

    def admit(self, about: AdmissionAttributes, around: AdmissionContext) -> None:
        if isinstance(about.new, Pod):
            admit_runtime_class(about.new, around.store.list(RuntimeClass, copy=False))
