"""Drain a node as `kubectl drain --ignore-daemonsets` does: cordon it, then request the eviction of each of its pods.

    for row in drain(cluster, "node-1", at_most=60):
        print(row["second"], row["pod"], row["answer"])

The API server answers an eviction with 429 if a disruption budget does not allow it. The drain repeats the request
every five seconds until its timeout (without `--timeout`, for ever).

Source: kubectl pkg/drain RunCordonOrUncordon, RunNodeDrain (evictPods, retry after 5 s), filters.go (daemonSetFilter,
mirrorPodFilter, localStorageFilter, unreplicatedFilter).
"""

from __future__ import annotations

from typing import Any

from kitlib.api.core import TERMINAL_PHASES, Pod
from kitlib.api.errors import KitError, NotFound, TooManyRequests

RETRY = 5.0
"""Seconds between two requests for the eviction of the same pod."""
MIRROR = "kubernetes.io/config.mirror"
UNMANAGED = "Pods that declare no controller (use --force to override)"
LOCAL = "Pods with local storage (use --delete-emptydir-data to override)"


def drain(
    cluster: Any, node: str, at_most: float = 60.0, *, force: bool = False, delete_emptydir_data: bool = False
) -> list[dict[str, Any]]:
    """Cordon a node, evict its pods, and return the API server's answers in order.

    Args:
        cluster: the cluster; its simulated time advances meanwhile.
        node: name of the node.
        at_most: timeout in seconds (--timeout).
        force: whether pods without a controller are evicted (--force).
        delete_emptydir_data: whether pods with an emptyDir volume are evicted (--delete-emptydir-data).

    Returns:
        Rows of `second`, `pod` and `answer`: "evicted", "gone", or the error. Pods without a row "gone" still exist.

    Raises:
        KitError: a pod needs `force` or `delete_emptydir_data`; the node is cordoned, and no eviction was requested.
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
        # Rejected evictions are retried after RETRY; the rest of the time only terminating pods are waited for.
        cluster.advance(RETRY if waiting else 1.0)
        there = {pod.metadata.uid for pod in cluster.api.store.list(Pod, copy=False)}
        for pod in [one for one in leaving if one.metadata.uid not in there]:
            tell(pod, "gone")
            leaving.remove(pod)


def _evictable(cluster: Any, node: str, force: bool, delete_emptydir_data: bool) -> list[Pod]:
    """Return the pods to evict: all but those of DaemonSets and mirror pods.

    Raises:
        KitError: a pod needs `force` or `delete_emptydir_data`.
    """
    found, refused = list[Pod](), dict[str, list[str]]()
    for pod in cluster.api.store.list(Pod, copy=False):
        if pod.spec.node_name != node or MIRROR in pod.metadata.annotations:
            continue
        owner = next((reference.kind for reference in pod.metadata.owner_references if reference.controller), "")
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
