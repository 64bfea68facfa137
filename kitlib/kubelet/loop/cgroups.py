"""Keeps the cgroups of a node in line with its pods: makes, writes and removes what has changed, and nothing else.

The cgroups of a pod are computed again only when its specification, its CPUs or what runs of it have changed; those of
the classes when pods come, go or change. So a node with a thousand quiet pods costs nothing.

Source: kubelet cm.containerManagerImpl.setupNode, qosContainerManagerImpl.Start and UpdateCgroups,
podContainerManagerImpl.EnsureExists, Destroy; cleanupOrphanedPodCgroups.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from kitlib.api.errors import KitError
from kitlib.kubelet.cm.cgroup_files import memory_order
from kitlib.kubelet.cm.cgroup_tree import Cgroup, CgroupFile, CgroupTree
from kitlib.kubelet.cm.desired import Desired, container_id, with_parents
from kitlib.kubelet.cm.resource_managers import ResourceManagers
from kitlib.kubelet.loop.interfaces import CgroupFS, ContainerRuntime
from kitlib.kubelet.loop.pod_worker import PodWorker
from kitlib.kubelet.loop.timeline import Timeline
from kitlib.kubelet.qos.qos_class import QOS_CLASSES

_ACTORS = {
    "kubepods": ("containerManager", "createNodeAllocatableCgroups"),
    "reserved": ("containerManager", "enforceNodeAllocatableCgroups"),
    "daemon": ("containerManager", "setupNode"),
    "qos": ("qosContainerManager", "UpdateCgroups"),
    "pod": ("podContainerManager", "EnsureExists"),
}
"""Kind of a cgroup -> the part of the kubelet that writes it, and its function."""


@dataclass
class _Pod:
    """A pod's cgroups: all that it may have, and those that are there."""

    key: Any
    own: list[Cgroup]
    sandbox: Cgroup
    containers: dict[str, Cgroup] = field(default_factory=dict)
    shown: list[Cgroup] = field(default_factory=list)


class CgroupManager:
    """The cgroups of one node. Making it writes the node-level ones.

    Args:
        rules: what they should hold. managers: who has which CPUs. cgroups, runtime: what it drives.
        timeline: what it did is noted there.

    Raises:
        KitError: where the kernel refuses a node-level cgroup.
    """

    def __init__(
        self,
        rules: Desired,
        managers: ResourceManagers,
        cgroups: CgroupFS,
        runtime: ContainerRuntime,
        timeline: Timeline,
    ) -> None:
        self._rules, self._managers, self._timeline = rules, managers, timeline
        self._cgroups, self._runtime = cgroups, runtime
        self._fixed = [rules.root(), *rules.node_level()]
        self._node: list[Cgroup] = []
        self._pods: dict[str, _Pod] = {}
        self._written: dict[str, Cgroup] = {}
        self._leftover: dict[str, Cgroup] = {}
        self._tree: CgroupTree | None = None
        self.write([], [])

    def stands(self, path: str) -> bool:
        """Whether a cgroup that was made has not been removed yet."""
        return path in self._written

    def tree(self) -> CgroupTree:
        """The cgroups that should be there now, parents before children, pods by class."""
        if self._tree is None:
            cgroups = list(self._node)
            by_class: dict[str, list[Cgroup]] = {qos: [] for qos in QOS_CLASSES}
            for pod in self._pods.values():
                if pod.shown:
                    by_class[pod.shown[0].qos] += pod.shown
            for some in by_class.values():
                cgroups += some
            version = self._cgroups.version
            self._tree = CgroupTree(version, self._rules.driver, with_parents(cgroups, version))
        return self._tree

    def node_level(self, *kinds: str) -> list[Cgroup]:
        """The cgroups above the pods of these kinds."""
        return [cgroup for cgroup in self._node if cgroup.kind in kinds]

    # Writing.

    def write(self, workers: Collection[PodWorker], touched: Iterable[PodWorker]) -> None:
        """Make what is missing, write what has changed, remove what is not wanted any more.

        Args:
            workers: of all pods. touched: of those in which anything may have changed.
        """
        fresh: list[Cgroup] = []
        gone: list[Cgroup] = []
        others, requests = False, not self._node
        for worker in touched:
            uid = worker.pod.metadata.uid
            known = self._pods.get(uid)
            before = known.shown if known is not None else []
            owned = known.own if known is not None else []
            now = self._wanted(worker)
            if len(now) == len(before) and all(a is b for a, b in zip(now, before, strict=True)):
                continue
            self._tree = None
            wanted = {cgroup.path for cgroup in now}
            gone += [cgroup for cgroup in before if cgroup.path not in wanted]
            standing = {id(cgroup) for cgroup in before}
            fresh += [cgroup for cgroup in now if id(cgroup) not in standing]
            others = others or bool(now) != bool(before)
            requests = requests or others or self._pods[uid].own is not owned
            if now:
                self._pods[uid].shown = now
            else:
                self._pods.pop(uid, None)
        self._remove_all_of(gone)
        if requests:
            self._node = self._node_level(workers)
            self._tree = None
        self._write_some([*(self._node if requests else ()), *fresh], others)

    def _wanted(self, worker: PodWorker) -> list[Cgroup]:
        """A pod's cgroup and those of what runs of it; cgroups that have not changed are the same objects."""
        if not worker.active:
            return []
        pod, uid = worker.actual, worker.pod.metadata.uid
        assigned = self._managers.assignments([pod])
        key = (worker.generation, tuple(assigned.items()))
        found = self._pods.get(uid)
        if found is None or found.key != key:
            shown = found.shown if found is not None else []
            own = self._rules.pod_level(pod, assigned)
            sandbox = self._rules.sandbox_level(pod, worker.sandbox)
            found = self._pods[uid] = _Pod(key, own, sandbox, shown=shown)
        made = list(found.own)
        if worker.has_sandbox:
            made.append(found.sandbox)
        for state in worker.states:
            if state.alive:
                name = state.container.name
                cgroup = found.containers.get(name)
                if cgroup is None:
                    given = self._managers.assigned(pod, state.container)
                    cgroup = self._rules.container_level(pod, state.container, state.id, given)
                    found.containers[name] = cgroup
                made.append(cgroup)
        return made

    def _node_level(self, workers: Collection[PodWorker]) -> list[Cgroup]:
        """The cgroups of the node and of the classes, as the pods want them now."""
        made = list(self._fixed)
        known = {cgroup.path: i for i, cgroup in enumerate(made)}
        for cgroup in self._rules.qos_level([worker.actual for worker in workers if worker.active]):
            if cgroup.path in known:
                made[known[cgroup.path]] = cgroup
            else:
                made.append(cgroup)
        made = with_parents(made, self._cgroups.version)
        # the classes are made before reserved cgroups are limited (setupNode)
        return sorted(made, key=lambda cgroup: cgroup.kind in ("reserved", "daemon"))

    def _write_some(self, cgroups: Sequence[Cgroup], others: bool) -> None:
        later = []
        for cgroup in cgroups:
            standing = self._written.get(cgroup.path)
            # the classes' values depend on all pods, so they are written whenever a pod comes or goes
            everything = standing is None or (others and cgroup.kind in ("qos", "kubepods"))
            if standing is None and cgroup.writer != "runtime":
                self._cgroups.makedirs(cgroup.path)
            if standing is not None or cgroup.writer != "runtime":
                files = changed(cgroup, None if everything else standing)
                # what falls is written from below: no child may have more than its parent, nor be killed for it
                falling = [f for f in files if _falls(f, standing)] if standing is not None else []
                if falling:
                    later.append((cgroup, falling))
                    files = [file for file in files if file not in falling]
                self._put(cgroup, files, "making" if standing is None else "writing")
            self._written[cgroup.path] = cgroup
        for cgroup, files in reversed(later):
            self._put(cgroup, files, "writing")

    def _put(self, cgroup: Cgroup, files: Sequence[CgroupFile], action: str) -> None:
        """Write files, but those whose controller is not there. Source: cm.getSupportedUnifiedControllers."""
        files = [file for file in files if not self._cgroups.lacks(file.name)]
        if not files:
            return
        ordered = memory_order(files, lambda name: self._cgroups.read(cgroup.path, name))
        if cgroup.writer == "runtime":
            self._runtime.update(container_id(cgroup.uid, cgroup.container), cgroup, ordered)
            for file in ordered:
                if file.name == "cpuset.cpus":
                    self.note_cpus(cgroup.pod.rpartition("/")[2], cgroup.container, file.value)
            return
        self._cgroups.configure(cgroup, ordered)
        for file in ordered:
            self._write_file(cgroup, file)
        actor, source = _ACTORS.get(cgroup.kind, ("containerManager", "setupNode"))
        self._timeline.note(actor, action, cgroup.path, ", ".join(f"{f.name}={f.value}" for f in ordered), source)

    def _write_file(self, cgroup: Cgroup, file: CgroupFile) -> None:
        """A class's memory limit that is refused because more is in use is set to what is in use.

        It keeps the class from growing until the next try, a minute later. Source: retrySetMemoryReserve.
        """
        try:
            self._cgroups.write(cgroup.path, file.name, file.value)
        except KitError:
            if cgroup.kind != "qos" or file.name != "memory.limit_in_bytes":
                raise
            used = self._cgroups.read(cgroup.path, "memory.usage_in_bytes")
            self._cgroups.write(cgroup.path, file.name, used)
            text = f"{file.name}={used}, for {file.value} is less than is in use"
            self._timeline.note("qosContainerManager", "trying again", cgroup.path, text, "retrySetMemoryReserve")

    def note_cpus(self, pod: str, container: str, cpus: str) -> None:
        """A container's cpuset has been written."""
        self._timeline.note("cpumanager", "updating container", f"{pod}/{container}", cpus, "reconcileState")

    def rewrite_classes(self) -> None:
        """Every minute the class cgroups get their values again, whoever has changed them. Source: UpdateCgroups."""
        for cgroup in self.node_level("qos"):
            self._put(cgroup, changed(cgroup, None), "writing again, as every minute,")

    # Removing.

    def _remove_all_of(self, gone: Iterable[Cgroup]) -> None:
        """Remove cgroups, the lowest first; those in which something still ends are tried again next time."""
        wanted_gone = {**self._leftover, **{cgroup.path: cgroup for cgroup in gone}}
        self._leftover = {}
        for path in sorted(wanted_gone, key=len, reverse=True):
            cgroup = wanted_gone[path]
            if self._remove(cgroup):
                self._written.pop(path, None)
            else:
                self._leftover[path] = cgroup

    def _remove(self, cgroup: Cgroup) -> bool:
        if cgroup.writer == "runtime" or not self._cgroups.exists(cgroup.path):
            return True
        try:
            self._cgroups.rmdir(cgroup.path)
        except KitError:
            return False
        self._timeline.note("podContainerManager", "removing", cgroup.path, "", "Destroy")
        return True

    def clean_up(self) -> None:
        """Remove pod cgroups that belong to no pod, or to one whose containers have all ended by now.

        Source: kubelet cleanupOrphanedPodCgroups.
        """
        self._remove_all_of(())
        for parent in self.node_level("kubepods", "qos"):
            for path in [path for path in self._cgroups.children(parent.path) if path not in self._written]:
                name = path.rpartition("/")[2]
                if name.startswith("pod") or "-pod" in name:
                    self._timeline.note("kubelet", "removing orphaned", path, "", "cleanupOrphanedPodCgroups")
                    self._remove_below(path)

    def _remove_below(self, path: str) -> None:
        for child in self._cgroups.children(path):
            self._remove_below(child)
        try:
            self._cgroups.rmdir(path)
        except KitError:
            return  # a process is still in it: the next round tries again


def changed(cgroup: Cgroup, before: Cgroup | None) -> list[CgroupFile]:
    """The files of a cgroup that somebody writes and whose value is another than before."""
    files = [file for file in cgroup.values() if file.written]
    if before is None:
        return files
    return [file for file in files if file.name not in before or before[file.name].value != file.value]


_LIMITS = ("cpu.cfs_quota_us", "memory.max", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "pids.max")


def _falls(file: CgroupFile, before: Cgroup) -> bool:
    """Whether a limit becomes smaller. Source: doPodResizeAction, which lowers containers before their pod."""
    if file.name not in before or file.value == before[file.name].value:
        return False
    old = before[file.name].value
    if file.name == "cpu.max":
        return _quota(file.value) < _quota(old)
    return file.name in _LIMITS and _number(file.value) < _number(old)


def _number(text: str) -> float:
    return float("inf") if text == "max" or int(text) < 0 else float(text)


def _quota(text: str) -> float:
    quota, _, period = text.partition(" ")
    return _number(quota) / int(period or 100_000)
