"""Kubernetes' own pod groups, from the group's object, its members and its conditions.

The quorum itself (all members placed in one attempt) is not computed. The existing members are counted:
kube-scheduler's GangScheduling plugin compares their number with `minCount` before it queues any of them.

Source: plugins/gangscheduling PreEnqueue; schedule_one_podgroup.go; scheduling/v1alpha2 PodGroup, v1alpha1 Workload.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from kitlib.advisor.findings import (
    HELD,
    NOTE,
    PASSED,
    YOU,
    StageResult,
    conditions_of,
    data_of,
    group_of,
    items,
    name_of,
    number,
    text,
)
from kitlib.api.core import TERMINAL_PHASES, Pod
from kitlib.api.meta import KubeObject

GROUP = "scheduling.k8s.io"
SCHEDULED = "PodGroupScheduled"


class GroupName(NamedTuple):
    """The group in a pod: a PodGroup (1.36 and later), or a Workload's entry (1.35)."""

    kind: str
    name: str
    entry: str = ""
    replica: str = ""

    def __str__(self) -> str:
        return f"{self.name}/{self.entry}{f'/{self.replica}' if self.replica else ''}" if self.entry else self.name


def group_named_by(pod: Pod) -> GroupName | None:
    """Return the group of a pod; None = none."""
    group = pod.spec.scheduling_group
    if group is not None and group.pod_group_name:
        return GroupName("PodGroup", group.pod_group_name)
    older = pod.spec.unknown_fields.get("workloadRef")
    if isinstance(older, Mapping) and older.get("name"):
        return GroupName("Workload", *(text(older, one) for one in ("name", "podGroup", "podGroupReplicaKey")))
    return None


def members_of(pods: Iterable[Pod], namespace: str, group: GroupName) -> list[Pod]:
    """Return the pods of a group that have not ended."""
    return [
        pod
        for pod in pods
        if pod.namespace == namespace and pod.status.phase not in TERMINAL_PHASES and group_named_by(pod) == group
    ]


def group_object(objects: Iterable[KubeObject], namespace: str, group: GroupName) -> KubeObject | None:
    """Return the object of a group; None if it was not read."""
    return next(
        (
            item
            for item in objects
            if item.kind == group.kind
            and group_of(item) == GROUP
            and (item.namespace, item.name) == (namespace, group.name)
        ),
        None,
    )


def min_count(obj: KubeObject, group: GroupName) -> int:
    """Return the minimum number of members of a group; 0 = the pods are scheduled individually."""
    data: Any = data_of(obj)
    if group.kind == "PodGroup":
        return number(data, "spec", "schedulingPolicy", "gang", "minCount")
    entry = next((one for one in items(data, "spec", "podGroups") if text(one, "name") == group.entry), {})
    return number(entry, "policy", "gang", "minCount")


def read_gang(obj: KubeObject, group: GroupName, members: list[Pod]) -> StageResult:
    """Return the stage of a group: too few members, rejected by the scheduler, scheduled, or not known."""
    least, bound = min_count(obj, group), sum(bool(pod.spec.node_name) for pod in members)
    said, names = conditions_of(obj).get(SCHEDULED), (name_of(obj),)
    if not least:
        return StageResult("gang", PASSED, f"the pods of group {group} are scheduled one by one", names)
    counted = f"{len(members)} of {least} members exist, {bound} {'has' if bound == 1 else 'have'} a node"
    if len(members) < least:
        more = f"{least - len(members)} more must be created before the scheduler looks at any of them"
        return StageResult("gang", HELD, f"group {group}: {counted}; {more}", names, owner=YOU)
    if said is not None and said.status == "False":
        told = f"group {group} cannot be scheduled, {said.reason}: {said.message}; {counted}"
        return StageResult("gang", HELD, told, names, "kube-scheduler", said.last_transition_time, YOU)
    if said is not None and said.status == "True":
        told = f"group {group} is scheduled; {counted}"
        return StageResult("gang", PASSED, told, names, "kube-scheduler", said.last_transition_time)
    return StageResult("gang", NOTE, f"group {group}: {counted}; they are scheduled together or not at all", names)
