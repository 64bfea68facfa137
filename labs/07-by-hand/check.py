"""The limit is higher in every cgroup that counts, by hand first, and the container was never restarted."""

from collections.abc import Mapping
from typing import Any

from kitlib.api.core import Pod
from kitlib.kubelet.util.memory_files import MEMORY_LIMIT
from kitlib.lab import Checks, Experiment, Facts, Wrong
from kitlib.lab.checks import UNLIMITED
from kitlib.lab.history import Moment

checks = Checks()
GENEROUS = 2**30
LIMITS = (*MEMORY_LIMIT.values(), "memory.memsw.limit_in_bytes")


@checks.check("raised")
def raised(facts: Facts) -> None:
    v = facts.variant
    pod = facts.pod(v.pod)
    restarts = sum(status.restart_count for status in pod.status.container_statuses)
    facts.expect(
        restarts == 0 and facts.is_from_setup(pod),
        found=f"{restarts} restarts" if facts.is_from_setup(pod) else "another pod of the same name",
        expected="the same container, running since the start",
        hint="the work is 90% done: it must not start again. lab.reset() gives the first one back",
    )
    file = MEMORY_LIMIT[facts.tree(pod.spec.node_name).version]
    by_hand = written_before_a_resize(facts, pod, file)
    facts.expect(
        not (others := other_writes(facts, pod)),
        found=f"{', '.join(others)} was written by hand, too",
        expected="writes to the memory limits of the pod and of its container only",
        hint="every other cgroup file keeps its value, and a limit above the pod's counts for all pods. lab.reset() "
        "starts again",
    )
    own, container = facts.memory_limit(pod), facts.memory_limit(pod, v.pod)
    limits = f"{file} of the pod {own}, of the container {container}"
    facts.expect(
        max(own, container) < UNLIMITED and container <= GENEROUS,
        found=limits,
        expected=f"about {v.wanted} MiB, at most 1 GiB",
        hint="without a bound the next leak takes the node: raise the limit, do not remove it",
    )
    if not by_hand:
        raise Wrong(
            f"{limits}; no limit of {v.wanted} MiB was written by hand before the spec was resized",
            "both limits raised by hand, then the spec",
            "imagine a kubelet that does not answer: write the files of the node's cgroups first. lab.reset() starts "
            "again"
            if container >= v.bytes
            else "the files are on the node: node.write(path, file, value); lab.tree() shows the paths",
        )
    facts.expect(
        container >= v.bytes,
        found=limits,
        expected=f"{v.bytes} or more in both",
        hint="write into the container's own cgroup too: lab.tree() shows where it stands. Does the kernel refuse it? "
        "Then memory and swap together (memsw) must be raised first"
        if own >= v.bytes
        else "neither limit is high enough",
        credit=0.5 if own >= v.bytes else 0.0,
    )
    facts.expect(
        own >= v.bytes,
        found=limits,
        expected=f"{v.bytes} or more in both",
        hint="the pod's cgroup stands above the container's: the lower of the two limits counts",
        credit=0.5,
    )
    facts.expect(
        {"pod", "container"} <= by_hand,
        found=f"only the limit of the {' and the '.join(sorted(by_hand))} was written by hand",
        expected="both limits raised by hand, then the spec",
        hint="the resize did the rest: imagine a kubelet that does not answer. lab.reset() starts again",
        credit=0.5,
    )


def written_before_a_resize(facts: Facts, pod, file: str) -> set[str]:
    """The kinds of the pod's cgroups whose limit was raised by hand while the spec was still the old one."""
    kinds = {cgroup.path: cgroup.kind for cgroup in facts.tree(pod.spec.node_name).of_pod(pod.metadata.uid)}
    written = {}
    for entry in facts.actions():
        if entry["action"] in ("resize", "patch", "apply"):
            break
        if entry["action"] == "write" and entry["file"] == file:
            written[str(entry.get("kind") or kinds.get(entry["path"], ""))] = in_bytes(entry["value"])
    return {k for k in ("pod", "container") if facts.variant.bytes <= written.get(k, 0) <= GENEROUS}


def other_writes(facts: Facts, pod: Pod) -> list[str]:
    """Return each cgroup file that was written by hand and is no memory limit of the pod or of its container."""
    uid = pod.metadata.uid
    kinds = {cgroup.path: cgroup.kind for cgroup in facts.tree(pod.spec.node_name).of_pod(uid)}

    def is_own(entry: Mapping[str, Any]) -> bool:
        # A pod that was evicted no longer has cgroups, but its UID, as both cgroup drivers write it, is in the path.
        gone = "container" if uid in entry["path"] or uid.replace("-", "_") in entry["path"] else ""
        return (entry.get("kind") or kinds.get(entry["path"], gone)) in ("pod", "container")

    return [
        f"{entry['path']}/{entry['file']}"
        for entry in facts.actions()
        if entry["action"] == "write" and not (entry["file"] in LIMITS and is_own(entry))
    ]


def in_bytes(text: str) -> int:
    """A value as the kernel reads it (memparse: K, M and G are powers of 1024); -1 = no limit."""
    number, unit = text.strip()[:-1], "KMG".find(text.strip()[-1:].upper())
    try:
        return int(number) << 10 * (unit + 1) if unit >= 0 and number else int(text)
    except ValueError:
        return -1


@checks.check("spec")
def spec(facts: Facts) -> None:
    v = facts.variant
    main = next((c for c in facts.pod(v.pod).spec.containers if c.name == v.pod), None)
    limit = main.resources.limits.get("memory") if main else None
    facts.expect(
        limit is not None and limit.value() == v.bytes,
        found=f"limits.memory {limit}",
        expected=f"{v.wanted}Mi",
        hint=f"the spec has the limit that was asked for, {v.wanted} MiB"
        if limit is not None and limit.value() > v.bytes
        else "a limit set by hand lasts until the container restarts: say it in the spec too",
    )


@checks.never("never")
def never(moment: Moment) -> str:
    changed = moment.change.object
    if changed.kind != "Pod" or ("Pod", "default", changed.metadata.name) not in moment.first:
        return ""
    first = moment.first["Pod", "default", changed.metadata.name]
    now = moment.get("Pod", changed.metadata.name)
    if now is None or now.metadata.uid != first.metadata.uid:
        return f"pod {changed.metadata.name} was replaced"
    restarts = sum(status.restart_count for status in now.status.container_statuses)
    return f"{restarts} restarts of {changed.metadata.name}" if restarts else ""


@checks.again("spec", "the container restarts once more")
def restart(facts: Experiment) -> None:
    """A new container has the limits of the spec, and files written by hand are gone."""
    v = facts.variant
    facts.runs(v.pod)
    facts.end_process(v.pod, v.pod)
    facts.let_pass(60)
    limit = facts.memory_limit(facts.runs(v.pod), v.pod)
    facts.expect(
        v.bytes <= limit <= GENEROUS,
        found=f"its new container may use {limit} bytes",
        expected=f"{v.bytes} or more",
        hint="the kubelet writes what the spec says",
    )


@checks.observed("reverts", at_start=True)
def reverts(facts: Experiment) -> str:
    v = facts.variant
    pod = facts.pod(v.pod)
    facts.write_cgroup(pod, MEMORY_LIMIT[facts.tree(pod.spec.node_name).version], str(v.bytes))
    facts.let_pass(600)
    after = facts.pod(v.pod)
    if after.status.container_statuses[0].restart_count:
        return "the pod is restarted"
    return "it stays" if facts.memory_limit(after) == v.bytes else "the kubelet puts it back at its next sync"
