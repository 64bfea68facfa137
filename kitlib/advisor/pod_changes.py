"""Changes of the waiting pod itself, which its author writes into the template.

Fields that a controller writes are not changed: a DaemonSet's controller gives each pod the required node affinity for
its node. Values that the API server rejects are not proposed: host ports under hostNetwork equal the container's
ports, requests of extended resources and huge pages equal their limits, and requests respect the namespace's
LimitRanges.

Source: apis/core/validation ValidatePodSpec; daemon util ReplaceDaemonSetPodNodeNameNodeAffinity; limitranger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kitlib.advisor.change import Change
from kitlib.advisor.dump import Dump, unbound
from kitlib.advisor.findings import PLATFORM, YOU
from kitlib.api.core import LimitRange, Pod, Toleration, TopologySpreadConstraint, WeightedPodAffinityTerm
from kitlib.api.errors import KitError
from kitlib.api.podresources import pod_requests
from kitlib.api.policy import PriorityClass
from kitlib.api.resource import Format, Quantity
from kitlib.api.selectors import repels_scheduling, tolerates_all
from kitlib.apiserver.admission.limit_range import check
from kitlib.scheduler.scheduler import Scheduler

HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
INCLUSION = "NodeInclusionPolicyInPodTopologySpread"
PASSING = (
    "node.kubernetes.io/",
    "node.cloudprovider.kubernetes.io/",
    "karpenter.sh/",
    "ToBeDeletedByClusterAutoscaler",
    "DeletionCandidateOfClusterAutoscaler",
)
"""Prefixes of taints that a controller sets and removes; tolerating them does not help."""
CONTROL_PLANE = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")
SYSTEM_NAMESPACE = "kube-system"


def pod_changes(dump: Dump, pod: Pod, scheduler: Scheduler) -> Iterator[Change]:
    """Yield the single changes of the pod that are worth trying, the cheapest kind first."""
    yield from _tolerations(dump, pod, control_plane=False)
    yield from _constraints(dump, pod)
    if not is_of_daemon_set(pod):
        yield from _selectors(pod)
        yield from _node_affinity(pod)
    yield from _pod_affinities(pod)
    yield from _ports(pod)
    yield from _requests(dump, pod, scheduler)
    yield from _priorities(dump, pod)
    yield from _tolerations(dump, pod, control_plane=True)


def is_of_daemon_set(pod: Pod) -> bool:
    """Return whether a DaemonSet's controller has created the pod with a required node affinity."""
    return any(owner.controller and owner.kind == "DaemonSet" for owner in pod.metadata.owner_references)


def _tolerations(dump: Dump, pod: Pod, *, control_plane: bool) -> Iterator[Change]:
    seen: set[tuple[str, str, str]] = set()
    for node in dump.nodes:
        for taint in node.spec.taints:
            key = (taint.key, taint.value, taint.effect)
            if key in seen or taint.key.startswith(PASSING) or not repels_scheduling(taint):
                continue
            if (taint.key in CONTROL_PLANE) != control_plane or tolerates_all(
                pod.spec.tolerations, taint, dump.release
            ):
                continue
            seen.add(key)
            wanted = Toleration(key=taint.key, operator="Equal", value=taint.value, effect=taint.effect)
            if not taint.value:
                wanted = Toleration(key=taint.key, operator="Exists", effect=taint.effect)
            spelled = f"{taint.key}{'=' + taint.value if taint.value else ''}:{taint.effect}"

            def tolerate(changed: Pod, wanted: Toleration = wanted) -> None:
                changed.spec.tolerations = [*changed.spec.tolerations, wanted]

            owner = PLATFORM if control_plane else YOU
            yield Change(f"tolerate the taint {spelled}", "toleration", owner, tolerate)


def _constraints(dump: Dump, pod: Pod) -> Iterator[Change]:
    for i, constraint in enumerate(pod.spec.topology_spread_constraints):
        if constraint.when_unsatisfiable != "DoNotSchedule":
            continue
        key = constraint.topology_key

        def change(text: str, edit: Callable[[TopologySpreadConstraint], None], about: str = "", i: int = i) -> Change:
            def apply(changed: Pod) -> None:
                edit(changed.spec.topology_spread_constraints[i])

            return Change(text, "spread", pod=apply, about=about)

        if dump.release.enabled(INCLUSION):
            if constraint.node_taints_policy != "Honor":
                yield change(
                    f"count only nodes whose taints the pod tolerates (nodeTaintsPolicy: Honor of {key})",
                    lambda one: setattr(one, "node_taints_policy", "Honor"),
                )
            if constraint.node_affinity_policy == "Ignore":
                yield change(
                    f"count only nodes that the pod's node affinity matches (nodeAffinityPolicy: Honor of {key})",
                    lambda one: setattr(one, "node_affinity_policy", "Honor"),
                )
        domains = {node.metadata.labels[key] for node in dump.nodes if key in node.metadata.labels}
        if constraint.min_domains is not None and constraint.min_domains > len(domains) > 0:
            least = len(domains)
            yield change(
                f"lower minDomains of {key} to {least}",
                lambda one, n=least: setattr(one, "min_domains", n),  # type: ignore[misc]
            )
        for skew in (constraint.max_skew + 1, constraint.max_skew + 2):
            yield change(
                f"raise maxSkew of {key} to {skew}",
                lambda one, n=skew: setattr(one, "max_skew", n),  # type: ignore[misc]
                f"maxSkew {i}",
            )
        other = ZONE if key == HOSTNAME else HOSTNAME
        if len({node.metadata.labels.get(other) for node in dump.nodes} - {None}) > 1:
            yield change(f"spread over {other} instead of {key}", lambda one, k=other: setattr(one, "topology_key", k))  # type: ignore[misc]
        yield change(f"let {key} be spread with ScheduleAnyway", _soften)


def _soften(constraint: TopologySpreadConstraint) -> None:
    # minDomains is valid with DoNotSchedule only (validateMinDomains).
    constraint.when_unsatisfiable, constraint.min_domains = "ScheduleAnyway", None


def _selectors(pod: Pod) -> Iterator[Change]:
    for key, value in pod.spec.node_selector.items():

        def unselect(changed: Pod, key: str = key) -> None:
            changed.spec.node_selector.pop(key)

        yield Change(f"drop nodeSelector {key}={value}", "affinity", pod=unselect)


def _node_affinity(pod: Pod) -> Iterator[Change]:
    affinity = pod.spec.affinity
    if affinity is not None and affinity.node_affinity is not None and affinity.node_affinity.required is not None:

        def unbind(changed: Pod) -> None:
            changed.spec.affinity.node_affinity.required = None  # type: ignore[union-attr]

        yield Change("drop the required node affinity", "affinity", pod=unbind)


def _pod_affinities(pod: Pod) -> Iterator[Change]:
    affinity = pod.spec.affinity
    for side, name in (("pod_affinity", "pod affinity"), ("pod_anti_affinity", "pod anti-affinity")):
        terms = getattr(affinity, side, None)
        for i, term in enumerate(terms.required if terms is not None else ()):

            def prefer(changed: Pod, side: str = side, i: int = i) -> None:
                terms = getattr(changed.spec.affinity, side)
                softened = WeightedPodAffinityTerm(weight=100, pod_affinity_term=terms.required[i])
                terms.required = [*terms.required[:i], *terms.required[i + 1 :]]
                terms.preferred = [*terms.preferred, softened]

            yield Change(f"make the required {name} on {term.topology_key} a preference", "affinity", pod=prefer)


def _ports(pod: Pod) -> Iterator[Change]:
    """Drop the host ports; not under hostNetwork, where the API server sets each to the container's port."""
    if pod.spec.host_network or not any(p.host_port for c in pod.spec.containers for p in c.ports):
        return

    def close(changed: Pod) -> None:
        for container in changed.spec.containers:
            for port in container.ports:
                port.host_port = 0

    yield Change("drop the host ports", "port", pod=close)


def _requests(dump: Dump, pod: Pod, scheduler: Scheduler) -> Iterator[Change]:
    """Lower a request to the free amount of a node: the largest first, then that of other nodes."""
    asked = pod_requests(pod, release=dump.release)
    for name, amount in asked.items():
        if not any(name in c.resources.requests for c in pod.spec.containers):
            continue
        for most in [left for left in _room(scheduler, name) if 0 < left < amount.nano][:4]:
            if "/" in name and most < 10**9:
                continue  # extended resources are whole numbers

            def lower(changed: Pod, name: str = name, cut: int = amount.nano - most) -> None:
                holders = [c for c in changed.spec.containers if name in c.resources.requests]
                largest = max(holders, key=lambda c: c.resources.requests[name].nano)
                standing = largest.resources.requests[name]
                made = _floor(name, max(0, standing.nano - cut), standing.format)
                largest.resources.requests[name] = made
                # Other resources cannot be overcommitted: validation requires equal requests and limits
                # (IsOvercommitAllowed).
                if name in largest.resources.limits and (name not in ("cpu", "memory", "ephemeral-storage")):
                    largest.resources.limits[name] = made

            if _breaks_limit_range(dump, pod, lower):
                continue
            text = f"request {_floor(name, most, amount.format)} {name} instead of {amount}"
            yield Change(text, "request", pod=lower, about=f"request {name}")


def _breaks_limit_range(dump: Dump, pod: Pod, edit: Callable[[Pod], None]) -> bool:
    ranges = [limit_range for limit_range in dump.of(LimitRange) if limit_range.namespace == pod.namespace]
    if not ranges:
        return False
    changed = unbound(pod)
    edit(changed)
    try:
        check(changed, ranges)
    except KitError:
        return True
    return False


def _room(scheduler: Scheduler, name: str) -> list[int]:
    """Return the free amounts of nodes as the scheduler counts them, in billionths; distinct, the largest first."""
    table, nano = scheduler.snapshot, 10**6 if name == "cpu" else 10**9
    left = table.column(name, table.allocatable) - table.column(name, table.requested)
    return [amount * nano for amount in sorted(set(left.tolist()), reverse=True)]


def _floor(name: str, nano: int, notation: Format) -> Quantity:
    if name == "cpu":
        return Quantity.from_milli(nano // 10**6, notation)
    return Quantity.from_int(nano // 10**9, notation)


def _priorities(dump: Dump, pod: Pod) -> Iterator[Change]:
    """Use a higher priority class; system classes only for system pods and DaemonSets."""
    system = pod.namespace == SYSTEM_NAMESPACE or is_of_daemon_set(pod)
    classes = [
        priority_class for priority_class in dump.priority_classes if priority_class.value > (pod.spec.priority or 0)
    ]
    for one in sorted(classes, key=lambda c: c.value):
        if one.preemption_policy == "Never" or (one.name.startswith("system-") and not system):
            continue

        def raise_(changed: Pod, priority_class: PriorityClass = one) -> None:
            changed.spec.priority_class_name, changed.spec.priority = priority_class.name, priority_class.value
            changed.spec.preemption_policy = priority_class.preemption_policy

        text = f"use the priority class {one.name} ({one.value})"
        yield Change(text, "priority", pod=raise_, about="priority", preempts=True)
