"""Reconciles the cgroups of a node with its pods: it makes, writes and removes only those that have changed.

The times at which each cgroup is written:

    kubepods, reserved cgroups   once, at the kubelet's start; later manual changes are not reverted
    QoS cgroups                  all of their values: at the start, before a new pod's cgroup is made, when a pod is
                                 killed (it still counts), and every minute; with them kubepods' huge pages and
                                 memory.min
    a pod's cgroup               when it is made; on a resize the files that change
    a container's                when it is made; on a resize all of its files; its cpuset at the CPU manager's tick

An error of the kernel aborts a resize (`refused`): the written values remain, the rest is tried again.

The cgroups of a pod are computed again only if its specification, its CPUs or its running containers have changed,
so unchanged pods cost no time.

Source: kubelet cm.containerManagerImpl.setupNode, qosContainerManagerImpl.Start and UpdateCgroups, callers of
UpdateQOSCgroups (syncPod, killPod); podContainerManagerImpl.EnsureExists, Destroy; cleanupOrphanedPodCgroups.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kitlib.api.errors import KitError
from kitlib.kubelet.cm.cgroup_files import memory_order
from kitlib.kubelet.cm.cgroup_levels import Desired, container_id
from kitlib.kubelet.cm.cgroup_names import CgroupName, parse_cgroupfs, parse_path
from kitlib.kubelet.cm.cgroup_tree import MOUNT, Cgroup, CgroupFile, CgroupTree, controller_of
from kitlib.kubelet.cm.conversions import QUOTA_PERIOD
from kitlib.kubelet.cm.desired import assemble
from kitlib.kubelet.cm.memory_qos import MEMORY_LOW, MEMORY_MIN
from kitlib.kubelet.cm.qos_container_manager import QosRequests, qos_requests
from kitlib.kubelet.cm.resource_managers import ResourceManagers
from kitlib.kubelet.config.settings import SettingsError
from kitlib.kubelet.loop.interfaces import Dependencies
from kitlib.kubelet.loop.pod_worker import PodWorker

_ACTORS = {
    "kubepods": ("containerManager", "createNodeAllocatableCgroups"),
    "reserved": ("containerManager", "enforceNodeAllocatableCgroups"),
    "daemon": ("containerManager", "setupNode"),
    "qos": ("qosContainerManager", "UpdateCgroups"),
    "pod": ("podContainerManager", "EnsureExists"),
}
"""Kind of a cgroup -> the component of the kubelet that writes it, and its function."""


@dataclass
class _Pod:
    """A pod's cgroups: all computed ones, and those that exist (`shown`)."""

    key: Any
    own: list[Cgroup]
    sandbox: Cgroup
    containers: dict[str, Cgroup] = field(default_factory=dict)
    shown: list[Cgroup] = field(default_factory=list)


class CgroupManager:
    """The cgroups of one node; the constructor writes those of the node level.

    Args:
        rules: computes the desired content of the cgroups.
        managers: the resource managers, which assign CPUs.
        node: the cgroup file system, the runtime, which writes the containers' cgroups, and the timeline.

    Attributes:
        refused: pod UID -> the kernel's error at the last write of a resize.

    Raises:
        KitError: the kernel rejects a cgroup of the node level.
    """

    def __init__(self, rules: Desired, managers: ResourceManagers, node: Dependencies) -> None:
        self._rules, self._managers, self._timeline = rules, managers, node.timeline
        self._cgroups, self._runtime = node.cgroups, node.runtime
        self._qos: list[Cgroup] = []
        self._pods: dict[str, _Pod] = {}
        self._requests: dict[str, tuple[int, QosRequests]] = {}
        self._written: dict[str, Cgroup] = {}
        self._leftover: dict[str, Cgroup] = {}
        self._tree: CgroupTree | None = None
        self.refused: dict[str, str] = {}
        self._require_cgroups()
        if rules.settings.cgroups_per_qos:
            self._make(rules.kubepods_level())
        self.update_qos_cgroups(())
        for cgroup in (*rules.reserved_level(), *rules.daemon_level()):
            self._make(cgroup)

    def _require_cgroups(self) -> None:
        """Check that the cgroup root and the enforced reserved cgroups exist; the kubelet does not make them.

        Raises:
            SettingsError: one of them does not exist; the message is the kubelet's.

        Source: kubelet cm.NewContainerManager, enforceNodeAllocatableCgroups, cgroupCommon.Validate.
        """
        rules, settings = self._rules, self._rules.settings
        root = parse_cgroupfs(settings.cgroup_root)
        absent = self._cgroups.absent(rules.path(root)) if root else ()
        if absent:
            raise SettingsError([f"invalid configuration: {self._missing(root, absent)}"])
        for which, path in (("System", settings.system_reserved_cgroup), ("Kube", settings.kube_reserved_cgroup)):
            name = parse_path(path, rules.driver)
            enforced = any(level.startswith(f"{which.lower()}-") for level in settings.enforce_node_allocatable)
            absent = self._cgroups.absent(rules.path(name)) if path and enforced else ()
            if absent:
                text = f'Failed to enforce {which} Reserved Cgroup Limits on "{path}": {self._missing(name, absent)}'
                raise SettingsError([text])

    def _missing(self, name: CgroupName, absent: Sequence[str]) -> str:
        path, listed = self._rules.path(name), " ".join(f'"{part}"' for part in name)
        if self._cgroups.version == 1:
            places = ", ".join(f"{MOUNT}/{hierarchy}{path}" for hierarchy in absent)
            return f"cgroup [{listed}] has some missing paths: {places}"
        where = f"{MOUNT}{path}/cgroup.controllers"
        return f"could not read controllers for cgroup [{listed}]: open {where}: no such file or directory"

    def exists(self, path: str) -> bool:
        """Return whether a cgroup was made and has not been removed yet."""
        return path in self._written

    def tree(self) -> CgroupTree:
        """Return the tree of the desired cgroups, as last computed."""
        if self._tree is None:
            self._tree = assemble(self._rules, self._qos, [pod.shown for pod in self._pods.values()])
        return self._tree

    def node_level(self, *kinds: str) -> list[Cgroup]:
        """Return the cgroup of all pods and the QoS cgroups, restricted to these kinds."""
        return [cgroup for cgroup in self._qos if cgroup.kind in kinds]

    # Writing.

    def update_qos_cgroups(self, workers: Iterable[PodWorker], action: str = "writing") -> None:
        """Write the values that depend on all pods: the QoS cgroups, kubepods' huge pages and its memory.min.

        Args:
            workers: all pods; a pod that is being killed still counts.
            action: the action in the timeline.

        Source: kubelet qosContainerManagerImpl.UpdateCgroups.
        """
        self._qos = self._rules.qos_level(self._sum_of_requests(workers))
        self._tree = None
        for cgroup in self._qos:
            if cgroup.kind == "kubepods":
                self._put(cgroup, [f for f in changed(cgroup, None) if _updated_with_qos(f.name)], action)
                self._written[cgroup.path] = cgroup
            elif cgroup.path not in self._written:
                self._make(cgroup)
            else:
                self._put(cgroup, changed(cgroup, None), action)
                self._written[cgroup.path] = cgroup

    def _sum_of_requests(self, workers: Iterable[PodWorker]) -> QosRequests:
        """Return the sums of the active pods' requests; those of a pod are cached per version of its specification."""
        total, known = QosRequests(), {}
        for worker in workers:
            if not worker.holds_resources:
                continue
            uid = worker.pod.metadata.uid
            found = self._requests.get(uid)
            if found is None or found[0] != worker.generation:
                found = worker.generation, qos_requests([worker.actual], self._rules.release)
            known[uid] = found
            total += found[1]
        self._requests = known
        return total

    def _make(self, cgroup: Cgroup) -> None:
        """Make a cgroup and write it; the administrator has already made those of reserved resources."""
        reserved = cgroup.kind == "reserved"
        if not reserved:
            self._cgroups.makedirs(cgroup.path)
        self._put(cgroup, changed(cgroup, None), "writing" if reserved else "making")
        self._written[cgroup.path] = cgroup

    def write(self, workers: Collection[PodWorker], touched: Iterable[PodWorker]) -> None:
        """Make missing cgroups, write changed files, remove cgroups that are no longer desired.

        Args:
            workers: all pods.
            touched: the pods in which anything may have changed.
        """
        fresh: list[Cgroup] = []
        try:
            self._write(workers, touched, fresh)
        except Exception as error:
            for cgroup in fresh:  # the next work on their pod writes them again
                self.refused[cgroup.uid] = str(error)
            raise

    def _write(self, workers: Collection[PodWorker], touched: Iterable[PodWorker], fresh: list[Cgroup]) -> None:
        gone: list[Cgroup] = []
        new_pod = False
        for worker in touched:
            uid = worker.pod.metadata.uid
            known = self._pods.get(uid)
            before = known.shown if known is not None else []
            now = self._wanted(worker)
            # After an error it is not known which files were written: all of the pod's cgroups are written again.
            again = self.refused.pop(uid, "")
            if not again and len(now) == len(before) and all(a is b for a, b in zip(now, before, strict=True)):
                continue
            self._tree = None
            wanted = {cgroup.path for cgroup in now}
            gone += [cgroup for cgroup in before if cgroup.path not in wanted]
            standing = set() if again else {id(cgroup) for cgroup in before}
            fresh += [cgroup for cgroup in now if id(cgroup) not in standing]
            new_pod = new_pod or (bool(now) and not before)
            if now:
                self._pods[uid].shown = now
            else:
                self._pods.pop(uid, None)
        self._remove_all_of(gone)
        if new_pod:
            self.update_qos_cgroups(workers)
        self._write_some(fresh)

    def _wanted(self, worker: PodWorker) -> list[Cgroup]:
        """Return a pod's cgroup and those of what runs in it; unchanged cgroups are the same objects as before."""
        if not worker.active:
            return []
        pod, uid = worker.actual, worker.pod.metadata.uid
        assigned = self._managers.assignments([pod])
        key = (worker.generation, tuple(assigned.items()))
        found = self._pods.get(uid)
        # Unchanged cgroups stay the same objects: `_write` compares identities, so quiet pods are not compared by file.
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
                    given = self._managers.assigned_to_running(pod, state.container)
                    cgroup = self._rules.container_level(pod, state.container, state.id, given)
                    found.containers[name] = cgroup
                made.append(cgroup)
        return made

    def _write_some(self, cgroups: Sequence[Cgroup]) -> None:
        """Write changed files: a pod's rising limits, then its containers' files, then the pod's falling limits.

        Source: kubelet kuberuntime doPodResizeAction, UpdateContainerResources.
        """
        # With this order no container has a higher limit than its pod at any time.
        rising, containers, falling = [], [], []
        for cgroup in cgroups:
            standing = self._written.get(cgroup.path)
            if standing is None:
                self._written[cgroup.path] = cgroup
                if cgroup.writer != "runtime":
                    self._make(cgroup)
                continue
            files = changed(cgroup, standing)
            if cgroup.writer == "runtime":
                # A resize sends all of a container's resources to the runtime, the CPU manager's tick only the cpuset.
                resized = any(controller_of(file.name) != "cpuset" for file in files)
                containers.append((cgroup, changed(cgroup, None) if resized else files))
                continue
            down = [file for file in files if _falls(file, standing)]
            rising.append((cgroup, [file for file in files if file not in down]))
            falling.append((cgroup, down))
        for cgroup, files in (*rising, *containers, *falling):
            self._rewrite(cgroup, files)
        for cgroup in cgroups:
            if cgroup.uid not in self.refused:
                self._written[cgroup.path] = cgroup

    def _rewrite(self, cgroup: Cgroup, files: Sequence[CgroupFile]) -> None:
        """Write files of an existing cgroup, unless the kernel has rejected an earlier file of the same pod.

        Source: kubelet doPodResizeAction, which aborts at the first error and starts again with the next sync.
        """
        if cgroup.uid in self.refused:
            return
        try:
            self._put(cgroup, files, "writing")
        except KitError as error:
            self.refused[cgroup.uid] = str(error)
            self._timeline.note("kubeRuntimeManager", "cannot write", cgroup.path, str(error), "doPodResizeAction")

    def _put(self, cgroup: Cgroup, files: Sequence[CgroupFile], action: str) -> None:
        """Write files, except those of missing controllers. Source: cm.getSupportedUnifiedControllers."""
        files = [file for file in files if not self._cgroups.lacks(file.name)]
        if not files:
            return
        ordered = memory_order(files, lambda name: self._cgroups.read(cgroup.path, name))
        if cgroup.writer == "runtime":
            self._runtime.update(container_id(cgroup.uid, cgroup.container), cgroup, ordered)
            return
        self._cgroups.configure(cgroup, ordered)
        for file in ordered:
            self._write_file(cgroup, file)
        actor, source = _ACTORS.get(cgroup.kind, ("containerManager", "setupNode"))
        source = "Start" if (cgroup.kind, action) == ("qos", "making") else source
        self._timeline.note(actor, action, cgroup.path, ", ".join(f"{f.name}={f.value}" for f in ordered), source)

    def _write_file(self, cgroup: Cgroup, file: CgroupFile) -> None:
        """Write a file; a QoS cgroup's memory limit below its usage is set to the usage.

        Source: retrySetMemoryReserve.
        """
        # cgroup v1 rejects a limit that it cannot reach by reclaim. A limit equal to the usage at least keeps the
        # cgroup from growing until the next try, a minute later.
        try:
            self._cgroups.write(cgroup.path, file.name, file.value)
        except KitError:
            if cgroup.kind != "qos" or file.name != "memory.limit_in_bytes":
                raise
            used = self._cgroups.read(cgroup.path, "memory.usage_in_bytes")
            self._cgroups.write(cgroup.path, file.name, used)
            text = f"{file.name}={used}, for {file.value} is less than is in use"
            self._timeline.note("qosContainerManager", "trying again", cgroup.path, text, "retrySetMemoryReserve")

    def write_cpus(self, cgroup: Cgroup, cpus: str) -> None:
        """Write the cpuset of a running container.

        Raises:
            KitError: the kernel rejects it.
        """
        file = cgroup["cpuset.cpus"]._replace(value=cpus)
        self._put(cgroup, [file], "")
        self._written[cgroup.path] = replace(cgroup, files={**cgroup.files, file.name: file})

    def container_cgroup(self, worker: PodWorker, container: str) -> Cgroup | None:
        """Return the cgroup of a started container; None = it has not started."""
        known = self._pods.get(worker.pod.metadata.uid)
        return known.containers.get(container) if known is not None else None

    # Removing.

    def _remove_all_of(self, gone: Iterable[Cgroup]) -> None:
        """Remove cgroups, the lowest first, and retry those that still have a process with the next call."""
        wanted_gone = {**self._leftover, **{cgroup.path: cgroup for cgroup in gone}}
        self._leftover = {}
        # The kernel does not remove a cgroup that has children or processes (EBUSY), so the longest paths come first.
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
        """Remove the cgroups of unknown pods, and retry those of ended pods that could not be removed yet.

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


def _updated_with_qos(file: str) -> bool:
    """Return whether a file of kubepods is written together with the QoS cgroups."""
    return file.startswith("hugetlb.") or file in (MEMORY_MIN, MEMORY_LOW)


def changed(cgroup: Cgroup, before: Cgroup | None) -> list[CgroupFile]:
    """Return the written files of a cgroup with a value different from before; None = all written files."""
    files = [file for file in cgroup.values() if file.written]
    if before is None:
        return files
    return [file for file in files if file.name not in before or before[file.name].value != file.value]


_LIMITS = ("cpu.cfs_quota_us", "memory.max", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "pids.max")


def _falls(file: CgroupFile, before: Cgroup) -> bool:
    """Return whether a limit becomes smaller. Source: doPodResizeAction, which lowers containers before their pod."""
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
    return _number(quota) / int(period or QUOTA_PERIOD)
