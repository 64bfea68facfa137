"""`kubectl describe node` from a Node, its pods and its events: capacity, allocatable, and allocated resources.

Percentages are of allocatable, truncated. Limits may exceed 100 (overcommitment).

Source: kubectl describe.go (describeNode, describeNodeResource, getPodsTotalRequestsAndLimits), duration.HumanDuration.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from kitlib.api.core import TERMINAL_PHASES, Event, Node, Pod, ResourceList
from kitlib.api.duration import human_duration
from kitlib.api.podresources import add_to, pod_limits, pod_requests
from kitlib.api.resource import Quantity
from kitlib.views.tabs import align

TIME = "%a, %d %b %Y %H:%M:%S %z"
_ROLE = "node-role.kubernetes.io/"
_STANDARD = ("cpu", "memory", "ephemeral-storage", "storage", "pods")
_INFO = (
    ("Machine ID", "machineID"),
    ("System UUID", "systemUUID"),
    ("Boot ID", "bootID"),
    ("Kernel Version", "kernelVersion"),
    ("OS Image", "osImage"),
    ("Operating System", "operatingSystem"),
    ("Architecture", "architecture"),
    ("Container Runtime Version", "containerRuntimeVersion"),
    ("Kubelet Version", "kubeletVersion"),
)
_LEASE = (("HolderIdentity", "holderIdentity"), ("AcquireTime", "acquireTime"), ("RenewTime", "renewTime"))
ZERO = Quantity("0")


def describe_node(
    node: Node,
    pods: Iterable[Pod],
    events: Sequence[Event] = (),
    now: datetime | None = None,
    lease: Mapping[str, str] | None = None,
) -> str:
    """Return the text that `kubectl describe node NAME` prints.

    Args:
        node: the node with its status.
        pods: any pods; those of this node that are not terminated are listed.
        events: events about the node, oldest first.
        now: reference time for ages; None = the latest time in the objects.
        lease: the specification of the node's Lease; None = no Lease.
    """
    there = [p for p in pods if p.spec.node_name == node.name and p.status.phase not in TERMINAL_PHASES]
    moment = now or _latest(node, there, events)
    parts = [_head(node, lease), _conditions(node), _addresses(node), _resources("Capacity", node.status.capacity)]
    parts += [_resources("Allocatable", node.status.allocatable), _info(node), _pods(node, there, moment)]
    parts += [_allocated(node, there), describe_events(events, moment)]
    return align("".join(parts))


def allocated(node: Node, pods: Iterable[Pod]) -> tuple[ResourceList, ResourceList]:
    """Return the sums of the pods' requests and limits. Source: getPodsTotalRequestsAndLimits."""
    requests: ResourceList = {}
    limits: ResourceList = {}
    for pod in pods:
        add_to(requests, pod_requests(pod))
        add_to(limits, pod_limits(pod))
    return requests, limits


def percent(part: Quantity, whole: Quantity | None, *, milli: bool = False) -> int:
    """Return `part` as a percentage of `whole`, truncated; 0 without a whole."""
    of = 0 if whole is None else whole.milli_value() if milli else whole.value()
    return int((part.milli_value() if milli else part.value()) / of * 100) if of else 0


def _head(node: Node, lease: Mapping[str, str] | None) -> str:
    meta = node.metadata
    roles = sorted(key.removeprefix(_ROLE) for key in meta.labels if key.startswith(_ROLE))
    created = meta.creation_timestamp.strftime(TIME) if meta.creation_timestamp else "<unset>"
    taints = [f"{t.key}={t.value}:{t.effect}" if t.value else f"{t.key}:{t.effect}" for t in node.spec.taints]
    return (
        f"Name:\t{node.name}\nRoles:\t{','.join(roles) or '<none>'}\n"
        + _listed("Labels:", [f"{k}={v}" for k, v in sorted(meta.labels.items())])
        + _listed("Annotations:", [f"{k}: {v}" for k, v in sorted(meta.annotations.items())])
        + f"CreationTimestamp:\t{created}\n"
        + _listed("Taints:", taints)
        + f"Unschedulable:\t{str(node.spec.unschedulable).lower()}\n"
        + "Lease:\n"
        + "".join(f"  {name}:\t{(lease or {}).get(key) or '<unset>'}\n" for name, key in _LEASE)
    )


def _listed(name: str, values: list[str]) -> str:
    if not values:
        return f"{name}\t<none>\n"
    return f"{name}\t{values[0]}\n" + "".join(f"\t{value}\n" for value in values[1:])


def _conditions(node: Node) -> str:
    if not node.status.conditions:
        return ""
    head = ("Type", "Status", "LastHeartbeatTime", "LastTransitionTime", "Reason", "Message")
    lines = [head, tuple("-" * len(name) for name in head)]
    lines += [
        (c.type, c.status, _time(c.last_heartbeat_time), _time(c.last_transition_time), c.reason, c.message)
        for c in node.status.conditions
    ]
    return "Conditions:\n" + "".join("  " + "\t".join(line) + "\n" for line in lines)


def _time(moment: datetime | None) -> str:
    return moment.strftime(TIME) if moment else "<unset>"


def _addresses(node: Node) -> str:
    lines = "".join(f"  {a.get('type', '')}:\t{a.get('address', '')}\n" for a in node.status.addresses)
    return f"Addresses:\n{lines}"


def _resources(title: str, resources: ResourceList) -> str:
    return f"{title}:\n" + "".join(f"  {name}:\t{resources[name]}\n" for name in sorted(resources))


def _info(node: Node) -> str:
    known = node.status.node_info or {}
    lines = "".join(f"  {title}:\t{known.get(name, '')}\n" for title, name in _INFO)
    spec = node.spec
    named = (("PodCIDR", spec.pod_cidr), ("PodCIDRs", spec.pod_cidr), ("ProviderID", spec.provider_id))
    return f"System Info:\n{lines}" + "".join(f"{name}:\t{value}\n" for name, value in named if value)


def _pods(node: Node, pods: list[Pod], now: datetime | None) -> str:
    rows = [
        "  Namespace\tName\t\tCPU Requests\tCPU Limits\tMemory Requests\tMemory Limits\tAge",
        "  ---------\t----\t\t------------\t----------\t---------------\t-------------\t---",
    ]
    whole = node.status.allocatable
    for pod in sorted(pods, key=lambda p: (p.namespace, p.name)):
        requests, limits = pod_requests(pod), pod_limits(pod)
        cells = [
            f"{resources.get(name, ZERO)} ({percent(resources.get(name, ZERO), whole.get(name), milli=name == 'cpu')}%)"
            for name in ("cpu", "memory")
            for resources in (requests, limits)
        ]
        rows.append(f"  {pod.namespace}\t{pod.name}\t\t" + "\t".join(cells) + f"\t{_age(pod, now)}")
    return f"Non-terminated Pods:\t({len(pods)} in total)\n" + "\n".join(rows) + "\n"


def _age(pod: Pod, now: datetime | None) -> str:
    created = pod.metadata.creation_timestamp
    return human_duration((now - created).total_seconds()) if now and created else "<unknown>"


def _allocated(node: Node, pods: list[Pod]) -> str:
    requests, limits = allocated(node, pods)
    whole = node.status.allocatable
    rows = [
        "Allocated resources:",
        "  (Total limits may be over 100 percent, i.e., overcommitted.)",
        "  Resource\tRequests\tLimits",
        "  --------\t--------\t------",
    ]
    huge = sorted(name for name in whole if name.startswith("hugepages-"))
    for name in ("cpu", "memory", "ephemeral-storage", *huge):
        cells = [
            f"{r.get(name, ZERO)} ({percent(r.get(name, ZERO), whole.get(name), milli=name == 'cpu')}%)"
            for r in (requests, limits)
        ]
        rows.append(f"  {name}\t{cells[0]}\t{cells[1]}")
    for name in sorted(whole):
        if name not in _STANDARD and name not in huge:
            rows.append(f"  {name}\t{requests.get(name, ZERO)}\t{limits.get(name, ZERO)}")
    return "\n".join(rows) + "\n"


def describe_events(events: Sequence[Event], now: datetime | None) -> str:
    if not events:
        return "Events:\t<none>\n"
    rows = ["Events:", "  Type\tReason\tAge\tFrom\tMessage", "  ----\t------\t----\t----\t-------"]
    for event in events:
        age = _since(event.first_timestamp, now)
        if event.count > 1:
            age = f"{_since(event.last_timestamp, now)} (x{event.count} over {age})"
        source = str(event.source.get("component", ""))
        rows.append(f"  {event.type}\t{event.reason}\t{age}\t{source}\t{event.message.strip()}")
    return "\n".join(rows) + "\n"


def _since(moment: datetime | None, now: datetime | None) -> str:
    return human_duration((now - moment).total_seconds()) if now and moment else "<unknown>"


def _latest(node: Node, pods: list[Pod], events: Sequence[Event]) -> datetime | None:
    moments: list[Any] = [node.metadata.creation_timestamp, *(p.metadata.creation_timestamp for p in pods)]
    moments += [event.last_timestamp for event in events]
    found = [m for m in moments if m is not None]
    return max(found) + timedelta(0) if found else None
