"""Finds the object of a question: `web-0`, `shop/web-0`, `job/train`, `deployment.apps/web`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kitlib.api.errors import KitError, NotFound
from kitlib.api.meta import KubeObject

if TYPE_CHECKING:
    from kitlib.advisor.dump import Dump

KINDS = {
    "Pod": ("pod", "pods", "po"),
    "Job": ("job", "jobs"),
    "Deployment": ("deployment", "deployments", "deploy"),
    "StatefulSet": ("statefulset", "statefulsets", "sts"),
    "DaemonSet": ("daemonset", "daemonsets", "ds"),
    "ReplicaSet": ("replicaset", "replicasets", "rs"),
    "ReplicationController": ("replicationcontroller", "replicationcontrollers", "rc"),
    "CronJob": ("cronjob", "cronjobs", "cj"),
    "PodGroup": ("podgroup", "podgroups", "pg"),
    "Workload": ("workload", "workloads", "wl"),
    "HorizontalPodAutoscaler": ("horizontalpodautoscaler", "horizontalpodautoscalers", "hpa"),
}
"""Kind -> its names in kubectl."""
PLURALS = {kind: names[1] for kind, names in KINDS.items()}


def find_target(dump: Dump, name: str = "", namespace: str = "") -> KubeObject:
    """Return the object of a dump for a name.

    Args:
        dump: the cluster.
        name: NAME, NAMESPACE/NAME, KIND/NAME or KIND NAMESPACE/NAME; "" = the only waiting pod. For a name without a
            kind, pods take precedence.
        namespace: namespace of the object; "" = any.

    Raises:
        NotFound: no object has this name.
        KitError: the name is ambiguous, or no name is given and the number of waiting pods is not 1.
    """
    if not name:
        return dump.pod("")
    kind, rest = _kind_of(name)
    space, slash, last = rest.rpartition("/")
    wanted = namespace or (space if slash else "")
    kinds = [kind] if kind else list(KINDS)
    found = [
        obj
        for obj in dump.objects
        if obj.kind in kinds and obj.name == last and (not wanted or (obj.namespace or "default") == wanted)
    ]
    if not kind:  # pods take precedence over objects that create pods
        first = min((kinds.index(item.kind) for item in found), default=0)
        found = [item for item in found if item.kind == kinds[first]]
    if not found:
        raise NotFound(PLURALS.get(kind, "pods") if kind else "pods", rest)
    if len(found) > 1:
        what = PLURALS[found[0].kind].removesuffix("s") if found[0].kind == "Pod" else found[0].kind
        raise KitError(
            f"more than one {what} has this name; write NAMESPACE/NAME: {', '.join(item.key for item in found[:10])}"
        )
    return found[0]


def _kind_of(name: str) -> tuple[str, str]:
    """Return the kind at the start of a name, and the rest; ("", name) if there is none."""
    head, separator, rest = name.partition(" ") if " " in name else name.partition("/")
    word = head.lower().partition(".")[0]
    kind = next((kind for kind, names in KINDS.items() if word in names), "")
    return (kind, rest.strip()) if separator and kind and rest else ("", name)
