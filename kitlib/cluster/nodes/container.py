"""The owner's side of a node in a container, with a kubelet on a real kernel and the interface of `SimulatedNode`.

The node works by itself: it restarts containers, evicts pods, and rewrites its QoS cgroups every minute. Its reports
are queued until the cluster processes them, and are then written into the object store.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import count
from typing import cast

from kitlib.api.core import Node
from kitlib.api.errors import KitError
from kitlib.api.release import Release
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.cluster.journal import owner
from kitlib.cluster.nodes.base import NodeBase
from kitlib.cluster.nodes.bound_pods import BoundPods
from kitlib.cluster.nodes.config import node_config
from kitlib.cluster.nodes.container_processes import ContainerProcesses
from kitlib.cluster.nodes.container_streams import ContainerStreams
from kitlib.cluster.nodes.file_watch import FileWatch
from kitlib.cluster.nodes.handle import NodeFacts, NodeHandle
from kitlib.cluster.nodes.interfaces import Record
from kitlib.cluster.nodes.kernel_log import lines_of_node
from kitlib.cluster.nodes.object_sync import ObjectSync
from kitlib.cluster.nodes.origin import CPUS, Origin, host_refusals
from kitlib.cluster.nodes.plan import KubeletSource, NodePlan
from kitlib.cluster.nodes.pod_sync import PodSync
from kitlib.cluster.nodes.remote_cgroupfs import RemoteCgroupFS
from kitlib.cluster.nodes.report_writer import Report, ReportWriter
from kitlib.cluster.nodes.room import shortage
from kitlib.controllers.node_health import ready_condition_of
from kitlib.controllers.node_lifecycle import mark_ready, mark_unreachable
from kitlib.kubelet.app.node_validation import check_node
from kitlib.kubelet.cm.cgroup_tree import Cgroup, CgroupTree
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.kubelet.config.machine import default_max_pid
from kitlib.kubelet.eviction.thresholds import MEMORY, Observation
from kitlib.kubelet.loop.timeline import TimelineEntry
from kitlib.node.common.network import NodeNetwork, node_network
from kitlib.node.real import protocol
from kitlib.node.real.container import MAX_PID
from kitlib.node.real.link import BEGINS, Conversation, NodeGone

SYNC_PATIENCE = 20.0
"""The seconds without a message after which the owner no longer waits for a node. Its next message causes a full send;
its Lease determines whether it is ready."""


def container_node_config(plan: NodePlan, release: Release) -> NodeConfig:
    """Return the kubelet configuration of a node in a container, which has a limit of process ids.

    Raises:
        KitError: a kubelet would not start with these settings, or a node in a container does not support them.
    """
    if plan.runtime != NodePlan.runtime:
        raise KitError(
            f"node {plan.name}: runtime: {plan.runtime!r} is supported on simulated nodes only; omit runtime for this "
            "node"
        )
    declared = plan.machine.max_pid not in (0, default_max_pid(plan.machine.memory))
    bounded = plan if declared else replace(plan, machine=replace(plan.machine, max_pid=MAX_PID))
    return node_config(bounded, release)


def free_number(nodes: Iterable[NodeFacts]) -> int:
    """Return the smallest number of a node whose address none of these nodes has."""
    taken = {facts.get("address", "") for facts in nodes}
    return next(number for number in count() if node_network(number, 0).address not in taken)


def start_kubelet(link: Conversation, config: NodeConfig, number: int) -> NodeFacts:
    """Start the kubelet of a node, and return the facts that the node sends.

    Args:
        link: the connection to the node.
        config: the kubelet's configuration.
        number: the node's number in its cluster, which determines its addresses.
    """
    network, data = node_network(number, config.settings.max_pods), protocol.config_to_data(config)
    more = {"address": network.address, "pod_cidr": network.pods}
    return cast(NodeFacts, link.ask("start", timeout=BEGINS, version=protocol.VERSION, config=data, **more))


class ContainerNode(ContainerProcesses, ContainerStreams, NodeBase):
    """One node of `Cluster.docker`.

    Args:
        plan: the node's plan.
        config: the kubelet's configuration.
        container: the running container.
        record: records an action in the journal.
        notes: sentences about differences from the planned machine.
        facts: the facts that the node sent when another process started its kubelet; None = start it here.
        number: the node's number in its cluster, which determines its addresses if it is started here.

    Attributes:
        fidelity: sentences about differences between this node and the planned one.
        facts: the facts that the node sent about itself.
    """

    def __init__(
        self,
        plan: NodePlan,
        config: NodeConfig,
        container: NodeHandle,
        record: Record,
        notes: Sequence[str] = (),
        facts: NodeFacts | None = None,
        number: int = 0,
    ) -> None:
        super().__init__()
        self.plan, self.config, self.name, self.container, self._record = plan, config, plan.name, container, record
        self._link = container.link
        self.facts: NodeFacts = facts or start_kubelet(self.link, config, number)
        if self.facts.get("address"):
            self.network = NodeNetwork(self.facts["address"], self.facts["pod_cidr"])
        check_node(config, self.facts["version"])
        container.check(self.facts)
        self._cgroupfs = RemoteCgroupFS(self.link, self.facts["version"])
        room = shortage(self.register(datetime.now(UTC)))
        self.fidelity = [*notes, *self.facts["limits"], *filter(None, [room])]
        self._writer = ReportWriter(plan.name, datetime.now(UTC), self._has_restarted)
        self._pod_sync, self._object_sync = PodSync(), ObjectSync(self.name)
        self._lost_at: int | None = None
        self._ended = False
        self._renewed: datetime | None = None
        self._root_files: dict[str, str] | None = None

    @property
    def link(self) -> Conversation:
        """The connection to the node."""
        return self._link

    @property
    def cgroupfs(self) -> RemoteCgroupFS:
        """The node's cgroup files, read and written over the connection."""
        return self._cgroupfs

    @cached_property
    def origin(self) -> Origin:
        """The origin of the node's values, and the refusals of its host."""
        facts = self.facts
        refused = host_refusals(
            self.config,
            lowest_score=facts["lowest_score"],
            cpus=len(facts["cpus"]),
            controllers=facts["controllers"],
        )
        cpus = len(facts["cpus"]) if any(one.subject == CPUS for one in refused) else None
        return Origin("real", facts["version"], (self.name,), facts["kernel"], refused, facts["lowest_score"], cpus)

    def __repr__(self) -> str:
        state = "up" if self.link.alive else "gone"
        return f"<ContainerNode {self.name}: cgroup v{self.cgroupfs.version}, {state}>"

    def _node_info(self) -> dict[str, str]:
        return {"kernelVersion": self.facts["kernel"], "containerRuntimeVersion": "crun://1"}

    # Synchronization with the cluster.

    def sync(self, api: APIServer, pods: BoundPods) -> None:
        """Send the node the changes of its pods, and process its reports."""
        if self._is_waited_for():
            return
        bound = list(pods)
        # Objects first: the pods refer to them.
        objects, changes = self._object_sync.changes(bound, api), self._pod_sync.changes(bound)
        patience = min(SYNC_PATIENCE, self.link.patience)
        try:
            if objects is not None:
                self.link.ask("objects", timeout=patience, objects=objects)
            if changes:
                self.link.ask("sync", timeout=patience, **changes)
                self._pod_sync.acknowledge()
        except NodeGone:
            # It is unknown what the node received. Until its next message, the cluster does not wait for it again.
            self._lost_at = self.link.heard
        self.take_reports(api)

    def _is_waited_for(self) -> bool:
        """Return whether a request was left unanswered and no message came since.

        The node's next message causes a full send, because it is unknown what the node received.
        """
        if self._lost_at is None:
            return False
        if not self.link.alive or self.link.heard == self._lost_at:
            return True
        self._lost_at, self._pod_sync, self._object_sync = None, PodSync(), ObjectSync(self.name)
        return False

    def take_reports(self, api: APIServer) -> bool:
        """Write the node's reports into the store; return whether there were any."""
        changed = self._lost_at is not None and not self._is_waited_for()
        while self.link.reports:
            changed = True
            self._writer.write(api, cast(Report, self.link.reports.popleft()), self._pod_sync)
        self._writer.retry(api)
        if self.link.alive and self.link.renewed != self._renewed:
            self._renewed = self.link.renewed
            changed |= self._post_status(api)
        if not self._ended and not self.link.alive:
            self._ended = changed = True
            # The container has certainly ended, so there is no grace period, as after a cloud provider's report.
            mark_unreachable(api, self.name)
        return changed

    def _post_status(self, api: APIServer) -> bool:
        """Post the node's status if it differs from the stored one; return whether it did.

        The kubelet compares them every ten seconds. Source: tryUpdateNodeStatus.
        """
        node = api.store.find(Node, self.name, copy=False)
        ready = ready_condition_of(node) if node is not None else None
        if ready is None or ready.status != "Unknown":
            return False
        mark_ready(api, self.name, self._writer.conditions)
        return True

    def restart_kubelet(self, kubelet: KubeletSource | None = None, *, delete_checkpoints: bool = False) -> None:
        """Restart the kubelet, with new settings if given; containers continue to run. See `SimulatedNode`.

        Raises:
            KitError: the new kubelet would not start, and the present one continues; or another cgroup driver was
                given, which needs another container.
        """
        plan = self.plan if kubelet is None else replace(self.plan, kubelet=kubelet)
        config = container_node_config(plan, self.config.release)
        driver, wanted = self.config.settings.cgroup_driver, config.settings.cgroup_driver
        if driver != wanted:
            raise KitError(
                f"cgroupDriver: Forbidden: cannot change from {driver} on node {self.name}, because its container was "
                f"created for this driver; delete the node and add a node with {wanted}"
            )
        self._start_again(config, delete_checkpoints=delete_checkpoints)
        self.plan, self.config = plan, config
        self._record("restart_kubelet", node=self.name, kubelet=plan.kubelet, delete_checkpoints=delete_checkpoints)

    def reboot(self) -> None:
        """End all processes of the node's pods at once, and start the kubelet with its checkpoints and settings.

        The container and the host's kernel stay: what a pod sees of a reboot is its own end, a new boot ID in the
        node's status, new cgroups and an empty kernel log.
        """
        self._start_again(self.config, reboot=True)
        self._record("reboot", node=self.name)

    def _start_again(self, config: NodeConfig, **how: bool) -> None:
        self.link.ask("restart", timeout=BEGINS, config=protocol.config_to_data(config), **how)

    def _has_restarted(self, api: APIServer, config: NodeConfig, boots: int) -> None:
        """Take over a kubelet that has started again, by whichever process, and post the node's status."""
        self.plan, self.config = replace(self.plan, kubelet=config.settings), config
        self.boots = boots
        self._post_again(api)

    def advance(self, seconds: float) -> None:
        """Do nothing: time advances by itself on a real node."""

    def close(self) -> None:
        """End and remove the node."""
        self.container.close()

    # Cgroups.

    def desired(self) -> CgroupTree:
        """Return the tree that the kubelet wants, with reasons; values of the root are those that the engine set."""
        tree = protocol.tree_from_data(self.link.ask("desired"))
        given = self._root_as_given(tree)
        return CgroupTree(tree.version, tree.driver, (_as_given(c, given) for c in tree.values()))

    def _root_as_given(self, wanted: CgroupTree) -> Mapping[str, str]:
        """Return the root's values as the engine set them; they are read once, before the first write."""
        if self._root_files is None:
            self._root_files = {}
            for name in wanted["/"]:
                with suppress(KitError):
                    self._root_files[name] = self.read("/", name)
        return self._root_files

    def unit(self, name: str) -> dict[str, object]:
        """Return the properties of a slice or scope as `systemctl show` prints them; "no limit" is 2**64 - 1.

        Args:
            name: the unit's name, or the path of its cgroup.

        Raises:
            KitError: the unit does not exist, or the node has no systemd (the cgroupfs driver).
        """
        if not self.facts.get("systemd"):
            raise KitError(
                f"node {self.name}: systemd does not run on this node, because its kubelet has --cgroup-driver=cgroupfs"
            )
        return dict(self.link.ask("unit", unit=name.rpartition("/")[2]))

    def write(self, path: str, file: str, value: str) -> None:
        """Write a cgroup file by hand.

        Raises:
            KitError: the kernel rejects the write.
        """
        # Reads the engine's values of the root before this write replaces one of them.
        if path == "/" and self._root_files is None:
            self.desired()
        super().write(path, file, value)

    def _owner_of(self, path: str) -> dict[str, str]:
        """Return the pod of a cgroup by name, since UIDs differ in a replay of the journal."""
        of_pod = any(uid in path or uid.replace("-", "_") in path for uid in self._pod_sync.uids)
        return owner(self.desired(), path) if of_pod else {}

    def watch(self, files: Sequence[tuple[str, str]], hz: float = 10.0) -> FileWatch:
        """Sample files up to 50 times a second; see `FileWatch`.

        Args:
            files: the files, each as (path of the cgroup, name).
            hz: the number of samples per second.
        """
        return FileWatch(self.link, files, hz)

    # The kubelet and the kernel.

    def timeline(self) -> list[TimelineEntry]:
        """Return the kubelet's actions with times and reasons, oldest first."""
        return [TimelineEntry(*one) for one in self.link.ask("timeline")]

    def uptime(self) -> float:
        """Return the seconds of the node's own clock, which its timeline uses."""
        return float(self.link.ask("alive"))

    def checkpoint(self) -> str:
        """Return the kubelet's file `cpu_manager_state` with the assigned CPUs; "" without a static CPU policy."""
        return str(self.link.ask("checkpoint"))

    def signals(self) -> dict[str, Observation]:
        """Return the eviction signal of memory, from the usage of the whole node."""
        capacity = self.config.machine.memory
        return {MEMORY: Observation(capacity - self.usage("/"), capacity)}

    def kernel_log(self) -> list[str]:
        """Return the kernel's log lines about the OOM killer in this node; a single line if the log cannot be read.

        The node keeps its own record, since the kernel overwrites old lines; a line marks a gap.
        """
        found = self.link.ask("kernel_log")
        if found["why"]:
            return [f"the kernel's log cannot be read: {found['why']}"]
        return lines_of_node(found["lines"], [self.container.id, *self._pod_sync.uids])


def _as_given(cgroup: Cgroup, given: Mapping[str, str]) -> Cgroup:
    """Return the node's root with the values that the engine set; other cgroups are returned unchanged."""
    if cgroup.kind != "root" or not given:
        return cgroup
    files = {n: f if f.written else f._replace(value=given.get(n, f.value)) for n, f in cgroup.files.items()}
    return replace(cgroup, files=files)
