"""Drain a node as `kubectl drain --ignore-daemonsets` does: cordon it, then ask for the eviction of each of its pods.

    for row in drain(cluster, "node-1", at_most=60):
        print(row["second"], row["pod"], row["answer"])

An eviction is a question: the API server answers 429 where a disruption budget allows none, and the drain asks again
every five seconds, for as long as it was told to (for ever, unless `--timeout` is given).

Source: kubectl pkg/drain RunCordonOrUncordon, RunNodeDrain (evictPods, retry after 5 s), filters.go (daemonSetFilter,
mirrorPodFilter, localStorageFilter, unreplicatedFilter).
"""

from __future__ import annotations

from typing import Any

from kitlib.api.core import TERMINAL_PHASES, Pod
from kitlib.api.errors import KitError, NotFound, TooManyRequests

RETRY = 5.0
"""Seconds after which an eviction that was refused is asked for again."""
MIRROR = "kubernetes.io/config.mirror"
UNMANAGED = "Pods that declare no controller (use --force to override)"
LOCAL = "Pods with local storage (use --delete-emptydir-data to override)"


def drain(
    cluster: Any, node: str, at_most: float = 60.0, *, force: bool = False, delete_emptydir_data: bool = False
) -> list[dict[str, Any]]:
    """Cordon a node and evict its pods; what was answered, in order.

    Args:
        cluster: whose time passes meanwhile.
        node: its name.
        at_most: seconds after which it gives up (--timeout).
        force: pods that nothing would make again go too.
        delete_emptydir_data: so do pods with an emptyDir.

    Returns:
        Rows of `second`, `pod` and `answer`: "evicted", "gone", or the refusal. Pods without "gone" are still there.

    Raises:
        KitError: a pod may not be evicted without being told so; the node is cordoned, and no pod was asked for.
    """
    cluster.cordon(node)
    waiting = _evictable(cluster, node, force, delete_emptydir_data)
    began, rows, leaving = cluster.now(), list[dict[str, Any]](), list[Pod]()

    def tell(pod: Pod, answer: str) -> None:
        second = round((cluster.now() - began).total_seconds(), 1)
        rows.append({"second": second, "pod": pod.name, "answer": answer})

    while True:
        for pod in list(waiting):
            try:
                cluster.evict(pod.name, pod.metadata.namespace)
            except TooManyRequests as refused:
                cause = next((text for _, text in refused.causes), str(refused))
                tell(pod, f"429: {cause}")
                continue
            except NotFound:
                tell(pod, "gone")
                waiting.remove(pod)
                continue
            tell(pod, "evicted")
            waiting.remove(pod)
            leaving.append(pod)
        if (not waiting and not leaving) or (cluster.now() - began).total_seconds() >= at_most:
            return rows
        cluster.advance(RETRY if waiting else 1.0)
        there = {pod.metadata.uid for pod in cluster.list("Pod")}
        for pod in [one for one in leaving if one.metadata.uid not in there]:
            tell(pod, "gone")
            leaving.remove(pod)


def _evictable(cluster: Any, node: str, force: bool, delete_emptydir_data: bool) -> list[Pod]:
    """The pods to evict: not those of DaemonSets, not static ones.

    Raises:
        KitError: one may not be evicted without being told so.
    """
    found, refused = list[Pod](), dict[str, list[str]]()
    for pod in cluster.list("Pod"):
        if pod.spec.node_name != node or MIRROR in pod.metadata.annotations:
            continue
        owner = next((one.kind for one in pod.metadata.owner_references if one.controller), "")
        if owner == "DaemonSet":
            continue
        found.append(pod)
        if pod.status.phase in TERMINAL_PHASES:
            continue
        if not owner and not force:
            refused.setdefault(UNMANAGED, []).append(pod.key)
        if any(volume.empty_dir is not None for volume in pod.spec.volumes) and not delete_emptydir_data:
            refused.setdefault(LOCAL, []).append(pod.key)
    if refused:
        why = "; ".join(f"cannot delete {rule}: {', '.join(pods)}" for rule, pods in refused.items())
        raise KitError(f"unable to drain node {node!r}: {why}")
    return found
