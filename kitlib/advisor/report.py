"""A report about a cluster: waiting pods and causes, requests and capacity, usage, limits, budgets, quotas, findings.

    found = report(dump)
    found.findings, found.sections, found.exit_code("medium")

Every finding names its rule, the objects and the remedy. Waiting pods are explained as by `kitlib explain`, once for
each group of pods of one owner. The report needs only the dump.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from kitlib.advisor.dump import Dump
from kitlib.advisor.explanation import explain_pod
from kitlib.advisor.findings import Gap
from kitlib.advisor.findings import counted as number_of
from kitlib.advisor.node_room import NodeRoom, room_of, shown
from kitlib.advisor.other_pods import root_of
from kitlib.advisor.pod_usage import measured, stats_of
from kitlib.advisor.pressure import NodeUnderPressure, first_to_go
from kitlib.advisor.report_rules import HIGH, LOW, MEDIUM, Risk, findings_of
from kitlib.advisor.unreported import CLUSTER, UNKNOWN, counted_by, unreported
from kitlib.api.collector import collector_paused
from kitlib.api.core import TERMINAL_PHASES, Pod
from kitlib.api.policy import PodDisruptionBudget
from kitlib.api.quota import ResourceQuota
from kitlib.kubelet.config.settings import KubeletSettings
from kitlib.kubelet.qos.qos_class import get_pod_qos

WEIGHTS = (HIGH, MEDIUM, LOW)
"""Weights of findings in descending order."""
FIRST_NODES = 20
"""Maximum number of nodes whose order under memory pressure is shown."""
MOST_GROUPS = 200
"""Maximum number of groups of waiting pods that are explained, the largest first."""


@dataclass(frozen=True)
class Section:
    """A table of the report.

    Attributes:
        title: its heading.
        sentence: the result in one sentence.
        columns: headings of the columns.
        rows: cells as text.
    """

    title: str
    sentence: str
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()


@dataclass(frozen=True)
class WaitingPods:
    """Pods of one owner that wait for one cause.

    Attributes:
        owner: `Kind namespace/name` of the owner, or of a pod without one.
        pods: number of pods.
        example: `namespace/name` of the explained pod.
        verdict: verdict of its explanation.
        stage: the blocking stage.
        cause: text of the blocking stage's result.
        changed_by: the party that can change the result.
    """

    owner: str
    pods: int
    example: str
    verdict: str
    stage: str
    cause: str
    changed_by: str


@dataclass(frozen=True)
class ClusterReport:
    """A cluster at one moment.

    Attributes:
        at: the newest time in the dump; None = it has none.
        release: release of the rules.
        summary: the cluster in one sentence.
        findings: findings by descending weight.
        waiting: groups of waiting pods.
        nodes: capacity and requests by node.
        sections: tables in order.
        gaps: kinds and fields that answers depend on but do not take into account.
    """

    at: datetime | None
    release: str
    summary: str
    findings: tuple[Risk, ...] = ()
    waiting: tuple[WaitingPods, ...] = ()
    nodes: tuple[NodeRoom, ...] = ()
    sections: tuple[Section, ...] = ()
    gaps: tuple[Gap, ...] = field(default=())

    def exit_code(self, fail_on: str = "") -> int:
        """Return 1 if a finding has at least this weight; 0 = none has, or no weight is given."""
        if not fail_on:
            return 0
        bad = WEIGHTS[: WEIGHTS.index(fail_on) + 1]
        return int(any(finding.weight in bad for finding in self.findings))


@collector_paused()
def report(dump: Dump) -> ClusterReport:
    """Return the report about a cluster."""
    nodes = tuple(room_of(dump))
    waiting, gaps = _waiting(dump)
    findings = [*_waiting_findings(waiting), *findings_of(dump, nodes)]
    sections = (
        _waiting_section(waiting, len(dump.pending)),
        _node_section(nodes),
        _zone_section(dump, nodes),
        _room_section(nodes),
        _pressure_section(dump, nodes),
        _qos_section(dump),
        _budget_section(dump),
        _quota_section(dump),
    )
    live = [pod for pod in dump.pods if pod.status.phase not in TERMINAL_PHASES]
    placed = sum(bool(pod.spec.node_name) for pod in live)
    counted = Counter(finding.weight for finding in findings)
    summary = (
        f"{number_of(len(nodes), 'node')}, {number_of(placed, 'pod')} on {'it' if len(nodes) == 1 else 'them'}, "
        f"{len(dump.pending)} {'waits' if len(dump.pending) == 1 else 'wait'} for a node; findings: "
        f"{', '.join(f'{counted[weight]} {weight}' for weight in WEIGHTS)}."
    )
    gaps = tuple(dict.fromkeys([*gaps, *unreported(dump)]))
    ordered = sorted(findings, key=lambda risk: WEIGHTS.index(risk.weight))
    found = tuple(section for section in sections if section.rows or section.sentence)
    return ClusterReport(dump.newest_time, str(dump.release), summary, tuple(ordered), waiting, nodes, found, gaps)


def _waiting(dump: Dump) -> tuple[tuple[WaitingPods, ...], tuple[Gap, ...]]:
    groups: dict[tuple[str, str], list[Pod]] = defaultdict(list)
    for pod in dump.pending:
        above = root_of(dump, pod)
        owner = f"{above.kind} {pod.namespace}/{above.name}" if above is not None else f"Pod {pod.key}"
        # pods of one owner can wait at different stages, which gates and nominated nodes distinguish
        kind = f"{bool(pod.spec.scheduling_gates)} {pod.status.nominated_node_name} {pod.spec.node_selector}"
        groups[owner, kind].append(pod)
    scheduler = dump.scheduler()
    found, gaps = [], dict[Gap, None]()
    largest = sorted(groups.items(), key=lambda item: -len(item[1]))
    for (owner, _), pods in largest[:MOST_GROUPS]:
        first = pods[0]
        own = None if first.status.nominated_node_name else scheduler
        answer = explain_pod(dump, first, find_remedies=False, scheduler=own)
        held = answer.held
        cause, by = (str(held).rstrip("."), held.owner) if held is not None else ("", "")
        found.append(
            WaitingPods(owner, len(pods), first.key, answer.verdict, answer.stage, cause or "no stage holds it", by)
        )
        gaps |= dict.fromkeys(gap for gap in answer.gaps if gap.decides)
    return tuple(found), tuple(gaps)


def _waiting_findings(waiting: Sequence[WaitingPods]) -> Iterator[Risk]:
    for waiting_pods in waiting:
        if waiting_pods.stage:
            number = f"{waiting_pods.pods} pods" if waiting_pods.pods > 1 else "one pod"
            said = f"{waiting_pods.owner}: {number} held at the stage {waiting_pods.stage}: {waiting_pods.cause}"
            way = f"kitlib explain {waiting_pods.example} names changes that let it in"
            yield Risk(HIGH, "pods wait", said, (waiting_pods.owner,), way)


def _waiting_section(waiting: Sequence[WaitingPods], total: int) -> Section:
    if not total:
        return Section("What waits", "No pod waits for a node.")
    stages = Counter[str]()
    for one in waiting:
        stages[one.stage or "no stage"] += one.pods
    counted = ", ".join(f"{number} at {stage}" for stage, number in stages.most_common())
    rows = [
        (
            str(waiting_pods.pods),
            waiting_pods.owner,
            waiting_pods.stage or waiting_pods.verdict,
            waiting_pods.cause,
            waiting_pods.changed_by,
        )
        for waiting_pods in waiting
    ]
    return Section("What waits", f"By stage: {counted}.", ("pods", "owner", "stage", "cause", "changed by"), rows)


def _node_section(nodes: Sequence[NodeRoom]) -> Section:
    rows = [
        (
            node.name,
            node.zone,
            f"{node.pods}/{node.most_pods}",
            _part(node, "cpu"),
            _part(node, "memory"),
            _limits(node),
            shown("memory", node.used_memory) if node.used_memory is not None else "",
            ", ".join(node.conditions),
        )
        for node in nodes
    ]
    columns = (
        "node",
        "zone",
        "pods",
        "CPU requested",
        "memory requested",
        "memory limits",
        "memory used",
        "conditions",
    )
    measured = any(node.used_memory is not None for node in nodes)
    hint = "" if measured else " Use is not in the dump; kubectl get pods.metrics.k8s.io -A -o json adds it."
    return Section("Requests and capacity by node", f"Percentages are of allocatable.{hint}", columns, rows)


def _zone_section(dump: Dump, nodes: Sequence[NodeRoom]) -> Section:
    zones: dict[str, list[NodeRoom]] = defaultdict(list)
    for node in nodes:
        zones[node.zone].append(node)
    if len(zones) < 2:
        return Section("Zones", "")
    rows = []
    for zone, own in sorted(zones.items()):
        parts = [f"{_share(sum(o.requested[k] for o in own), sum(o.allocatable[k] for o in own))}" for k in _KINDS]
        rows.append((zone or "(none)", str(len(own)), str(sum(o.pods for o in own)), *parts))
    counts = [sum(o.pods for o in own) for own in zones.values()]
    said = (
        f"The fullest zone has {max(counts)} pods, the emptiest {min(counts)}: a skew of {max(counts) - min(counts)}."
    )
    return Section("Zones", said, ("zone", "nodes", "pods", "CPU requested", "memory requested"), rows)


_KINDS = ("cpu", "memory")


def _room_section(nodes: Sequence[NodeRoom]) -> Section:
    open_nodes = [node for node in nodes if node.schedulable]
    if not open_nodes:
        return Section("The largest pod that fits", "No node takes pods.")
    rows = []
    for kind in _KINDS:
        best = max(open_nodes, key=lambda node_room: node_room.free(kind))
        total = sum(max(0, node.free(kind)) for node in open_nodes)
        rows.append((kind, shown(kind, best.free(kind)), best.name, shown(kind, total), _share(best.free(kind), total)))
    said = "By requests alone, without taints, affinity and volumes; one pod cannot use the free room of several nodes."
    columns = ("resource", "largest on one node", "node", "free in all", "largest / all")
    return Section("The largest pod that fits", said, columns, rows)


def _qos_section(dump: Dump) -> Section:
    by: dict[str, Counter[str]] = defaultdict(Counter)
    for pod in dump.pods:
        if pod.status.phase not in TERMINAL_PHASES:
            by[pod.namespace][get_pod_qos(pod, dump.release)] += 1
    classes = ("Guaranteed", "Burstable", "BestEffort")
    rows = [(name, *(str(own[class_]) for class_ in classes)) for name, own in sorted(by.items())]
    said = (
        "BestEffort pods get oom_score_adj 1000 and are killed and evicted first; Guaranteed ones get -997; Burstable "
        "ones 1000 less the part of the machine's memory that they request, in thousandths."
    )
    return Section("QoS classes by namespace", said, ("namespace", *classes), rows)


def _pressure_section(dump: Dump, nodes: Sequence[NodeRoom]) -> Section:
    """Return the first victims on each node by the kubelet's rank and by the kernel's."""
    known = measured(dump)
    on: dict[str, list[Pod]] = defaultdict(list)
    for pod in dump.pods:
        if pod.spec.node_name and pod.status.phase not in TERMINAL_PHASES:
            on[pod.spec.node_name].append(pod)
    rows = []
    fullest = {node.name: node.memory_limits / (node.allocatable["memory"] or 1) for node in nodes if node.pods}
    named = {node.name: node for node in dump.nodes}
    for name in sorted(fullest, key=lambda one: -fullest[one])[:FIRST_NODES]:
        machine = NodeUnderPressure(named[name], KubeletSettings(), dump.release)
        if machine.node.status.capacity or machine.node.status.allocatable:
            stats, _ = stats_of(on[name], known, {}, "memory")
            evicted, killed = first_to_go(machine, on[name], stats)
            rows.append((name, ", ".join(evicted), ", ".join(killed)))
    figures = "by the memory that PodMetrics report" if known else "as if each pod used what it requests"
    said = f"The first three pods and containers, {figures}; the {FIRST_NODES} nodes with the largest limits."
    return Section("Who goes first when memory is short", said, ("node", "evicted first", "OOM-killed first"), rows)


_NONE = "-"
"""Text of a number that is not known."""


def _budget_section(dump: Dump) -> Section:
    rows = [
        (budget.key, *_budget_numbers(dump, budget), counted_by(dump, budget))
        for budget in sorted(dump.of(PodDisruptionBudget), key=lambda budget: budget.status.disruptions_allowed)
    ]
    blocked, unknown = sum(row[3] == "0" for row in rows), sum(row[3] == _NONE for row in rows)
    said = f"{blocked} of {len(rows)} allow no disruption now." if rows else "There is no disruption budget."
    said += f" The numbers of {unknown} are not known." if unknown else ""
    columns = ("budget", "healthy", "needed", "disruptions allowed", "counted by")
    return Section("Disruption budgets", said, columns, rows)


def _budget_numbers(dump: Dump, budget: PodDisruptionBudget) -> tuple[str, str, str]:
    """Return the healthy and expected pods, the needed ones, and the allowed disruptions, as text."""
    if counted_by(dump, budget) == UNKNOWN:
        return _NONE, _NONE, _NONE
    status = budget.status
    healthy = f"{status.current_healthy}/{status.expected_pods}"
    return healthy, str(status.desired_healthy), str(status.disruptions_allowed)


def _quota_section(dump: Dump) -> Section:
    rows = []
    for quota in dump.of(ResourceQuota):
        for name, hard in sorted(quota.status.hard.items()):
            used = quota.status.used.get(name)
            part = used.milli_value() / hard.milli_value() if used is not None and hard.milli_value() else 0.0
            numbers = (str(used), str(hard), f"{part:.0%}") if used is not None else (_NONE, str(hard), _NONE)
            rows.append((part, (quota.key, name, *numbers)))
    rows.sort(key=lambda row: -row[0])
    said = "" if rows else "There is no resource quota."
    by = [one for one in dump.of(ResourceQuota) if counted_by(dump, one) != CLUSTER]
    said += (
        f"The cluster has not counted {', '.join(one.key for one in by)} yet; read objects are counted." if by else ""
    )
    return Section("Quotas", said, ("quota", "resource", "used", "hard", "part"), [row for _, row in rows])


def _part(node_room: NodeRoom, kind: str) -> str:
    return (
        f"{shown(kind, node_room.requested[kind])} ({_share(node_room.requested[kind], node_room.allocatable[kind])})"
    )


def _limits(node_room: NodeRoom) -> str:
    unlimited = f", {node_room.without_limit} pods without" if node_room.without_limit else ""
    share = _share(node_room.memory_limits, node_room.allocatable["memory"])
    return f"{shown('memory', node_room.memory_limits)} ({share}){unlimited}"


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else "-"


def as_data(found: ClusterReport) -> dict[str, Any]:
    """Return a report as plain data."""
    return {
        "at": found.at.isoformat() if found.at is not None else None,
        "release": found.release,
        "summary": found.summary,
        "findings": [finding.as_data() for finding in found.findings],
        "waiting": [
            {
                "owner": waiting_pods.owner,
                "pods": waiting_pods.pods,
                "example": waiting_pods.example,
                "verdict": waiting_pods.verdict,
                "stage": waiting_pods.stage,
                "cause": waiting_pods.cause,
                "changedBy": waiting_pods.changed_by,
            }
            for waiting_pods in found.waiting
        ],
        "tables": [
            {"title": s.title, "sentence": s.sentence, "columns": list(s.columns), "rows": [list(r) for r in s.rows]}
            for s in found.sections
        ],
        "notModelled": [{"kind": g.kind, "field": g.field, "why": g.why} for g in found.gaps],
    }
