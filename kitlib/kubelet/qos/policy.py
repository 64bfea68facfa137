"""Who dies first when memory runs out: the oom_score_adj that the kubelet gives to every container.

The kernel's score of a process is its share of memory in thousandths plus oom_score_adj (-1000 to 1000). Guaranteed
containers get -997, BestEffort ones 1000, Burstable ones something between: the more memory a container requests, the
lower. The idea: a container that uses as much as it requested scores about 1000, one that uses more scores above.

Source: kubelet qos.GetContainerOOMScoreAdjust.
"""

from __future__ import annotations

from kitlib.api.core import Container, Pod
from kitlib.api.podresources import aggregate_container_requests
from kitlib.api.release import Release
from kitlib.kubelet.qos.qos_class import get_pod_qos, is_node_critical_pod, is_restartable_init, pod_level_resources

SANDBOX_OOM_SCORE_ADJ = -998
"""Of a pod's pause container; set by the runtime. Source: containerd defaultSandboxOOMAdj, CRI-O PodInfraOOMAdj."""
GUARANTEED_OOM_SCORE_ADJ = -997
BEST_EFFORT_OOM_SCORE_ADJ = 1000
MIN_BURSTABLE = 1000 + GUARANTEED_OOM_SCORE_ADJ
MAX_BURSTABLE = BEST_EFFORT_OOM_SCORE_ADJ - 1


def get_container_oom_score_adjust(
    pod: Pod, container: Container, memory_capacity: int, release: Release | None = None
) -> int:
    """-997 for Guaranteed and node-critical pods, 1000 for BestEffort, else 1000 − 1000 × request / capacity.

    A sidecar gets at most the value of the least-requesting ordinary container, so that it does not die before those
    it serves. With pod-level resources, what the pod requests beyond its containers' requests is shared out evenly.

    Args:
        pod: defaulted.
        container: one of its containers or init containers.
        memory_capacity: bytes of memory of the machine.
        release: whose feature gates hold; None = the latest.

    Source: kubelet qos.GetContainerOOMScoreAdjust.
    """
    if is_node_critical_pod(pod):
        return GUARANTEED_OOM_SCORE_ADJ
    qos = get_pod_qos(pod, release)
    if qos == "Guaranteed":
        return GUARANTEED_OOM_SCORE_ADJ
    if qos == "BestEffort":
        return BEST_EFFORT_OOM_SCORE_ADJ

    extra = _unallocated_per_container(pod) if pod_level_resources(pod, release) else 0
    score = 1000 - _div(1000 * (_memory_request(container) + extra), memory_capacity)
    if is_restartable_init(container):
        least = min((_memory_request(c) for c in pod.spec.containers), default=0)
        score = min(score, 1000 - _div(1000 * (least + extra), memory_capacity))
    if score == BEST_EFFORT_OOM_SCORE_ADJ:
        return MAX_BURSTABLE
    return max(score, MIN_BURSTABLE)


def _memory_request(container: Container) -> int:
    memory = container.resources.requests.get("memory")
    return memory.value() if memory is not None else 0


def _unallocated_per_container(pod: Pod) -> int:
    """The part of the pod-level memory request that no container claims, divided evenly; bytes.

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
    """Division as Go does it: towards zero."""
    return a // b if a >= 0 else -(-a // b)
