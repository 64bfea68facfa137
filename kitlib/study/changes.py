"""Differences for given objects between two releases: placements, messages, classes, cgroup values, defaults.

Each pod is decided under both releases in its current state, and each node's cgroups are computed under both. Each
difference is one `ReleaseChange`, with the gates or behaviours that cause it. Gates with different defaults that change
none of the objects are listed as well, so that unused features are not hidden.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from kitlib.api.core import Node, Pod
from kitlib.api.release import DEFAULTS, GATES, Release
from kitlib.kubelet.cm.desired import desired_tree
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.kubelet.config.machine import MachineInfo
from kitlib.kubelet.config.settings import BY_RELEASE, KubeletSettings
from kitlib.kubelet.qos.qos_class import compute_pod_qos
from kitlib.scheduler.decision import Decision
from kitlib.study.compare import compare_decisions, describe, fate
from kitlib.study.gates import Gate, changed, gates

Decide = Callable[[Pod, Release], Decision]
"""Returns the decision about a pod under a release, ignoring the pod's current node."""

SOURCES = {
    "deviceTaintRuleVersions": "kubernetes/api resource/v1 of 24 July 2026",
    "failCgroupV1": "KEP-5573",
    "memoryThrottlingFactor": "KEP-2570; kubernetes.io/blog of 14 September 2026",
    "nodeDeclaredFeatures": "KEP-5328; component-helpers nodedeclaredfeatures",
    "KitDefinitionsShowVersions": "apiextensions-apiserver of 22 July 2026; kubernetes/kubernetes #131599",
    "KitDescribeStatefulSetPolicies": "kubectl 1.37.1, compared line by line; kubernetes/kubernetes #137547",
    "KitEmptyPodLevelIgnored": "kubernetes/kubernetes #137150",
    "KitMemoryQoSNeedsSettings": "kubernetes.io/blog of 14 September 2026",
}


NOT_WRITTEN = "not written"
NOT_FOLLOWED = {
    37: (
        "`eventRecordQPS: 0` sets no limit; before 1.37 it set a limit of 50 events per second (kubernetes/kubernetes "
        "#117119). The kit's kubelet does not limit events in any release.",
        "The Workload API has the versions v1alpha3 and v1beta1, and no longer v1alpha2 (kubernetes/kubernetes "
        "#138572). The kit has no Workloads.",
        "If several StorageClasses are marked as default, `kubectl get` shows the mark only for the class that "
        "Kubernetes uses (kubernetes/kubernetes #135964). The kit shows the mark for all of these classes. Messages "
        "that kubectl itself prints depend on the version of your kubectl.",
    )
}
"""Changes by minor version that the kit does not follow and that have no feature gate."""


@dataclass(frozen=True)
class ReleaseChange:
    """A difference between two releases.

    Attributes:
        kind: placement, nodes that fit, message, QoS class, cgroup, default or gate.
        about: the object, the setting or the gate.
        before, after: value under the earlier and the later release.
        gates: the gates, behaviours and defaults that cause it; () if no single one does.
        source: the source of the description; "" = see the gates.
    """

    kind: str
    about: str
    before: str
    after: str
    gates: tuple[str, ...] = ()
    source: str = ""

    def __str__(self) -> str:
        why = f" ({'; '.join(part for part in (*map(describe, self.gates), self.source) if part)})"
        return f"{self.about}: {self.before} → {self.after}{why if len(why) > 3 else ''}"


def changes(
    pods: Sequence[Pod],
    nodes: Sequence[Node],
    decide: Decide,
    before: Release,
    after: Release,
    settings: KubeletSettings | None = None,
) -> list[ReleaseChange]:
    """Return the differences for some objects between two releases.

    Args:
        pods: the cluster's pods; those with a node are decided as if they were scheduled anew.
        nodes: the cluster's nodes.
        decide: returns the decision about a pod under a release.
        before: the earlier release, with the feature gates that are set.
        after: the later release, likewise.
        settings: the settings of every node's kubelet; None = the defaults.
    """
    found = [change for pod in pods for change in _of_pod(pod, decide, before, after)]
    found += _of_cgroups(pods, nodes, before, after, settings or KubeletSettings())
    found += _of_defaults(before, after, settings or KubeletSettings())
    named = {gate for change in found for gate in change.gates}
    found += [
        ReleaseChange(
            "gate",
            gate.name,
            str(gate.stage(before.minor) or "unknown"),
            str(gate.stage(after.minor) or "unknown"),
            source=gate.left_out and f"not followed: {gate.left_out}",
        )
        for gate in changed(before, after)
        if gate.name not in named
    ]
    return found


def _of_pod(pod: Pod, decide: Decide, before: Release, after: Release) -> Iterator[ReleaseChange]:
    qos = [str(compute_pod_qos(pod, release)) for release in (before, after)]
    if qos[0] != qos[1]:
        why: tuple[str, ...] = ("KitEmptyPodLevelIgnored",)
        yield ReleaseChange("QoS class", f"pod {pod.key}", qos[0], qos[1], why, _sources(why))
    found = compare_decisions(lambda release: decide(pod, release), before, after)
    why = tuple(found.gates) or found.together
    about = f"pod {pod.key}{' (scheduled anew)' if pod.spec.node_name else ''}"
    fit = [", ".join(decision.feasible) or "no node" for decision in (found.before, found.after)]
    if not found.same_decision:
        yield ReleaseChange("placement", about, fate(found.before), fate(found.after), why, _sources(why))
    elif fit[0] != fit[1]:
        yield ReleaseChange("nodes that fit", about, fit[0], fit[1], why, _sources(why))
    if found.before.message != found.after.message and not pod.spec.node_name:
        words = found.before.message or "no event", found.after.message or "no event"
        yield ReleaseChange("message", about, words[0], words[1], why, _sources(why))


def _sources(names: Iterable[str]) -> str:
    known = [SOURCES.get(name) or (gates()[name].source if name in gates() else "") for name in names]
    return "; ".join(dict.fromkeys(one for one in known if one))


def _of_cgroups(
    pods: Sequence[Pod], nodes: Sequence[Node], before: Release, after: Release, settings: KubeletSettings
) -> Iterator[ReleaseChange]:
    """Return the files of the desired cgroup trees (cgroup v2) whose values differ; a moved pod is one change."""
    differing = [gate for gate in GATES if before.enabled(gate) != after.enabled(gate)]
    for node in nodes:
        cpu, memory = node.status.capacity.get("cpu"), node.status.capacity.get("memory")
        here = [pod for pod in pods if pod.spec.node_name == node.name]
        if cpu is None or memory is None or not here:
            continue
        machine = MachineInfo.declare(max(1, cpu.milli_value() // 1000), memory.value())
        old, new = (_files(machine, settings, here, release) for release in (before, after))
        moved = _moved(here, old, new)
        yield from (ReleaseChange("cgroup", f"{node.name} pod {key}", *paths) for key, paths in moved.items())
        left = tuple(path for paths in moved.values() for path in paths)
        paths = [path for path in dict.fromkeys((*old, *new)) if not path.startswith(left)]
        paths = [path for path in paths if old.get(path) != new.get(path)]
        if not paths:
            continue
        without = {gate: after.with_gates({gate: before.enabled(gate)}) for gate in differing}
        tried = {gate: _files(machine, settings, here, release) for gate, release in without.items()}
        as_before = _files(machine, settings.with_defaults(before), here, after)
        for path in paths:
            why = [gate for gate, files in tried.items() if files.get(path) != new.get(path)]
            if not why and as_before.get(path) != new.get(path):
                why = [row for row in BY_RELEASE.values() if before.default(row) != after.default(row)]
            values = old.get(path, NOT_WRITTEN), new.get(path, NOT_WRITTEN)
            yield ReleaseChange("cgroup", f"{node.name} {path}", *values, tuple(why), _sources(why))


def _files(machine: MachineInfo, settings: KubeletSettings, pods: Sequence[Pod], release: Release) -> dict[str, str]:
    """Return the desired values by file path."""
    tree = desired_tree(NodeConfig(machine=machine, settings=settings, release=release), pods)
    return {f"{path}/{name}": file.value for path, cgroup in tree.items() for name, file in cgroup.items()}


def _moved(pods: Iterable[Pod], old: Iterable[str], new: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return the cgroup paths under both releases of each pod whose parent cgroup differs, by pod key."""
    found = {}
    for pod in pods:
        mark = f"/pod{pod.metadata.uid}/"
        paths = [next((f.partition(mark)[0] + mark[:-1] for f in files if mark in f), "") for files in (old, new)]
        if paths[0] != paths[1] and all(paths):
            found[pod.key] = (paths[0], paths[1])
    return found


def _of_defaults(before: Release, after: Release, settings: KubeletSettings) -> Iterator[ReleaseChange]:
    given = {row for name, row in BY_RELEASE.items() if getattr(settings, name) is not None}
    for name in DEFAULTS:
        values = before.default(name), after.default(name)
        if values[0] != values[1] and name not in given:
            yield ReleaseChange("default", name, _shown(values[0]), _shown(values[1]), source=SOURCES.get(name, ""))


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _locked(gate: Gate, minor: int) -> bool:
    stage = gate.stage(minor)
    return stage is not None and stage.locked


def _behaviour(name: str) -> str:
    """Return a line about a change without a gate."""
    told = describe(name).removeprefix("the change that ")
    return f"* {told[0].upper()}{told[1:]}. Source: {SOURCES.get(name, 'not read')}."


def page(before: Release, after: Release) -> str:
    """Return the page about what a release changes for enforcement and scheduling."""
    table = list(gates().values())
    old, new = before.minor, after.minor
    flipped = changed(before, after)
    lines = [
        f"# What {after} changes for enforcement and scheduling",
        "",
        f"This page compares {after} with {before}. `python -m kitlib.study.changes` generates the page from the",
        f"kit's table of releases. Only parts of the source of {after} were available. Each line names the source that",
        "was read, or says that no source was read. NodeDeclaredFeatures, TaintTolerationComparisonOperators,",
        "StorageCapacityScoring and VolumeLimitScaling were compared with kube-scheduler 1.36.2 with the same",
        f"feature gates. No binary of {after} was run. To list the changes for your own objects, run",
        f"`kitlib explain --from {before} --to {after}` on a dump (see [Why is my pod pending?](pending.md)).",
    ]

    def section(title: str, rows: Iterable[str]) -> None:
        listed = list(rows)
        if listed:
            lines.extend(["", f"## {title}", "", *listed])

    def row(gate: Gate) -> str:
        told = f" {gate.subject}" if gate.subject else ""
        kit = f" {gate.left_out[0].upper()}{gate.left_out[1:]}." if gate.left_out else ""
        note = f" Note: {gate.note}." if gate.note else ""
        return f"* **{gate.name}** ({gate.stage(new)}){told}.{kit}{note} Source: {gate.source or 'not read'}."

    section("Default settings", (f"* {change}" for change in _of_defaults(before, after, KubeletSettings())))
    section("Feature gates that are enabled by default", (row(gate) for gate in flipped))
    kit = [name for name in GATES if name.startswith("Kit") and before.enabled(name) != after.enabled(name)]
    section("Changes without a feature gate", (_behaviour(name) for name in kit))
    locked = [gate for gate in table if _locked(gate, new) and not _locked(gate, old)]
    section("Feature gates that you can no longer disable", map(row, locked))
    others = [g for g in table if any(stage.since == new for stage in g.stages) and g not in (*flipped, *locked)]
    section("New feature gates, and feature gates at a new stage", map(row, others))
    open_ = [g for g in table if g.note and g.subject and g not in (*flipped, *locked, *others)]
    section("Feature gates with an uncertain stage", map(row, open_))
    section("Changes that the kit does not follow", (f"* {text}" for text in NOT_FOLLOWED.get(new, ())))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(page(Release("1.36"), Release("1.37")), end="")
