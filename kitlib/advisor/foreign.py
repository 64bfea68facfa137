"""Controllers outside Kubernetes that block pods, and the state in their objects.

Their rules are not computed. Conditions, quotas and counts are read from the objects' fields and reported with the
controller's name and the time at which it wrote them.

Source: kueue apis/kueue/v1beta2; volcano.sh/apis scheduling/v1beta1; scheduler-plugins scheduling/v1alpha1;
karpenter.sh/v1; keda.sh/v1alpha1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from kitlib.advisor.findings import (
    HELD,
    NOTE,
    PASSED,
    PLATFORM,
    YOU,
    StageResult,
    conditions_of,
    data_of,
    group_of,
    items,
    look,
    mapping,
    moment,
    name_of,
    number,
    text,
)
from kitlib.api.core import Pod
from kitlib.api.errors import KitError
from kitlib.api.meta import KubeObject
from kitlib.api.resource import Quantity


class ForeignController(NamedTuple):
    """A controller outside Kubernetes.

    Attributes:
        name: common name.
        domain: the domain of its API groups, labels, annotations and gates, with its subdomains.
        schedulers: values of `schedulerName` for its scheduler.
    """

    name: str
    domain: str
    schedulers: tuple[str, ...] = ()


FOREIGN = (
    ForeignController("Kueue", "kueue.x-k8s.io"),
    ForeignController("Volcano", "volcano.sh", ("volcano",)),
    ForeignController("KAI", "run.ai", ("kai-scheduler",)),
    ForeignController("the coscheduling plugin", "scheduling.x-k8s.io", ("scheduler-plugins-scheduler",)),
    # Koordinator's scheduler, and the plugin before 2022
    ForeignController("the coscheduling plugin", "scheduling.sigs.k8s.io"),
    ForeignController("Grove", "grove.io"),
    ForeignController("YuniKorn", "yunikorn.apache.org", ("yunikorn",)),
    ForeignController("HAMi", "hami.io", ("hami-scheduler",)),
    ForeignController("Koordinator", "koordinator.sh", ("koord-scheduler",)),
    ForeignController("Karpenter", "karpenter.sh"),
    ForeignController("KEDA", "keda.sh"),
    ForeignController("JobSet", "jobset.x-k8s.io"),
    ForeignController("Argo CD", "argoproj.io"),
    ForeignController("the cluster autoscaler", "autoscaler.kubernetes.io"),
)


def foreign_owner(qualified: str) -> str:
    """Return the controller of a qualified name (`kueue.x-k8s.io/admission`) or API group; "" = none."""
    domain = qualified.partition("/")[0]
    return next((c.name for c in FOREIGN if domain == c.domain or domain.endswith(f".{c.domain}")), "")


def foreign_scheduler(name: str) -> str:
    """Return the controller of the scheduler in `schedulerName`; "" = not known."""
    return next((c.name for c in FOREIGN if name in c.schedulers), "")


def of_group(objects: Iterable[KubeObject], domain: str, kind: str) -> list[KubeObject]:
    """Return the objects of a kind in an API group or its subdomains."""
    return [
        obj for obj in objects if obj.kind == kind and (group_of(obj) == domain or group_of(obj).endswith(f".{domain}"))
    ]


KUEUE = "kueue.x-k8s.io"
QUEUE_NAME, POD_GROUP, WORKLOAD = f"{KUEUE}/queue-name", f"{KUEUE}/pod-group-name", f"{KUEUE}/workload"


def kueue_workload(objects: Iterable[KubeObject], subjects: Iterable[KubeObject]) -> KubeObject | None:
    """Return the Workload of any of these objects: its owner is among them, or they name it."""
    subjects = list(subjects)
    uids = {subject.metadata.uid for subject in subjects if subject.metadata.uid}
    keys = {(subject.kind, subject.namespace, subject.name) for subject in subjects}
    named = {
        (subject.namespace, name)
        for subject in subjects
        for name in (subject.metadata.annotations.get(WORKLOAD), subject.metadata.labels.get(POD_GROUP))
        if name
    }
    for workload in of_group(objects, KUEUE, "Workload"):
        owners = workload.metadata.owner_references
        if any(owner.uid in uids or (owner.kind, workload.namespace, owner.name) in keys for owner in owners):
            return workload
        if (workload.namespace, workload.name) in named:
            return workload
    return None


def read_kueue(objects: Iterable[KubeObject], workload: KubeObject) -> list[StageResult]:
    """Return the state of a Workload in Kueue's objects: its conditions, checks, queues and quotas."""
    objects, data, found = list(objects), data_of(workload), conditions_of(workload)

    def result(state: str, said: str, kind: str = "", owner: str = PLATFORM) -> StageResult:
        at = found[kind].last_transition_time if kind in found else None
        return StageResult("queue", state, said, (name_of(workload),), "Kueue", at, owner)

    finished = found.get("Finished")
    if finished is not None and finished.status == "True":
        return [result(NOTE, f"the Workload has finished: {finished.message or finished.reason}", "Finished")]
    if look(data, "spec", "active") is False:
        why = next((found[kind] for kind in ("DeactivationTarget", "Evicted") if kind in found), None)
        because = f": {why.message or why.reason}" if why is not None else ""
        said = f"the Workload is deactivated (spec.active: false){because}"
        return [result(HELD, said, why.type if why is not None else "", YOU)]
    reserved, admitted = found.get("QuotaReserved"), found.get("Admitted")
    if admitted is not None and admitted.status == "True":
        queue = text(data, "status", "admission", "clusterQueue")
        return [result(PASSED, f"the Workload is admitted{f' by ClusterQueue {queue}' if queue else ''}", "Admitted")]
    if reserved is not None and reserved.status == "True":
        return _kueue_checks(workload, data, result)
    queues = _kueue_queues(objects, workload, data)
    evicted = found.get("Evicted")
    if evicted is not None and evicted.status == "True":
        again = text(data, "status", "requeueState", "requeueAt")
        later = f"; it is queued again at {again}" if again else ""
        queues.insert(0, result(NOTE, f"evicted, {evicted.reason}: {evicted.message}{later}", "Evicted"))
    said = f"no quota is reserved: {reserved.message or reserved.reason}" if reserved is not None else ""
    return [result(HELD, said or "the Workload has no condition QuotaReserved yet", "QuotaReserved"), *queues]


def _kueue_checks(workload: KubeObject, data: Mapping[str, Any], result: Any) -> list[StageResult]:
    """Return the admission checks that a Workload with a reserved quota waits for."""
    waiting = [check for check in items(data, "status", "admissionChecks") if check.get("state") != "Ready"]
    if not waiting:
        return [result(HELD, "quota is reserved, the Workload is not admitted yet", "QuotaReserved")]
    return [
        StageResult(
            "queue",
            HELD,
            f"quota is reserved; the admission check {text(check, 'name')} is {text(check, 'state') or 'Pending'}"
            + (f": {text(check, 'message')}" if text(check, "message") else ""),
            (f"AdmissionCheck {text(check, 'name')}", name_of(workload)),
            "Kueue",
            moment(check.get("lastTransitionTime")),
            PLATFORM,
        )
        for check in waiting
    ]


def _kueue_queues(objects: list[KubeObject], workload: KubeObject, data: Mapping[str, Any]) -> list[StageResult]:
    """Return the states of the local and cluster queue, and the quota's numbers with the Workload's request."""
    name = text(data, "spec", "queueName")
    local = next(
        (
            item
            for item in of_group(objects, KUEUE, "LocalQueue")
            if (item.namespace, item.name) == (workload.namespace, name)
        ),
        None,
    )
    if not name:
        return [StageResult("queue", NOTE, "the Workload names no queue (spec.queueName)", owner=YOU)]
    if local is None:
        return [StageResult("queue", NOTE, f"LocalQueue {workload.namespace}/{name} was not read", owner=YOU)]
    found = _kueue_inactive(local)
    cluster_name = text(data_of(local), "spec", "clusterQueue")
    cluster = next((item for item in of_group(objects, KUEUE, "ClusterQueue") if item.name == cluster_name), None)
    if cluster is None:
        return [*found, StageResult("queue", NOTE, f"ClusterQueue {cluster_name} was not read", owner=PLATFORM)]
    return [*found, *_kueue_inactive(cluster), *_kueue_quota(cluster, data), *_kueue_ahead(objects, workload, cluster)]


def _kueue_inactive(queue: KubeObject) -> list[StageResult]:
    data, active = data_of(queue), conditions_of(queue).get("Active")
    policy = text(data, "spec", "stopPolicy")
    if policy not in ("", "None"):
        said = f"{name_of(queue)} is stopped (spec.stopPolicy: {policy})"
        return [StageResult("queue", NOTE, said, (name_of(queue),), owner=PLATFORM)]
    if active is not None and active.status == "False":
        said = f"{name_of(queue)} is not active, {active.reason}: {active.message}"
        return [StageResult("queue", NOTE, said, (name_of(queue),), "Kueue", active.last_transition_time, PLATFORM)]
    return []


def quantity(value: object) -> Quantity:
    """Return an amount of plain data; 0 if it is not a quantity."""
    try:
        return Quantity(str(value)) if isinstance(value, str | int) and not isinstance(value, bool) else Quantity("0")
    except (KitError, ValueError):
        return Quantity("0")


def _kueue_asked(workload: Mapping[str, Any]) -> dict[str, Quantity]:
    """Return the requests of all pods of a Workload; a container without a request counts as 0."""
    total: dict[str, Quantity] = {}
    for pods in items(workload, "spec", "podSets"):
        for container in items(pods, "template", "spec", "containers"):
            for name, amount in mapping(container, "resources", "requests").items():
                parsed = quantity(amount)
                for _ in range(min(number(pods, "count", default=1), 10_000)):
                    total[name] = total[name] + parsed if name in total else parsed
    return total


def _kueue_quota(cluster: KubeObject, workload: Mapping[str, Any]) -> list[StageResult]:
    """Return the numbers of each flavor of a cluster queue for the resources that the Workload requests."""
    data, asked = data_of(cluster), _kueue_asked(workload)
    reported = look(data, "status", "flavorsReservation") is not None
    reserved = {
        (text(flavor, "name"), text(resource, "name")): quantity(resource.get("total"))
        for flavor in items(data, "status", "flavorsReservation")
        for resource in items(flavor, "resources")
    }
    lines = []
    for group in items(data, "spec", "resourceGroups"):
        for flavor in items(group, "flavors"):
            for resource in items(flavor, "resources"):
                name, place = text(resource, "name"), text(flavor, "name")
                if name not in asked:
                    continue
                most, used = quantity(resource.get("nominalQuota")), reserved.get((place, name), Quantity("0"))
                more = look(resource, "borrowingLimit")
                borrow = f" (may borrow {more})" if more is not None else ""
                left = str(most - used if most > used else Quantity("0")) if reported else "an unreported part"
                lines.append(f"{left} of {most} {name} left in flavor {place}{borrow}, {asked[name]} asked")
    if not lines:
        return []
    said = f"ClusterQueue {cluster.name}: {'; '.join(lines)}"
    return [StageResult("queue", NOTE, said, (name_of(cluster),), "Kueue", None, PLATFORM)]


def _kueue_ahead(objects: list[KubeObject], workload: KubeObject, cluster: KubeObject) -> list[StageResult]:
    """Return the number of earlier Workloads of the same cluster queue that wait too."""
    queues = {
        (item.namespace, item.name)
        for item in of_group(objects, KUEUE, "LocalQueue")
        if text(data_of(item), "spec", "clusterQueue") == cluster.name
    }
    own, created = number(data_of(workload), "spec", "priority"), workload.metadata.creation_timestamp
    ahead = 0
    for other in of_group(objects, KUEUE, "Workload"):
        data, states = data_of(other), conditions_of(other)
        done = any(name in states and states[name].status == "True" for name in ("QuotaReserved", "Finished"))
        if other is workload or done or (other.namespace, text(data, "spec", "queueName")) not in queues:
            continue
        priority, when = number(data, "spec", "priority"), other.metadata.creation_timestamp
        earlier = created is not None and when is not None and when < created
        ahead += priority > own or (priority == own and earlier)
    if not ahead:
        return []
    have = "has a higher priority or is older" if ahead == 1 else "have a higher priority or are older"
    said = f"{ahead} waiting Workload{'s' if ahead > 1 else ''} of the queue {have}"
    return [StageResult("queue", NOTE, said, (name_of(cluster),), owner=PLATFORM)]


def let_go(results: Iterable[StageResult]) -> list[StageResult]:
    """Return a Workload's results as not blocking, for a pod without Kueue's gate or a Job that is not suspended."""
    return [replace(stage, state=PASSED if stage.state == HELD else stage.state) for stage in results]


GROUP_ANNOTATION = ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name", "pod-group-name")
GROUP_LABELS = ("scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io")


def foreign_group(objects: Iterable[KubeObject], pod: Pod) -> tuple[str, KubeObject | None]:
    """Return the name of a pod's group of another scheduler ("" = none), and the group's object."""
    notes, labels = pod.metadata.annotations, pod.metadata.labels
    named = [notes.get(key, "") for key in GROUP_ANNOTATION] + [labels.get(key, "") for key in GROUP_LABELS]
    name = next(filter(None, named), "")
    if not name:
        return "", None
    groups = [item for item in objects if item.kind == "PodGroup" and foreign_owner(group_of(item))]
    return name, next((group for group in groups if (group.namespace, group.name) == (pod.namespace, name)), None)


def read_group(objects: Iterable[KubeObject], group: KubeObject, members: list[Pod]) -> list[StageResult]:
    """Return the state in another scheduler's PodGroup: phase, members and conditions, and its queue's numbers."""
    data, by = data_of(group), foreign_owner(group_of(group))
    least, phase = number(data, "spec", "minMember"), text(data, "status", "phase")
    bound = sum(bool(pod.spec.node_name) for pod in members)
    counted = f"{len(members)} of {least} members exist, {bound} {'has' if bound == 1 else 'have'} a node"
    said = next(
        (
            condition
            for condition in conditions_of(group).values()
            if condition.type in ("Unschedulable", "UnschedulableOnNodePool") and condition.status == "True"
        ),
        None,
    )
    if said is None:
        said_by_list = list(items(data, "status", "schedulingConditions"))
        message = text(said_by_list[-1], "message") if said_by_list else ""
        at = moment(said_by_list[-1].get("lastTransitionTime")) if said_by_list else None
    else:
        message, at = f"{said.reason}: {said.message}", said.last_transition_time
    names = (name_of(group),)
    if phase in ("Running", "Completed", "Finished", "Scheduled"):
        return [StageResult("gang", PASSED, f"the group is {phase}; {counted}", names, by, at)]
    stage = "queue" if phase == "Pending" and by == "Volcano" else "gang"
    told = f"the group is {phase or 'without a phase'}{f', {message}' if message else ''}; {counted}"
    found = [StageResult(stage, HELD, told, names, by, at, PLATFORM if stage == "queue" else YOU)]
    wanted = mapping(data, "spec", "minResources")
    queue_name = text(data, "spec", "queue")
    queue = next((item for item in of_group(objects, "volcano.sh", "Queue") if item.name == queue_name), None)
    if queue is not None:
        found.append(_volcano_queue(queue, wanted))
    return found


def _volcano_queue(queue: KubeObject, wanted: Mapping[str, Any]) -> StageResult:
    data = data_of(queue)
    state = text(data, "status", "state") or "without a state"
    lines = []
    for name, most in mapping(data, "spec", "capability").items():
        used, reported = quantity(look(data, "status", "allocated", name)), "allocated" in mapping(data, "status")
        asked = f", {quantity(wanted[name])} asked" if name in wanted else ""
        left = quantity(most) - used if quantity(most) > used else Quantity("0")
        lines.append(f"{left if reported else 'an unreported part'} of {quantity(most)} {name} left{asked}")
    said = f"Queue {queue.name} is {state}{': ' if lines else ''}{'; '.join(lines)}"
    return StageResult("queue", NOTE, said, (name_of(queue),), "Volcano", None, PLATFORM)


def read_node_makers(objects: Iterable[KubeObject]) -> list[StageResult]:
    """Return the state in Karpenter's NodePools and NodeClaims: reached limits, nodes that do not become ready."""
    found = []
    objects = list(objects)
    for pool in of_group(objects, "karpenter.sh", "NodePool"):
        data, ready = data_of(pool), conditions_of(pool).get("Ready")
        if ready is not None and ready.status == "False":
            said = f"NodePool {pool.name} is not ready, {ready.reason}: {ready.message}"
            found.append(StageResult("filters", NOTE, said, (name_of(pool),), "Karpenter", ready.last_transition_time))
        for name, most in mapping(data, "spec", "limits").items():
            used = quantity(look(data, "status", "resources", name))
            if not quantity(most) > used:
                said = f"NodePool {pool.name} has reached its limit: {used} of {quantity(most)} {name}"
                found.append(StageResult("filters", NOTE, said, (name_of(pool),), "Karpenter", None, PLATFORM))
    for claim in of_group(objects, "karpenter.sh", "NodeClaim"):
        states = conditions_of(claim)
        late = next(
            (
                states[t]
                for t in ("Launched", "Registered", "Initialized")
                if t in states and states[t].status != "True"
            ),
            None,
        )
        if late is not None:
            said = f"NodeClaim {claim.name} is not {late.type}, {late.reason}: {late.message}"
            found.append(StageResult("filters", NOTE, said, (name_of(claim),), "Karpenter", late.last_transition_time))
    return found


def read_keda(objects: Iterable[KubeObject], target: KubeObject) -> list[StageResult]:
    """Return the state in KEDA's ScaledObject of a workload: paused, inactive, or not ready."""
    found = []
    for scaled in of_group(objects, "keda.sh", "ScaledObject"):
        data = data_of(scaled)
        if (scaled.namespace, text(data, "spec", "scaleTargetRef", "name")) != (target.namespace, target.name):
            continue
        if (text(data, "spec", "scaleTargetRef", "kind") or "Deployment") != target.kind:
            continue
        states, names = conditions_of(scaled), (name_of(scaled),)
        for kind, value, said in (
            ("Paused", "True", "scaling is paused"),
            ("Ready", "False", "the ScaledObject is not ready"),
            ("Active", "False", "no trigger is active: the target is kept at its minimum"),
        ):
            condition = states.get(kind)
            if condition is not None and condition.status == value:
                words = f"{said}: {condition.message or condition.reason}"
                found.append(
                    StageResult("suspension", NOTE, words, names, "KEDA", condition.last_transition_time, "KEDA")
                )
    return found
