"""Still nodes: the kubelet's cgroup files on the simulated kernel, without processes in them.

A node of this kind holds exactly what the enforcement core decides: at every sync the desired tree of its pods is
computed, cgroups that are missing are made, those of pods that are gone are removed, and files whose desired value has
changed are written. Nothing runs, so nothing is throttled or killed; what somebody writes by hand stays until the
kubelet writes that file again.

Source: kubelet cm.containerManagerImpl, qosContainerManagerImpl.UpdateCgroups, podContainerManagerImpl.EnsureExists.
"""

from __future__ import annotations

from kitlib.api.core import Pod
from kitlib.api.release import Release
from kitlib.cluster.admission.apiserver import APIServer
from kitlib.cluster.nodes.base import Record, WithCgroups
from kitlib.cluster.nodes.hollow import NotOnThisNode, running
from kitlib.cluster.nodes.plan import NodePlan
from kitlib.kubelet.cm.cgroup_tree import CgroupTree, Version
from kitlib.kubelet.cm.desired import NodeConfig, desired_tree
from kitlib.kubelet.cm.node_validation import check_node
from kitlib.kubelet.cm.resource_managers import ResourceManagers
from kitlib.kubelet.cm.topologymanager.manager import AdmissionProblem
from kitlib.kubelet.config.settings import KubeletSettings
from kitlib.node.simulated.cgroupfs import SimulatedCgroupFS

ENDED = ("Succeeded", "Failed")


class CgroupNode(WithCgroups):
    """One node of a simulated cluster, as far as its cgroups go.

    Args:
        plan: its machine and settings.
        release: whose rules hold.
        version: of its cgroups.
        record: called with every write by hand, for the journal.

    Raises:
        SettingsError: where the kubelet would not start on this machine; with its messages.

    Attributes:
        config: what the kubelet works with. kernel: the cgroup file system.
    """

    has_kubelet = False

    def __init__(self, plan: NodePlan, release: Release, version: Version, record: Record) -> None:
        self.plan, self.name, self._record = plan, plan.name, record
        settings = KubeletSettings.read(plan.kubelet, release=release)
        self.config = NodeConfig(
            machine=plan.machine,
            settings=settings,
            release=release,
            name=plan.name,
            resources=plan.resources,
            devices=plan.plugins,
        )
        check_node(self.config, version)
        self.kernel = self._cgroups(version)
        self._desired = CgroupTree(version, settings.cgroup_driver)
        self._managers = ResourceManagers(self.config)
        self._admitted: dict[str, Pod] = {}
        self._set_up()

    def _cgroups(self, version: Version) -> SimulatedCgroupFS:
        return SimulatedCgroupFS(version, self.plan.machine)

    def _set_up(self) -> None:
        """Make the node's own cgroups."""
        self._sync([])

    def sync(self, api: APIServer, pods: list[Pod]) -> None:
        """Bring the cgroups in line with the pods that are bound here."""
        leaving = [pod for pod in pods if pod.metadata.deletion_timestamp is not None]
        staying = [pod for pod in pods if pod.metadata.deletion_timestamp is None]
        self._admit(api, [pod for pod in staying if pod.status.phase not in ENDED])
        self._sync([pod for pod in staying if pod.status.phase not in ENDED])
        for pod in leaving:
            api.delete(Pod, pod.name, pod.namespace)
        for pod in staying:
            if pod.status.phase == "Pending":
                running(pod, api.store.now())
                api.update_status(pod)

    def _admit(self, api: APIServer, pods: list[Pod]) -> None:
        """New pods get CPUs, memory and devices, or are refused; those that are gone give theirs back."""
        known = {pod.metadata.uid for pod in pods}
        for uid in set(self._admitted) - known:
            self._managers.release(self._admitted.pop(uid))
        for pod in pods:
            if pod.metadata.uid in self._admitted:
                continue
            try:
                self._managers.admit(pod)
            except AdmissionProblem as problem:
                pod.status.phase, pod.status.reason = "Failed", problem.reason
                pod.status.message = f"Pod was rejected: {problem.message}"
                api.update_status(pod)
            else:
                self._admitted[pod.metadata.uid] = pod

    def _sync(self, pods: list[Pod]) -> None:
        assigned = self._managers.assignments(pods)
        wanted = desired_tree(self.config, pods, version=self.kernel.version, assigned=assigned)
        for path in sorted(set(self._desired) - set(wanted), key=len, reverse=True):
            if self.kernel.exists(path):
                self.kernel.rmdir(path)
        for path, cgroup in wanted.items():
            before = self._desired.get(path)
            if before is None:
                self.kernel.makedirs(path)
            for file in cgroup.values():
                if file.written and (before is None or name_value(before.get(file.name)) != file.value):
                    self.kernel.write(path, file.name, file.value)
        self._desired = wanted

    def desired(self) -> CgroupTree:
        """The tree that the kubelet wants, with the reason for every value."""
        return self._desired


class StillNode(CgroupNode):
    """One node of a cluster made with `kubelets="still"`; arguments as for `CgroupNode`."""

    def advance(self, seconds: float) -> None:
        """Nothing runs here."""

    def __getattr__(self, name: str) -> object:
        called = self.__dict__.get("name")
        raise NotOnThisNode(f"node {called!r} is still: nothing runs on it, so it has no {name}")


def name_value(file: object) -> str | None:
    """The value of a file, or None where there is none."""
    return getattr(file, "value", None)
