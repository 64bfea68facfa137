"""Which pods the kubelet ends so that a critical pod fits on the node: as few and as small as possible.

A critical pod (a static pod, or one of system-critical priority) that lacks resources is not refused: pods that are not
critical make room for it, BestEffort ones first, then Burstable, then Guaranteed; within a class the one whose request
is nearest to what is missing.

Source: kubelet preemption.CriticalPodAdmissionHandler (getPodsToPreempt, getPodsToPreemptByDistance,
admissionRequirementList).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kitlib.api.core import Pod
from kitlib.api.errors import KitError
from kitlib.api.podresources import pod_requests
from kitlib.api.release import Release
from kitlib.kubelet.qos.qos_class import get_pod_qos, is_critical_pod

REASON = "Preempting"
MESSAGE = "Preempted in order to admit critical pod"
DISRUPTION = "Pod was preempted by Kubelet to accommodate a critical pod."
Requirements = Mapping[str, int]
"""Resource -> how much of it is missing: milli-CPU, bytes, pieces."""


class PreemptionError(KitError):
    """No set of running pods makes enough room; with the kubelet's text."""


def get_pods_to_preempt(pod: Pod, pods: Sequence[Pod], missing: Requirements, release: Release) -> list[Pod]:
    """The pods that have to go.

    Args:
        pod: that is to be admitted.
        pods: that run.
        missing: what it lacks.
        release: whose rules hold.

    Raises:
        PreemptionError: all of them together would not do.
    """
    by_class: dict[str, list[Pod]] = {"BestEffort": [], "Burstable": [], "Guaranteed": []}
    for other in pods:
        if preemptable(pod, other):
            by_class[get_pod_qos(other, release)].append(other)
    best_effort, burstable, guaranteed = by_class.values()
    unmet = _subtract(missing, [*best_effort, *burstable, *guaranteed], release)
    if unmet:
        raise PreemptionError(f"no set of running pods found to reclaim resources: {_text(unmet)}")
    first = _by_distance(guaranteed, _subtract(missing, [*best_effort, *burstable], release), release)
    second = _by_distance(burstable, _subtract(missing, [*best_effort, *first], release), release)
    third = _by_distance(best_effort, _subtract(missing, [*second, *first], release), release)
    return [*third, *second, *first]


def preemptable(preemptor: Pod, preemptee: Pod) -> bool:
    """Whether a pod may end another: a critical one one that is not, or the one of higher priority.

    Source: kubelet types.Preemptable.
    """
    if is_critical_pod(preemptor) and not is_critical_pod(preemptee):
        return True
    mine, other = preemptor.spec.priority, preemptee.spec.priority
    return mine is not None and other is not None and mine > other


def _by_distance(pods: Sequence[Pod], missing: Requirements, release: Release) -> list[Pod]:
    """Pods of one class, nearest to what is missing first, until nothing is."""
    left, chosen = list(pods), []
    while missing:
        if not left:
            raise PreemptionError(f"no set of running pods found to reclaim resources: {_text(missing)}")
        best = min(left, key=lambda one: (_distance(missing, one, release), _request(one, "memory", release),
                                          _request(one, "cpu", release)))  # fmt: skip
        missing = _subtract(missing, [best], release)
        chosen.append(best)
        left.remove(best)
    return chosen


def _distance(missing: Requirements, pod: Pod, release: Release) -> float:
    """0 where the pod has all of it, at most 1 a resource."""
    total = 0.0
    for name, amount in missing.items():
        rest = amount - _request(pod, name, release)
        if rest > 0:
            total += (rest / amount) ** 2
    return total


def _subtract(missing: Requirements, pods: Sequence[Pod], release: Release) -> dict[str, int]:
    """What is still missing without these pods."""
    left = {name: amount - sum(_request(pod, name, release) for pod in pods) for name, amount in missing.items()}
    return {name: amount for name, amount in left.items() if amount > 0}


def _request(pod: Pod, name: str, release: Release) -> int:
    if name == "pods":
        return 1
    amount = pod_requests(pod, release=release).get(name)
    if amount is None:
        return 0
    return amount.milli_value() if name == "cpu" else amount.value()


def _text(missing: Requirements) -> str:
    return "[" + "".join(f"(res: {name}, q: {amount}), " for name, amount in missing.items()) + "]"
