"""The oom_score_adj of containers, which determines the order in which the kernel kills processes without memory.

The kernel's score of a process is its part of the machine's memory in thousandths plus oom_score_adj (-1000 to 1000).
Guaranteed containers get -997, BestEffort containers 1000, Burstable containers a value in between that is lower the
more memory they request. With this heuristic a container that uses exactly its request has a score of about 1000, and
one that uses more a higher score. It fails for a container with many small processes.

Source: kubelet qos.GetContainerOOMScoreAdjust.
"""

from __future__ import annotations

from kitlib.api.core import Container, Pod
from kitlib.api.podresources import aggregate_container_requests
from kitlib.api.release import Release
from kitlib.kubelet.qos.qos_class import get_pod_qos, is_node_critical_pod, is_restartable_init, pod_level_resources

SANDBOX_OOM_SCORE_ADJ = -998
"""The value of pause containers; the runtime sets it. Source: containerd defaultSandboxOOMAdj, CRI-O PodInfraOOMAdj."""
GUARANTEED_OOM_SCORE_ADJ = -997
BEST_EFFORT_OOM_SCORE_ADJ = 1000
MIN_BURSTABLE = 1000 + GUARANTEED_OOM_SCORE_ADJ
MAX_BURSTABLE = BEST_EFFORT_OOM_SCORE_ADJ - 1


def get_container_oom_score_adjust(
    pod: Pod, container: Container, memory_capacity: int, release: Release | None = None
) -> int:
    """Return the oom_score_adj of a container.

    It is -997 for Guaranteed and node-critical pods, 1000 for BestEffort pods, else 1000 − 1000 × request / capacity.

    Args:
        pod: the pod, with API defaults.
        container: one of its containers or init containers.
        memory_capacity: bytes of the machine's memory.
        release: the release that determines the feature gates; None = the latest.

    Source: kubelet qos.GetContainerOOMScoreAdjust.
    """
    if is_node_critical_pod(pod):
        return GUARANTEED_OOM_SCORE_ADJ
    qos = get_pod_qos(pod, release)
    if qos == "Guaranteed":
        return GUARANTEED_OOM_SCORE_ADJ
    if qos == "BestEffort":
        return BEST_EFFORT_OOM_SCORE_ADJ

    # The part of a pod-level request that no container requests is divided evenly among the containers.
    extra = _unallocated_per_container(pod) if pod_level_resources(pod, release) else 0
    score = 1000 - _div(1000 * (_memory_request(container) + extra), memory_capacity)
    if is_restartable_init(container):
        # A sidecar must not be killed before the containers that it serves: it gets at most the value of the regular
        # container with the smallest request.
        least = min((_memory_request(c) for c in pod.spec.containers), default=0)
        score = min(score, 1000 - _div(1000 * (least + extra), memory_capacity))
    # Burstable pods keep one point below BestEffort pods, and stay above Guaranteed ones: a Guaranteed pod that uses
    # all memory has a score of 1000 - 997.
    if score == BEST_EFFORT_OOM_SCORE_ADJ:
        return MAX_BURSTABLE
    return max(score, MIN_BURSTABLE)


def _memory_request(container: Container) -> int:
    memory = container.resources.requests.get("memory")
    return memory.value() if memory is not None else 0


def _unallocated_per_container(pod: Pod) -> int:
    """Return the bytes of the pod-level memory request that no container requests, per container.

    Source: kubelet qos.remainingPodMemReqPerContainer.
    """
    assert pod.spec.resources is not None
    requested = pod.spec.resources.requests.get("memory")
    if requested is None or requested.is_zero():
        return 0
    claimed = aggregate_container_requests(pod).get("memory")
    remaining = requested.value() - (claimed.value() if claimed is not None else 0)
    return _div(remaining, len(pod.spec.containers) + len(pod.spec.init_containers))


def _div(a: int, b: int) -> int:
    """Divide integers as Go does, rounding towards zero."""
    return a // b if a >= 0 else -(-a // b)
