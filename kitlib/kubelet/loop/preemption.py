"""The selection of the pods that the kubelet preempts for a critical pod: as few and as small as possible.

A critical pod (a static pod, or one with a system-critical priority) that lacks resources is not rejected. Instead
pods that are not critical are preempted: BestEffort pods first, then Burstable, then Guaranteed; within a class the pod
with the requests nearest to the missing resources.

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
"""Resource -> missing amount, in milli-CPU, bytes or pieces."""


class PreemptionError(KitError):
    """No set of running pods frees enough resources; with the kubelet's message."""


def make_room(pod: Pod, pods: Sequence[Pod], missing: Requirements, release: Release) -> tuple[list[Pod], str]:
    """Return the pods to preempt for a critical pod, or the message of its rejection; see `get_pods_to_preempt`.

    Source: HandleAdmissionFailure; lifecycle predicateAdmitHandler.Admit.
    """
    try:
        return get_pods_to_preempt(pod, pods, missing, release), ""
    except PreemptionError as error:
        text = f"preemption: error finding a set of pods to preempt: {error}"
        return [], f"Unexpected error while attempting to recover from admission failure: {text}"


def get_pods_to_preempt(pod: Pod, pods: Sequence[Pod], missing: Requirements, release: Release) -> list[Pod]:
    """Return the pods to preempt.

    Args:
        pod: the critical pod to admit.
        pods: the running pods.
        missing: the resources that the critical pod lacks.
        release: the release that determines the rules.

    Raises:
        PreemptionError: the preemption of all of them would not suffice.
    """
    by_class: dict[str, list[Pod]] = {"BestEffort": [], "Burstable": [], "Guaranteed": []}
    for other in pods:
        if preemptable(pod, other):
            by_class[get_pod_qos(other, release)].append(other)
    best_effort, burstable, guaranteed = by_class.values()
    unmet = _subtract(missing, [*best_effort, *burstable, *guaranteed], release)
    if unmet:
        raise PreemptionError(f"no set of running pods found to reclaim resources: {_text(unmet)}")
    # Each class covers only what all lower classes together cannot, so the classes are computed from the highest down.
    first = _by_distance(guaranteed, _subtract(missing, [*best_effort, *burstable], release), release)
    second = _by_distance(burstable, _subtract(missing, [*best_effort, *first], release), release)
    third = _by_distance(best_effort, _subtract(missing, [*second, *first], release), release)
    return [*third, *second, *first]


def preemptable(preemptor: Pod, preemptee: Pod) -> bool:
    """Return whether a pod may preempt another: a critical pod one that is not, or the one with the higher priority.

    Source: kubelet types.Preemptable.
    """
    if is_critical_pod(preemptor) and not is_critical_pod(preemptee):
        return True
    mine, other = preemptor.spec.priority, preemptee.spec.priority
    return mine is not None and other is not None and mine > other


def _by_distance(pods: Sequence[Pod], missing: Requirements, release: Release) -> list[Pod]:
    """Select pods of one class, the nearest to the missing resources first, until nothing is missing."""
    left, chosen = list(pods), []
    while missing:
        if not left:
            raise PreemptionError(f"no set of running pods found to reclaim resources: {_text(missing)}")
        best = min(left, key=lambda pod: (_distance(missing, pod, release), _request(pod, "memory", release),
                                          _request(pod, "cpu", release)))  # fmt: skip
        missing = _subtract(missing, [best], release)
        chosen.append(best)
        left.remove(best)
    return chosen


def _distance(missing: Requirements, pod: Pod, release: Release) -> float:
    """Return the distance of a pod's requests to the missing resources: 0 = it covers all, at most 1 a resource."""
    total = 0.0
    for name, amount in missing.items():
        rest = amount - _request(pod, name, release)
        if rest > 0:
            total += (rest / amount) ** 2
    return total


def _subtract(missing: Requirements, pods: Sequence[Pod], release: Release) -> dict[str, int]:
    """Return the resources that are still missing without these pods."""
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
