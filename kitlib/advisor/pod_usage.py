"""The memory and disk usage of pods: metrics-server's PodMetrics, and amounts given in a question.

    kubectl get pods.metrics.k8s.io -A -o json

A pod without a figure counts with its request, and the answer names this gap.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kitlib.advisor.dump import Dump
from kitlib.advisor.findings import Gap, counted, data_of, group_of, items, look, text
from kitlib.api.core import Container, Pod
from kitlib.api.resource import Quantity, QuantityError
from kitlib.kubelet.eviction.ranking import ContainerStats, PodStats
from kitlib.kubelet.qos.qos_class import is_restartable_init

METRICS = "metrics.k8s.io"
COMMAND = "kubectl get pods.metrics.k8s.io -A -o json"


def measured(dump: Dump, resource: str = "memory") -> dict[str, dict[str, int]]:
    """Return the usage in the PodMetrics of a dump, by `namespace/name` of the pod and by container.

    Args:
        dump: the cluster.
        resource: `memory` (bytes of the working set) or `cpu` (milli-CPU).
    """
    found: dict[str, dict[str, int]] = {}
    for obj in dump.objects:
        if obj.kind == "PodMetrics" and group_of(obj) == METRICS:
            used = {
                text(one, "name"): _amount(resource, look(one, "usage", resource))
                for one in items(data_of(obj), "containers")
            }
            found[f"{obj.namespace or 'default'}/{obj.name}"] = used
    return found


def stats_of(
    pods: Iterable[Pod], known: Mapping[str, Mapping[str, int]], given: Mapping[str, int], resource: str
) -> tuple[dict[str, PodStats], list[Gap]]:
    """Return UID -> usage of each pod, and the gaps in it.

    Args:
        pods: the pods of one node.
        known: the result of `measured`.
        given: `namespace/name` -> amount of the resource in the question: bytes, files or processes.
        resource: `memory`, `disk`, `inodes` or `pids`.
    """
    made: dict[str, PodStats] = {}
    guessed = 0
    for pod in pods:
        amount = given.get(pod.key)
        if resource != "memory":
            guessed += amount is None
            made[pod.metadata.uid] = _other(pod, amount or 0, resource)
            continue
        used = known.get(pod.key)
        if used is None:
            guessed += amount is None
            names = [container.name for container in processes_of(pod)]
            asked = {container.name: container.resources.requests.get("memory") for container in processes_of(pod)}
            used = {name: q.value() if (q := asked[name]) is not None else 0 for name in names}
        if amount is not None:
            used = with_total(pod, used, amount)
        parts = tuple(ContainerStats(name, memory=n, rootfs=0, logs=0) for name, n in used.items())
        made[pod.metadata.uid] = PodStats(memory=sum(used.values()), containers=parts)
    return made, _gaps(guessed, resource)


def processes_of(pod: Pod) -> list[Container]:
    """Return the containers that run in a Running pod: sidecars and ordinary containers."""
    return [
        *(container for container in pod.spec.init_containers if is_restartable_init(container)),
        *pod.spec.containers,
    ]


def with_total(pod: Pod, used: Mapping[str, int], total: int) -> dict[str, int]:
    """Return a pod's usage by container, with its first container changed so that the sum is `total` bytes."""
    first = pod.spec.containers[0].name if pod.spec.containers else ""
    rest = sum(used.values()) - used.get(first, 0)
    return {**used, first: max(0, total - rest)}


def _other(pod: Pod, amount: int, resource: str) -> PodStats:
    first = next(iter(pod.spec.containers), None)
    name = first.name if first is not None else ""
    if resource == "disk":
        return PodStats(containers=(ContainerStats(name, rootfs=amount, logs=0),))
    return PodStats(inodes=amount) if resource == "inodes" else PodStats(processes=amount)


def _gaps(guessed: int, resource: str) -> list[Gap]:
    if not guessed:
        return []
    pods = counted(guessed, "pod", "is", "are")
    if resource == "memory":
        what = "it requests" if guessed == 1 else "they request"
        why = f"memory in use: {pods} taken to use what {what}; {COMMAND} adds it to the dump"
        return [Gap("PodMetrics", "", why)]
    why = f"{resource} in use: {pods} taken to use none; write POD=AMOUNT behind the question"
    return [Gap("Summary", "", why)]


def _amount(resource: str, amount: object) -> int:
    try:
        found = Quantity(str(amount or "0"))
    except QuantityError:
        return 0
    return found.milli_value() if resource == "cpu" else found.value()
