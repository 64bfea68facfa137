"""The objects and numbers behind a filter's reason: a port's holder, an anti-affinity's partner, free amounts.

    blocked(scheduler, decision, pod)       # the obstacles beside the reasons
    blocking_pods(scheduler, decision, pod) # pods of which one alone may be the obstacle

Source: the plugins of kube-scheduler that are named at each function.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from kitlib.advisor.findings import NOTE, PLATFORM, TEAM, YOU, StageResult
from kitlib.api.core import Pod
from kitlib.api.persistent_volume import class_name
from kitlib.api.resource import Quantity
from kitlib.api.selectors import usable_on
from kitlib.scheduler.decision import Decision
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.snapshot import Snapshot
from kitlib.scheduler.framework.volumes import claim_names
from kitlib.scheduler.plugins.node_volume_limits import NodeVolumeLimits, attach_counts
from kitlib.scheduler.scheduler import Scheduler

Column = NDArray[np.int64]
SHOWN = 3
"""Maximum number of objects and nodes listed for each kind of obstacle."""
VOLUME_PLUGINS = frozenset({"VolumeBinding", "VolumeZone", "VolumeRestrictions", "NodeVolumeLimits"})
ANY_ADDRESS = "0.0.0.0"


def rejected_by(decision: Decision) -> dict[str, list[int]]:
    """Return plugin -> rows of the nodes that it rejects."""
    found: dict[str, list[int]] = {}
    if decision.filters is None:
        return found
    if not decision.filters.status.ok:
        return {decision.filters.status.plugin: list(range(len(decision.nodes)))}
    for row in range(len(decision.nodes)):
        for status in decision.statuses_at(row):
            found.setdefault(status.plugin, []).append(row)
    return found


def blocked(scheduler: Scheduler, decision: Decision, pod: Pod) -> Iterator[StageResult]:
    """Yield the obstacles behind the filters' reasons: blocking objects and numbers, for the first nodes of each."""
    info = PodInfo(pod, scheduler.release)
    rejected = rejected_by(decision)
    for plugin, name in (("NodePorts", _ports), ("InterPodAffinity", _partners), ("VolumeRestrictions", _claim_users)):
        if plugin in rejected:
            yield from name(scheduler, info, rejected[plugin])
    if "NodeResourcesFit" in rejected:
        yield from _amounts(scheduler, info, rejected["NodeResourcesFit"])
        yield from _resizes(scheduler, rejected["NodeResourcesFit"])
    if "NodeVolumeLimits" in rejected:
        yield from _attached(scheduler, info, rejected["NodeVolumeLimits"])
    if "PodTopologySpread" in rejected:
        yield from _skew(scheduler, info)
    if VOLUME_PLUGINS & set(rejected):
        yield from _claims(scheduler, pod)


def blocking_pods(scheduler: Scheduler, decision: Decision, pod: Pod) -> list[tuple[Pod, str]]:
    """Return pods that block by a port, a claim or an anti-affinity, and the conflict; each once, 20 at most."""
    info = PodInfo(pod, scheduler.release)
    rejected = rejected_by(decision)
    found: dict[str, tuple[Pod, str]] = {}
    for plugin, search in (
        ("NodePorts", _port_holders),
        ("InterPodAffinity", _anti_partners),
        ("VolumeRestrictions", _users_of_claims),
    ):
        for _, other, why in search(scheduler, info, rejected.get(plugin, [])):
            found.setdefault(other.key, (other, why))
            if len(found) >= 20:
                return list(found.values())
    return list(found.values())


Blocking = Iterator[tuple[int, Pod, str]]
"""Row of the node, the blocking pod, and the conflict."""


def _listed(stage: str, found: Blocking, owner: str, names: list[str]) -> Iterator[StageResult]:
    """Yield one result for each kind of obstacle, with the first pods that cause it."""
    by_why: dict[str, list[tuple[int, Pod]]] = {}
    for row, pod, why in found:
        by_why.setdefault(why, []).append((row, pod))
    for why, pods in by_why.items():
        shown = ", ".join(f"{pod.key} on {names[row]}" for row, pod in pods[:SHOWN])
        more = f" and {len(pods) - SHOWN} more" if len(pods) > SHOWN else ""
        objects = tuple(f"Pod {pod.key}" for _, pod in pods)
        yield StageResult(stage, NOTE, f"{why}: {shown}{more}", objects, owner=owner)


def _port_holders(scheduler: Scheduler, info: PodInfo, rows: list[int]) -> Blocking:
    """Return the pods that use a requested host port. Source: framework HostPortInfo.CheckConflict."""
    for row in rows:
        for other in scheduler.snapshot.pods[row].values():
            for address, protocol, port in info.host_ports:
                if any(
                    taken[1:] == (protocol, port) and (ANY_ADDRESS in (address, taken[0]) or address == taken[0])
                    for taken in other.host_ports
                ):
                    yield row, other.pod, f"host port {port}/{protocol} is taken by"


def _ports(scheduler: Scheduler, info: PodInfo, rows: list[int]) -> Iterator[StageResult]:
    yield from _listed("filters", _port_holders(scheduler, info, rows), TEAM, scheduler.snapshot.names)


def _anti_partners(scheduler: Scheduler, info: PodInfo, rows: list[int]) -> Blocking:
    """Return the pods of an anti-affinity, the pod's own or theirs, in the domain of a rejected node."""
    namespaces = scheduler.context.namespaces
    own = [
        t.unrolled(namespaces, keep_selector=scheduler.release.enabled("KitNamespaceSelectorAskedTwice"))
        for t in info.required_anti_affinity
    ]
    snapshot, places = scheduler.snapshot, dict[str, set[int]]()
    for other in snapshot.every_pod():
        terms = [(t, "the pod's anti-affinity") for t in own if t.matches(other.pod, namespaces)]
        terms += [(t, "anti-affinity of") for t in other.required_anti_affinity if t.matches(info.pod, namespaces)]
        for term, whose in terms:
            codes = snapshot.label(term.topology_key)[0]
            if term.topology_key not in places:
                places[term.topology_key] = set(codes[rows].tolist())
            if codes[other.row] >= 0 and int(codes[other.row]) in places[term.topology_key]:
                words = whose if whose.endswith("of") else f"{whose} forbids the same {term.topology_key} as"
                tail = f" (by {term.topology_key})" if whose.endswith("of") else ""
                yield other.row, other.pod, f"{words}{tail}"


def _partners(scheduler: Scheduler, info: PodInfo, rows: list[int]) -> Iterator[StageResult]:
    yield from _listed("filters", _anti_partners(scheduler, info, rows), TEAM, scheduler.snapshot.names)
    namespaces = scheduler.context.namespaces
    for term in info.required_affinity:
        keep = scheduler.release.enabled("KitNamespaceSelectorAskedTwice")
        wanted = term.unrolled(namespaces, keep_selector=keep)
        if not any(wanted.matches(other.pod, namespaces) for other in scheduler.snapshot.every_pod()):
            said = f"no pod on a node matches the required pod affinity on {term.topology_key}"
            yield StageResult("filters", NOTE, said, owner=YOU)


def _users_of_claims(scheduler: Scheduler, info: PodInfo, rows: list[int]) -> Blocking:
    """Return the pods that use a ReadWriteOncePod claim. Source: volumerestrictions isPVCUsedByPods."""
    context, namespace = scheduler.context, info.pod.namespace
    claims = [(name, context.volumes.claim(namespace, name)) for name in claim_names(info.pod)]
    once = {name for name, claim in claims if claim is not None and "ReadWriteOncePod" in claim.spec.access_modes}
    if not once:
        return
    for other in scheduler.snapshot.every_pod():
        if other.pod.namespace == namespace:
            for name in once & set(claim_names(other.pod)):
                yield other.row, other.pod, f"the claim {name} (ReadWriteOncePod) is used by"


def _claim_users(scheduler: Scheduler, info: PodInfo, rows: list[int]) -> Iterator[StageResult]:
    yield from _listed("volumes", _users_of_claims(scheduler, info, rows), TEAM, scheduler.snapshot.names)


def amounts_on(table: Snapshot, resource: str) -> tuple[Column, Column]:
    """Return the allocatable amount of a resource and the requested amount for each node; `pods` counts pods."""
    if resource == "pods":
        return table.allowed_pods, table.pod_count
    return table.column(resource, table.allocatable), table.column(resource, table.requested)


def shown_amount(resource: str, amount: int) -> str:
    """Return an amount of the scheduler's tables (milli-CPU, else whole units) in a manifest's notation."""
    return str(Quantity.from_milli(amount, "DecimalSI") if resource == "cpu" else _bytes(resource, amount))


def _bytes(resource: str, amount: int) -> Quantity:
    binary = resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-")
    return Quantity.from_int(amount, "BinarySI" if binary else "DecimalSI")


def _amounts(scheduler: Scheduler, info: PodInfo, rows: list[int]) -> Iterator[StageResult]:
    """Yield for each insufficient resource the most that a rejected node has left, and the request."""
    table = scheduler.snapshot
    for name, asked in {**info.requests, "pods": 1}.items():
        most, used = (column[rows] for column in amounts_on(table, name))
        left = most - used
        if asked <= 0 or not (left < asked).any():
            continue
        best = int(np.argmax(left))
        node = table.names[rows[best]]
        if not most.any():
            said = f"no rejected node offers {name}; {shown_amount(name, asked)} asked"
        else:
            said = (
                f"{name}: {shown_amount(name, asked)} asked; the most that is left on a rejected node is "
                f"{shown_amount(name, max(0, int(left[best])))} of {shown_amount(name, int(most[best]))} on {node}"
            )
        yield StageResult("filters", NOTE, said, (f"Node {node}",), owner=PLATFORM)


def _resizes(scheduler: Scheduler, rows: list[int]) -> Iterator[StageResult]:
    """Yield the resizes in progress that occupy room: the larger of desired and allocated amounts counts."""
    for row in rows:
        for other in scheduler.snapshot.pods[row].values():
            waiting = resize_of(other.pod)
            if waiting:
                said = f"the resize of {other.pod.key} on {scheduler.snapshot.names[row]} is {waiting}, and counts"
                counted = ", ".join(f"{n} {shown_amount(n, a)}" for n, a in other.requests.items())
                yield StageResult("filters", NOTE, f"{said} {counted}", (f"Pod {other.pod.key}",), owner=TEAM)


def resize_of(pod: Pod) -> str:
    """Return the state of a pod's resize: `Deferred`, `Infeasible`, `in progress`; "" = none."""
    for condition in pod.status.conditions:
        if condition.status == "True" and condition.type == "PodResizePending":
            return condition.reason or "pending"
        if condition.status == "True" and condition.type == "PodResizeInProgress":
            return f"in progress ({condition.reason})" if condition.reason else "in progress"
    return pod.status.resize


def _attached(scheduler: Scheduler, info: PodInfo, rows: list[int]) -> Iterator[StageResult]:
    """Yield the nodes at their limit of attached volumes. Source: nodevolumelimits csi.go."""
    state = NodeVolumeLimits().pre_filter(info, scheduler.context).state
    for row in rows[:SHOWN]:
        for driver, attached, needed, limit in attach_counts(state, row, scheduler.context):
            if attached + needed > limit:
                node = scheduler.snapshot.names[row]
                said = f"{node}: {attached} of {limit} volumes of {driver} are attached, {needed} asked"
                yield StageResult("volumes", NOTE, said, (f"Node {node}", f"CSINode {node}"), owner=TEAM)


def _skew(scheduler: Scheduler, info: PodInfo) -> Iterator[StageResult]:
    """Yield the matching pods in each domain of every required constraint."""
    from kitlib.api.selectors import LabelSelectorMatcher

    snapshot = scheduler.snapshot
    for constraint in info.pod.spec.topology_spread_constraints:
        if constraint.when_unsatisfiable != "DoNotSchedule":
            continue
        codes, values = snapshot.label(constraint.topology_key)
        counts = dict.fromkeys((values[code] for code in codes.tolist() if code >= 0), 0)
        matcher = LabelSelectorMatcher(constraint.label_selector)
        for other in snapshot.every_pod():
            if other.pod.namespace == info.pod.namespace and matcher.matches(other.pod.metadata.labels):
                code = int(codes[other.row])
                # podtopologyspread does not count terminating pods (countPodsMatchSelector, issue 87621).
                if code >= 0 and other.pod.metadata.deletion_timestamp is None:
                    counts[values[code]] += 1
        listed = sorted(counts.items(), key=lambda item: (item[1], item[0]))
        shown = [f"{name} {count}" for name, count in (listed if len(listed) < 7 else [*listed[:3], *listed[-3:]])]
        least = f", minDomains {constraint.min_domains}" if constraint.min_domains else ""
        rule = f"{constraint.topology_key} (maxSkew {constraint.max_skew}{least})"
        said = f"matching pods by {rule}: {', '.join(shown) or 'no domain'}"
        yield StageResult("filters", NOTE, said, owner=YOU)


def _claims(scheduler: Scheduler, pod: Pod) -> Iterator[StageResult]:
    """Yield the state of each claim of the pod, and the nodes that can use its volume."""
    context = scheduler.context
    for name in claim_names(pod):
        claim, about = context.volumes.claim(pod.namespace, name), f"PersistentVolumeClaim {pod.namespace}/{name}"
        if claim is None:
            yield StageResult("volumes", NOTE, f"the claim {name} does not exist", (about,), owner=YOU)
            continue
        volume = context.volumes.volumes.get(claim.spec.volume_name)
        if volume is not None:
            nodes = [node.name for node in scheduler.snapshot.nodes if usable_on(volume, node)]
            shown = f"{', '.join(nodes[:SHOWN])}{f' and {len(nodes) - SHOWN} more' if len(nodes) > SHOWN else ''}"
            said = f"the volume {volume.name} of claim {name} can be used from {shown or 'no node'}"
            yield StageResult("volumes", NOTE, said, (about, f"PersistentVolume {volume.name}"), owner=PLATFORM)
            continue
        made = context.volumes.classes.get(class_name(claim))
        kind = f"StorageClass {class_name(claim)!r}"
        if claim.spec.volume_name:
            said = f"claim {name} names the volume {claim.spec.volume_name}, which does not exist"
        elif made is None:
            said = f"claim {name} is not bound, and its {kind} does not exist"
        elif made.volume_binding_mode != "WaitForFirstConsumer":
            said = (
                f"claim {name} is not bound; {kind} ({made.provisioner}) binds it at once, before the pod is scheduled"
            )
        elif made.provisioner == "kubernetes.io/no-provisioner":
            free = [
                v.name
                for v in context.volumes.volumes.values()
                if class_name(v) == class_name(claim) and v.spec.claim_ref is None
            ]
            said = (
                f"claim {name} needs one of the volumes of {kind}: {', '.join(sorted(free)[:SHOWN]) or 'none is free'}"
            )
        else:
            asked = claim.spec.resources.requests.get("storage")
            published = [
                c.capacity
                for c in context.volumes.capacities
                if c.storage_class_name == class_name(claim) and c.capacity is not None
            ]
            most = max(published, key=lambda q: q.nano, default=None)
            driver = context.volumes.drivers.get(made.provisioner)
            limited = driver is not None and driver.spec.storage_capacity
            room = f"; the most that {made.provisioner} publishes as free is {most or 'nothing'}" if limited else ""
            said = f"claim {name} asks {asked or 'no amount'} of {kind}{room}"
        yield StageResult("volumes", NOTE, said, (about,), owner=PLATFORM)
